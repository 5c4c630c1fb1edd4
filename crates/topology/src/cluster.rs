//! The cluster, as read from the cluster file with every default filled in and every name
//! resolved (DESIGN section 3). All planning starts from this value.

use serde::{Deserialize, Serialize};
use tresse_base::id::{LinkId, NodeId, SwitchId, Vid};
use tresse_base::units::{Mac, Prefix, Rate};
use tresse_base::wiring::Wiring;

/// The whole cluster: the resolved content of one cluster file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cluster {
    /// `[fabric] name`.
    pub name: String,
    /// The generator's kind and sizes; [`Kind::Explicit`] where everything is listed.
    pub kind: Kind,
    /// Switches in index order ([`SwitchId`]).
    pub switches: Vec<Switch>,
    /// Nodes in index order ([`NodeId`]).
    pub nodes: Vec<Node>,
    /// Switch-to-switch cables in index order ([`LinkId`]).
    pub links: Vec<Link>,
    /// `[routing]`.
    pub routing: Routing,
    /// `[vlans]`.
    pub vlans: Vlans,
    /// `[addressing]`.
    pub addressing: Addressing,
    /// `[[demand]]`; empty: every node sends 1 to every other. What is absent is not in the digest, so
    /// that plans without it keep theirs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub demand: Vec<Traffic>,
}

/// Traffic: each of `from` sends `weight` to each of `to`, itself excepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Who sends, ascending.
    pub from: Vec<NodeId>,
    /// Who receives, ascending.
    pub to: Vec<NodeId>,
    /// How much.
    pub weight: u32,
}

/// What generated the fabric. The generation digests the variants by number: new ones come last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// An M-dimensional mesh of switches; switch k = x0 + N0 x1 + N0 N1 x2 ...
    Mesh {
        /// Switches per dimension, 1 to 6 entries, each at least 1.
        dims: Vec<u32>,
    },
    /// An M-dimensional torus of switches, numbered like the mesh. Size 2 has one link.
    Torus {
        /// Switches per dimension, 1 to 6 entries, each at least 1.
        dims: Vec<u32>,
    },
    /// Every switch cabled to every other.
    Clique {
        /// Ports per switch (N): N/2 nodes on each of N/2 + 1 switches.
        ports: u32,
    },
    /// Switches, nodes and links are listed in the file.
    Explicit,
    /// A random regular graph of switches ([`random::regular`](crate::random::regular)).
    Irregular {
        /// How many switches.
        switches: u32,
        /// Ports per switch: those that no NIC needs are cabled to other switches.
        ports: u32,
        /// Which random graph.
        seed: u32,
    },
    /// A P-Mesh (p-mesh, section 4.0): node k = x0 + N0 x1 + ..., one switch per line of nodes that
    /// differ in one dimension only, or a part of one.
    Pmesh {
        /// Nodes per dimension, 1 to 6 entries, each at least 2.
        dims: Vec<u32>,
        /// The sizes that addresses have room for, each at least that of `dims`.
        grow_to: Vec<u32>,
        /// How many lines a switch holds, each a network of its own; at least 1. What is 1 is not in the
        /// digest, as with [`Cluster::demand`].
        #[serde(skip_serializing_if = "is_one")]
        lines_per_switch: u32,
    },
    /// Nodes in a ring, cabled to each other.
    Ring {
        /// How many, at least 2.
        nodes: u32,
    },
    /// A mesh of nodes that are cabled to each other.
    DirectMesh {
        /// Nodes per dimension, 1 to 6 entries, each at least 2.
        dims: Vec<u32>,
    },
    /// A torus of nodes that are cabled to each other. Size 2 has one cable.
    DirectTorus {
        /// Nodes per dimension, 1 to 6 entries, each at least 2.
        dims: Vec<u32>,
    },
    /// Every node cabled to every other.
    FullMesh {
        /// How many, at least 2.
        nodes: u32,
    },
    /// A flat neighbourhood (flat-neighborhood-network-compiler, section 2): switches with no path from
    /// one to another.
    Fnn {
        /// The nodes on every switch: NIC i of a node goes to the i-th switch that has it.
        wiring: Wiring,
        /// The name of a switch to which each of these has a cable that no path crosses. What is absent
        /// is not in the digest.
        #[serde(skip_serializing_if = "Option::is_none")]
        uplink: Option<String>,
    },
}

