//! Checks that the files, packages, cargo examples, make targets and verbs of `tresse` named in documents
//! and comments exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::comments::comments;
use crate::fault::Fault;
use crate::source::{self, Source};
use crate::verbs::{self, verbs};
use crate::words::{Word, words};

/// Folders of the root in which named files are looked for.
const FOLDERS: [&str; 8] =
    ["crates/", "cli/", "daemon/", "tests/", "configs/", "systemd/", "fuzz/", "docs/"];

/// What programs of the project make, and no commit has.
const MADE: [&str; 2] = ["fuzz/corpus", "fuzz/artifacts"];

/// Folders of packages, and names of examples.
type Examples = BTreeSet<(String, String)>;

/// Returns a fault for every file, package, cargo example, make target and verb of `tresse` that a
/// document or a comment names and that does not exist.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let packages = packages(sources);
    let examples = examples(sources);
    let targets = source::find(sources, "Makefile").map_or_else(BTreeSet::new, targets);
    let named = Named { packages, examples, targets, verbs: verbs(sources) };
    let mut faults = Vec::new();
    for source in sources.iter().filter(|s| s.path != "CHANGELOG.md") {
        let mut fault = |line, message| {
            faults.push(Fault { path: source.path.clone(), line, message });
        };
        let text = comments(&source.path, &source.text);
        let found = words(&text);
        let folders = named.packages.values().filter(|f| source.path.starts_with(*f));
        let package = folders.max_by_key(|folder| folder.len()).map_or("", String::as_str);
        for (at, word) in found.iter().enumerate() {
            if let Some(message) = named.missing(&found[at..], package) {
                fault(word.line, message);
            }
        }
        let blocks = source.path.ends_with(".md").then(|| verbs::in_blocks(&source.text));
        for (line, program, argument) in blocks.unwrap_or_default() {
            if let Some(message) = named.no_command(program, argument) {
                fault(line, message);
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
    verbs: BTreeSet<String>,
}

impl Named {
    /// What is wrong with a command or file that begins with the first of these words, in a file of the
    /// package with this folder.
    fn missing(&self, words: &[Word<'_>], package: &str) -> Option<String> {
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
            program @ ("make" | "tresse") if word.raw == format!("`{program}") => {
                verbs::lower(next).then(|| self.no_command(program, next))?
            }
            core => missing(core, package, &self.examples),
        }
    }

    /// What is wrong with `make TARGET` or `tresse VERB`.
    fn no_command(&self, program: &str, argument: &str) -> Option<String> {
        let (all, kind) = match program {
            "make" => (&self.targets, "target"),
            _ => (&self.verbs, "verb"),
        };
        (!all.contains(argument)).then(|| format!("{program} {argument}: no such {kind}"))
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

fn missing(core: &str, package: &str, examples: &Examples) -> Option<String> {
    if let Some(name) = core.strip_prefix("target/release/examples/") {
        let there = examples.iter().any(|(_, example)| example == name);
        return (!there).then(|| format!("{name}: no such example"));
    }
    let pattern = core.contains(['*', '{', '<', '$', '`', '|']);
    let placeholder = core.contains("NAME") || core.contains("VERB");
    let named = FOLDERS.iter().any(|folder| core.starts_with(folder) && core != *folder);
    let made = MADE.iter().any(|made| core.starts_with(made));
    if pattern || placeholder || made || !named || core.contains("://") {
        return None;
    }
    // Code names files of its own package from there.
    let places = [source::root().join(core), source::root().join(package).join(core)];
    (!places.iter().any(|path| path.exists())).then(|| format!("{core}: no such file"))
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
                    target/release/examples/e, daemon/Cargo.toml; `tresse status` and `tresse stat`\n\
                    ```\n$ tresse status\n$ sudo tresse --json stats && make check\nmake nope\n```\n";
    let code = "//! `make check`, daemon/Cargo.toml, `tresse status`, src/lib.rs of fuzz/corpus/x\n\
                let no = \"tests/nope.sh\"; // tests/nope.sh, docs/nope.md, docs/design.md\n\
                /// `make nope`, `tresse nope`, \"tests/documents\"\n";
    let script = "# Runs tests/nope.sh\ntests/nope2.sh # `make nope`\n";
    let verbs = "const GROUPS: [\n(\"Look\", &[\"status\"]),\n];\n";
    let sources = [
        source("docs/x.md", document),
        source("Makefile", "check: ## all\n"),
        source("a/Cargo.toml", "[package]\nname = \"tresse-a\"\n"),
        source("a/examples/b.rs", ""),
        source("cli/src/help.rs", verbs),
        source("a/src/lib.rs", code),
        source("a/run.sh", script),
    ];
    let found: Vec<_> = check(&sources).into_iter().map(|f| (f.path, f.line, f.message)).collect();
    let expected = [
        ("docs/x.md", 1, "make no: no such target"),
        ("docs/x.md", 2, "tresse-c: no such package"),
        ("docs/x.md", 2, "d: no such example of tresse-a"),
        ("docs/x.md", 2, "tests/no.sh: no such file"),
        ("docs/x.md", 3, "e: no such example"),
        ("docs/x.md", 3, "tresse stat: no such verb"),
        ("docs/x.md", 6, "tresse stats: no such verb"),
        ("docs/x.md", 7, "make nope: no such target"),
        ("a/src/lib.rs", 2, "tests/nope.sh: no such file"),
        ("a/src/lib.rs", 2, "docs/nope.md: no such file"),
        ("a/src/lib.rs", 3, "make nope: no such target"),
        ("a/src/lib.rs", 3, "tresse nope: no such verb"),
        ("a/run.sh", 1, "tests/nope.sh: no such file"),
        ("a/run.sh", 2, "make nope: no such target"),
    ];
    assert_eq!(found, expected.map(|(path, line, m)| (path.to_owned(), line, m.to_owned())));
}
