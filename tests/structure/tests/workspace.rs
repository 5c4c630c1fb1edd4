//! The checks of this workspace: see the library's documentation for what they prove.

use std::fs;

use tresse_structure::known::{self, Known};
use tresse_structure::survey::Survey;
use tresse_structure::{Workspace, layers, sizes};

#[test]
fn arrows_between_crates_point_down() {
    let problems = layers::problems(&Workspace::load());
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn only_known_circles_and_sizes() {
    let survey = Survey::of(&Workspace::load());
    for (package, lines) in &survey.lines {
        println!("{lines:6} {package}");
    }
    for (place, circle) in &survey.circles {
        println!("{} {}\n{}", place.package, place.kind, circle.describe());
    }
    let text = fs::read_to_string(known::FILE).expect("known.txt");
    let problems = Known::parse(&text).expect("a list").problems(&survey);
    assert!(
        problems.is_empty(),
        "\n{}\n\nThe names after an arrow are what the first file or module takes from the second; <-> \
         marks two that take from each other.\nAfter mending: cargo run --package \
         tresse-structure -- shrink\n",
        problems.join("\n")
    );
}

#[test]
fn no_source_file_is_too_long() {
    let long = sizes::long_files(&Workspace::load().root);
    assert!(long.is_empty(), "more than {} lines: {long:#?}", sizes::FILE_LIMIT);
}

#[test]
fn no_source_file_includes_another() {
    let found = sizes::including(&Workspace::load().root);
    assert!(found.is_empty(), "include! hides lines and arrows, make it a module: {found:#?}");
}

#[test]
fn each_entry_of_the_workspace_is_used_by_a_member() {
    let unused = Workspace::load().unused_entries();
    assert!(unused.is_empty(), "remove from [workspace.dependencies]: {unused:?}");
}
