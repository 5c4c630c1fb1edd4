//! Finds citations in code and documents, and checks that the project's documents define what is cited.

use crate::definitions::{DESIGN, Definitions, GUIDE, Part, REFERENCES, RULES, STYLE};
use crate::fault::Fault;
use crate::source::{self, Source};
use crate::words::{Word, ends, words};

/// What a section number belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cited {
    /// Index of the paper.
    Paper(usize),
    /// Path of a document of ours.
    Document(String),
    /// An RFC, a standard or a work: its parts are not listed.
    Other,
}

/// Names of notes that are not in the repository.
const OUTSIDE: [&str; 4] = ["kernel-traps", "DESIGN.md", "STYLE.md", "crates-and-rig"];

/// Capitalised words before a year that are no authors.
const NO_AUTHORS: [&str; 13] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Spring",
];

/// Returns a fault for every citation in `sources` (of a rule, section, paper, RFC or other work) whose
/// target `definitions` does not contain.
pub fn check(sources: &[Source], definitions: &Definitions) -> Vec<Fault> {
    sources.iter().flat_map(|source| of(sources, source, definitions)).collect()
}

fn of(sources: &[Source], source: &Source, definitions: &Definitions) -> Vec<Fault> {
    let words = words(&source.text);
    let named = cited(&words, definitions);
    let all = named.iter().map(|(_, cited)| cited.clone());
    let own = source.path.ends_with(".md").then(|| Cited::Document(source.path.clone()));
    let of_file: Vec<_> = all.chain(own).collect();
    let mut faults = Vec::new();
    for at in 0..words.len() {
        let mut fault = |message: String| {
            let path = source.path.clone();
            faults.push(Fault { path, line: words[at].line, message });
        };
        if let Some(message) = of_word(&words[at..], source, definitions) {
            fault(message);
        }
        let Some(part) = Part::of(words[at].core) else { continue };
        if source.path == REFERENCES || ends(&words[at]) {
            continue;
        }
        let near = named.iter().rev().find(|(n, _)| *n < at).filter(|(n, _)| at - n <= 3);
        // `DESIGN sections 1 and 4` is near; so is `RFC 5880 sections`, `in-transit-buffers, tables`.
        let between = near.map(|(n, _)| &words[*n..at]);
        let near = near.filter(|_| !between.is_some_and(|b| b[1..].iter().any(ends)));
        if part == Part::Table && near.is_none() {
            continue;
        }
        for number in numbers(&words[at + 1..]) {
            let found = match near {
                Some((_, cited)) => has(cited, part, number, definitions),
                None => {
                    let any = |all: &[Cited]| all.iter().any(|c| has(c, part, number, definitions));
                    any(&of_file) || any(&of_parents(sources, source, definitions))
                }
            };
            if !found {
                fault(format!("{} {number}: no source cited here has it", words[at].core));
            }
        }
    }
    faults
}

/// What is wrong with a citation that begins with this word, but for sections.
fn of_word(words: &[Word<'_>], source: &Source, definitions: &Definitions) -> Option<String> {
    let (word, next) = (&words[0], words.get(1).map_or("", |w| w.core));
    let core = word.core;
    let notes =
        core.eq_ignore_ascii_case("facts") && (word.raw.ends_with([',', ':']) || next == "of");
    if OUTSIDE.contains(&core) || notes || core == "seed" && next.starts_with("paper") {
        return Some(format!("{core}: not in this repository"));
    }
    if rule(core) && !definitions.numbered(RULES, core) {
        return Some(format!("{core}: no such rule in {RULES}"));
    }
    let missing = |cited: &str| Some(format!("{cited}: not in {REFERENCES}"));
    if let Some(number) = unlisted_rfc(words, definitions) {
        return missing(&format!("RFC {number}"));
    }
    if no_paper(words, definitions) {
        return Some(format!("{core}: no such paper in {REFERENCES}"));
    }
    let standard = matches!(core, "IEEE" | "MPI") && number(next);
    if standard && !definitions.listed(&[core, next]) {
        return missing(&format!("{core} {next}"));
    }
    let in_kernel =
        core.starts_with("Documentation/") || core.starts_with("net/") && core.ends_with(".c");
    if in_kernel && !definitions.listed(&[core]) {
        return missing(core);
    }
    let author = source.path != REFERENCES && author(word);
    let year = words[1..].iter().take(3).find(|w| !matches!(w.core, "et" | "al"))?;
    let is_year =
        year.core.len() == 4 && matches!(&year.core[..2], "19" | "20") && number(year.core);
    if author && is_year && !year.raw.starts_with('(') && !definitions.listed(&[core, year.core]) {
        return missing(&format!("{core} {}", year.core));
    }
    if core == "boundary" && number(next) && !definitions.boundaries.contains(next) {
        return Some(format!("boundary {next}: not in {STYLE}"));
    }
    let (document, title) = (quoted_in(word)?, title(&words[1..])?);
    let there = definitions.titled(&document, &title);
    (!there).then(|| format!("\"{title}\": no such heading in {document}"))
}

/// The first number that the references lack in `RFC 1`, `RFC1`, `RFC-1`, `RFCs 1, 2 and 3`.
fn unlisted_rfc<'a>(words: &[Word<'a>], definitions: &Definitions) -> Option<&'a str> {
    let rest = words[0].core.strip_prefix("RFC")?;
    let joined = rest.strip_prefix('-').unwrap_or(rest);
    let cited = match rest {
        "" => words[1..].first().map(|w| w.core).filter(|w| number(w)).into_iter().collect(),
        "s" => numbers(&words[1..]),
        _ if number(joined) => vec![joined],
        _ => Vec::new(),
    };
    cited.into_iter().find(|number| !definitions.rfc(number))
}

