//! What handles labels on this node.

use serde::{Deserialize, Serialize};

/// What handles labels on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// What forwards labelled frames for others.
    pub labels: LabelEngine,
    /// What pushes labels onto what this node sends.
    pub sources: SourceEngine,
}

/// Who takes labelled frames in and sends them on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelEngine {
    /// The kernel's label routes.
    Kernel,
    /// Raw sockets of this daemon.
    Packet,
}

impl LabelEngine {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Packet => "packet",
        }
    }
}

/// Who pushes labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceEngine {
    /// The kernel's routes.
    Kernel,
    /// The daemon, through a TUN interface.
    Tun,
}

impl SourceEngine {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Tun => "tun",
        }
    }
}
