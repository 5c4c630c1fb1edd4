//! Checks which crate of the workspace imports which, by the table of docs/design.md, section "Layout".
//!
//! A crate may import the crates that its line in the table names, and those that these may import.
//! Dev-dependencies are free, since cargo refuses circles through them. But no crate that plans may use
//! the verifier that checks its plans: no file under `src` of such a crate may name the verifier, unit
//! tests included.

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
    ("topology", &["base"]),
    ("cluster", &["topology"]),
    ("routing", &["topology"]),
    ("plan", &["routing"]),
    ("slice", &["plan", "reconcile"]),
    ("verify", &["plan"]),
    ("export", &["slice"]),
    ("liveness", &["frame"]),
    ("engine", &["slice", "liveness", "control"]),
    ("linux", &["reconcile", "liveness"]),
    ("sim", &["plan"]),
    ("ring", &["plan"]),
    ("lab", &["cluster", "export", "control", "frame"]),
    ("tressed", &["cluster", "verify", "engine", "linux"]),
    ("tresse", &["design", "verify", "liveness", "sim", "ring", "lab"]),
    ("tests", &["tresse", "tressed"]),
    ("fuzz", &["tressed", "ring"]),
    ("namespace", &[]),
    ("structure", &[]),
    ("documents", &[]),
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
        let allowed = allowed(name);
        for dependency in normal(package) {
            if !allowed.contains(short(&dependency.name)) {
                let list: Vec<&str> = allowed.iter().copied().collect();
                found.push(format!(
                    "{} may not depend on {}, only on: {}",
                    package.name,
                    dependency.name,
                    list.join(" ")
                ));
            }
        }
        if PLANNERS.contains(&name) {
            found.extend(naming_the_verifier(&package.directory.join("src")));
        }
    }
    found
}

/// Returns a line of text for each package with dev-dependencies on other members of the workspace. It
/// only informs: no rule applies to dev-dependencies.
pub fn dev_dependencies(workspace: &Workspace) -> Vec<String> {
    let of = |package: &Package| {
        let dev = package.dependencies.iter().filter(|d| d.kind == DependencyKind::Dev);
        let names: Vec<&str> = dev.map(|dependency| dependency.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{}: {}", package.name, names.join(" ")))
    };
    workspace.packages.iter().filter_map(of).collect()
}

fn normal(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal)
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

    #[test]
    fn nothing_that_plans_may_import_the_verifier() {
        for planner in PLANNERS {
            assert!(!allowed(planner).contains("verify"), "{planner}");
        }
        assert!(allowed("tressed").contains("verify"));
        assert!(!allowed("verify").contains("routing") && allowed("verify").contains("topology"));
    }
}
