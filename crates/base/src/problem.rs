//! What is wrong with a cluster file, or another program's dump: every fault with its place, the
//! offending text and what to write instead. Owns positions (byte span to line and column) and the search for the nearest valid
//! value; rendering with a picture of the line is the CLI's.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::text::{excerpt, printable};

/// The kind of a [`Problem`], stable for programs (`--json`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Bytes that are no UTF-8.
    NotText,
    /// Not TOML.
    Syntax,
    /// A key or a table that stands twice.
    DuplicateKey,
    /// A key that the file format does not have here.
    UnknownKey,
    /// A key that must be given is not.
    MissingKey,
    /// A string where a number belongs, and the like.
    WrongType,
    /// A word that is none of the choices.
    UnknownChoice,
    /// Known to the format, not planned by this version.
    NotYet,
    /// A number outside its range.
    OutOfRange,
    /// A list without entries.
    EmptyList,
    /// Not a name: letters, digits, `-`, `_` and `.`.
    BadName,
    /// Not a hostlist.
    BadHostlist,
    /// Hostlists beside each other that name different numbers of things.
    CountMismatch,
    /// Not a MAC address of one interface.
    BadMac,
    /// Not a rate.
    BadRate,
    /// Not a prefix, or one that cannot serve.
    BadPrefix,
    /// Not the wiring table of a flat neighbourhood.
    BadWiring,
    /// Not an end of a cable.
    BadLinkEnd,
    /// Two things with one name.
    DuplicateName,
    /// Two interfaces with one MAC address.
    DuplicateMac,
    /// A name that nothing has.
    UnknownName,
    /// Two cables in one port.
    PortInUse,
    /// A port that the switch does not have.
    PortOutOfRange,
    /// A switch with fewer ports than the topology needs.
    TooFewPorts,
    /// A cable from a switch to itself.
    SelfLink,
    /// A prefix with fewer addresses than nodes or NICs.
    PrefixTooSmall,
    /// Two prefixes that share addresses, or two of one family.
    PrefixOverlap,
    /// Not a VID from 1 to 4094, or not a range of them.
    BadVid,
    /// A VID listed twice.
    DuplicateVid,
    /// Fewer VIDs than the strategy needs.
    TooFewVids,
    /// A strategy that is not defined on this topology.
    StrategyMismatch,
    /// Switches that no cable joins.
    Disconnected,
    /// A fabric larger than this version plans.
    TooLarge,
    /// A line that the format of a dump does not have here.
    UnexpectedLine,
    /// A dump that ends or skips something too early.
    Incomplete,
}

impl ProblemKind {
    /// Can one text cause this many times, as a hostlist does? Then it is told once, with a count.
    fn repeats(self) -> bool {
        matches!(
            self,
            Self::DuplicateName
                | Self::DuplicateMac
                | Self::UnknownName
                | Self::PortInUse
                | Self::PortOutOfRange
                | Self::TooFewPorts
                | Self::OutOfRange
        )
    }

    /// Is it seen in the text of the value alone, whatever the rest of the file says?
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(
            self,
            Self::NotText
                | Self::Syntax
                | Self::DuplicateKey
                | Self::UnknownKey
                | Self::WrongType
                | Self::UnknownChoice
                | Self::NotYet
                | Self::OutOfRange
                | Self::EmptyList
                | Self::BadName
                | Self::BadHostlist
                | Self::BadMac
                | Self::BadRate
                | Self::BadPrefix
                | Self::BadWiring
                | Self::BadLinkEnd
                | Self::BadVid
                | Self::DuplicateVid
        )
    }
}

/// One fault of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind of fault.
    pub kind: ProblemKind,
    /// The name of the file as given to the parser.
    pub file: String,
    /// Line from 1.
    pub line: usize,
    /// Column from 1, in characters.
    pub column: usize,
    /// The offending bytes of the file.
    #[serde(skip)]
    pub span: Range<usize>,
    /// The offending text.
    pub text: String,
    /// What is wrong, in lower case.
    pub message: String,
    /// The nearest valid value, or what to do.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for Problem {}

