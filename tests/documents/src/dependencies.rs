//! Checks that docs/design.md gives a reason for each dependency in a `Cargo.toml`, in its section on
//! libraries, and names the places that use it.

use std::collections::{BTreeMap, BTreeSet};

use crate::definitions::DESIGN;
use crate::fault::Fault;
use crate::source::{self, Source};

/// Where the table is.
const SECTION: &str = "## 11. Libraries";

/// The place of what more than half of all packages use.
const EVERYWHERE: &str = "everywhere";

/// A row of the table.
struct Row<'a> {
    line: usize,
    libraries: Vec<&'a str>,
    places: BTreeSet<&'a str>,
}

/// Returns a fault for every dependency in a `Cargo.toml` for which docs/design.md gives no reason, for
/// every reason there whose library is not a dependency, and for every wrong or missing place of a library.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let design = source::find(sources, DESIGN).expect("the design is a document");
    let rows = rows(&design.text);
    let mut faults = Vec::new();
    let mut used: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut packages = 0;
    for manifest in sources.iter().filter(|s| s.path.ends_with("Cargo.toml")) {
        packages += usize::from(manifest.text.contains("[package]"));
        for Dependency { line, name, of_tests } in dependencies(&manifest.text) {
            if !rows.iter().any(|row| row.libraries.contains(&name.as_str())) {
                let message = format!("{name}: no reason for it in {DESIGN}, section 11");
                faults.push(Fault { path: manifest.path.clone(), line, message });
            }
            let place = if of_tests { "tests" } else { place(&manifest.path) };
            used.entry(name).or_default().insert(place);
        }
    }
    for row in rows {
        let mut fault = |message| {
            faults.push(Fault { path: DESIGN.to_owned(), line: row.line, message });
        };
        for &name in &row.libraries {
            let Some(places) = used.get(name) else {
                fault(format!("{name}: no Cargo.toml depends on it"));
                continue;
            };
            let most = places.len() * 2 > packages;
            if row.places.contains(EVERYWHERE) && most || *places == row.places {
                continue;
            }
            let places: Vec<_> = places.iter().copied().collect();
            fault(format!("{name}: its place is {}", places.join(", ")));
        }
    }
    faults
}

/// The place of a package's dependencies in the table, by the path of its manifest.
fn place(manifest: &str) -> &str {
    let path = manifest.strip_prefix("crates/").unwrap_or(manifest);
    path.split('/').next().unwrap_or(path)
}

/// Rows of the table without its head.
fn rows(design: &str) -> Vec<Row<'_>> {
    let lines = design.lines().enumerate().map(|(at, line)| (at + 1, line));
    let of_section = lines.skip_while(|(_, line)| *line != SECTION).skip(1);
    let table = of_section.take_while(|(_, line)| !line.starts_with("## "));
    let rows = table.filter_map(|(line, row)| {
        let mut cells = row.strip_prefix("| ")?.split(" | ");
        let libraries = cells.next()?.split(", ").collect();
        Some(Row { line, libraries, places: cells.next()?.split(", ").collect() })
    });
    rows.filter(|row| row.libraries != ["library"]).collect()
}

/// A dependency in a manifest.
struct Dependency {
    line: usize,
    name: String,
    /// Only tests, benchmarks and examples use it.
    of_tests: bool,
}

/// What a manifest depends on, but for our own crates.
fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let (mut inside, mut of_tests) = (false, false);
    for (at, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.starts_with("[workspace");
            of_tests = line.ends_with("dev-dependencies]");
        } else if inside {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let ours = name.starts_with("tresse");
            if !name.is_empty() && !name.starts_with('#') && !ours {
                found.push(Dependency { line: at + 1, name: name.to_owned(), of_tests });
            }
        }
    }
    found
}

#[test]
fn a_dependency_without_a_reason_is_named_and_so_is_a_reason_without_one() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let design =
        format!("{SECTION}\n\n| library | place | why |\n|---|---|---|\n| serde, gone | a | x |\n");
    let manifest = "[dependencies]\nserde.workspace = true\nnew = \"1\"\ntresse-x = \"0\"\n";
    let found = check(&[source(DESIGN, &design), source("crates/a/Cargo.toml", manifest)]);
    let found: Vec<_> = found.into_iter().map(|f| (f.path, f.line)).collect();
    assert_eq!(found, [("crates/a/Cargo.toml".to_owned(), 3), (DESIGN.to_owned(), 5)]);
}

#[test]
fn places_are_those_of_the_manifests() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let judged = |rows: &str| {
        let design = format!("{SECTION}\n\n| library | place | why |\n|---|---|---|\n{rows}");
        let manifests = [
            ("crates/a/Cargo.toml", "[package]\n[dependencies]\nmany = \"1\"\none = \"1\"\n"),
            (
                "cli/Cargo.toml",
                "[package]\n[dependencies]\nmany = \"1\"\n[dev-dependencies]\ntry = \"1\"\n",
            ),
            ("tests/x/Cargo.toml", "[package]\n[dependencies]\ntry = \"1\"\n"),
        ];
        let mut sources = vec![source(DESIGN, &design)];
        sources.extend(manifests.map(|(path, text)| source(path, text)));
        check(&sources).into_iter().map(|f| f.message).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(judged("| many | a, cli | x |\n| one | a | x |\n| try | tests | x |\n"), none);
    assert_eq!(judged("| many | everywhere | x |\n| one | a | x |\n| try | tests | x |\n"), none);
    let wrong = judged("| many | a | x |\n| one | everywhere | x |\n| try | cli, tests | x |\n");
    let expected = ["many: its place is a, cli", "one: its place is a", "try: its place is tests"];
    assert_eq!(wrong, expected);
}
