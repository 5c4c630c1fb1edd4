//! Reports the syntax errors of a TOML text, each with its line, and duplicate keys, each with the line where the key
//! first occurs. Decides which other problems of the file are certain in spite of a syntax error.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};
use tresse_base::problem::{Found, Lines, ProblemKind};
use tresse_base::text::excerpt;

/// Determines which problems are sound despite faults of TOML elsewhere in the file.
#[derive(Debug)]
pub(super) struct Trust {
    /// Whether nothing is lost: of each duplicate key the first was read.
    pub(super) whole: bool,
    /// Tables and keys before this byte were read where they were written.
    until: usize,
    /// The lines with a fault, in order.
    lines: Vec<Range<usize>>,
}

impl Trust {
    /// Whether a problem of this kind at this place is sound, whatever the faulty lines mean.
    pub(super) fn is_sound(&self, kind: ProblemKind, span: &Range<usize>) -> bool {
        let fault = matches!(kind, ProblemKind::Syntax | ProblemKind::DuplicateKey);
        let next = self.lines.partition_point(|line| line.end <= span.start);
        let beside = self.lines.get(next).is_none_or(|line| span.end <= line.start);
        // The placeholder for a value that TOML could not read has no position.
        fault || (kind.is_local() && !span.is_empty() && span.start < self.until && beside)
    }
}

/// Reports what is not TOML in `text`, once per line.
pub(super) fn faults(
    text: &str,
    table: &Spanned<DeTable<'_>>,
    errors: &[Error],
    found: &mut Found,
) -> Trust {
    let mut trust = Trust { whole: true, until: text.len() + 1, lines: Vec::new() };
    let mut reported = BTreeSet::new();
    let mut bracket = false;
    for error in errors {
        let span = error.span().unwrap_or_default();
        let line = line_of(text, span.start);
        if error.message() == "duplicate key" {
            duplicate(text, table, &span, found);
            trust.whole &= !is_header(&text[line.clone()]);
        } else {
            trust.whole = false;
            // The rest of a line after a fault is mostly the same fault again, and everything after
            // an open bracket is one fault up to the end of the file.
            let open = is_open(error.message());
            if reported.insert(line.start) && !(open && bracket) {
                fault(text, &line, error.message(), &span, found);
            }
            bracket |= open;
        }
        if is_header(&text[line.clone()]) || !is_contained(&text[line.clone()], &span, &line) {
            trust.until = trust.until.min(line.start);
        }
        trust.lines.push(line);
    }
    trust.lines.sort_by_key(|line| line.start);
    trust
}

fn is_open(message: &str) -> bool {
    message.starts_with("missing comma") || message.starts_with("missing key for inline table")
}

fn fault(text: &str, line: &Range<usize>, message: &str, span: &Range<usize>, found: &mut Found) {
    let (what, expected) = match message.trim().split_once(", expected ") {
        Some((what, expected)) => (what, Some(expected)),
        None => (message.trim(), None),
    };
    let line = &text[line.clone()];
    let bare = what.starts_with("string values must be quoted");
    let unquoted = bare || what == "invalid boolean";
    let whole = text.get(span.clone()).filter(|whole| bare && !whole.contains(['\n', '"']));
    let word = whole.map_or_else(|| word_at(text, span.start), str::trim);
    let help = match expected {
        _ if unquoted && !word.is_empty() => format!("did you mean `\"{word}\"`?"),
        _ if is_open(message) => "close the `{` or `[` before it, or write a `,`".to_owned(),
        Some("nothing") => "leave it out".to_owned(),
        Some("newline, `#`") => "one `key = value` a line, and nothing after it".to_owned(),
        Some(expected) => format!("expected {expected}"),
        None => "TOML, such as `key = \"text\"`, `key = 1` or `key = [1, 2]`".to_owned(),
    };
    let message = format!("{what} in `{}`", excerpt(line));
    found.add(ProblemKind::Syntax, span, message, help);
}

