//! Reports faults in a cluster file or in forwarding tables dumped by another program. A [`Problem`]
//! holds the place of a fault, the offending text and what to write instead. This module turns byte
//! ranges into lines and columns; the CLI prints the line with the fault marked.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::text::{excerpt, printable};

/// The kind of fault that a [`Problem`] reports, such as an unknown key or a VID out of range. The name
/// of a kind in `--json` output never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The bytes are not UTF-8.
    NotText,
    /// The text is not TOML.
    Syntax,
    /// A key or a table is given twice.
    DuplicateKey,
    /// The file format has no such key in this table.
    UnknownKey,
    /// A required key is absent.
    MissingKey,
    /// The value has the wrong type, such as a string for a number.
    WrongType,
    /// The word is not one of the allowed ones.
    UnknownChoice,
    /// The format defines it, but this version does not support it.
    NotYet,
    /// The number is outside its range.
    OutOfRange,
    /// The list has no entries.
    EmptyList,
    /// The text is not a name: letters, digits, `-`, `_` and `.`.
    BadName,
    /// The text is not a hostlist.
    BadHostlist,
    /// Two hostlists that belong together have different numbers of names.
    CountMismatch,
    /// The text is not the MAC address of one interface.
    BadMac,
    /// The text is not a rate.
    BadRate,
    /// The text is not a prefix, or the prefix cannot be used here.
    BadPrefix,
    /// The text is not the wiring table of a flat neighbourhood.
    BadWiring,
    /// The text does not name an end of a cable.
    BadLinkEnd,
    /// Two objects have the same name.
    DuplicateName,
    /// Two interfaces have the same MAC address.
    DuplicateMac,
    /// No object has this name.
    UnknownName,
    /// Two cables use one port.
    PortInUse,
    /// The switch does not have this port.
    PortOutOfRange,
    /// The switch has fewer ports than the topology needs.
    TooFewPorts,
    /// The cable joins a switch to itself.
    SelfLink,
    /// Cables of one link aggregation group have different rates.
    MixedRates,
    /// The prefix has fewer addresses than there are nodes or NICs.
    PrefixTooSmall,
    /// Two prefixes share addresses, or two prefixes of one family are given.
    PrefixOverlap,
    /// The text is not a VID from 1 to 4094, nor a range of VIDs.
    BadVid,
    /// A VID is listed twice.
    DuplicateVid,
    /// The ranges hold fewer VIDs than the strategy needs.
    TooFewVids,
    /// The strategy is not defined on this topology.
    StrategyMismatch,
    /// Some switches have no path of cables between them.
    Disconnected,
    /// The fabric is larger than this version can plan.
    TooLarge,
    /// The format of the dump does not allow this line here.
    UnexpectedLine,
    /// The dump ends too early or skips something.
    Incomplete,
}

impl ProblemKind {
    /// Whether one text, such as a hostlist, can cause this problem many times. Such a problem is reported
    /// once, with a count.
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

    /// Whether the text of the value alone shows this problem, whatever the rest of the file says.
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

/// One fault in an input file, such as the cluster file: its kind, line and column, the offending text,
/// a message and advice.
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
    /// Advice: the nearest valid value, or what to do.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for Problem {}

/// All faults found in one input file, in the order of their places, with the name and the text of the
/// file.
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

/// Place (byte range), kind, message and advice.
type Fault = (Range<usize>, ProblemKind, String, Option<String>);

/// Collects the faults of one input file while checks run. Each fault is added with its byte range in
/// the file; [`Found::into_problems`] turns all of them into [`Problems`] with lines and columns.
#[derive(Debug, Default)]
pub struct Found {
    faults: Vec<Fault>,
    /// How many names hostlists of the file were expanded to.
    pub names: usize,
}

impl Found {
    /// Adds a fault at a byte range of the file, with optional advice.
    pub fn add(
        &mut self,
        kind: ProblemKind,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<Option<String>>,
    ) {
        self.faults.push((span.clone(), kind, message.into(), help.into()));
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Returns the number of faults so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.faults.len()
    }

    /// Whether the last fault has this kind and place. If so, a hostlist repeats the fault, and the caller
    /// need not search for advice again.
    #[must_use]
    pub fn repeats(&self, kind: ProblemKind, span: &Range<usize>) -> bool {
        self.faults.last().is_some_and(|(at, last, ..)| *last == kind && at == span)
    }

    /// Keeps the first `most` faults and drops the others.
    pub fn cut(&mut self, most: usize) {
        self.faults.truncate(most);
    }

    /// Gives `help` to the faults from index `before` on that have no advice.
    pub fn advise(&mut self, before: usize, help: &str) {
        for (.., advice) in
            self.faults.iter_mut().skip(before).filter(|(.., advice)| advice.is_none())
        {
            *advice = Some(help.to_owned());
        }
    }

    /// Keeps the faults for whose kind and place `keep` returns true.
    pub fn retain(&mut self, keep: impl Fn(ProblemKind, &Range<usize>) -> bool) {
        self.faults.retain(|(span, kind, ..)| keep(*kind, span));
    }

    /// Turns the faults into problems with lines and columns, in the order of the file. The same fault at
    /// the same place is reported once.
    #[must_use]
    pub fn into_problems(mut self, source: &str, file: &str) -> Problems {
        self.faults.sort_by_key(|(span, kind, ..)| (span.start, *kind));
        self.faults.dedup_by(|a, b| a.0 == b.0 && a.2 == b.2);
        let mut more = 0;
        self.faults.dedup_by(|later, first| {
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
        let problems = self.faults.into_iter().map(problem).collect();
        Problems { file: file.into(), source: source.into(), problems }
    }
}

/// Appends the offending text to a message that does not contain it.
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

/// The byte offsets at which the lines of a text begin. [`Lines::position`] uses them to find the line
/// and column of a byte.
#[derive(Debug)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// Finds the line starts of `text`. O(bytes).
    #[must_use]
    pub fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line and column of a byte of the same text. Both count from 1, the column in characters.
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
