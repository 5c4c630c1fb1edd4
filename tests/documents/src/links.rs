//! Checks that links between documents, and paths under `docs/` that code names, lead to existing files
//! and headings.

use crate::fault::Fault;
use crate::markdown::{headings, links};
use crate::source::{self, Source};
use crate::words::words;

/// Returns a fault for every link in a document, and for every path under `docs/` named in code, whose
/// file or heading does not exist.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for source in sources {
        let mut judge = |line, target: &str, path: Option<String>| {
            let message = match path {
                None => format!("{target}: leads out of the repository"),
                Some(path) => match missing(sources, &path, target) {
                    None => return,
                    Some(what) => format!("{target}: {what}"),
                },
            };
            faults.push(Fault { path: source.path.clone(), line, message });
        };
        if source.path.ends_with(".md") {
            for (line, target) in links(&source.text) {
                if !target.contains("://") && !target.starts_with("mailto:") {
                    let path = resolve(&source.path, target.split('#').next().unwrap());
                    judge(line, &target, path);
                }
            }
        }
        for word in words(&source.text) {
            if let Some(target) = named(word.core) {
                judge(word.line, target, Some(target.split('#').next().unwrap().to_owned()));
            }
        }
    }
    faults
}

/// `docs/x.md` and `docs/x.md#y`, alone or within a longer word.
fn named(word: &str) -> Option<&str> {
    let inner = &word[word.find("docs/")?..];
    let end = inner.find(".md")? + ".md".len();
    let rest = &inner[end..];
    if word.contains("](") || word.contains("://") || inner[..end].contains(['*', '<', '{']) {
        return None;
    }
    let anchor = rest.starts_with('#').then(|| {
        let of_anchor = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '#');
        rest.find(|c| !of_anchor(c)).unwrap_or(rest.len())
    });
    Some(&inner[..end + anchor.unwrap_or(0)])
}

/// The path that a link of a document means; `None` where it leads out of the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<_> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn missing(sources: &[Source], path: &str, target: &str) -> Option<String> {
    let Some((_, anchor)) = target.split_once('#') else {
        return (!source::root().join(path).exists()).then(|| "no such file".to_owned());
    };
    let Some(document) = source::find(sources, path) else {
        return Some("no such document".to_owned());
    };
    let there = headings(&document.text).iter().any(|h| h.anchor == anchor);
    (!there).then(|| format!("{path} has no heading with the anchor {anchor}"))
}

#[test]
fn a_link_to_nothing_is_named_with_its_line() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let sources = [
        source("docs/a.md", "# A\n\n[b](b.md#b) [c](b.md#c) [d](no.md) [e](../../f) [g](#a)\n"),
        source("docs/b.md", "# B\n"),
        source("x.rs", "//! See docs/b.md#b and\n//! `docs/b.md#x`.\n"),
    ];
    let found: Vec<_> = check(&sources).into_iter().map(|f| (f.path, f.line, f.message)).collect();
    let expected = [
        ("docs/a.md", 3, "b.md#c: docs/b.md has no heading with the anchor c"),
        ("docs/a.md", 3, "no.md: no such file"),
        ("docs/a.md", 3, "../../f: leads out of the repository"),
        ("x.rs", 2, "docs/b.md#x: docs/b.md has no heading with the anchor x"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((found.0.as_str(), found.1, found.2.as_str()), expected);
    }
}
