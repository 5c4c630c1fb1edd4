//! The messages between the coordinator of a copy and its members: one JSON value per line.

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::wrong;

/// Largest number of streams (stripes of the parts of a copy) for which a member reports the
/// progress of each stream.
pub const STREAMS: usize = 64;
/// Most bytes of a line.
const LINE: u64 = 64 << 20;

/// A request from the coordinator to a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberRequest {
    /// The first request: the member's parts.
    Join(Join),
    /// The streams that it sends to one other member from now on.
    Send(Send),
    /// Members that are sources begin to send.
    Start,
    /// This many bytes of input follow the line; 0: the input is complete.
    Input {
        /// At most 2^20.
        #[serde(rename = "octets")]
        bytes: u32,
    },
    /// Quit. The end of the requests means the same.
    Quit,
}

/// The task of a member: the token of the run, the address on which the member listens, and the
/// member's role for each part of the copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The run's token: 32 hexadecimal digits. A peer that knows it may send to the member. Empty:
    /// the member knows it already.
    pub token: String,
    /// Address on which it listens.
    pub address: IpAddr,
    /// All parts, in the same order for each member.
    pub parts: Vec<PartRole>,
    /// Number of stripes of each part.
    pub stripes: u32,
    /// Whether permissions and times of the last change are kept.
    pub keep: bool,
}

/// The role of a member for one part of a copy (a file, a directory or a piece of a file): source,
/// target, or neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartRole {
    /// It is the source.
    Source {
        /// A file or a directory.
        path: PathBuf,
        /// Number and count of the equal pieces, if the part is one piece of a file.
        piece: Option<(u32, u32)>,
        /// Path at which it stores a copy for itself too.
        copy: Option<PathBuf>,
    },
    /// It receives the part.
    Target {
        /// Final path.
        path: PathBuf,
        /// Whether the content comes as input instead of from other members.
        input: bool,
    },
    /// It does not take part.
    Away,
}

/// A request to a member to send some streams (stripes of the parts of the copy) to one other
/// member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// The receiving member. This request replaces earlier ones for the same receiver.
    pub to: u32,
    /// Sequence number of the request; reports repeat it.
    pub number: u32,
    /// Address on which it listens.
    pub address: SocketAddr,
    /// Streams (part x stripes + stripe) in the order of sending. Empty: stop sending.
    pub streams: Vec<u32>,
}

/// A report from a member to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberReport {
    /// It is ready.
    Listens {
        /// TCP port.
        port: u16,
        /// Bytes of its sources, if known.
        #[serde(rename = "octets")]
        bytes: Option<u64>,
    },
    /// It is connected to the receiving member.
    Linked {
        /// Sequence number of the request.
        number: u32,
    },
    /// Progress of what it receives.
    Has {
        /// Bytes.
        #[serde(rename = "octets")]
        bytes: u64,
        /// Total bytes, as far as known.
        of: u64,
        /// Bytes of each stream; empty if there are more than [`STREAMS`] streams, or if what it
        /// has may not be sent yet.
        streams: Vec<u64>,
        /// Parts of which it has all bytes, which are being verified and flushed to the disk.
        complete: Vec<u32>,
        /// Bytes that it has read to compute checksums.
        read: u64,
    },
    /// The receiving member cannot be reached any more.
    Lost {
        /// Sequence number of the request.
        number: u32,
        /// The reason.
        words: String,
    },
    /// A part is complete under its final name, and its checksum is that of the source.
    Done {
        /// Which.
        part: u32,
        /// Bytes.
        #[serde(rename = "octets")]
        bytes: u64,
        /// BLAKE3, hexadecimal.
        hash: String,
    },
    /// It has failed; unfinished parts are not renamed.
    Failed {
        /// The reason.
        words: String,
    },
}

/// Reads the next message, which is one line of JSON; `None` at the end of `input`.
///
/// # Errors
/// A line that is too long or not a valid message, and errors of reading.
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

/// Writes one message as a line of JSON.
///
/// # Errors
/// Errors of writing.
pub fn say(output: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
