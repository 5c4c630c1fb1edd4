//! Helpers for error messages: they shorten and escape text that is quoted from a file, and find the
//! valid value most similar to a wrong one, or what to do about a file that cannot be read.

use std::io::ErrorKind;

/// Returns the first line of a text without surrounding white space, cut after 60 characters. ` ...` is
/// appended if the rest of the text is left out.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end();
    let mut cut: String = line.chars().take(EXCERPT).collect();
    if cut.len() < text.trim().len() {
        cut.push_str(" ...");
    }
    cut
}

const EXCERPT: usize = 60;

/// Returns `text` with every character escaped that would control a terminal, be invisible, or change
/// the order of the characters in a line. Text from a file passes through this function before it is
/// shown on a terminal or logged.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// Returns the candidate that is most similar to `text`, by Levenshtein distance without regard to ASCII
/// case; `None` if every candidate is too different: more than 4 edits away, or more edits than half the
/// length of `text`. One edit is always allowed.
#[must_use]
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let number = trailing_number(text);
    let text: Vec<char> = text.chars().take(64).collect();
    let limit = (text.len() / 2).clamp(1, 4);
    candidates
        .into_iter()
        .map(|c| (edits(&text, c), number.abs_diff(trailing_number(c)), c))
        .filter(|(distance, ..)| *distance <= limit)
        .min()
        .map(|(.., c)| c)
}

/// Returns the number at the end of a name. Names differ most often in that number, so among equally similar
/// names the numerically nearest wins.
fn trailing_number(text: &str) -> u64 {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    text[text.len() - digits..].parse().unwrap_or(0)
}

/// So many candidates are listed: all keys of `tressed.toml`.
const LISTED: usize = 20;

/// Returns advice for the unknown word `text`: `did you mean ...` with the most similar candidate; if
/// none is similar, a list of all candidates. `None` if that list would be empty or longer than 20.
#[must_use]
pub fn suggestion<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(near) = nearest(text, candidates.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let all: Vec<_> = candidates.into_iter().take(LISTED + 1).collect();
    (1..=LISTED).contains(&all.len()).then(|| format!("one of: {}", all.join(", ")))
}

/// Returns what to do about a file that cannot be read; `None` if the error speaks for itself.
#[must_use]
pub const fn read_help(error: ErrorKind) -> Option<&'static str> {
    match error {
        ErrorKind::NotFound => Some("check the path"),
        ErrorKind::IsADirectory => Some("name a file in this directory"),
        ErrorKind::PermissionDenied => Some("run this as a user who may read the file"),
        ErrorKind::InvalidData => Some("save the file as UTF-8"),
        ErrorKind::FileTooLarge => Some("check the path: no file of this kind is that large"),
        _ => None,
    }
}

/// Returns what to do about a file or directory that cannot be written; `None` if the error speaks for itself.
#[must_use]
pub const fn write_help(error: ErrorKind) -> Option<&'static str> {
    match error {
        ErrorKind::NotFound => Some("make its directory first, or name another place"),
        ErrorKind::NotADirectory => Some("a part of the path is a file: name another place"),
        ErrorKind::IsADirectory => Some("name a file in this directory"),
        ErrorKind::PermissionDenied => {
            Some("run this as a user who may write there, or name another place")
        }
        ErrorKind::ReadOnlyFilesystem => Some("name a place on another file system"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("make room there, or name another place")
        }
        _ => None,
    }
}

/// Returns the Levenshtein distance; ASCII letters are compared without case.
fn edits(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, y) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, x) in a.iter().enumerate() {
            let substituted = diagonal + usize::from(!x.eq_ignore_ascii_case(&y));
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_a_slip_and_refuses_the_far() {
        let keys = ["name", "ports", "max_vlans"];
        assert_eq!(nearest("port", keys), Some("ports"));
        assert_eq!(nearest("max_vlan", keys), Some("max_vlans"));
        assert_eq!(nearest("Name", keys), Some("name"));
        assert_eq!(nearest("learning", keys), None);
        assert_eq!(nearest("s16", ["s06", "s10", "s15"]), Some("s15"));
        assert_eq!(suggestion("zzzzzz", keys).unwrap(), "one of: name, ports, max_vlans");
        assert_eq!(suggestion("zzzzzz", []), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_has_a_remedy() {
        for (error, help) in [
            (ErrorKind::NotFound, "check the path"),
            (ErrorKind::IsADirectory, "name a file"),
            (ErrorKind::PermissionDenied, "a user who may read the file"),
            (ErrorKind::InvalidData, "as UTF-8"),
            (ErrorKind::FileTooLarge, "check the path"),
        ] {
            assert!(read_help(error).unwrap().contains(help), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_has_a_remedy() {
        for (error, help) in [
            (ErrorKind::NotFound, "make its directory"),
            (ErrorKind::IsADirectory, "name a file"),
            (ErrorKind::PermissionDenied, "a user who may write there"),
            (ErrorKind::StorageFull, "make room"),
        ] {
            assert!(write_help(error).unwrap().contains(help), "{error}");
        }
    }

    #[test]
    fn an_excerpt_is_the_first_line() {
        assert_eq!(excerpt("[\n 1,\n]"), "[ ...");
    }
}
