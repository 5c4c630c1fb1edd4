//! Checks that the files, packages, cargo examples and make targets named in documents exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::fault::Fault;
use crate::source::{self, Source};
use crate::words::{Word, words};

/// Folders of the root in which named files are looked for.
const FOLDERS: [&str; 7] =
    ["crates/", "cli/", "daemon/", "tests/", "configs/", "systemd/", "fuzz/"];

/// Folders of packages, and names of examples.
type Examples = BTreeSet<(String, String)>;

/// Returns a fault for every file, package, cargo example and make target that a document names and that
/// does not exist.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let packages = packages(sources);
    let examples = examples(sources);
    let targets = source::find(sources, "Makefile").map_or_else(BTreeSet::new, targets);
    let named = Named { packages, examples, targets };
    let mut faults = Vec::new();
    for document in sources.iter().filter(|s| s.path.ends_with(".md") && s.path != "CHANGELOG.md") {
        let found = words(&document.text);
        for (at, word) in found.iter().enumerate() {
            if let Some(message) = named.missing(&found[at..]) {
                let path = document.path.clone();
                faults.push(Fault { path, line: word.line, message });
            }
        }
    }
    faults
}

/// What there is.
struct Named {
    packages: BTreeMap<String, String>,
    examples: Examples,
    targets: BTreeSet<String>,
}

impl Named {
    /// What is wrong with a command or file that begins with the first of these words.
    fn missing(&self, words: &[Word<'_>]) -> Option<String> {
        let (word, next) = (&words[0], words.get(1).map_or("", |w| w.core));
        let option = word.raw.trim_start_matches('`').starts_with('-');
        match word.core {
            "p" | "package" if option && next.starts_with("tresse") => {
                let example = match words.get(2..4) {
                    Some([option, name]) if option.raw == "--example" => Some(name.core),
                    _ => None,
                };
                unknown(next, example, &self.packages, &self.examples)
            }
            "make" if word.raw.starts_with('`') && next.chars().all(char::is_alphabetic) => {
                (!self.targets.contains(next)).then(|| format!("make {next}: no such target"))
            }
            core => missing(core, &self.examples),
        }
    }
}

/// What is wrong with a package and an example of it.
fn unknown(
    package: &str,
    example: Option<&str>,
    packages: &BTreeMap<String, String>,
    examples: &Examples,
) -> Option<String> {
    let Some(folder) = packages.get(package) else {
        return Some(format!("{package}: no such package"));
    };
    let name = example?;
    let there = examples.contains(&(folder.clone(), name.to_owned()));
    (!there).then(|| format!("{name}: no such example of {package}"))
}

fn missing(core: &str, examples: &Examples) -> Option<String> {
    if let Some(name) = core.strip_prefix("target/release/examples/") {
        let there = examples.iter().any(|(_, example)| example == name);
        return (!there).then(|| format!("{name}: no such example"));
    }
    let pattern = core.contains(['*', '{', '<', '$', '`', '|']);
    let placeholder = core.contains("NAME") || core.contains("VERB");
    let named = FOLDERS.iter().any(|folder| core.starts_with(folder) && core != *folder);
    if pattern || placeholder || !named || core.contains("://") {
        return None;
    }
    (!source::root().join(core).exists()).then(|| format!("{core}: no such file"))
}

/// Names of packages, and their folders.
fn packages(sources: &[Source]) -> BTreeMap<String, String> {
    let named = sources.iter().filter_map(|source| {
        let folder = source.path.strip_suffix("/Cargo.toml")?;
        let (_, rest) = source.text.split_once("[package]\nname = \"")?;
        Some((rest.split('"').next()?.to_owned(), folder.to_owned()))
    });
    named.collect()
}

/// Folders of packages, and the names of their examples.
fn examples(sources: &[Source]) -> Examples {
    let named = sources.iter().filter_map(|source| {
        let (folder, rest) = source.path.split_once("/examples/")?;
        let name = rest.strip_suffix("/main.rs").or(rest.strip_suffix(".rs"))?;
        Some((folder.to_owned(), name.to_owned()))
    });
    named.collect()
}

/// Targets of the Makefile.
fn targets(makefile: &Source) -> BTreeSet<String> {
    let rules = makefile.text.lines().filter_map(|line| line.split_once(':'));
    rules.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn what_a_document_names_wrongly_is_named() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let document = "`make check` and `make no`; `cargo run -p tresse-a --example b`\n\
                    `cargo run -p tresse-c`, `-p tresse-a --example d`; tests/no.sh and `cli/src/VERB.rs`,\n\
                    target/release/examples/e, daemon/Cargo.toml\n";
    let sources = [
        source("docs/x.md", document),
        source("Makefile", "check: ## all\n"),
        source("a/Cargo.toml", "[package]\nname = \"tresse-a\"\n"),
        source("a/examples/b.rs", ""),
    ];
    let found: Vec<_> = check(&sources).into_iter().map(|f| (f.line, f.message)).collect();
    let expected = [
        (1, "make no: no such target"),
        (2, "tresse-c: no such package"),
        (2, "d: no such example of tresse-a"),
        (2, "tests/no.sh: no such file"),
        (3, "e: no such example"),
    ];
    assert_eq!(found, expected.map(|(line, message)| (line, message.to_owned())));
}
