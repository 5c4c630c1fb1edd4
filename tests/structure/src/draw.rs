//! Draws public items and modules at random for a test of the doc comments: a reader who has never
//! seen this project reads each once and says in one sentence what it is or does. A comment that
//! fails is rewritten.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, Visibility};

use crate::workspace::Workspace;

/// A public item or module that was drawn, with its doc comment.
pub struct Drawn {
    /// Where it stands: `crates/plan/src/lock.rs: struct Lock`.
    pub place: String,
    /// Its doc comment.
    pub text: String,
}

/// Returns `count` public items and modules of the workspace, drawn at random, with their doc comments.
/// The same sources and the same `seed` give the same items.
///
/// # Panics
/// If a source file is not Rust.
pub fn draw(workspace: &Workspace, count: usize, seed: u64) -> Vec<Drawn> {
    let mut all = Vec::new();
    for package in &workspace.packages {
        let source = package.directory.join("src");
        for file in files(&source) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let parsed = syn::parse_file(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let name = file.strip_prefix(&workspace.root).unwrap_or(&file).display().to_string();
            all.push(Drawn { place: format!("{name}: the module"), text: docs(&parsed.attrs) });
            let public = parsed.items.iter().filter_map(named);
            all.extend(public.map(|(what, text)| Drawn { place: format!("{name}: {what}"), text }));
        }
    }
    all.retain(|drawn| !drawn.text.is_empty());
    // Fisher and Yates, as far as is needed, with the generator of Marsaglia (xorshift64).
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).expect("below the limit")
    };
    for at in 0..count.min(all.len()) {
        let other = at + next(all.len() - at);
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// The Rust files of a folder, sorted, without tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            found.extend(files(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Kind, name and doc comment of a public item.
fn named(item: &Item) -> Option<(String, String)> {
    let (visibility, kind, name, attributes) = match item {
        Item::Struct(item) => (&item.vis, "struct", &item.ident, &item.attrs),
        Item::Enum(item) => (&item.vis, "enum", &item.ident, &item.attrs),
        Item::Fn(item) => (&item.vis, "fn", &item.sig.ident, &item.attrs),
        Item::Trait(item) => (&item.vis, "trait", &item.ident, &item.attrs),
        Item::Const(item) => (&item.vis, "const", &item.ident, &item.attrs),
        Item::Type(item) => (&item.vis, "type", &item.ident, &item.attrs),
        _ => return None,
    };
    matches!(visibility, Visibility::Public(_))
        .then(|| (format!("{kind} {name}"), docs(attributes)))
}

fn docs(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(value) if value.path.is_ident("doc") => match &value.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    lines.join("\n").trim().to_owned()
}
