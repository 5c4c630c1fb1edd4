//! Checks how many lines a crate and a file have. Blank lines and comments count.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

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

/// Counts the lines of a package without its tests and examples: those of the source files below `src`. A
/// file that belongs to several of its programs counts once.
pub fn lines<'a>(package: &Package, sources: impl Iterator<Item = (&'a Path, &'a Crate)>) -> usize {
    let mut files: HashMap<_, usize> = HashMap::new();
    for (root, source) in sources {
        for file in &source.files {
            files.insert(root.with_file_name(&file.name), file.lines);
        }
    }
    files.retain(|file, _| file.starts_with(package.directory.join("src")));
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

/// Returns the source files below `root` that bring in the code of another file by `include!`, whose lines
/// and arrows the checks would not see.
pub fn including(root: &Path) -> Vec<String> {
    let includes = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.contains("include") && text.parse::<TokenStream>().is_ok_and(has_include)
    };
    let name = |file: PathBuf| file.strip_prefix(root).unwrap_or(&file).display().to_string();
    rust_files(root).into_iter().filter(includes).map(name).collect()
}

/// Whether `include !` stands in the tokens.
fn has_include(tokens: TokenStream) -> bool {
    let mut named = false;
    tokens.into_iter().any(|token| {
        let before = std::mem::take(&mut named);
        match token {
            TokenTree::Ident(name) => named = name == "include",
            TokenTree::Punct(mark) if before && mark.as_char() == '!' => return true,
            TokenTree::Group(group) => return has_include(group.stream()),
            _ => {}
        }
        false
    })
}

#[test]
fn code_of_another_file_is_found_and_texts_are_not() {
    let has = |text: &str| has_include(text.parse().unwrap());
    assert!(has("mod a { include!(\"a.rs\"); }") && has("fn f() { std::include ! (\"a.rs\") }"));
    assert!(
        !has("const A: &str = include_str!(\"a.rs\"); // include!") && !has("let include = !x;")
    );
}
