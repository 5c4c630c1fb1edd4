//! The packages of the workspace and their dependencies on each other, from `cargo metadata`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::methods::SPREAD;
use crate::source::Crate;

/// The packages of the workspace, as `cargo metadata --no-deps` describes them.
pub struct Workspace {
    /// Directory of the root `Cargo.toml`.
    pub root: PathBuf,
    /// The members, sorted by name.
    pub packages: Vec<Package>,
}

/// One package of the workspace: its name, directory, crate roots and dependencies.
pub struct Package {
    /// Name in `Cargo.toml`.
    pub name: String,
    /// Directory of its `Cargo.toml`.
    pub directory: PathBuf,
    /// Root files of its library, of its programs, and of its tests and examples.
    pub roots: Vec<PathBuf>,
    /// Its targets with tests beside the library, as `cargo test` takes them: `--test cli`.
    pub tests: Vec<String>,
    /// Dependencies on other members, by path.
    pub dependencies: Vec<Dependency>,
    /// Names of all dependencies, those on other members included.
    pub names: Vec<String>,
}

/// A dependency of one member on another.
pub struct Dependency {
    /// The package depended on.
    pub name: String,
    /// The section of `Cargo.toml` it stands in.
    pub kind: DependencyKind,
}

/// The kind of a dependency, by its section of `Cargo.toml`: needed to build the package, or only for
/// its tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DependencyKind {
    /// `[dependencies]` or `[build-dependencies]`.
    Normal,
    /// `[dev-dependencies]`.
    Dev,
}

impl Workspace {
    /// Asks cargo for the workspace that this package belongs to.
    ///
    /// # Panics
    /// If cargo fails or answers with something else than metadata of version 1.
    pub fn load() -> Workspace {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
        let mut packages: Vec<Package> = list(&metadata["packages"]).map(Package::read).collect();
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        Workspace { root: text(&metadata["workspace_root"]).into(), packages }
    }

    /// Entries of `[workspace.dependencies]` that no member uses, which no tool reports.
    pub fn unused_entries(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join("Cargo.toml")).unwrap_or_default();
        let section = text.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
        let names = section
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name.trim())
            .filter(|name| !name.starts_with('#'));
        let used = |name: &&str| self.packages.iter().any(|p| p.names.iter().any(|n| n == name));
        names.filter(|name| !used(name)).map(str::to_owned).collect()
    }
}

impl Package {
    /// Parses the crates of this package, in the order of [`Package::roots`].
    pub fn crates(&self) -> Vec<Crate> {
        let spread = SPREAD.iter().filter(|(package, ..)| *package == self.name);
        let spread: Vec<&str> = spread.map(|(_, name, _)| *name).collect();
        self.roots.iter().map(|root| Crate::load(root, &spread)).collect()
    }

    fn read(value: &Value) -> Package {
        let is_root = |target: &&Value| {
            list(&target["kind"]).any(|kind| {
                matches!(kind.as_str(), Some("lib" | "rlib" | "bin" | "test" | "example"))
            })
        };
        Package {
            name: text(&value["name"]).to_owned(),
            directory: Path::new(text(&value["manifest_path"])).with_file_name(""),
            roots: list(&value["targets"])
                .filter(is_root)
                .map(|target| text(&target["src_path"]).into())
                .collect(),
            tests: list(&value["targets"])
                .filter(|target| target["test"] == true)
                .map(|target| (text(&target["kind"][0]), text(&target["name"])))
                .filter(|(kind, _)| !["lib", "cdylib"].contains(kind))
                .map(|(kind, name)| format!("--{kind} {name}"))
                .collect(),
            dependencies: list(&value["dependencies"])
                .filter(|dependency| !dependency["path"].is_null())
                .map(|dependency| Dependency {
                    name: text(&dependency["name"]).to_owned(),
                    kind: match dependency["kind"].as_str() {
                        Some("dev") => DependencyKind::Dev,
                        _ => DependencyKind::Normal,
                    },
                })
                .collect(),
            names: list(&value["dependencies"])
                .map(|dependency| text(&dependency["name"]).to_owned())
                .collect(),
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("metadata of version 1 has a string here")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_renamed_dependency_counts_by_the_name_of_its_package() {
        let depends =
            |path| json!({ "name": "tresse-plan", "rename": "p", "kind": "dev", "path": path });
        let package = Package::read(&json!({
            "name": "tresse-sim",
            "manifest_path": "/sim/Cargo.toml",
            "targets": [],
            "dependencies": [depends("/plan"), { "name": "serde", "rename": "s", "path": null }],
        }));
        let [dependency] = &package.dependencies[..] else { panic!("one is a member") };
        assert_eq!(
            (dependency.name.as_str(), dependency.kind == DependencyKind::Dev),
            ("tresse-plan", true)
        );
        assert_eq!(package.names, ["tresse-plan", "serde"]);
    }
}
