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
const ENDINGS: [&str; 9] =
    [".rs", ".sh", ".md", ".toml", ".service", ".conf", ".rules", ".catalog", "Makefile"];

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
        if name.starts_with('.') || LEFT_OUT.contains(&path.as_str()) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            visit(&entry.path(), &path, sources);
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            let text = fs::read_to_string(entry.path()).unwrap();
            sources.push(Source { path, text });
        }
    }
}

/// Returns the file in `sources` that has this path from the root of the repository; `None` if there is
/// none.
pub fn find<'a>(sources: &'a [Source], path: &str) -> Option<&'a Source> {
    sources.iter().find(|source| source.path == path)
}
