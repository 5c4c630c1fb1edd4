//! The errors that stop sending, by which member is at fault: sender or receiver.

use std::io;

/// Why sending failed, by the end that is at fault.
pub enum Problem {
    /// The connection failed, or the other end is no member.
    Connection(io::Error),
    /// This node failed: its files cannot be read.
    Own(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}
