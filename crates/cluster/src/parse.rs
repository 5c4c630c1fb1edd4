//! Parses the text of a cluster file into a [`Cluster`], or reports all problems of the file.

use toml::de::{DeTable, DeValue};
use tresse_base::problem::{Found, ProblemKind, Problems};
use tresse_base::text::excerpt;
use tresse_topology::cluster::Cluster;

use crate::file::File;
use crate::read::Read;
use crate::resolve::resolve;
use crate::syntax::{self, line_of};

/// Parses the text of a cluster file into a [`Cluster`], in which every default is filled in and every name is
/// resolved. `file_name` is used only in the problems reported.
///
/// # Errors
/// All problems of the file, in the order in which they stand there. If the text is not valid TOML: its syntax errors,
/// and those other problems that exist however the faulty lines are corrected.
pub fn parse(text: &str, file_name: &str) -> Result<Cluster, Problems> {
    let mut found = Found::default();
    let (table, errors) = DeTable::parse_recoverable(text);
    let trust = syntax::faults(text, &table, &errors, &mut found);
    let span = table.span();
    let table = toml::Spanned::new(span, DeValue::Table(table.into_inner()));
    let file = File::read(&table, &mut found).unwrap_or_default();
    let cluster = resolve(&file, &mut found);
    if !trust.whole {
        found.retain(|kind, span| trust.is_sound(kind, span));
    }
    if found.is_empty() { Ok(cluster) } else { Err(found.into_problems(text, file_name)) }
}

/// The largest number of places that are reported where bytes are not UTF-8.
const MOST_PLACES: usize = 100;

/// Decodes the bytes of a cluster file as UTF-8 and returns the text. `file_name` is used only in the problems
/// reported.
///
/// # Errors
/// A problem for each of the first 100 places where the bytes are not UTF-8: what has more is no text at all.
pub fn text_of<'a>(bytes: &'a [u8], file_name: &str) -> Result<&'a str, Problems> {
    std::str::from_utf8(bytes).map_err(|_| {
        let mut found = Found::default();
        let text = String::from_utf8_lossy(bytes);
        let (mut offset, mut at) = (0, 0);
        for chunk in bytes.utf8_chunks() {
            offset += chunk.valid().len();
            at += chunk.valid().len();
            let [first, ..] = chunk.invalid() else { continue };
            let span = at..at + char::REPLACEMENT_CHARACTER.len_utf8();
            let line = excerpt(&text[line_of(&text, at)]);
            let message = format!("byte {first:#04x} at offset {offset} is not UTF-8 in `{line}`");
            let help = format!("save the file as UTF-8: in Latin-1 it is `{}`", char::from(*first));
            found.add(ProblemKind::NotText, &span, message, help);
            if found.len() == MOST_PLACES {
                break;
            }
            offset += chunk.invalid().len();
            at = span.end;
        }
        found.into_problems(&text, file_name)
    })
}
