//! Prints the results of verbs on standard output, as JSON or as tables made from the same values.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, StdoutLock, Write};

use comfy_table::{ContentArrangement, Table, presets};
use jiff::Timestamp;
use serde::Serialize;
use tresse_base::hostlist;
use tresse_control::OperationLine;

/// Returns standard output, locked and buffered.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Writes a JSON value on one line.
pub fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Returns an empty table without borders, with `head` as the titles of its columns.
pub fn table<const N: usize>(head: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    table
}

/// Formats a number with the noun that it counts, such as `1 problem` or `2 problems`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Formats a kernel operation (add, change or remove an object) and its reason as text, such as
/// `add route 10.77.0.3/32 metric 100: missing`.
pub fn operation(line: &OperationLine) -> String {
    let gap = if line.object.is_empty() { "" } else { " " };
    format!("{} {}{gap}{}: {}", line.op, line.kind, line.object, line.why)
}

/// A time as `2024-10-04 12:34:56.789Z`, in UTC, from milliseconds since the Unix epoch.
pub fn time(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "?".into(), |time| format!("{time:.3}").replacen('T', " ", 1))
}

/// Escapes control characters, and those that change the direction of writing, as `\u{1b}`, so that
/// text of files or other hosts cannot control the terminal. Line ends and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            let _ = write!(plain, "{}", c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// Whether a character controls the terminal or changes the direction of writing.
fn steers(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

/// Destinations by name, several as hostlists; by address where an older daemon sends no names.
pub fn named(names: &[String], addresses: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let words = if names.is_empty() { addresses.to_vec() } else { hostlist::collapse(&names) };
    plain(&words.join(" ")).into_owned()
}

/// Names in short: `n[0-3]`.
pub fn hostlist(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    hostlist::collapse(&names).join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_steers_the_terminal() {
        for (text, shown) in [
            ("a\u{1b}[31mb\u{7}\r\n", "a\\u{1b}[31mb\\u{7}\\r\n"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("x\u{202e}y\tö", "x\\u{202e}y\tö"),
            ("plain", "plain"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }
}
