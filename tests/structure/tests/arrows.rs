//! Which arrows the check sees in the crate `tests/fixture`, and which circles they close.

use std::path::Path;

use tresse_structure::circles::circles;
use tresse_structure::{Arrows, Crate};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixture/lib.rs");

fn files() -> Vec<String> {
    let arrows = Arrows::of_files(&Crate::load(Path::new(ROOT), &[]));
    let text = |names: &std::collections::BTreeSet<String>| {
        names.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    arrows
        .iter()
        .map(|(arrow, names)| format!("{} {}: {}", arrow.from, arrow.to, text(names)))
        .collect()
}

#[test]
fn names_are_followed_to_the_file_that_defines_them() {
    let expected = [
        "attribute.rs knot.rs: codec",
        "attribute.rs right.rs: Right",
        "knot.rs macros.rs: MadeByMacro",
        "left/below.rs left/mod.rs: Left",
        "macros.rs knot.rs: Knot",
        "right.rs left/below.rs: Below",
        "right.rs left/mod.rs: Left",
        "right.rs macros.rs: call",
    ];
    assert_eq!(files(), expected);
}

#[test]
fn a_circle_is_found_among_files_and_among_modules() {
    let source = Crate::load(Path::new(ROOT), &[]);
    let found = circles(&Arrows::of_files(&source));
    let members: Vec<_> = found.iter().flat_map(|circle| &circle.members).collect();
    assert_eq!(members, ["knot.rs", "macros.rs"]);
    assert!(found[0].describe().contains("knot.rs <-> macros.rs: MadeByMacro"));
    let found = circles(&Arrows::of_modules(&source));
    let members: Vec<_> = found.iter().flat_map(|circle| &circle.members).collect();
    assert_eq!(members, ["knot", "macros"]);
}

#[test]
fn lines_of_tests_are_not_counted() {
    let whole = std::fs::read_to_string(Path::new(ROOT).with_file_name("left/mod.rs")).unwrap();
    assert_eq!(whole.lines().count(), 10);
    // All seven files have 60; the module of tests has four.
    let source = Crate::load(Path::new(ROOT), &[]);
    assert_eq!(source.lines(), 56);
}
