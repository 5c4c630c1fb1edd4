//! Collects from the project's documents what a citation can refer to: rules, numbered sections, papers
//! with their parts, titles.

use std::collections::{BTreeMap, BTreeSet};

use crate::markdown::{Heading, headings};
use crate::source::{self, Source};
use crate::words::words;

/// The path of the document that defines the kernel rules K1 to K25.
pub const RULES: &str = "docs/kernel-rules.md";
/// The path of the document to which a citation like `DESIGN section 4` refers.
pub const DESIGN: &str = "docs/design.md";
/// The path of the document that lists the cited papers, RFCs, standards and other works.
pub const REFERENCES: &str = "docs/references.md";
/// The path of the document with the house style (coding rules). Code cites its numbered rules on the
/// boundaries between parts of the program, as `house style, boundary 1`.
pub const STYLE: &str = "CONTRIBUTING.md";
/// The path of the document to which a citation of the form `operator guide, "Title"` refers.
pub const GUIDE: &str = "docs/operator-guide.md";

/// The kind of a numbered part of a paper: section, definition, theorem or table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Section,
    Definition,
    Theorem,
    Table,
}

impl Part {
    /// `section`, `Sections`, `theorems`, ...
    pub fn of(word: &str) -> Option<Self> {
        Some(match word.to_lowercase().strip_suffix('s').unwrap_or(&word.to_lowercase()) {
            "section" => Self::Section,
            "definition" => Self::Definition,
            "theorem" => Self::Theorem,
            "table" => Self::Table,
            _ => return None,
        })
    }
}

/// A paper that is cited by a short name: its names, and the numbers of its sections, theorems and other
/// parts.
#[derive(Debug)]
pub struct Paper {
    /// The short name first, then what it is also cited as.
    pub names: Vec<String>,
    /// Numbers of its parts.
    pub parts: BTreeSet<(Part, String)>,
}

/// Everything that a citation can refer to, collected from the project's documents: papers, headings,
/// references and boundaries of the house style.
#[derive(Debug)]
pub struct Definitions {
    pub papers: Vec<Paper>,
    /// Headings by path of the document.
    pub headings: BTreeMap<String, Vec<Heading>>,
    /// Lines of the references.
    pub references: Vec<String>,
    /// Numbers of the boundaries.
    pub boundaries: BTreeSet<String>,
}

impl Definitions {
    pub fn of(sources: &[Source]) -> Self {
        let documents = sources.iter().filter(|s| s.path.ends_with(".md"));
        let headings = documents.map(|s| (s.path.clone(), headings(&s.text))).collect();
        let text = |path| source::find(sources, path).map_or("", |s| s.text.as_str());
        let numbered = text(STYLE).lines().filter_map(|l| l.split_once(". "));
        Self {
            papers: papers(text(REFERENCES)),
            headings,
            references: text(REFERENCES).lines().map(str::to_owned).collect(),
            boundaries: numbered.map(|(number, _)| number.to_owned()).collect(),
        }
    }

    /// Does a heading of the document begin with this number or name and a dot or a space?
    pub fn numbered(&self, path: &str, number: &str) -> bool {
        self.headings.get(path).is_some_and(|headings| {
            let rest =
                |h: &Heading| h.title.strip_prefix(number).map(|r| r.starts_with(['.', ' ']));
            headings.iter().any(|h| rest(h) == Some(true))
        })
    }

    /// Has the document a heading with this title?
    pub fn titled(&self, path: &str, title: &str) -> bool {
        self.headings.get(path).is_some_and(|all| all.iter().any(|h| h.title == title))
    }

    /// Has one line of the references all of these words?
    pub fn listed(&self, parts: &[&str]) -> bool {
        self.references.iter().any(|line| {
            let found = words(line);
            parts.iter().all(|part| found.iter().any(|w| w.core == *part || w.raw.contains(part)))
        })
    }

    /// Does a line of the references have `RFC` and this number?
    pub fn rfc(&self, number: &str) -> bool {
        self.references.iter().any(|line| {
            let cores: Vec<_> = words(line).iter().map(|w| w.core).collect();
            cores.windows(2).any(|pair| pair == ["RFC", number])
        })
    }

    /// The paper with this short name.
    pub fn paper(&self, name: &str) -> Option<usize> {
        self.papers.iter().position(|p| p.names.iter().any(|n| n == name))
    }
}

fn papers(references: &str) -> Vec<Paper> {
    let five = references.split("\n## ").find(|part| part.starts_with("The five papers"));
    let parts = five.unwrap_or("").split("\n### ").skip(1);
    parts.map(paper).collect()
}

fn paper(text: &str) -> Paper {
    let (name, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut names = vec![name.to_owned()];
    let flat = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((_, also)) = flat.split_once("Also cited as `") {
        names.extend(also.split('`').next().map(str::to_owned));
    }
    let mut parts = BTreeSet::new();
    let mut lists = None;
    let mut last: Option<String> = None;
    let mut range = false;
    for word in words(rest) {
        if word.raw.ends_with(':') && Part::of(word.core).is_some() {
            (lists, last, range) = (Part::of(word.core), None, false);
        } else if let Some(part) = lists {
            if word.core == "to" {
                range = true;
                continue;
            }
            let from = if range { last.take() } else { None };
            parts.extend(between(from.as_deref(), word.core).into_iter().map(|n| (part, n)));
            (last, range) = (Some(word.core.to_owned()), false);
            if word.raw.ends_with('.') {
                lists = None;
            }
        }
    }
    Paper { names, parts }
}

/// `2.1`, `2.4` is 2.1 to 2.4; without a beginning the end alone.
fn between(from: Option<&str>, to: &str) -> Vec<String> {
    let split = |n: &str| match n.rsplit_once('.') {
        Some((head, tail)) => (format!("{head}."), tail.parse::<u32>().ok()),
        None => (String::new(), n.parse().ok()),
    };
    match (from.map(split), split(to)) {
        (Some((head, Some(first))), (_, Some(last))) => {
            (first..=last).map(|n| format!("{head}{n}")).collect()
        }
        _ => vec![to.to_owned()],
    }
}

#[test]
fn a_paper_has_its_names_and_parts() {
    let text = "x\n## The five papers\n\n### short\n\nAlso cited as `shorter`.\n\n\
                Sections: 1, 2.1, 4.0. Definitions: 2.1 to 2.3.\nTables: 1 to 2.\n\n## Other\n";
    let found = papers(text);
    assert_eq!(found[0].names, ["short", "shorter"]);
    let parts: Vec<_> = found[0].parts.iter().map(|(p, n)| (*p, n.as_str())).collect();
    use Part::{Definition, Section, Table};
    let sections = [(Section, "1"), (Section, "2.1"), (Section, "4.0")];
    let definitions = [(Definition, "2.1"), (Definition, "2.2"), (Definition, "2.3")];
    let tables = [(Table, "1"), (Table, "2")];
    assert_eq!(parts, [&sections[..], &definitions, &tables].concat());
}
