//! Writes into the text of a cluster file that a spare takes the place of a node.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

/// Returns the text with `replaces = "NODE"` in the `[[node]]` of a spare, which is added where there is none of its own,
/// and in no other.
/// `None` if the text is not TOML, or lists its nodes in another form. Whether the names fit is for
/// [`parse`](crate::parse) to say.
#[must_use]
pub fn replaced(text: &str, node: &str, spare: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let nodes = nodes(&mut document)?;
    forget(nodes, node);
    let is_own = |table: &Table| table.get("name").and_then(Item::as_str) == Some(spare);
    let own = nodes.iter().position(is_own);
    if own.is_none() {
        let mut table = Table::new();
        table.insert("name", value(spare));
        nodes.push(table);
    }
    let own = nodes.get_mut(own.unwrap_or(nodes.len() - 1))?;
    own.insert("replaces", value(node));
    Some(document.to_string())
}

/// Returns the text in which no spare replaces a node; `None` as with [`replaced`].
#[must_use]
pub fn mended(text: &str, node: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    forget(nodes(&mut document)?, node);
    Some(document.to_string())
}

fn nodes(document: &mut DocumentMut) -> Option<&mut ArrayOfTables> {
    let nodes = document.entry("node").or_insert_with(|| Item::ArrayOfTables(Default::default()));
    nodes.as_array_of_tables_mut()
}

fn forget(nodes: &mut ArrayOfTables, node: &str) {
    let replaces = |table: &Table| table.get("replaces").and_then(Item::as_str) == Some(node);
    for table in nodes.iter_mut().filter(|table| replaces(table)) {
        table.remove("replaces");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Ours.\n[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1 2\", \
                        uplink = \"u0\", spares = [\"x\", \"y\"] }\n";

    #[test]
    fn a_spare_gets_one_entry_and_all_else_stays() {
        let text = replaced(HEAD, "n1", "x").unwrap();
        assert_eq!(text, format!("{HEAD}\n[[node]]\nname = \"x\"\nreplaces = \"n1\"\n"));
        let cluster = crate::parse(&text, "f").unwrap();
        assert_eq!(cluster.nodes[1].machine.as_deref(), Some("x"));
        let listed =
            "[[node]]\nname = \"x\" # in rack 2\nnics = [{ mac = \"02:00:00:00:00:01\" }]\n";
        let text = replaced(&format!("{HEAD}{listed}"), "n2", "x").unwrap();
        assert_eq!(text, format!("{HEAD}{listed}replaces = \"n2\"\n"));
        let again = replaced(&text, "n2", "y").unwrap();
        assert!(again.ends_with("\n[[node]]\nname = \"y\"\nreplaces = \"n2\"\n"), "{again}");
        assert!(again.contains(&format!("{listed}\n")), "{again}");
        let back = mended(&text, "n2").unwrap();
        assert!(crate::parse(&back, "f").unwrap().nodes.iter().all(|node| node.machine.is_none()));
        assert_eq!(replaced("0: 0 1 2\n", "n1", "x"), None);
        assert_eq!(replaced("node = 3\n", "n1", "x"), None);
    }
}
