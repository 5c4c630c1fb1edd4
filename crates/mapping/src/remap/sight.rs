//! What is compared with what.

use std::collections::BTreeSet;

use tresse_topology::cluster::Cluster;

use crate::host::DiscoveredHost;
use crate::wires::Wires;

/// Why a cluster file cannot be compared with the wires, or not be drafted anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemapError {
    /// The nodes of the fabric route, or it has an uplink.
    #[error(
        "a fabric of kind {kind} is not remapped: only cables between switches and NICs on switches are\n  help: draft it \
         anew with `tresse discover`; `tresse cables` compares the cables of one node"
    )]
    Kind {
        /// The kind.
        kind: &'static str,
    },
    /// What is to be kept is not in the file.
    #[error("no switch or node is called `{name}`\n  help: --keep takes names of the cluster file")]
    Kept {
        /// The name.
        name: String,
    },
    /// The file is no TOML with tables as they have to be.
    #[error("cannot write the draft: {what} of the cluster file is not a table")]
    Form {
        /// The key.
        what: &'static str,
    },
}

/// What is to be compared: a cluster file, and what was seen.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// The cluster of the file, each cable a link of its own ([`Cluster::unbundled`]).
    pub cluster: &'a Cluster,
    /// The nodes that answered, by their names in the file, and new ones.
    pub hosts: &'a [DiscoveredHost],
    /// Switches and nodes that are away for a while only: they stay in the draft.
    pub keep: &'a BTreeSet<String>,
    /// What the tables of the switches show.
    pub wires: &'a Wires,
}
