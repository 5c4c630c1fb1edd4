//! Finds the verbs of `tresse` in its help text, and commands in documents and comments.

use std::collections::BTreeSet;

use crate::markdown::code;
use crate::source::{self, Source};
use crate::words::{Word, words};

/// The source file with the groups of verbs in `tresse --help`.
const HELP: &str = "cli/src/help.rs";

/// The source file with the enum of all verbs, also of those that the help text hides.
const ALL: &str = "cli/src/verbs.rs";

/// Returns the verbs of `tresse`. The source of the help text lists them, in quotation marks, under the
/// capitalised names of their groups; an enum has those that the help text hides too.
pub fn verbs(sources: &[Source]) -> BTreeSet<String> {
    let text = |path| source::find(sources, path).map_or("", |s| s.text.as_str());
    let groups = text(HELP).split("GROUPS").nth(1).and_then(|t| t.split("];").next());
    let quoted = groups.unwrap_or("").split('"').skip(1).step_by(2);
    let listed = quoted.filter(|name| lower(name)).map(str::to_owned);
    let all = text(ALL).split("enum Verb {").nth(1).and_then(|t| t.split("\n}").next());
    listed.chain(all.unwrap_or("").lines().filter_map(variant)).collect()
}

/// `ring-member` of `    RingMember(files::RingMember),`.
fn variant(line: &str) -> Option<String> {
    let name = line.strip_prefix("    ")?.split(['(', ',', ' ']).next()?;
    let capital = name.starts_with(|c: char| c.is_ascii_uppercase());
    let mut verb = String::new();
    for c in capital.then_some(name)?.chars() {
        if c.is_ascii_uppercase() && !verb.is_empty() {
            verb.push('-');
        }
        verb.push(c.to_ascii_lowercase());
    }
    Some(verb)
}

/// Returns the program and the first argument of each command `tresse VERB` or `make TARGET` in the code
/// blocks of a Markdown text, with its line. Options before the verb are skipped.
pub fn in_blocks(text: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    for (line, written) in code(text) {
        let words = words(written);
        for at in 0..words.len() {
            let program = words[at].raw;
            if !matches!(program, "tresse" | "make") || !begins(&words[..at]) {
                continue;
            }
            let argument = words[at + 1..].iter().find(|w| !w.raw.starts_with('-'));
            if let Some(argument) = argument.filter(|w| lower(w.raw)) {
                found.push((line, program, argument.raw));
            }
        }
    }
    found
}

/// Does a command begin after these words of a line?
fn begins(before: &[Word<'_>]) -> bool {
    let Some(last) = before.last() else { return true };
    let between = ["$", "#", "sudo", "&&", "||", "|", ";", "--", "!", "then", "do", "if", "exec"];
    between.contains(&last.raw) || last.raw.ends_with(';') || last.raw.contains('=')
}

/// Letters and dashes alone, none of them a capital.
pub fn lower(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[test]
fn commands_of_code_blocks_are_found_with_their_first_argument() {
    let text = "tresse none\n```\n$ sudo tresse --json status && make no-such\ntresse plan FILE # tresse x\n\
                usermod -aG tresse alice\ntresse VERB\nA=1 make check\n```\n";
    let expected = [
        (3, "tresse", "status"),
        (3, "make", "no-such"),
        (4, "tresse", "plan"),
        (4, "tresse", "x"),
        (7, "make", "check"),
    ];
    assert_eq!(in_blocks(text), expected);
}

#[test]
fn verbs_are_read_from_the_groups() {
    let text = "pub const GROUPS: [(&str, &[&str]); 1] = [\n(\"Plan\", &[\"plan\", \"check\"]),\n\
                (\"Move files\", &[\"copy\"]),\n];\nlet x = \"no\";\n";
    let hidden = "pub enum Verb {\n    /// Hidden.\n    #[command(hide = true)]\n    RingMember(x::Y),\n\
                  }\nfn f() {\n    No(1)\n}\n";
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let found = verbs(&[source(HELP, text), source(ALL, hidden)]);
    let expected = ["check", "copy", "plan", "ring-member"];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}
