//! Names of other machines as a cluster file can have them.

use std::collections::BTreeSet;

use tresse_cluster::NAME_BYTES;

/// The text without characters that end a comment or act on a terminal.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Returns the text as a name that is valid in the cluster file.
pub(super) fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let name: String =
        name.chars().map(|c| if fits(c) { c } else { '-' }).take(NAME_BYTES).collect();
    match name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => name,
        false => format!("x{}", &name[..name.len().min(NAME_BYTES - 1)]),
    }
}

/// Returns the name, with a number appended if the name is taken.
pub(super) fn fresh(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    let numbered = (2..).map(|k| {
        let end = format!("-{k}");
        format!("{}{end}", &name[..name.len().min(NAME_BYTES - end.len())])
    });
    numbered.into_iter().find(|name| !taken.contains(name)).expect("numbers do not end")
}
