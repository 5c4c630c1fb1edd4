//! Which calls of methods that stand apart from their type are arrows, by the crate `tests/apart`.

use std::path::Path;

use tresse_structure::circles::circles;
use tresse_structure::{Arrows, Crate, SPREAD, Workspace};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/apart/lib.rs");

fn arrows(spread: &[&str]) -> Arrows {
    Arrows::of_files(&Crate::load(Path::new(ROOT), spread))
}

#[test]
fn a_call_leads_to_the_file_with_the_method() {
    let line = |(arrow, names): (&tresse_structure::Arrow, &std::collections::BTreeSet<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{} {}: {}", arrow.from, arrow.to, names.join(" "))
    };
    let found: Vec<String> = arrows(&[]).iter().map(line).collect();
    let expected = [
        "above.rs machine.rs: State::made State::shown",
        "above.rs state.rs: State",
        "lib.rs state.rs: State",
        "machine.rs state.rs: Alias",
        "state.rs machine.rs: State::turn",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_type_that_calls_its_methods_elsewhere_makes_a_circle_unless_it_is_listed() {
    let found = circles(&arrows(&[]));
    let members: Vec<_> = found.iter().flat_map(|circle| &circle.members).collect();
    assert_eq!(members, ["machine.rs", "state.rs"]);
    assert!(found[0].describe().contains("state.rs <-> machine.rs: State::turn"));
    let listed = arrows(&["State"]);
    assert!(circles(&listed).is_empty());
    // Other files are judged as before.
    assert!(listed.iter().any(|(arrow, _)| arrow.from == "above.rs" && arrow.to == "machine.rs"));
}

#[test]
fn each_listed_type_needs_its_place_in_the_list() {
    let workspace = Workspace::load();
    for (package, name, _) in SPREAD {
        let package = workspace.packages.iter().find(|found| found.name == package);
        let roots = &package.expect("a package of the workspace").roots;
        let needed = roots
            .iter()
            .any(|root| !circles(&Arrows::of_files(&Crate::load(root, &[]))).is_empty());
        assert!(needed, "without {name} in SPREAD there is no circle: remove it");
    }
}
