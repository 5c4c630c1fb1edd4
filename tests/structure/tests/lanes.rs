//! Whether `make test` runs every test program of the workspace.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tresse_structure::Workspace;

/// The scripts of `make test`.
const SCRIPTS: [&str; 2] = ["tests/test.sh", "tests/vm.sh"];

#[test]
fn make_test_runs_every_test_program() {
    let root = Workspace::load().root;
    let scripts: String = SCRIPTS
        .iter()
        .map(|script| fs::read_to_string(root.join(script)).expect("a script of `make test`"))
        .collect();
    let words: Vec<&str> = scripts.split_whitespace().collect();
    let runs = |arguments: &[&str]| words.windows(arguments.len()).any(|at| at == arguments);
    assert!(runs(&["--lib"]), "{SCRIPTS:?} do not run the unit tests of the libraries");
    let missing: Vec<String> = targets()
        .into_iter()
        .filter(|(kind, name)| !runs(&[&format!("--{kind}"), name]))
        .map(|(kind, name)| format!("--{kind} {name}"))
        .collect();
    assert!(missing.is_empty(), "{SCRIPTS:?} do not run {}", missing.join(", "));
}

/// Kind and name of each program with tests that `cargo test` builds beside the libraries'.
fn targets() -> Vec<(String, String)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let targets = packages.iter().flat_map(|package| list(&package["targets"]));
    targets
        .filter(|target| target["test"] == true)
        .map(|target| (text(&target["kind"][0]), text(&target["name"])))
        .filter(|(kind, _)| kind != "lib")
        .collect()
}