impl Kind {
    /// Do nodes route, instead of switches carrying VLANs?
    #[must_use]
    pub const fn is_routed(&self) -> bool {
        match self {
            Self::Mesh { .. }
            | Self::Torus { .. }
            | Self::Clique { .. }
            | Self::Explicit
            | Self::Irregular { .. }
            | Self::Fnn { .. } => false,
            Self::Pmesh { .. }
            | Self::Ring { .. }
            | Self::DirectMesh { .. }
            | Self::DirectTorus { .. }
            | Self::FullMesh { .. } => true,
        }
    }

    /// Are several lines of nodes on one switch, so that its ports are parted by VLANs?
    #[must_use]
    pub const fn shares_switches(&self) -> bool {
        matches!(self, Self::Pmesh { lines_per_switch: 2.., .. })
    }
}

/// The default of a number that digests leave out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

/// One Ethernet switch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Switch {
    /// Unique name.
    pub name: String,
    /// Number of ports; ports are numbered from 1.
    pub ports: u32,
    /// How many VLANs the switch can hold.
    pub max_vlans: u32,
    /// Independent or shared VLAN learning.
    pub learning: Learning,
    /// Largest frame in octets, header and FCS included (K9); default 1522.
    pub max_frame: u32,
    /// How spanning tree can be kept off our VLANs.
    pub stp: Stp,
    /// Entries of the forwarding database, where stated.
    pub fdb_size: Option<u32>,
    /// Ageing time of the forwarding database; default 300.
    pub fdb_age_seconds: u32,
    /// Parallel cables between the same two switches form one trunk.
    pub lag: bool,
}

/// How a switch learns addresses (IEEE 802.1Q: independent or shared VLAN learning).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default, schemars::JsonSchema,
)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Learning {
    /// One database per VLAN.
    #[default]
    Ivl,
    /// One database for all VLANs.
    Svl,
}

/// What the switch offers to keep spanning tree from blocking our trees.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default, schemars::JsonSchema,
)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Stp {
    /// Spanning tree can be switched off.
    #[default]
    Off,
    /// Multiple spanning tree: our VLANs go to an instance of their own.
    Mstp,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// NICs in order.
    pub nics: Vec<Nic>,
    /// May other pairs' frames pass through this node?
    pub transit: bool,
    /// Does it route between the fabric and hosts outside the plan?
    pub gateway: bool,
}

/// One network interface of a node, cabled to a switch port or to another node's NIC.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nic {
    /// Interface name, `eth0`.
    pub name: String,
    /// MAC address; derived (locally administered) where the file gives none (K21).
    pub mac: Mac,
    /// Is `mac` derived, and so good for lab and planning only?
    pub mac_derived: bool,
    /// The switch it is cabled to; [`SwitchId::NONE`] where `peer` says to which NIC.
    pub switch: SwitchId,
    /// The port on that switch, from 1; 0 without one.
    pub port: u32,
    /// The NIC that it is cabled to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<NicEnd>,
    /// Line rate.
    pub rate: Rate,
    /// IP MTU of the NIC; default 1500.
    pub mtu: u32,
}

impl Nic {
    /// The name of this NIC's VLAN interface: `eth0.100`, or `tr<index>.<vid>` where that would be longer
    /// than the 15 bytes that IFNAMSIZ leaves. `index` is the NIC's place in its node.
    #[must_use]
    pub fn vlan_interface(&self, index: usize, vid: Vid) -> String {
        let name = format!("{}.{vid}", self.name);
        if name.len() <= 15 { name } else { format!("tr{index}.{vid}") }
    }
}

/// A NIC as the end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NicEnd {
    /// The node.
    pub node: NodeId,
    /// Index into its NICs.
    pub nic: usize,
}

/// One switch-to-switch cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Link {
    /// One end.
    pub a: Port,
    /// The other end.
    pub b: Port,
    /// Line rate.
    pub rate: Rate,
}

/// A port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Port {
    /// The switch.
    pub switch: SwitchId,
    /// Port number from 1.
    pub port: u32,
}

/// `[routing]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Routing {
    /// The strategy that chooses trees and paths.
    pub strategy: Strategy,
    /// Paths per ordered pair, primary included; default 2.
    pub paths: u32,
    /// Refuse a plan whose channel dependency graph is cyclic.
    pub lossless: bool,
    /// Add detours through reflectors where the demand gains by them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reflect: bool,
    /// How `transit` chooses among the shortest ways.
    #[serde(skip_serializing_if = "Choice::is_balanced")]
    pub choice: Choice,
    /// Let one connection of Multipath TCP use all NICs that a pair has paths by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mptcp: bool,
}

/// How `transit` chooses among the shortest ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Balanced over links and nodes.
    #[default]
    Balanced,
    /// A legal up*/down* one where there is one, at random (in-transit-buffers, section 4).
    Paper,
}

