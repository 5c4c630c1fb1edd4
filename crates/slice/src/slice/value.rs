//! What a slice holds.

use std::collections::BTreeMap;

use serde::Serialize;
use tresse_base::id::{NodeId, Vid};
use tresse_base::units::Prefix;
use tresse_reconcile::{Leg, Wanted};
use tresse_topology::cluster::Nic;

/// One node's part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The node's index in the cluster.
    pub id: NodeId,
    /// The node's name.
    pub node: String,
    /// The plan's generation.
    pub generation: String,
    /// The VLAN interfaces, by name; without VLANs the NICs.
    pub interfaces: BTreeMap<String, SliceInterface>,
    /// The kernel state wanted with every VID proven and nothing fused.
    pub wanted: Wanted,
    /// Where a destination is still reached when the VLAN of its primary is fused (K5): the first
    /// legs of its other paths, by rank.
    #[serde(skip)]
    pub alternatives: BTreeMap<Prefix, Vec<Leg>>,
}

/// One VLAN interface of a slice, or a NIC without VLANs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SliceInterface {
    /// Index of the NIC below.
    pub nic: usize,
    /// Name of the NIC below.
    pub parent: String,
    /// The VID; `None`: a NIC itself, untagged.
    pub vid: Option<Vid>,
    /// Name of the VID's tree.
    pub tree: String,
    /// Digest of the VID's tree: proofs are kept by (VID, digest).
    pub digest: String,
    /// Is this NIC a segment's destination on the VID, so that it announces itself (K17)?
    pub announces: bool,
    /// Place in the queue of canary senders (K5): lower nodes with an interface on this VID, among
    /// the first few nodes of the cluster.
    pub rank: u32,
}

impl SliceInterface {
    /// A NIC whose frames have no tag: it announces itself, as switches forget what is silent (K17).
    pub(super) fn untagged(index: usize, nic: &Nic) -> Self {
        Self {
            nic: index,
            parent: nic.name.clone(),
            vid: None,
            tree: String::new(),
            digest: String::new(),
            announces: true,
            rank: 0,
        }
    }
}
