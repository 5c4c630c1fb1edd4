//! Checks that each kernel rule in `docs/kernel-rules.md` names the tests that check it, and that these
//! tests exist.

use crate::definitions::RULES;
use crate::fault::Fault;
use crate::source::{self, Source};

/// How the paragraph with a rule's tests begins.
const HELD_BY: &str = "**Held by**";

/// Returns a fault for every kernel rule that names no test, and for every test named beside a rule that
/// no source file contains.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let document = source::find(sources, RULES).expect("the kernel rules are a document");
    let code: Vec<_> = sources.iter().filter(|s| !s.path.ends_with(".md")).collect();
    let fault = |line, message| Fault { path: RULES.to_owned(), line, message };
    let mut faults = Vec::new();
    let mut rule: Option<(usize, &str)> = None;
    let mut in_tests = false;
    for (line, written) in document.text.lines().enumerate().map(|(at, l)| (at + 1, l)) {
        if let Some(title) = written.strip_prefix("## ") {
            if let Some((line, rule)) = rule.take() {
                faults.push(fault(line, format!("{rule} names no test that holds it")));
            }
            let is_rule =
                title.starts_with('K') && title[1..].starts_with(|c: char| c.is_numeric());
            rule = is_rule.then(|| (line, title.split('.').next().expect("split gives one")));
        }
        in_tests = written.starts_with(HELD_BY) || in_tests && !written.is_empty();
        if !in_tests {
            continue;
        }
        for name in written.split('`').skip(1).step_by(2) {
            rule = None;
            let there = if name.contains('/') {
                source::root().join(name).exists()
            } else {
                code.iter().any(|s| contains(&s.text, name))
            };
            if !there {
                faults.push(fault(line, format!("{name}: no such test")));
            }
        }
    }
    faults
}

/// Does the text have the name as a word of its own?
fn contains(text: &str, name: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        !inside(text[..at].chars().next_back()) && !inside(text[at + name.len()..].chars().next())
    })
}

#[test]
fn a_test_that_is_gone_and_a_rule_without_one_are_named() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let rules = "## K1. One\n\n**Held by** `there`,\n`gone`.\n\n## K2. Two\n\n## Found\n";
    let sources = [source(RULES, rules), source("t.rs", "fn there() {} fn gone_by() {}")];
    let found: Vec<_> = check(&sources).into_iter().map(|f| (f.line, f.message)).collect();
    let expected = [(4, "gone: no such test"), (6, "K2 names no test that holds it")];
    assert_eq!(found, expected.map(|(line, message)| (line, message.to_owned())));
}
