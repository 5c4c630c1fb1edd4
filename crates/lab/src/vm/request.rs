//! Two types for requests to the guest: where the standard input of a program comes from, and why a
//! request failed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::channel::ChannelError;
use super::wire::GuestReply;

/// Why a request to the guest failed.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The guest could not be reached.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The guest could not do it.
    #[error("in the virtual machine: {message}")]
    Guest {
        /// The guest's message.
        message: String,
    },
    /// The guest answered something else than was asked.
    #[error("unexpected answer from the guest: {reply:?}")]
    Answer {
        /// The answer.
        reply: GuestReply,
    },
    /// The program ran longer than it was given; it has been killed.
    #[error("`{program}` did not end within {seconds} s")]
    Timeout {
        /// The program.
        program: String,
        /// Its time limit.
        seconds: u64,
    },
    /// A file or stream on the host failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file, or the name of the stream.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Where the standard input of a program in the guest comes from.
#[derive(Debug, Clone, Default)]
pub enum ProgramInput {
    /// `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// The standard input of this process.
    Inherit,
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> RequestError + use<> {
    let path = path.to_owned();
    move |source| RequestError::Io { path, source }
}
