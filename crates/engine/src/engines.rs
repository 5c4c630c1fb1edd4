//! Names the component (kernel or daemon) that forwards MPLS frames of other nodes on this node,
//! and the component that pushes labels onto this node's own packets.

use serde::{Deserialize, Serialize};

/// The components that handle MPLS labels on this node: one forwards labelled frames of other
/// nodes, the other pushes labels onto this node's own packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// What forwards labelled frames of other nodes.
    pub labels: LabelEngine,
    /// What pushes labels onto this node's own packets.
    pub sources: SourceEngine,
}

/// The component that forwards MPLS frames of other nodes on this node: the kernel or the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelEngine {
    /// The kernel's label routes.
    Kernel,
    /// The daemon, through raw sockets.
    Packet,
}

impl LabelEngine {
    /// Its name in `status`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Packet => "packet",
        }
    }
}

/// The component that pushes MPLS labels onto this node's own packets: the kernel or the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceEngine {
    /// The kernel's routes.
    Kernel,
    /// The daemon, through a TUN interface.
    Tun,
}

impl SourceEngine {
    /// Its name in `status`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Tun => "tun",
        }
    }
}
