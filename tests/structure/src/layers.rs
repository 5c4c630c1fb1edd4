//! Checks which crate of the workspace imports which, by the table of docs/design.md, section "Layout".
//!
//! A crate may import the crates that its line in the table names, and those that these may import.
//! Dev-dependencies may lead upwards only where a second list says so: cargo accepts circles through them.
//! Dependencies count by the name of the package, whatever name a `Cargo.toml` gives them. No crate that
//! plans may use the verifier that checks its plans: no file under `src` of such a crate may name the
//! verifier, unit tests included.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use crate::workspace::{Dependency, DependencyKind, Package, Workspace};

/// From the lowest to the highest. Names without `tresse-`.
const TABLE: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("frame", &["base"]),
    ("reconcile", &["base"]),
    ("control", &["base"]),
    ("design", &["base"]),
    ("plot", &[]),
    ("detours", &[]),
    ("topology", &["base"]),
    ("cluster", &["topology"]),
    ("routing", &["topology"]),
    ("plan", &["routing"]),
    ("slice", &["plan", "reconcile"]),
    ("verify", &["plan"]),
    ("ring", &["plan"]),
    ("export", &["slice", "ring"]),
    ("mapping", &["cluster", "plan", "control"]),
    ("switches", &["mapping"]),
    ("liveness", &["frame"]),
    ("health", &["slice", "control"]),
    ("doctor", &["slice", "control", "verify"]),
    ("engine", &["slice", "liveness", "control", "detours"]),
    ("linux", &["reconcile", "liveness"]),
    ("sim", &["plan"]),
    ("probe", &["plan"]),
    ("mpi", &["cluster", "control", "ring"]),
    ("lab", &["cluster", "export", "control", "frame"]),
    ("tressed", &["cluster", "verify", "engine", "linux"]),
    (
        "tresse",
        &[
            "design", "plot", "verify", "liveness", "health", "doctor", "probe", "sim", "ring",
            "lab", "switches",
        ],
    ),
    ("tests", &["tresse", "tressed"]),
    ("fuzz", &["tressed", "ring", "mapping", "probe", "mpi"]),
    ("namespace", &[]),
    ("structure", &[]),
    ("documents", &[]),
];

/// What the tests of a crate import beside what the crate may import.
const TESTS: &[(&str, &[&str])] = &[
    ("cluster", &["plan"]),
    ("routing", &["design"]),
    ("slice", &["cluster"]),
    ("health", &["cluster"]),
    ("verify", &["cluster", "reconcile", "routing", "slice"]),
    ("export", &["cluster"]),
    ("detours", &["base"]),
    ("engine", &["cluster"]),
    ("linux", &["topology", "plan", "slice", "export", "namespace"]),
    ("sim", &["cluster"]),
    ("ring", &["cluster"]),
    ("tressed", &["namespace"]),
];

/// What a line of the table allows and is wrong nevertheless.
const FORBIDDEN: &[(&str, &str)] = &[("verify", "routing")];

/// Crates whose results `verify` judges.
const PLANNERS: &[&str] = &["design", "topology", "cluster", "routing", "plan", "slice"];

/// Returns a message for each import between crates that the table of layers does not allow, for each
/// crate that the table lacks, and for each source file of a planning crate that names the verifier.
pub fn problems(workspace: &Workspace) -> Vec<String> {
    let mut found = Vec::new();
    for package in &workspace.packages {
        let name = short(&package.name);
        if !TABLE.iter().any(|(known, _)| *known == name) {
            found.push(format!(
                "{} is not in the table of tests/structure/src/layers.rs: add what it may import",
                package.name
            ));
            continue;
        }
        found.extend(not_allowed(package));
        if PLANNERS.contains(&name) {
            found.extend(naming_the_verifier(&package.directory.join("src")));
        }
    }
    found
}

