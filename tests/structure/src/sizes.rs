//! Checks how many lines a crate and a file have. Blank lines and comments count.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use crate::layers::rust_files;
use crate::source::Crate;
use crate::workspace::Package;

/// The largest number of lines of a source file, tests included.
pub const FILE_LIMIT: usize = 600;

/// Returns the largest number of lines that the package of this name may have, without its tests; `None`
/// for packages that consist of tests.
pub fn limit(package: &str) -> Option<usize> {
    match package {
        "tresse-tests" => None,
        "tresse" => Some(14_000),
        _ => Some(9_000),
    }
}

/// Counts the lines of a package without its tests: those of all source files of its library and
/// programs. A file that belongs to several of them counts once.
pub fn lines<'a>(package: &Package, sources: impl Iterator<Item = (&'a Path, &'a Crate)>) -> usize {
    let mut files: HashMap<_, usize> = HashMap::new();
    for (root, source) in sources {
        for file in &source.files {
            files.insert(root.with_file_name(&file.name), file.lines);
        }
    }
    files.retain(|file, _| file.starts_with(&package.directory));
    files.values().sum()
}

/// Returns the source files below `root` with more than [`FILE_LIMIT`] lines: path and number of lines
/// of each.
pub fn long_files(root: &Path) -> BTreeMap<String, usize> {
    let count = |file: &Path| fs::read_to_string(file).map_or(0, |text| text.lines().count());
    rust_files(root)
        .into_iter()
        .map(|file| (file.strip_prefix(root).unwrap_or(&file).display().to_string(), count(&file)))
        .filter(|(_, lines)| *lines > FILE_LIMIT)
        .collect()
}
