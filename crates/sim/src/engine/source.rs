//! The messages that a simulated node generates for one of its outgoing channels.

use crate::traffic::{Message, Sequence};

/// The messages of a node that leave by one of its channels. Every channel of a node has its own
/// copy of the node's sequence, so waiting messages need no memory.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub node: u32,
    pub sequence: Sequence,
    /// The next message, and its path.
    pub message: Message,
    pub path: Vec<u32>,
    /// Flits of its frames that are not sent yet, the next frame last.
    pub frames: Vec<u32>,
    /// Whether the message has been generated and waits.
    pub waits: bool,
}
