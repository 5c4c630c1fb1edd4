//! Checks the forwarding tables of an InfiniBand network: the `opensm-lfts.dump` of OpenSM, together
//! with the cables of its `opensm-subnet.lst` or of `ibnetdiscover`.
//!
//! A forwarding table chooses by destination only, not by where a frame came from. OpenSM's engine
//! `updn` forbids a frame to go up the tree again after it has gone down, but a switch has one entry for
//! frames of its own hosts, which may go up, and for frames that came down to it, which may not. So
//! `updn` can leave a cycle of channel dependencies on irregular networks. Nothing here trusts the
//! routing engine: every path is followed, and the channel dependency graph is that of the paths (as in
//! [`verify`](super)), all on one virtual lane.
//!
//! Reads no files. Service levels, which select a virtual lane, are ignored, so routing engines that
//! need several lanes are reported to have a cycle.

mod cables;
mod dump;
mod network;
mod report;
#[cfg(test)]
mod tests;
mod walk;

pub use cables::Cables;
pub use dump::Dump;
pub use network::LftNetwork;
pub use report::{ChannelDependency, LftReport};

use std::ops::Range;

use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::printable;

/// Most faults of a dump that are reported.
const FAULTS: usize = 20;

/// One line of a dump with the byte at which it begins.
#[derive(Debug, Clone, Copy)]
struct TextLine<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> TextLine<'a> {
    fn all(text: &'a str) -> impl Iterator<Item = Self> {
        let mut start = 0;
        text.split_inclusive('\n').map(move |line| {
            let begins = start;
            start += line.len();
            Self { text: line.trim_end(), start: begins }
        })
    }

    /// The place of a part of the line.
    fn span(&self, part: &str) -> Range<usize> {
        let at = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let from = self.start + at.min(self.text.len());
        from..from + part.len()
    }

    /// Reports that `part` is not `what`, with an example.
    fn expected(&self, found: &mut Found, part: &str, what: &str, example: &str) {
        let message = format!("expected {what}");
        let help = format!("a line such as `{example}` belongs here");
        found.add(ProblemKind::UnexpectedLine, &self.span(part), message, help);
    }
}

/// A number written `0x1f` or `1f`.
fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let sound = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    sound.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The digits at the start of a text as a number.
fn leading(text: &str, is_digit: fn(&u8) -> bool) -> &str {
    &text[..text.bytes().take_while(is_digit).count()]
}

/// A port of a switch or of a host, 0 left out.
fn port(number: Option<u64>) -> Option<u8> {
    number.and_then(|n| u8::try_from(n).ok()).filter(|n| (1..=254).contains(n))
}

/// Returns the name of a switch or host: its description, or its GUID if there is none.
fn name(description: &str, guid: u64) -> String {
    let description = description.trim();
    if description.is_empty() { format!("{guid:#018x}") } else { printable(description) }
}