fn duplicate(text: &str, table: &Spanned<DeTable<'_>>, span: &Range<usize>, found: &mut Found) {
    let key = text.get(span.clone()).unwrap_or_default();
    let line = line_of(text, span.start);
    let first = if is_header(&text[line.clone()]) {
        first_header(text, &text[line.clone()], line.start)
            .or_else(|| last_line_of(text, key, line.start))
    } else {
        first_key(text, table.get_ref(), key.trim_matches(['"', '\'']), span.start)
    };
    let help = match first {
        Some(first) => {
            let (line, _) = Lines::of(text).position(text, first);
            let first = excerpt(&text[line_of(text, first)]);
            format!("the first is in line {line}, `{first}`: keep one")
        }
        None => "keep one".to_owned(),
    };
    found.add(ProblemKind::DuplicateKey, span, format!("duplicate key `{key}`"), help);
}

/// Returns where the same table began, with single or double brackets.
fn first_header(text: &str, header: &str, before: usize) -> Option<usize> {
    let name = |line: &str| {
        let line = line.split('#').next().unwrap_or_default();
        line.chars().filter(|c| !"[] \t\r\n".contains(*c)).collect::<String>()
    };
    let wanted = name(header);
    let mut at = 0;
    for line in text[..before].split_inclusive('\n') {
        if is_header(line) && name(line) == wanted {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Returns the last line before this byte that gives a key of this name.
fn last_line_of(text: &str, key: &str, before: usize) -> Option<usize> {
    let mut at = before;
    text[..before].split_inclusive('\n').rev().find_map(|line| {
        at -= line.len();
        let rest = line.trim_start().strip_prefix(key)?;
        rest.trim_start().starts_with('=').then_some(at)
    })
}

/// Returns the word of letters, digits, `-` and `_` around a byte.
fn word_at(text: &str, at: usize) -> &str {
    let at = on_boundary(text, at);
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let start = text[..at].rfind(ends).map_or(0, |end| end + 1);
    let start = on_boundary(text, start.min(at));
    let end = text[at..].find(ends).map_or(text.len(), |end| at + end);
    text[start..end].trim_matches(ends)
}

/// Returns the start of the key of this name in the table that contains the byte `at`.
fn first_key(text: &str, table: &DeTable<'_>, name: &str, at: usize) -> Option<usize> {
    let mut header: Option<(usize, &DeTable<'_>)> = None;
    for value in table.iter().map(|(_, value)| value) {
        if let Some(inside) = enclosing(value, at) {
            return first_key(text, inside, name, at);
        }
        let list = value.get_ref().as_array().map(|list| list.iter().collect::<Vec<_>>());
        for section in list.unwrap_or_else(|| vec![value]) {
            let start = section.span().start;
            if let Some(inside) = section.get_ref().as_table()
                && start < at
                && text[start..].starts_with('[')
                && header.is_none_or(|(latest, _)| latest <= start)
            {
                header = Some((start, inside));
            }
        }
    }
    let own = || table.get_key_value(name).map(|(key, _)| key.span().start).filter(|s| *s < at);
    header.and_then(|(_, inside)| first_key(text, inside, name, at)).or_else(own)
}

/// Returns the inline table that contains the byte `at`.
fn enclosing<'a, 'i>(value: &'a Spanned<DeValue<'i>>, at: usize) -> Option<&'a DeTable<'i>> {
    match value.get_ref() {
        DeValue::Array(list) => list.iter().find_map(|item| enclosing(item, at)),
        DeValue::Table(table) if value.span().contains(&at) => Some(table),
        _ => None,
    }
}

/// Returns the line around a byte, its end included.
pub(super) fn line_of(text: &str, at: usize) -> Range<usize> {
    let at = on_boundary(text, at);
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    start..text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn on_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn is_header(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

/// Whether the fault is confined to its line, so that the next line is read soundly. It is not if a bracket or a
/// string may be open.
fn is_contained(line: &str, span: &Range<usize>, at: &Range<usize>) -> bool {
    let count = |c: char| line.matches(c).count();
    span.end <= at.end
        && line.contains('=')
        && count('[') == count(']')
        && count('{') == count('}')
        && count('"') % 2 == 0
        && count('\'') % 2 == 0
        && !line.contains("\"\"\"")
        && !line.contains("'''")
}
