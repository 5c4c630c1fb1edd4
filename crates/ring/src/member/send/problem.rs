//! The errors that stop sending to another member: those of this node, and those of the connection
//! or the receiver.

use std::io;

/// Why sending to another member failed: the connection or the receiver is at fault, or this node.
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
