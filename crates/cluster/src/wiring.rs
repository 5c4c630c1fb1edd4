//! Replaces the name of a wiring file in a cluster file by its content, the wiring table (the nodes on each switch),
//! so that all nodes plan from one text.

use std::fmt::Write as _;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// The advice for a wiring table that cannot be used.
pub const WIRING_HELP: &str =
    "a line is `0: 0 1 2`: a switch and its PCs; `tresse design -o FILE` writes such a table";

/// Returns the text of a cluster file in which the name of its wiring file is replaced by the content of that file,
/// the wiring table: the nodes on each switch of a flat neighbourhood. `read` gets the name, relative to the cluster
/// file, and returns the content. If `text` is itself a wiring table, returns the cluster file of a flat neighbourhood
/// with all defaults. Any other text is returned unchanged.
///
/// # Errors
/// The error of `read`.
pub fn with_wiring<E>(
    text: String,
    read: impl FnOnce(&str) -> Result<String, E>,
) -> Result<String, E> {
    if is_table(&text) {
        return Ok(format!(
            "[fabric]\ntopology = {{ kind = \"fnn\", wiring = {} }}\n",
            quoted(&text)
        ));
    }
    let Some((span, name)) = named(&text) else { return Ok(text) };
    let table = read(&name)?;
    let (before, after) = (&text[..span.start], &text[span.end..]);
    Ok(format!("{before}{}{after}", quoted(&table)))
}

/// Whether a text is a wiring table, with or without errors. Its first line that is neither empty nor a comment
/// begins with a switch number and a colon; no line of TOML does.
fn is_table(text: &str) -> bool {
    let said = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let first = text.lines().map(str::trim).find(said);
    let switch = first.and_then(|line| line.split_once(':')).map(|(switch, _)| switch.trim());
    switch.is_some_and(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the file that `topology` names as its wiring table, and the place of the name.
fn named(text: &str) -> Option<(Range<usize>, String)> {
    let (table, _) = DeTable::parse_recoverable(text);
    let fabric = value(table.get_ref(), "fabric")?.get_ref().as_table()?;
    let topology = value(fabric, "topology")?.get_ref().as_table()?;
    let wiring = value(topology, "wiring")?;
    let name = wiring.get_ref().as_str().filter(|name| !name.is_empty() && !name.contains(':'))?;
    Some((wiring.span(), name.to_owned()))
}

fn value<'a, 'b>(table: &'b DeTable<'a>, key: &str) -> Option<&'b toml::Spanned<DeValue<'a>>> {
    table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
}

/// Returns the text as a TOML string in one line, so that other lines keep their numbers.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use tresse_base::problem::Problems;
    use tresse_base::wiring::Wiring;
    use tresse_topology::cluster::{Cluster, TopologyShape};

    const TABLE: &str = "# three PCs\n0: 0 1\n1: 1 2\n2: 0 2\n";

    fn whole(text: &str) -> Result<Cluster, Problems> {
        let read = |name: &str| if name == "w.txt" { Ok(TABLE.to_owned()) } else { Err(()) };
        parse(&with_wiring(text.to_owned(), read).unwrap(), "x")
    }

    #[test]
    fn a_table_is_read_by_name_in_place_and_by_itself() {
        let wiring = Wiring { switches: vec![vec![0, 1], vec![1, 2], vec![0, 2]] };
        let kind = TopologyShape::Fnn { wiring, uplink: None, spares: Vec::new() };
        let named = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"w.txt\" }\n";
        let placed =
            "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 1 2\\n2: 0 2\" }\n";
        for text in [named, placed, TABLE] {
            assert_eq!(whole(text).unwrap().kind, kind, "{text}");
        }
        let cluster = whole(TABLE).unwrap();
        assert_eq!((cluster.name.as_str(), cluster.nodes.len()), ("fnn-3", 3));
        assert_eq!(cluster.nodes[2].nics[1].switch.0, 2);
        let late = "[fabric]\ntopology = { kind = \"fnn\", wiring = 'w.txt' }\n[x]\n";
        let problems = whole(late).unwrap_err().problems;
        assert_eq!((problems.len(), problems[0].line), (1, 3));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["", "x", "[fabric]\nwiring = 'w.txt'", "\u{0}["] {
            assert_eq!(with_wiring(text.to_owned(), |_| Err(())), Ok(text.to_owned()));
        }
        let broken = with_wiring("0: 0 1\n0: 1".to_owned(), |_| Err(())).unwrap();
        let reported = parse(&broken, "x").unwrap_err().to_string();
        assert!(reported.contains("switch 0 has a line already"), "{reported}");
        for table in ["", "# nothing\n", "a table\n"] {
            let text = "fabric.topology = { kind = 'fnn', wiring = 'else.txt' }".to_owned();
            let text = with_wiring(text, |_| Ok::<_, ()>(table.to_owned())).unwrap();
            let reported = parse(&text, "x").unwrap_err().to_string();
            assert!(reported.contains("`switch: pc pc ...`"), "{reported}");
            assert!(reported.contains(WIRING_HELP), "{reported}");
        }
        let named = "fabric.topology.wiring = 'else.txt'";
        assert_eq!(
            with_wiring(named.to_owned(), |name| Err(name.to_owned())),
            Err("else.txt".into())
        );
        assert_eq!(quoted("a\"\\\t\n"), "\"a\\\"\\\\\\u0009\\n\"");
    }
}
