//! The options of `tresse lab up`, which builds a lab from a cluster file.

use std::path::PathBuf;

use crate::state::Shaping;

/// The options of `tresse lab up`, which builds a lab: its name, cable rates, daemons and cluster
/// file.
#[derive(Debug, Clone)]
pub struct UpOptions {
    /// The lab's name.
    pub name: String,
    /// Rate of the cables.
    pub shape: Shaping,
    /// The node daemon; `None` sets nodes up by iproute2 instead.
    pub tressed: Option<PathBuf>,
    /// Daemons without a cluster file: what `tresse up` begins with.
    pub bare: bool,
    /// The program `tresse`, which starts daemons again that die; `None`: nobody does.
    pub supervisor: Option<PathBuf>,
    /// Text of the cluster file, for the daemons.
    pub cluster: String,
    /// Text of the lock beside it.
    pub lock: Option<String>,
    /// Seconds between a daemon's announcements; `None` for its own choice.
    pub announce_seconds: Option<u32>,
    /// Milliseconds between the packets of a BFD session; `None`: no path is watched. A lab shares its
    /// processors, and counters are to show what was sent by its users.
    pub bfd_ms: Option<u16>,
    /// File of the keys by which the daemons know each other's packets.
    pub key_file: Option<PathBuf>,
    /// Engine by which daemons forward labelled frames.
    pub engine: LabEngine,
    /// Engine by which daemons push labels: the `source` of their `tressed.toml`.
    pub source: &'static str,
}

/// Which engine forwards labelled (MPLS) frames in a lab: the kernel, or raw sockets of the
/// daemons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabEngine {
    /// Each daemon's own choice.
    #[default]
    Auto,
    /// The kernel on all nodes.
    Kernel,
    /// Raw sockets on all nodes.
    Packet,
    /// The kernel on every other node, beginning with the first, raw sockets on the rest.
    Mixed,
}

impl LabEngine {
    /// The `engine` of a node's `tressed.toml`.
    #[must_use]
    pub const fn of_node(self, index: usize) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Mixed if index % 2 == 1 => "packet",
            Self::Kernel | Self::Mixed => "kernel",
            Self::Packet => "packet",
        }
    }
}
