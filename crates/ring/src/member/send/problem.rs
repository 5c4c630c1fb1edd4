//! Why sending stops, by the end that is at fault.

use std::io;

/// Why sending stops, by the end that is at fault.
pub enum Problem {
    /// The other end is gone, or is somebody else.
    Connection(io::Error),
    /// This node's: what is to be sent cannot be read.
    Own(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}