/// Is this a name as the papers have them, before a section or another part, and no paper has it?
fn no_paper(words: &[Word<'_>], definitions: &Definitions) -> bool {
    let [name, part, at, ..] = words else { return false };
    let letters = name.core.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    letters
        && name.core.contains('-')
        && name.raw.ends_with(',')
        && Part::of(part.core).is_some()
        && number(at.core)
        && definitions.paper(name.core).is_none()
}

/// `K` and one or two digits.
fn rule(word: &str) -> bool {
    word.strip_prefix('K').is_some_and(|n| (1..=2).contains(&n.len()) && number(n))
}

fn number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// A capitalised word of letters alone.
fn author(word: &Word<'_>) -> bool {
    let mut letters = word.core.chars();
    letters.next().is_some_and(char::is_uppercase)
        && word.core.chars().count() > 2
        && letters.all(char::is_lowercase)
        && !NO_AUTHORS.contains(&word.core)
        && !word.raw.ends_with(['.', ':', ';', ')'])
}

/// The document whose title may follow in quotation marks.
fn quoted_in(word: &Word<'_>) -> Option<String> {
    match word.core {
        _ if !word.raw.ends_with(',') => None,
        "guide" => Some(GUIDE.to_owned()),
        core => document(core),
    }
}

/// The path of a document that is named with its folder, or among documents without it.
fn document(word: &str) -> Option<String> {
    let name = word.strip_prefix("docs/").unwrap_or(word);
    let plain = name.ends_with(".md") && !name.contains('/');
    plain.then(|| format!("docs/{name}"))
}

/// What stands between quotation marks.
fn title(words: &[Word<'_>]) -> Option<String> {
    words.first().filter(|w| w.raw.starts_with('"'))?;
    let last = words.iter().take(8).position(|w| w.raw[1..].contains('"'))?;
    let joined = words[..=last].iter().map(|w| w.raw).collect::<Vec<_>>().join(" ");
    joined.split('"').nth(1).map(|t| t.trim_end_matches(',').to_owned())
}

/// What is cited by name, with the index of the word.
fn cited(words: &[Word<'_>], definitions: &Definitions) -> Vec<(usize, Cited)> {
    let named = words.iter().enumerate().filter_map(|(at, word)| {
        let next = words.get(at + 1).map_or("", |w| w.core);
        let cited = match word.core {
            "DESIGN" if next.starts_with("section") => Cited::Document(DESIGN.to_owned()),
            "RFC" | "IEEE" | "InfiniBand" | "NSDI" => Cited::Other,
            "MPI" if number(next) => Cited::Other,
            core => match document(core) {
                Some(path) => Cited::Document(path),
                None => Cited::Paper(definitions.paper(core)?),
            },
        };
        Some((at, cited))
    });
    named.collect()
}

/// What the modules above this one cite.
fn of_parents(sources: &[Source], source: &Source, definitions: &Definitions) -> Vec<Cited> {
    let mut all = Vec::new();
    let mut folder = source.path.as_str();
    while let Some((above, _)) = folder.rsplit_once('/') {
        folder = above;
        let names = [format!("{above}/mod.rs"), format!("{above}.rs"), format!("{above}/lib.rs")];
        for parent in names.iter().filter_map(|name| source::find(sources, name)) {
            all.extend(cited(&words(&parent.text), definitions).into_iter().map(|(_, c)| c));
        }
    }
    all
}

fn has(cited: &Cited, part: Part, number: &str, definitions: &Definitions) -> bool {
    match cited {
        Cited::Other => true,
        Cited::Document(path) => part == Part::Section && definitions.numbered(path, number),
        Cited::Paper(paper) => {
            definitions.papers[*paper].parts.contains(&(part, number.to_owned()))
        }
    }
}

/// `2.3, 2.4 and 3.2 to 3.4`.
fn numbers<'a>(words: &[Word<'a>]) -> Vec<&'a str> {
    let mut numbers = Vec::new();
    let mut clause = false;
    for word in words {
        let joint = matches!(word.core, "and" | "to" | "or");
        if clause || !(joint || number(word.core)) {
            break;
        }
        clause = ends(word) || word.raw.ends_with('.');
        numbers.extend((!joint).then_some(word.core));
    }
    numbers
}

#[cfg(test)]
mod tests;
