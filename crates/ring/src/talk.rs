//! What the one who copies and the members of a ring say to each other: a JSON value on a line each.

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Octets of a line at most.
const LINE: u64 = 64 * 1024;

/// To a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// First of all: what it is to do.
    Join(Join),
    /// To whom it sends from now on; to nobody: it is the last one.
    Next(Option<Next>),
    /// All is done. The end of what is said means the same, and that what is not whole is removed.
    Quit,
}

/// What a member is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Who says it may send to the member: 32 hexadecimal digits, others for each run.
    pub token: String,
    /// Where it listens.
    pub address: IpAddr,
    /// The file that it has, or is to have.
    pub file: PathBuf,
    /// Has it the file?
    pub source: bool,
    /// Are permissions and time of change kept?
    pub keep: bool,
}

/// The next member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// Counts what a member is told, so that answers can be told apart.
    pub number: u32,
    /// Where it listens.
    pub address: SocketAddr,
}

/// From a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// It is ready.
    Listens {
        /// TCP.
        port: u16,
    },
    /// How much it has.
    Has {
        /// Octets.
        octets: u64,
        /// Of so many.
        of: u64,
    },
    /// Its next member cannot be reached any more.
    Lost {
        /// As it was told.
        number: u32,
        /// Why.
        words: String,
    },
    /// Its next member has all.
    Sent {
        /// As it was told.
        number: u32,
    },
    /// It has all under its final name, and the checksum is that of the source.
    Done {
        /// Octets.
        octets: u64,
        /// BLAKE3, hexadecimal.
        hash: String,
    },
    /// It has nothing, and nothing of it is left.
    Failed {
        /// Why.
        words: String,
    },
}

/// The next line; `None` at the end.
///
/// # Errors
/// A line that is too long or says something else, and what reading gives.
pub fn hear<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    input.by_ref().take(LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| {
        let shown: String = String::from_utf8_lossy(&line).trim().chars().take(80).collect();
        io::Error::new(io::ErrorKind::InvalidData, format!("`{shown}`: {e}"))
    })
}

/// One line.
///
/// # Errors
/// What writing gives.
pub fn say(output: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