/// A message for each dependency of `package` that neither the table nor, for its tests, the list of what
/// tests import allows; and one for each entry of that list that it does not use.
fn not_allowed(package: &Package) -> Vec<String> {
    let name = short(&package.name);
    let allowed = allowed(name);
    let tests = TESTS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, more)| more);
    let mut found = Vec::new();
    for dependency in &package.dependencies {
        let (on, dev) = (short(&dependency.name), dependency.kind == DependencyKind::Dev);
        let listed = allowed.contains(on) || dev && tests.contains(&on);
        if !listed {
            let list: Vec<&str> = allowed.iter().copied().collect();
            let (what, more) = if dev { ("tests of ", tests) } else { ("", &[][..]) };
            found.push(format!(
                "{what}{} may not depend on {}, only on: {}",
                package.name,
                dependency.name,
                [&list[..], more].concat().join(" ")
            ));
        }
    }
    let dev = |d: &Dependency, on: &str| d.kind == DependencyKind::Dev && short(&d.name) == on;
    let unused = tests.iter().filter(|on| !package.dependencies.iter().any(|d| dev(d, on)));
    found.extend(unused.map(|on| format!("{}: no test imports {on}: remove it", package.name)));
    found
}

fn short(name: &str) -> &str {
    name.strip_prefix("tresse-").unwrap_or(name)
}

/// What the crate `name` may import, by the closure of the table.
fn allowed(name: &str) -> BTreeSet<&'static str> {
    let mut allowed = BTreeSet::new();
    let mut open: Vec<&str> = vec![name];
    while let Some(at) = open.pop() {
        let line = TABLE.iter().find(|(known, _)| *known == at);
        for import in line.map_or(&[][..], |(_, imports)| imports) {
            if allowed.insert(*import) {
                open.push(import);
            }
        }
    }
    allowed.retain(|import| !FORBIDDEN.contains(&(name, import)));
    allowed
}

/// Files under `directory` in whose code the identifier `tresse_verify` stands.
fn naming_the_verifier(directory: &Path) -> Vec<String> {
    let names = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.contains("tresse_verify")
            && text.parse::<TokenStream>().is_ok_and(|tokens| has(tokens, "tresse_verify"))
    };
    rust_files(directory)
        .into_iter()
        .filter(names)
        .map(|file| {
            format!("{}: nothing that plans may name the verifier", file.display())
                + "; a test that needs it is an integration test"
        })
        .collect()
}

fn has(tokens: TokenStream, wanted: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == wanted,
        TokenTree::Group(group) => has(group.stream(), wanted),
        _ => false,
    })
}

/// All `.rs` files below `directory`, sorted; without build directories and hidden ones.
pub(crate) fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(rust_files(&path));
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_imports_what_stands_above_it() {
        for (index, (name, imports)) in TABLE.iter().enumerate() {
            for import in *imports {
                let place = TABLE.iter().position(|(known, _)| known == import);
                assert!(place.is_some_and(|place| place < index), "{name} imports {import}");
            }
        }
    }

    fn package(name: &str, on: &[(&str, DependencyKind)]) -> Package {
        let depend = |(name, kind): &(&str, DependencyKind)| Dependency {
            name: (*name).to_owned(),
            kind: *kind,
        };
        Package {
            name: name.to_owned(),
            directory: PathBuf::new(),
            roots: Vec::new(),
            tests: Vec::new(),
            dependencies: on.iter().map(depend).collect(),
            names: Vec::new(),
        }
    }

    #[test]
    fn dev_dependencies_are_judged_by_a_list() {
        use DependencyKind::{Dev, Normal};
        let found = |name, on: &[_]| not_allowed(&package(name, on));
        let passes = [("tresse-topology", Normal), ("tresse-base", Dev), ("tresse-plan", Dev)];
        assert_eq!(found("tresse-cluster", &passes), [""; 0]);
        let wrong = found("tresse-base", &[("tresse-verify", Dev)]);
        assert_eq!(wrong, ["tests of tresse-base may not depend on tresse-verify, only on: "]);
        let wrong = found("tresse-cluster", &[("tresse-plan", Normal)]);
        assert!(wrong[0].starts_with("tresse-cluster may not depend on tresse-plan, only on"));
        assert_eq!(wrong[1], "tresse-cluster: no test imports plan: remove it");
    }

    #[test]
    fn nothing_that_plans_may_import_the_verifier() {
        for planner in PLANNERS {
            assert!(!allowed(planner).contains("verify"), "{planner}");
        }
        assert!(allowed("tressed").contains("verify"));
        assert!(!allowed("verify").contains("routing") && allowed("verify").contains("topology"));
    }
}
