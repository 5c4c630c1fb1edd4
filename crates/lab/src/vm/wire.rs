//! The protocol between a host process and the guest over one virtio-serial port: the frames and
//! their headers. This module encodes and decodes only; others read and write the port. One
//! connection carries one client and one request at a time; several requests at a time need several
//! ports.
//!
//! A connection begins with a greeting, because a serial port has no sessions and may hold the
//! remains of an earlier client. Both ends discard bytes until they see the greeting:
//!
//! | offset | bytes | field | byte order |
//! |---|---|---|---|
//! | 0 | 8 | [`HELLO`] (client to guest) or [`WELCOME`] (guest to client) | |
//! | 8 | 8 | nonce chosen by the client, echoed by the guest | opaque |
//! | 16 | 4 | protocol [`VERSION`] of the speaker | little endian |
//!
//! Then frames, in both directions:
//!
//! | offset | bytes | field | byte order |
//! |---|---|---|---|
//! | 0 | 4 | header length h, 1 to [`MAX_HEADER_BYTES`] | little endian |
//! | 4 | 4 | payload length p, 0 to [`MAX_PAYLOAD_BYTES`] | little endian |
//! | 8 | h | header: a [`GuestRequest`] or a [`GuestReply`] as JSON | |
//! | 8 + h | p | payload: raw bytes | |
//!
//! A greeting that is read as a frame has a header length beyond the limit. So a guest that missed
//! a change of clients gets an error at the next frame, and searches for the greeting again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A message from a client to the guest: run a program, send input, copy a file, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GuestRequest {
    /// Run a program; answered by [`GuestReply::Stdout`], [`GuestReply::Stderr`] and at last [`GuestReply::Exit`].
    Exec {
        /// Program and arguments; the program is looked up in `PATH`.
        argv: Vec<String>,
        /// Variables added to the guest's small default environment.
        env: Vec<(String, String)>,
        /// Working directory, `/root` when absent.
        cwd: Option<String>,
        /// Whether [`GuestRequest::Stdin`] frames follow; otherwise standard input is `/dev/null`.
        stdin: bool,
    },
    /// Payload for the running program's standard input; an empty payload ends it.
    Stdin,
    /// A signal for the running program's process group.
    Signal {
        /// Linux signal number.
        number: i32,
    },
    /// Create or replace a file; its bytes follow in [`GuestRequest::Data`] frames.
    Put {
        /// Absolute path; missing parent directories are made.
        path: String,
        /// Permission bits.
        mode: u32,
        /// Number of bytes that follow.
        size_bytes: u64,
    },
    /// Payload of a file under way.
    Data,
    /// Read a file; answered by [`GuestReply::Data`] frames and [`GuestReply::Done`].
    Get {
        /// Absolute path.
        path: String,
    },
    /// Answered by [`GuestReply::Done`].
    Ping,
    /// Whether a path exists; answered by [`GuestReply::Done`] or [`GuestReply::Failed`].
    Stat {
        /// Absolute path.
        path: String,
    },
    /// Switch the machine off; answered by [`GuestReply::Done`] first.
    Poweroff,
}

/// A message from the guest to a client: output, exit code, file content, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GuestReply {
    /// Payload from the program's standard output.
    Stdout,
    /// Payload from the program's standard error.
    Stderr,
    /// The program took (or will never take) this many bytes of input: the client may send more.
    Taken {
        /// Bytes of [`GuestRequest::Stdin`] payload.
        bytes: u64,
    },
    /// The program ended.
    Exit {
        /// Exit code; 128 plus the signal number when a signal ended it.
        code: i32,
    },
    /// Payload of a file under way.
    Data,
    /// The request was carried out.
    Done,
    /// The request failed; the session goes on.
    Failed {
        /// The reason, in lower case, naming the object.
        message: String,
    },
}

/// Why a frame of the protocol between host and guest could not be encoded or decoded.
#[derive(Debug, Error)]
pub enum FrameError {
    /// A length field beyond its limit.
    #[error("{part} of {bytes} bytes, expected {min} to {max}")]
    Size {
        /// `header` or `payload`.
        part: &'static str,
        /// The length announced.
        bytes: usize,
        /// Least length.
        min: usize,
        /// Greatest length.
        max: usize,
    },
    /// The stream ended inside a frame.
    #[error("stream ended {bytes} bytes into a frame")]
    Truncated {
        /// Bytes of the unfinished frame.
        bytes: usize,
    },
    /// A header that is not the JSON expected.
    #[error("unknown header")]
    Header(#[from] serde_json::Error),
}

/// Returns one frame as bytes: the two lengths, `header` as JSON, and `payload`. Fails if either is
/// too long.
pub fn encode<H: Serialize>(header: &H, payload: &[u8]) -> Result<Vec<u8>, FrameError> {
    let header = serde_json::to_vec(header)?;
    check_sizes(header.len(), payload.len())?;
    let mut frame = Vec::with_capacity(PREFIX_BYTES + header.len() + payload.len());
    frame.extend_from_slice(&(header.len() as u32).to_le_bytes());
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(&header);
    frame.extend_from_slice(payload);
    Ok(frame)
}

/// Splits the bytes that arrive on a virtio-serial port into greetings and frames.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    start: usize,
}

