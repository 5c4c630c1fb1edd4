//! The documents and source files of the repository that are checked for faults such as dead citations.

use std::fs;
use std::path::{Path, PathBuf};

/// A document or source file that is checked: its path and its text.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Folders whose text was written by programs or by others, and this check.
const LEFT_OUT: [&str; 8] = [
    "target",
    "tests/golden",
    "tests/broken",
    "cli/tests/golden",
    "fuzz/seeds",
    "fuzz/corpus",
    "fuzz/artifacts",
    // The examples of wrong citations.
    "tests/documents/src",
];

/// How names of judged files end.
const ENDINGS: [&str; 8] = [".rs", ".sh", ".md", ".toml", ".py", ".yml", ".network", "Makefile"];

/// Folders of which all files are judged, however their names end.
const WHOLE: [&str; 3] = [".ci/", "docs/man/", "systemd/"];

/// Returns the root directory of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package is tests/documents").to_owned()
}

/// Reads all documents and source files of the repository that are checked, and returns them sorted by
/// path.
pub fn all() -> Vec<Source> {
    let mut sources = Vec::new();
    visit(&root(), "", &mut sources);
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn visit(folder: &Path, path: &str, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let hidden = name.starts_with('.') && !WHOLE.contains(&format!("{path}/").as_str());
        if hidden || LEFT_OUT.contains(&path.as_str()) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            visit(&entry.path(), &path, sources);
        } else if judged(&path) {
            let text = fs::read_to_string(entry.path()).unwrap();
            sources.push(Source { path, text });
        }
    }
}

fn judged(path: &str) -> bool {
    ENDINGS.iter().any(|ending| path.ends_with(ending))
        || WHOLE.iter().any(|folder| path.starts_with(folder))
}

/// Returns the file in `sources` that has this path from the root of the repository; `None` if there is
/// none.
pub fn find<'a>(sources: &'a [Source], path: &str) -> Option<&'a Source> {
    sources.iter().find(|source| source.path == path)
}

#[test]
fn scripts_units_and_manual_pages_are_judged_and_pictures_are_not() {
    let all = all();
    for path in [".ci/run", "Makefile", "docs/man/tressed.8", "systemd/tressed.service"] {
        assert!(find(&all, path).is_some(), "{path}");
    }
    for path in ["systemd/debian/postinst", "x/a.py", "x/b.yml", "x/c.network", "x/d.toml"] {
        assert!(judged(path), "{path}");
    }
    for path in ["docs/pictures/overview.svg", "LICENSE-MIT", "Cargo.lock"] {
        assert!(!judged(path), "{path}");
    }
}
