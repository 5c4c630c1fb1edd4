//! Checks that docs/design.md gives a reason for each dependency in a `Cargo.toml`, in its section on
//! libraries.

use std::collections::BTreeMap;

use crate::definitions::DESIGN;
use crate::fault::Fault;
use crate::source::{self, Source};

/// Where the table is.
const SECTION: &str = "## 11. Libraries";

/// Returns a fault for every dependency in a `Cargo.toml` for which docs/design.md gives no reason, and
/// for every reason there whose library is not a dependency.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let design = source::find(sources, DESIGN).expect("the design is a document");
    let listed = listed(&design.text);
    let mut faults = Vec::new();
    let mut used: BTreeMap<String, ()> = BTreeMap::new();
    for manifest in sources.iter().filter(|s| s.path.ends_with("Cargo.toml")) {
        for (line, name) in dependencies(&manifest.text) {
            if !listed.contains_key(&name) {
                let message = format!("{name}: no reason for it in {DESIGN}, section 11");
                faults.push(Fault { path: manifest.path.clone(), line, message });
            }
            used.insert(name, ());
        }
    }
    for (name, line) in listed {
        if !used.contains_key(&name) {
            let message = format!("{name}: no Cargo.toml depends on it");
            faults.push(Fault { path: DESIGN.to_owned(), line, message });
        }
    }
    faults
}

/// Names in the first column of the table, with their lines.
fn listed(design: &str) -> BTreeMap<String, usize> {
    let lines = design.lines().enumerate().map(|(at, line)| (at + 1, line));
    let of_section = lines.skip_while(|(_, line)| *line != SECTION).skip(1);
    let rows = of_section.take_while(|(_, line)| !line.starts_with("## "));
    let cells =
        rows.filter_map(|(line, row)| Some((line, row.strip_prefix("| ")?.split(" |").next()?)));
    let names =
        cells.flat_map(|(line, cell)| cell.split(", ").map(move |name| (name.to_owned(), line)));
    names.filter(|(name, _)| name != "library").collect()
}

/// Names that a manifest depends on, but for our own crates, with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut inside = false;
    for (at, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.starts_with("[workspace");
        } else if inside {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let ours = name.starts_with("tresse");
            if !name.is_empty() && !name.starts_with('#') && !ours {
                names.push((at + 1, name.to_owned()));
            }
        }
    }
    names
}

#[test]
fn a_dependency_without_a_reason_is_named_and_so_is_a_reason_without_one() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let design = format!("{SECTION}\n\n| library | why |\n|---|---|\n| serde, gone | x |\n");
    let manifest = "[dependencies]\nserde.workspace = true\nnew = \"1\"\ntresse-x = \"0\"\n";
    let found = check(&[source(DESIGN, &design), source("a/Cargo.toml", manifest)]);
    let found: Vec<_> = found.into_iter().map(|f| (f.path, f.line)).collect();
    assert_eq!(found, [("a/Cargo.toml".to_owned(), 3), (DESIGN.to_owned(), 5)]);
}