/// Every fault of one file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// The name of the file.
    pub file: String,
    /// The text of the file.
    pub source: String,
    /// The faults; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
            if let Some(help) = &problem.help {
                write!(f, "\n  help: {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Place, kind, message and advice.
type Fault = (Range<usize>, ProblemKind, String, Option<String>);

/// Where the checks put what they find.
#[derive(Debug, Default)]
pub struct Found(Vec<Fault>);

impl Found {
    /// Adds a fault at a byte range of the file, with advice where there is some.
    pub fn add(
        &mut self,
        kind: ProblemKind,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<Option<String>>,
    ) {
        self.0.push((span.clone(), kind, message.into(), help.into()));
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of faults so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Was the last fault of this kind at this place? Then a hostlist is at work, and the search for
    /// what to say about the next can be spared.
    #[must_use]
    pub fn repeats(&self, kind: ProblemKind, span: &Range<usize>) -> bool {
        self.0.last().is_some_and(|(at, last, ..)| *last == kind && at == span)
    }

    /// Leave the first few.
    pub fn cut(&mut self, most: usize) {
        self.0.truncate(most);
    }

    /// Give what was found since `before` without advice this advice.
    pub fn advise(&mut self, before: usize, help: &str) {
        for (.., advice) in self.0.iter_mut().skip(before).filter(|(.., advice)| advice.is_none()) {
            *advice = Some(help.to_owned());
        }
    }

    /// Leave only what `keep` says of kind and place.
    pub fn retain(&mut self, keep: impl Fn(ProblemKind, &Range<usize>) -> bool) {
        self.0.retain(|(span, kind, ..)| keep(*kind, span));
    }

    /// Give every fault its line and column; the same fault at the same place is told once.
    #[must_use]
    pub fn into_problems(mut self, source: &str, file: &str) -> Problems {
        self.0.sort_by_key(|(span, kind, ..)| (span.start, *kind));
        self.0.dedup_by(|a, b| a.0 == b.0 && a.2 == b.2);
        let mut more = 0;
        self.0.dedup_by(|later, first| {
            let repeats = later.0 == first.0 && later.1 == first.1 && later.1.repeats();
            more = if repeats { more + 1 } else { 0 };
            if repeats {
                let kept = first.2.rfind(" (and ").filter(|_| more > 1).unwrap_or(first.2.len());
                first.2.truncate(kept);
                first.2.push_str(&format!(" (and {more} more like it)"));
            }
            repeats
        });
        let lines = Lines::of(source);
        let problem = |(span, kind, message, help): Fault| {
            let span = on_boundaries(span, source);
            let (line, column) = lines.position(source, span.start);
            let text = source.get(span.clone()).unwrap_or_default().to_owned();
            let message = printable(&with_text(message, &text));
            let help = help.map(|help: String| printable(&help));
            Problem { kind, file: file.into(), line, column, span, text, message, help }
        };
        let problems = self.0.into_iter().map(problem).collect();
        Problems { file: file.into(), source: source.into(), problems }
    }
}

/// The message with the offending text, where it does not say it already.
fn with_text(message: String, text: &str) -> String {
    let bare = text.trim_matches(['"', '\'']);
    if bare.is_empty() || message.contains(bare) {
        return message;
    }
    format!("{message}: `{}`", excerpt(text))
}

fn on_boundaries(span: Range<usize>, source: &str) -> Range<usize> {
    let back = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = back(span.start);
    start..back(span.end).max(start)
}

/// Where the lines of a text begin.
#[derive(Debug)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// Finds the line starts of `text`. O(bytes).
    #[must_use]
    pub fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// Line and column, both from 1, the column in characters, of a byte of the same text.
    #[must_use]
    pub fn position(&self, text: &str, at: usize) -> (usize, usize) {
        let line = self.0.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).map_or(0, |line| self.0[line]);
        (line, text[start..at].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_the_offending_text_and_nothing_that_acts_on_a_terminal() {
        let source = "a = \"\u{1b}[31m\u{202e}\"";
        let mut found = Found::default();
        found.add(ProblemKind::BadName, &(4..source.len()), "not `\u{1b}`", None);
        found.add(ProblemKind::BadName, &(0..1), "say `a`", Some("\u{7}é".into()));
        let problems = found.into_problems(source, "f").problems;
        assert_eq!(
            (problems[0].message.as_str(), problems[0].help.as_deref()),
            ("say `a`", Some("\\u{7}é"))
        );
        assert_eq!(problems[1].message, "not `\\u{1b}`: `\"\\u{1b}[31m\\u{202e}\"`");
        assert_eq!(problems[1].text, source[4..]);
    }

    #[test]
    fn places_count_characters_from_one() {
        let mut found = Found::default();
        found.add(ProblemKind::BadName, &(8..9), "x", None);
        found.add(ProblemKind::BadName, &(0..1), "y", Some("z".into()));
        found.add(ProblemKind::BadName, &(500..900), "past the end", None);
        let problems = found.into_problems("a\nööö=b\n", "f.toml");
        assert_eq!(problems.problems[1].to_string(), "f.toml:2:4: x: `=`");
        assert_eq!(problems.problems[2].line, 3);
        assert!(problems.to_string().starts_with("f.toml:1:1: y: `a`\n  help: z\n"));
    }
}
