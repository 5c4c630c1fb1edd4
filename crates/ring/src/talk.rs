//! What the one who copies and the members of a ring say to each other: a JSON value on a line each.

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::wrong;

/// Of so many streams each is told of by itself.
pub const STREAMS: usize = 64;
/// Octets of a line at most.
const LINE: u64 = 64 << 20;

/// To a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// First of all: what it is to do.
    Join(Join),
    /// To whom it sends what from now on.
    Send(Send),
    /// Those that have something to send are to begin.
    Start,
    /// So many octets of input follow the line; none: that was all.
    Input {
        /// At most 2^20.
        octets: u32,
    },
    /// All is done. The end of what is said means the same.
    Quit,
}

/// What a member is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Who knows it may send to the member: 32 hexadecimal digits, others for each run. Empty: the member knows it.
    pub token: String,
    /// Where it listens.
    pub address: IpAddr,
    /// What all members have, or are to have: in the same order for each.
    pub parts: Vec<Part>,
    /// Into how many streams each part is divided.
    pub stripes: u32,
    /// Are permissions and times of change kept?
    pub keep: bool,
}

/// What a member has to do with a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It has it.
    Source {
        /// A file or a directory.
        path: PathBuf,
        /// The one of so many equal pieces of the file that the part is.
        piece: Option<(u32, u32)>,
        /// Where it is to have it too.
        copy: Option<PathBuf>,
    },
    /// It is to have it.
    Target {
        /// The name that it gets.
        path: PathBuf,
        /// It comes as input, and from nowhere else.
        input: bool,
    },
    /// Nothing.
    Away,
}

/// What one sends to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// The other one. What was said of it before does not hold any more.
    pub to: u32,
    /// Counts what a member is told, so that answers can be told apart.
    pub number: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// Stripes of parts (part x stripes + stripe), what is to be sent first in front. None: nothing any more.
    pub streams: Vec<u32>,
}

/// From a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// It is ready.
    Listens {
        /// TCP.
        port: u16,
        /// Octets of the parts that it has, where they are known.
        octets: Option<u64>,
    },
    /// It is connected to another one.
    Linked {
        /// As it was told.
        number: u32,
    },
    /// How much it has of what it is to have.
    Has {
        /// Octets.
        octets: u64,
        /// Of so many, as far as is known.
        of: u64,
        /// Octets of each stream, where there are at most [`STREAMS`], and what it has may be sent.
        streams: Vec<u64>,
        /// Parts of which it has all octets; they are checked, and on their way to the disk.
        complete: Vec<u32>,
        /// Octets that it has read again, to know their checksum.
        read: u64,
    },
    /// Another member cannot be reached any more.
    Lost {
        /// As it was told.
        number: u32,
        /// Why.
        words: String,
    },
    /// It has all of a part under its final name, and the checksum is that of the source.
    Done {
        /// Which.
        part: u32,
        /// Octets.
        octets: u64,
        /// BLAKE3, hexadecimal.
        hash: String,
    },
    /// It does nothing any more, and parts that are not done have no name.
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
        let text = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
        wrong(format!("`{}`: {e}", text.trim().chars().take(80).collect::<String>()))
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
