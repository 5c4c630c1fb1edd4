//! Every kind of problem is shown by one of the broken files of `tests/broken`, or by a broken dump.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tresse_verify::lfts::Dump;

#[test]
fn every_kind_of_problem_has_a_broken_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/broken");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_files = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).map(|path| {
        let bytes = fs::read(&path).unwrap();
        let parsed =
            tresse_cluster::text_of(&bytes, "f").and_then(|t| tresse_cluster::parse(t, "f"));
        parsed.expect_err(&path.display().to_string())
    });
    // Dumps of other programs have problems of their own.
    let of_dumps = ["", "nonsense"].map(|dump| Dump::parse(dump, "dump").unwrap_err());
    let seen: BTreeSet<_> = of_files
        .chain(of_dumps)
        .flat_map(|problems| problems.problems)
        .map(|problem| serde_json::to_string(&problem.kind).unwrap())
        .collect();
    let source = include_str!("../../base/src/problem.rs");
    let (_, body) = source.split_once("pub enum ProblemKind {").unwrap();
    let kinds = body.split_once("\n}").unwrap().0.lines().filter(|l| l.trim().ends_with(','));
    assert_eq!(seen.len(), kinds.count(), "{seen:?}");
}
