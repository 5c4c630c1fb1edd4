//! Every broken file: exit 3, each problem on a line of its own with file, line and column.

use crate::run::{cluster_files, root, tresse};

#[test]
fn broken_files_exit_with_3_and_tell_every_problem_by_place() {
    for file in cluster_files("tests/broken") {
        let ran = tresse(["check", &file]).exits(3);
        assert!(ran.stdout.is_empty(), "{file}: words belong on standard error");
        let expected = root().join(&file).with_extension("stderr");
        let expected = std::fs::read_to_string(expected).unwrap();
        let expected = expected.lines().map(|line| {
            if line.starts_with(' ') { line.into() } else { format!("tests/broken/{line}") }
        });
        let told: Vec<_> = ran.stderr.lines().collect();
        let expected: Vec<_> = expected.collect();
        assert_eq!(told[..told.len() - 1], expected, "{file}");
        assert!(told[told.len() - 1].starts_with(&format!("tresse: {file} has ")), "{told:?}");
    }
}

#[test]
fn every_verb_that_reads_a_cluster_file_refuses_a_broken_one() {
    let file = "tests/broken/unknown-key.toml";
    let place = format!("{file}:2:1: ");
    for args in [
        &["plan", file][..],
        &["paths", file],
        &["check", file, "--json"],
        &["trace", file, "a", "b"],
        &["export", file, "bridge"],
        &["fmt", file],
    ] {
        let ran = tresse(args).exits(3);
        assert!(ran.stderr.contains(&place), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_file_that_is_not_there_or_a_bad_lock_is_a_bad_file() {
    let ran = tresse(["check", "configs/nothing.toml"]).exits(3);
    assert!(ran.stderr.contains("cannot read configs/nothing.toml"), "{}", ran.stderr);
    tresse(["check", "configs/torus16.toml", "--lock", "configs/nothing.lock"]).exits(3);
    tresse(["check", "configs/torus16.toml", "--lock", "Makefile"]).exits(3);
}
