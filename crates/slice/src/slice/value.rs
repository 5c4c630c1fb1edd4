//! The types of a slice: [`Slice`] and its interfaces. Only data; the parent module computes it.

use std::collections::BTreeMap;

use serde::Serialize;
use tresse_base::id::{NodeId, Vid};
use tresse_base::units::Prefix;
use tresse_reconcile::{Nexthop, Wanted};
use tresse_topology::cluster::Nic;

/// The part of a plan that concerns one node: its interfaces and the kernel state that it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The node's index in the cluster.
    pub id: NodeId,
    /// The node's name.
    pub node: String,
    /// The plan's generation: the digest of the plan.
    pub generation: String,
    /// The VLAN interfaces by name; on a fabric without VLANs, the NICs by name.
    pub interfaces: BTreeMap<String, SliceInterface>,
    /// The kernel state if every VID is proven and none is fused.
    pub wanted: Wanted,
    /// By destination: the first nexthops of its paths other than the primary, by rank. They are
    /// used when the VLAN of the primary is fused (K5).
    #[serde(skip)]
    pub alternatives: BTreeMap<Prefix, Vec<Nexthop>>,
}

/// One VLAN interface that the plan uses on a node; on a fabric without VLANs, a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SliceInterface {
    /// Index of the NIC below.
    pub nic: usize,
    /// Name of the NIC below.
    pub parent: String,
    /// The VID; `None` for an untagged NIC.
    pub vid: Option<Vid>,
    /// Name of the VLAN tree.
    pub tree: String,
    /// Digest of the VLAN tree. The daemon remembers proofs by (VID, digest).
    pub digest: String,
    /// Does a segment on this VID end at this NIC? Then the NIC announces itself, so that switches
    /// know it (K17).
    pub announces: bool,
    /// Place in the order of canary senders of this VID (K5): the number of lower-indexed nodes
    /// with an interface on it, counted among the first few nodes of the cluster.
    pub rank: u32,
}

impl SliceInterface {
    /// An untagged NIC. It announces itself, because switches forget silent addresses (K17).
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
