//! Whether `make test` runs every test program of the workspace.

use std::fs;

use tresse_structure::Workspace;

/// The scripts of `make test`.
const SCRIPTS: [&str; 2] = ["tests/test.sh", "tests/vm.sh"];

#[test]
fn make_test_runs_every_test_program() {
    let workspace = Workspace::load();
    let scripts = SCRIPTS.map(|script| {
        fs::read_to_string(workspace.root.join(script)).expect("a script of `make test`")
    });
    let words: Vec<&str> = scripts.iter().flat_map(|text| text.split_whitespace()).collect();
    let runs = |argument: &str| {
        let argument: Vec<&str> = argument.split(' ').collect();
        words.windows(argument.len()).any(|at| at == argument)
    };
    assert!(runs("--lib"), "{SCRIPTS:?} do not run the unit tests of the libraries");
    let targets = workspace.packages.iter().flat_map(|package| &package.tests);
    let missing: Vec<&String> = targets.filter(|target| !runs(target)).collect();
    assert!(missing.is_empty(), "{SCRIPTS:?} do not run {missing:?}");
}
