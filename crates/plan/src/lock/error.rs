//! The error of parsing the text of a lock (`tresse.lock`).

use tresse_base::id::Vid;

use super::content::FORMAT;

/// Why a text is not a valid lock (`tresse.lock`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Not TOML, or not the lock's tables.
    #[error(
        "line {line}, column {column}: {message}; take the lock from a copy: a new one may give nodes \
         other addresses and trees other VLAN IDs"
    )]
    Malformed {
        /// Line from 1.
        line: usize,
        /// Column from 1, in characters.
        column: usize,
        /// What was expected.
        message: String,
    },
    /// Written by another version.
    #[error("lock format {found} is not {FORMAT}: use the version of tresse that wrote it")]
    Format {
        /// The format of the text.
        found: u32,
    },
    /// Two trees have one VID, or a VID is outside 1 to 4094.
    #[error("tree `{tree}` has VID {vid}, which is not a VID of its own: remove the line")]
    BadVid {
        /// The tree's name.
        tree: String,
        /// The VID.
        vid: Vid,
    },
    /// An entry cannot be understood.
    #[error("line {line}: {entry}: {message}; take the entry from a copy of the lock")]
    Damaged {
        /// Line from 1; 0 if it was not found.
        line: usize,
        /// The table and its key.
        entry: String,
        /// What is wrong.
        message: String,
    },
    /// Two nodes at one port.
    #[error("nodes `{first}` and `{second}` are both at {place}: remove the line of one")]
    PlaceTwice {
        /// A node's name.
        first: String,
        /// The other's.
        second: String,
        /// The port.
        place: String,
    },
}