impl Choice {
    /// The default, which digests leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_balanced(&self) -> bool {
        *self == Self::Balanced
    }
}

/// The strategies of DESIGN section 4 that this version plans. New ones come last, as in [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// One spanning tree, the one with the fewest average hops.
    Stp,
    /// Dimension-order routing (vlan-minimal-paths, Definitions 2.4, 2.6, 3.4, 3.6).
    Dor,
    /// Partial dimension-order routing (Definitions 2.5, 2.7, 3.5, 3.7).
    Pdor,
    /// Up*/down* routing (in-transit-buffers, section 2).
    Updown {
        /// The root of the breadth-first tree; `None`: that with the lowest maximum load.
        root: Option<SwitchId>,
    },
    /// Minimal paths in few trees (SPAIN, NSDI 2010).
    Minimal,
    /// Minimal paths split at in-transit nodes (in-transit-buffers, section 3).
    Transit {
        /// As for `Updown`.
        root: Option<SwitchId>,
    },
    /// Dimension order through nodes (p-mesh, section 4.2).
    Xy,
    /// One switch between any two nodes, or a node that shares one with each
    /// (flat-neighborhood-network-compiler, section 3).
    Direct,
}

/// `[vlans]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vlans {
    /// Inclusive ranges to allocate from, ascending; default 2-4094.
    pub ranges: Vec<(u16, u16)>,
    /// The untagged VLAN that gets the base tree (K3); `None`: pruned everywhere.
    pub base: Option<u16>,
}

/// `[addressing]`: at most one IPv4 and one IPv6 prefix each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Addressing {
    /// Where node addresses come from.
    pub nodes: Vec<Prefix>,
    /// Where NIC addresses come from.
    pub nics: Vec<Prefix>,
}

impl Cluster {
    /// Does no frame bear a tag: do nodes route, or does every switch stand by itself?
    #[must_use]
    pub fn is_untagged(&self) -> bool {
        self.kind.is_routed() || self.routing.strategy == Strategy::Direct
    }

    /// The uplink switch of a flat neighbourhood, which comes after those of the wiring table.
    #[must_use]
    pub fn uplink(&self) -> Option<SwitchId> {
        match &self.kind {
            Kind::Fnn { wiring, uplink: Some(_) } => Some(wiring.switches.len().into()),
            _ => None,
        }
    }

    /// Does a cable lead to the uplink switch?
    #[must_use]
    pub fn is_uplink(&self, link: &Link) -> bool {
        let uplink = self.uplink();
        uplink.is_some() && [Some(link.a.switch), Some(link.b.switch)].contains(&uplink)
    }

    /// The switch with this index.
    #[must_use]
    pub fn switch(&self, id: SwitchId) -> &Switch {
        &self.switches[id.index()]
    }

    /// The number of VLAN trees for which every switch and the VID ranges have room; at least 1.
    #[must_use]
    pub fn most_trees(&self) -> usize {
        let vids =
            self.vlans.free_ranges().iter().map(|(low, high)| usize::from(high - low) + 1).sum();
        let base = u32::from(self.vlans.base.is_some());
        let held = self.switches.iter().map(|s| s.max_vlans.saturating_sub(base) as usize).min();
        held.map_or(vids, |held| held.min(vids)).max(1)
    }

    /// By switch, the nodes that may be in transit there, each with the NIC that it has there.
    #[must_use]
    pub fn transit_nodes(&self) -> Vec<Vec<(NodeId, usize)>> {
        let mut at = vec![Vec::new(); self.switches.len()];
        for (k, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.transit) {
            for (i, nic) in node.nics.iter().enumerate() {
                let Some(here) = at.get_mut(nic.switch.index()) else { continue };
                let here: &mut Vec<(NodeId, usize)> = here;
                if here.last().is_none_or(|(last, _)| last.index() != k) {
                    here.push((k.into(), i));
                }
            }
        }
        at
    }

    /// The node with this index.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The cables between nodes, each by its lower end first, in the order of that end.
    pub fn direct_cables(&self) -> impl Iterator<Item = (NicEnd, NicEnd)> {
        self.nodes.iter().enumerate().flat_map(|(k, node)| {
            let ends = node.nics.iter().enumerate();
            ends.filter_map(move |(nic, n)| Some((NicEnd { node: k.into(), nic }, n.peer?)))
                .filter(|(a, b)| a < b)
        })
    }

    /// The cable with this index.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The node with this name.
    #[must_use]
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(NodeId::from)
    }

    /// The switch with this name.
    #[must_use]
    pub fn switch_named(&self, name: &str) -> Option<SwitchId> {
        self.switches.iter().position(|s| s.name == name).map(SwitchId::from)
    }
}
