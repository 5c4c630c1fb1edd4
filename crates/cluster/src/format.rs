//! Formats a cluster file in its canonical form (`tresse fmt`): tables and keys in the order of the schema,
//! one blank line before a table, one space around `=` and inside inline tables, comments kept. Only
//! the layout changes: the parsed content stays the same.

use toml_edit::{
    Array, ArrayOfTables, Decor, DocumentMut, InlineTable, Item, RawString, Table, Value,
};

/// Returns the text of a cluster file in canonical form. Unknown keys go after the known ones. A text that is not TOML
/// is returned unchanged; [`parse`](crate::parse::parse) reports why.
#[must_use]
pub fn format(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    let trailing = comments(&text_of(Some(document.trailing())));
    let header = take_header(document.as_table_mut());
    lay_table(document.as_table_mut(), &mut 0);
    document.set_trailing(if trailing.is_empty() {
        String::new()
    } else {
        format!("\n{trailing}")
    });
    let body = document.to_string();
    let body = body.trim_matches(['\n', '\r', ' ']);
    let gap = if header.is_empty() || body.is_empty() { "" } else { "\n" };
    let formatted = format!("{header}{gap}{body}\n");
    if formatted.trim().is_empty() { String::new() } else { formatted }
}

/// Returns the comments at the head of the file that a blank line separates from the first item.
fn take_header(root: &mut Table) -> String {
    let mut first: Option<(isize, &mut Decor)> = None;
    for (mut key, item) in root.iter_mut() {
        let (position, decor) = match item {
            Item::Table(table) if !table.is_dotted() && !table.is_implicit() => {
                (table.position().unwrap_or(isize::MAX), table.decor_mut())
            }
            Item::ArrayOfTables(list) => match list.get_mut(0) {
                Some(table) => (table.position().unwrap_or(isize::MAX), table.decor_mut()),
                None => continue,
            },
            Item::Value(_) => {
                let prefix = text_of(key.leaf_decor().prefix());
                let (header, rest) = split_header(&prefix);
                if !header.is_empty() {
                    key.leaf_decor_mut().set_prefix(rest);
                    return header;
                }
                return String::new();
            }
            _ => continue,
        };
        if first.as_ref().is_none_or(|(earliest, _)| position < *earliest) {
            first = Some((position, decor));
        }
    }
    let Some((_, decor)) = first else { return String::new() };
    let (header, rest) = split_header(&text_of(decor.prefix()));
    decor.set_prefix(rest);
    header
}

fn split_header(prefix: &str) -> (String, String) {
    let text = comments(prefix);
    match text.rfind("\n\n") {
        Some(at) => (text[..=at].to_owned(), text[at + 2..].to_owned()),
        None => (String::new(), text),
    }
}

/// All keys in their canonical order. No key has different positions in two tables.
const ORDER: &[&str] = &[
    "fabric",
    "routing",
    "vlans",
    "addressing",
    "demand",
    "from",
    "to",
    "weight",
    "name",
    "topology",
    "kind",
    "dims",
    "switches",
    "spines",
    "leaves",
    "cables",
    "k",
    "dimensions",
    "groups",
    "routers",
    "global",
    "q",
    "nodes_per_switch",
    "nics_per_node",
    "seed",
    "grow_to",
    "lines_per_switch",
    "wiring",
    "strategy",
    "paths",
    "lossless",
    "root",
    "reflect",
    "use_uplink",
    "choice",
    "mptcp",
    "range",
    "base",
    "nodes",
    "nics",
    "layout",
    "mac",
    "switch",
    "port",
    "ports",
    "max_vlans",
    "learning",
    "max_frame",
    "stp",
    "fdb_size",
    "fdb_age_seconds",
    "lag",
    "transit",
    "gateway",
    "prefixes",
    "node",
    "link",
    "a",
    "b",
    "rate",
    "mtu",
];

fn rank(key: &str) -> usize {
    ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len())
}

fn lay_table(table: &mut Table, position: &mut isize) {
    table.sort_values_by(|a, _, b, _| rank(a.get()).cmp(&rank(b.get())));
    for (mut key, item) in table.iter_mut() {
        let above = comments(&text_of(key.leaf_decor().prefix()));
        match item {
            Item::Value(value) => {
                key.fmt();
                *key.leaf_decor_mut() = Decor::new(above, " ");
                lay_value(value);
            }
            Item::Table(inner) if inner.is_dotted() => lay_table(inner, position),
            Item::Table(inner) => {
                key.fmt();
                lay_header(inner, position);
                lay_table(inner, position);
            }
            Item::ArrayOfTables(list) => {
                key.fmt();
                lay_list(list, position);
            }
            Item::None => {}
        }
    }
}

fn lay_list(list: &mut ArrayOfTables, position: &mut isize) {
    for table in list.iter_mut() {
        lay_header(table, position);
        lay_table(table, position);
    }
}

