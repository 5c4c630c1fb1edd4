//! What the daemon finds out of the traffic that this node sends, where detours are used as they are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;

/// What is to be sampled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// What leaves by these NICs.
    pub nics: Vec<String>,
    /// Also with labels? Otherwise the daemon pushes these itself, and counts it.
    pub labelled: bool,
    /// What comes from these addresses, those of this node: it forwards for others, too.
    pub sources: BTreeSet<IpAddr>,
}

/// What a node has sent in a while, by sampling, and what its NICs have carried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// How long the while was.
    pub elapsed_ms: u64,
    /// What went to each destination by each path.
    pub traffic: Vec<Traffic>,
    /// By NIC: bytes sent and received, of all traffic.
    pub carried: BTreeMap<String, (u64, u64)>,
}

/// What a node has sent to one destination by one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The destination.
    pub destination: IpAddr,
    /// The NIC that it left by.
    pub nic: String,
    /// The VLAN.
    pub vid: Option<u16>,
    /// The labels, outermost first.
    pub labels: Vec<Label>,
    /// About how many bytes.
    pub bytes: u64,
}
