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
        let reported: Vec<_> = ran.stderr.lines().collect();
        let expected: Vec<_> = expected.collect();
        assert_eq!(reported[..reported.len() - 1], expected, "{file}");
        assert!(
            reported[reported.len() - 1].starts_with(&format!("tresse: {file} has ")),
            "{reported:?}"
        );
    }
}

#[test]
fn with_json_the_problems_are_one_object_on_standard_output() {
    let file = "tests/broken/in-one-go.toml";
    for verb in ["check", "plan", "paths", "fmt"] {
        let ran = tresse([verb, file, "--json"]).exits(3);
        let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(answer["format"], 1, "{verb}");
        let errors = answer["errors"].as_array().unwrap();
        let kinds: Vec<_> = errors.iter().map(|error| error["kind"].as_str().unwrap()).collect();
        let expected =
            ["unknown-choice", "wrong-type", "unknown-key", "unknown-name", "wrong-type"];
        assert_eq!(kinds, expected, "{verb}");
        let first = serde_json::json!({
            "kind": "unknown-choice", "file": file, "line": 5, "column": 12, "text": "\"door\"",
            "message": "`door` is not a routing strategy", "help": "did you mean `dor`?",
        });
        assert_eq!(errors[0], first, "{verb}");
    }
}

#[test]
fn with_json_what_is_wrong_as_a_whole_is_an_object_too() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("tresse.lock");
    std::fs::write(&lock, "format = 9\n").unwrap();
    let lock = lock.to_str().unwrap();
    for (args, says) in [
        (&["check", "configs/none.toml", "--json"][..], "cannot read configs/none.toml"),
        (&["plan", "configs/torus16.toml", "--lock", lock, "--json"], "lock format 9 is not 1"),
    ] {
        let ran = tresse(args).exits(3);
        let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(answer["errors"][0]["kind"], "file", "{args:?}");
        assert!(answer["errors"][0]["message"].as_str().unwrap().contains(says), "{args:?}");
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
    let ran = tresse(["check", "configs/torus61.toml"]).exits(3);
    assert!(ran.stderr.contains("did you mean configs/torus16.toml?"), "{}", ran.stderr);
    tresse(["check", "configs/torus16.toml", "--lock", "configs/nothing.lock"]).exits(3);
    tresse(["check", "configs/torus16.toml", "--lock", "Makefile"]).exits(3);
}

#[test]
fn nothing_that_others_wrote_steers_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.toml");
    let text = "[fabric]\nname = \"t\\u001b[31m\\u0007\"\n\"\\u001b[5mkey\" = 1\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let steered = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    for args in [
        &["check", file][..],
        &["check", "no\u{1b}[2Jfile"],
        &["plan", "configs/torus16.toml", "--node", "n\u{1b}[31m"],
        &["trace", "configs/torus16.toml", "n\u{1b}[31m", "n01"],
    ] {
        let ran = tresse(args);
        assert!(ran.stderr.contains("\\u{1b}["), "{args:?}: {}", ran.stderr);
        assert!(!steered(&ran.stderr) && !steered(&ran.stdout), "{args:?}: {:?}", ran.stderr);
    }
}