impl Decoder {
    /// Adds bytes as they arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 && self.start >= self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, `None` until it has arrived. After an error only
    /// [`Decoder::greeting`] makes sense.
    pub fn frame<H: DeserializeOwned>(&mut self) -> Result<Option<(H, Vec<u8>)>, FrameError> {
        let rest = &self.bytes[self.start..];
        let (Some(header_bytes), Some(payload_bytes)) = (u32_at(rest, 0), u32_at(rest, 4)) else {
            return Ok(None);
        };
        let (header_bytes, payload_bytes) = (header_bytes as usize, payload_bytes as usize);
        check_sizes(header_bytes, payload_bytes)?;
        let payload_at = PREFIX_BYTES + header_bytes;
        let end = payload_at + payload_bytes;
        if rest.len() < end {
            return Ok(None);
        }
        let header = serde_json::from_slice(&rest[PREFIX_BYTES..payload_at])?;
        let payload = rest[payload_at..end].to_vec();
        self.start += end;
        Ok(Some((header, payload)))
    }

    /// Finds the next greeting that begins with `magic`, and returns its nonce and protocol
    /// version; `None` until it has arrived whole. Discards the bytes before it.
    pub fn greeting(&mut self, magic: &[u8; 8]) -> Option<(u64, u32)> {
        let rest = &self.bytes[self.start..];
        let Some(at) = rest.windows(magic.len()).position(|w| w == magic) else {
            self.start = self.bytes.len() - rest.len().min(magic.len() - 1);
            return None;
        };
        self.start += at;
        let found = self.bytes.get(self.start + 8..self.start + GREETING_BYTES)?;
        let nonce = u64::from(u32_at(found, 0)?) | (u64::from(u32_at(found, 4)?) << 32);
        let version = u32_at(found, 8)?;
        self.start += GREETING_BYTES;
        Some((nonce, version))
    }

    /// To be called at the end of the stream: an error if it ended inside a frame.
    pub fn finish(&self) -> Result<(), FrameError> {
        match self.bytes.len() - self.start {
            0 => Ok(()),
            bytes => Err(FrameError::Truncated { bytes }),
        }
    }
}

/// Returns a greeting as bytes: `magic` ([`HELLO`] or [`WELCOME`]), `nonce` and this side's
/// protocol [`VERSION`].
pub fn greeting(magic: &[u8; 8], nonce: u64) -> [u8; GREETING_BYTES] {
    let mut bytes = [0; GREETING_BYTES];
    bytes[..8].copy_from_slice(magic);
    bytes[8..16].copy_from_slice(&nonce.to_le_bytes());
    bytes[16..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

fn check_sizes(header: usize, payload: usize) -> Result<(), FrameError> {
    for (part, bytes, min, max) in
        [("header", header, 1, MAX_HEADER_BYTES), ("payload", payload, 0, MAX_PAYLOAD_BYTES)]
    {
        if bytes < min || bytes > max {
            return Err(FrameError::Size { part, bytes, min, max });
        }
    }
    Ok(())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// The first 8 bytes of the greeting that a client sends to the guest.
pub const HELLO: &[u8; 8] = b"TRESSEhi";
/// The first 8 bytes of the greeting that the guest sends to a client.
pub const WELCOME: &[u8; 8] = b"TRESSEok";
/// Version of the protocol between host and guest, raised with every change that an older guest
/// would misunderstand.
pub const VERSION: u32 = 1;
/// Largest length of a frame's header in bytes: there must be room for a program's arguments and
/// environment.
pub const MAX_HEADER_BYTES: usize = 1 << 20;
/// Largest length of a frame's payload in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;
/// Bytes of a program's standard input that a client may send before the guest confirms some of
/// them with [`GuestReply::Taken`].
pub const STDIN_WINDOW_BYTES: u64 = 256 << 10;
/// Length of a greeting in bytes.
pub const GREETING_BYTES: usize = 20;
const PREFIX_BYTES: usize = 8;

#[cfg(test)]
mod tests;