fn lay_header(table: &mut Table, position: &mut isize) {
    let above = comments(&text_of(table.decor().prefix()));
    let after = comment_after(table.decor());
    *table.decor_mut() = Decor::new(format!("\n{above}"), after);
    table.set_position(Some(*position));
    *position += 1;
}

fn lay_value(value: &mut Value) {
    let after = comment_after(value.decor());
    lay_inside(value);
    *value.decor_mut() = Decor::new(" ", after);
}

/// Lists and inline tables on one line, or one entry a line where that is too long; those with
/// comments inside stay as they are.
fn lay_inside(value: &mut Value) {
    // A comment inside ends its line, and the value does not end there.
    let mut alone = value.clone();
    *alone.decor_mut() = Decor::default();
    if alone.to_string().rsplit_once('\n').is_some_and(|(lines, _)| lines.contains('#')) {
        return;
    }
    match value {
        Value::Array(list) => lay_array(list),
        Value::InlineTable(table) => lay_inline(table),
        _ => {}
    }
}

fn lay_array(list: &mut Array) {
    for value in list.iter_mut() {
        lay_inside(value);
        *value.decor_mut() = Decor::default();
    }
    list.fmt();
    list.set_trailing_comma(false);
    let tables = list.iter().filter(|value| value.is_inline_table()).count();
    if tables > 1 || (list.len() > 1 && list.to_string().len() > WIDTH) {
        for value in list.iter_mut() {
            value.decor_mut().set_prefix("\n    ");
        }
        list.set_trailing_comma(true);
        list.set_trailing("\n");
    }
}

fn lay_inline(table: &mut InlineTable) {
    if table.iter().any(|(_, value)| value.as_inline_table().is_some_and(InlineTable::is_dotted)) {
        return;
    }
    table.sort_values_by(|a, _, b, _| rank(a.get()).cmp(&rank(b.get())));
    for (_, value) in table.iter_mut() {
        lay_inside(value);
    }
    table.fmt();
}

/// The comment lines of the text above an item; paragraphs stay one blank line apart.
fn comments(prefix: &str) -> String {
    let mut kept = String::new();
    let mut blank = false;
    let lines: Vec<_> = prefix.split('\n').map(str::trim).collect();
    // What follows the last newline is the indentation of the item itself.
    for line in &lines[..lines.len() - 1] {
        if line.is_empty() {
            blank = !kept.is_empty();
            continue;
        }
        if blank {
            kept.push('\n');
        }
        blank = false;
        kept.push_str(line);
        kept.push('\n');
    }
    if blank {
        kept.push('\n');
    }
    kept
}

fn comment_after(decor: &Decor) -> String {
    let suffix = text_of(decor.suffix());
    suffix.find('#').map_or_else(String::new, |at| format!(" {}", suffix[at..].trim_end()))
}

fn text_of(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().to_owned()
}

const WIDTH: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_spacing_and_comments() {
        let text = "\
# A cluster.

# VIDs
[vlans]   # ours
range=\"100-199\"


[ fabric ]
topology={nodes_per_switch=1,dims=[ 4,4 ],kind=\"torus\"} # shape
  # its name
name=\"x\"
[[link]]
b=\"s1:9\"
a=\"s0:9\"
[[node]]
nics=[{mac=\"02:00:00:00:00:01\",name=\"eth0\"},{name=\"eth1\"}]
name=\"n0\"
# the end
";
        let expected = "\
# A cluster.

[fabric]
# its name
name = \"x\"
topology = { kind = \"torus\", dims = [4, 4], nodes_per_switch = 1 } # shape

# VIDs
[vlans] # ours
range = \"100-199\"

[[node]]
name = \"n0\"
nics = [
    { name = \"eth0\", mac = \"02:00:00:00:00:01\" },
    { name = \"eth1\" },
]

[[link]]
a = \"s0:9\"
b = \"s1:9\"

# the end
";
        let formatted = format(text);
        assert_eq!(formatted, expected);
        assert_eq!(format(&formatted), formatted);
    }

    #[test]
    fn what_is_not_toml_is_left_alone() {
        assert_eq!(format("a = ["), "a = [");
        assert_eq!(format(""), "");
        assert_eq!(format("# only words\n"), "# only words\n");
    }

    #[test]
    fn lists_with_comments_keep_their_lines() {
        for dims in ["[\n  4, # wide\n  4,\n]", "[ # wide, deep\n  4, 4]", "[4,\n  # deep\n4]"] {
            let text = format!("[fabric]\ntopology = {{ kind = \"torus\", dims = {dims} }}\n");
            assert_eq!(format(&text), text);
        }
        let long = "[addressing]\nnodes = [ # both\n  \"10.0.0.0/8\", \"fd00::/64\"] # families\n";
        assert_eq!(format(long), long);
        let plain = "[addressing]\nnodes = [\n\"10.0.0.0/8\"] # one family\n";
        assert_eq!(format(plain), "[addressing]\nnodes = [\"10.0.0.0/8\"] # one family\n");
    }
}
