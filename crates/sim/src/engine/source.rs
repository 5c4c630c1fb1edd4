//! The messages that a node generates for one of its channels.

use crate::traffic::{Message, Sequence};

/// What a node sends by one of its channels: all that it generates, but for what goes by another. Every channel
/// of a node has the node's sequence for itself, so that nothing need be kept of messages that wait.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub node: u32,
    pub sequence: Sequence,
    /// The next message, and its way.
    pub message: Message,
    pub way: Vec<u32>,
    /// Its frames that are left, by their flits, the next one last.
    pub frames: Vec<u32>,
    /// Is it generated already?
    pub waits: bool,
}
