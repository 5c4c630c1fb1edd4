//! The cluster as a value: the content of the cluster file with every default filled in and every name
//! resolved (DESIGN section 3). All planning starts from this value.

use serde::{Deserialize, Serialize};
use tresse_base::id::{LinkId, NodeId, SwitchId, Vid};
use tresse_base::units::{Mac, Prefix, Rate};

mod cable;
mod lag;
mod shape;

pub use cable::{Cable, NicEnd};
pub use shape::TopologyShape;

/// The whole cluster: the resolved content of one cluster file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cluster {
    /// The name of the fabric: `[fabric] name`.
    pub name: String,
    /// The kind of topology and its sizes; [`TopologyShape::Explicit`] if the file lists everything.
    pub kind: TopologyShape,
    /// Switches in index order ([`SwitchId`]).
    pub switches: Vec<Switch>,
    /// Nodes in index order ([`NodeId`]).
    pub nodes: Vec<Node>,
    /// Switch-to-switch links in index order ([`LinkId`]): cables, and link aggregation groups of several.
    pub links: Vec<Link>,
    /// The links that are link aggregation groups, ascending. An empty list is left out of the digest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lags: Vec<Lag>,
    /// How paths are chosen: `[routing]`.
    pub routing: Routing,
    /// The VLAN IDs that plans may use: `[vlans]`.
    pub vlans: Vlans,
    /// The prefixes of node and NIC addresses: `[addressing]`.
    pub addressing: Addressing,
    /// The traffic to balance for: `[[demand]]`. If empty, every node sends 1 to every other node. An empty
    /// list is left out of the digest, so that plans without demand keep theirs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub demand: Vec<Traffic>,
}

/// The traffic of one `[[demand]]` table: each node of `from` sends the relative amount `weight` to each node of `to`
/// except itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// The sending nodes, ascending.
    pub from: Vec<NodeId>,
    /// The receiving nodes, ascending.
    pub to: Vec<NodeId>,
    /// Amount of traffic, relative to the other entries.
    pub weight: u32,
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
    /// Largest frame in bytes, header and FCS included (K9); default 1522.
    pub max_frame: u32,
    /// How the spanning tree protocol is kept from blocking ports of our VLANs.
    pub stp: Stp,
    /// Number of entries of the forwarding database, if the file gives it.
    pub fdb_size: Option<u32>,
    /// Ageing time of the forwarding database in seconds; default 300.
    pub fdb_age_seconds: u32,
    /// Whether all cables to another switch that has this too are one link aggregation group.
    pub lag: bool,
}

/// How a switch learns MAC addresses (IEEE 802.1Q): independent (IVL) or shared (SVL) VLAN learning.
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

/// How a switch keeps the spanning tree protocol from blocking ports of our VLAN trees.
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

/// A node: a computer of the cluster, with its NICs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// NICs in order.
    pub nics: Vec<Nic>,
    /// Whether this node may forward frames for other pairs of nodes.
    pub transit: bool,
    /// Whether this node routes between the fabric and all networks that the plan does not know.
    pub gateway: bool,
    /// Its place among several gateways: nodes use the lowest that can be reached, and of equal ones the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub gateway_order: u32,
    /// Networks behind this node, in order: all nodes have routes to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<Prefix>,
    /// The name of the spare machine that is this node now, in place of the machine with the node's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

impl Node {
    /// A node that forwards for others, with nothing behind it.
    #[must_use]
    pub fn new(name: String, nics: Vec<Nic>) -> Self {
        let (prefixes, machine) = (Vec::new(), None);
        Self { name, nics, transit: true, gateway: false, gateway_order: 0, prefixes, machine }
    }
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One network interface of a node, cabled to a switch port or to another node's NIC.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nic {
    /// Interface name, `eth0`.
    pub name: String,
    /// MAC address; a derived, locally administered one if the file gives none (K21).
    pub mac: Mac,
    /// Whether `mac` is derived. Derived addresses serve labs and planning only.
    pub mac_derived: bool,
    /// The switch at the other end of the cable; [`SwitchId::NONE`] if `peer` names a NIC instead.
    pub switch: SwitchId,
    /// The port on that switch, from 1; 0 if there is no switch.
    pub port: u32,
    /// The NIC at the other end of the cable, if it is not a switch port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<NicEnd>,
    /// Line rate.
    pub rate: Rate,
    /// IP MTU of the NIC in bytes; default 1500.
    pub mtu: u32,
}

impl Nic {
    /// Returns the name of this NIC's VLAN interface: `eth0.100`, or `tr<index>.<vid>` if the former has
    /// more than the 15 bytes that IFNAMSIZ allows. `index` is the index of the NIC in its node.
    #[must_use]
    pub fn vlan_interface(&self, index: usize, vid: Vid) -> String {
        let name = format!("{}.{vid}", self.name);
        if name.len() <= 15 { name } else { format!("tr{index}.{vid}") }
    }
}

/// One switch-to-switch link: a cable, or several that are a link aggregation group ([`Lag`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Link {
    /// One end.
    pub a: Port,
    /// The other end.
    pub b: Port,
    /// Line rate.
    pub rate: Rate,
}

/// The further cables of a link that is a link aggregation group. The [`Link`] itself has the ports of the first cable,
/// and the rate of all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lag {
    /// The link.
    pub link: LinkId,
    /// The ports of the other cables, at its end `a` and at its end `b`.
    pub more: Vec<[u32; 2]>,
}

/// A port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Port {
    /// The switch.
    pub switch: SwitchId,
    /// Port number from 1.
    pub port: u32,
}

/// How paths are chosen: the table `[routing]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Routing {
    /// The strategy that chooses trees and paths.
    pub strategy: Strategy,
    /// Paths per ordered pair, primary included; default 2.
    pub paths: u32,
    /// Whether a plan is refused if its channel dependency graph has a cycle.
    pub lossless: bool,
    /// Which pairs also send through third nodes.
    #[serde(skip_serializing_if = "ReflectMode::is_off")]
    pub reflect: ReflectMode,
    /// Whether such paths may cross the uplink of a flat neighbourhood instead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub use_uplink: bool,
    /// How the strategy `transit` chooses among the shortest paths.
    #[serde(skip_serializing_if = "Choice::is_balanced")]
    pub choice: Choice,
    /// What `minimal`, `updown` and `transit` give up for the other, if need be: even loads or few trees.
    #[serde(skip_serializing_if = "Prefer::is_balance")]
    pub prefer: Prefer,
    /// Whether one Multipath TCP connection may use all NICs on which a pair of nodes has paths.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mptcp: bool,
}

/// Which pairs also send through third nodes (reflectors).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReflectMode {
    /// None.
    #[default]
    Off,
    /// Those whose demand the cluster file lists, by weights of the plan, if that relieves the most loaded links.
    Demand,
    /// All: the plan has paths through third nodes, and each node uses them while its own paths are full and they are not.
    Adaptive,
}

impl ReflectMode {
    /// Whether this is the default, which digests leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

impl Serialize for ReflectMode {
    /// As the cluster file has it.
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => to.serialize_bool(false),
            Self::Demand => to.serialize_bool(true),
            Self::Adaptive => to.serialize_str("adaptive"),
        }
    }
}

/// How the strategy `transit` chooses among the shortest paths of a pair: balanced over links, or at random as in the
/// paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Balances paths over links and transit nodes.
    #[default]
    Balanced,
    /// Takes a random shortest path that is legal by up*/down* if there is one (in-transit-buffers,
    /// section 4).
    Paper,
}

impl Choice {
    /// Whether this is the default, which digests leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_balanced(&self) -> bool {
        *self == Self::Balanced
    }
}

/// What counts more where paths are packed into VLAN trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefer {
    /// The busiest link carries as little as the search finds.
    #[default]
    Balance,
    /// There are as few VLANs as the search finds.
    FewestVlans,
}

impl Prefer {
    /// Whether this is the default, which digests leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_balance(&self) -> bool {
        *self == Self::Balance
    }
}

/// The routing strategies that this version plans, as DESIGN section 4 describes them: each chooses VLAN trees and
/// paths by its own rules. New variants come last, as in [`TopologyShape`], because the plan's digest includes the number of
/// the variant.
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
        /// The root of the breadth-first tree; `None` takes the root with the lowest maximum load.
        root: Option<SwitchId>,
    },
    /// Minimal paths on any fabric, packed into few VLAN trees (SPAIN, NSDI 2010).
    Minimal,
    /// Minimal paths split at in-transit nodes (in-transit-buffers, section 3).
    Transit {
        /// The root, as for `Updown`.
        root: Option<SwitchId>,
    },
    /// Dimension-order routing through nodes (p-mesh, section 4.2).
    Xy,
    /// Paths over the one switch that two nodes share, or over a third node that shares a switch with each
    /// of them (flat-neighborhood-network-compiler, section 3).
    Direct,
    /// Shortest paths through nodes, over cables as the file lists them.
    Shortest,
}

/// The VLAN IDs that plans may use: the table `[vlans]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vlans {
    /// Inclusive ranges to allocate from, ascending; default 2-4094.
    pub ranges: Vec<(u16, u16)>,
    /// The untagged VLAN, which gets the base tree (K3); `None` removes the untagged VLAN from all links
    /// between switches.
    pub base: Option<u16>,
}

impl Vlans {
    /// Returns the ranges without the base VID.
    #[must_use]
    pub fn free_ranges(&self) -> Vec<(u16, u16)> {
        let Some(base) = self.base else { return self.ranges.clone() };
        let parts = |&(low, high): &(u16, u16)| {
            if (low..=high).contains(&base) {
                [(low, base - 1), (base + 1, high)]
            } else {
                [(low, high), (1, 0)]
            }
        };
        self.ranges.iter().flat_map(parts).filter(|(low, high)| low <= high).collect()
    }
}

/// The prefixes of node and NIC addresses: the table `[addressing]`. Each list holds at most one IPv4 and one
/// IPv6 prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Addressing {
    /// The prefixes of node addresses.
    pub nodes: Vec<Prefix>,
    /// The prefixes of NIC addresses.
    pub nics: Vec<Prefix>,
    /// How node addresses are laid out. `None` in a cluster that is not planned yet: as the lock has it, else the
    /// default of the kind. A digest has the addresses themselves.
    #[serde(skip)]
    pub layout: Option<AddressLayout>,
}

/// How the addresses of nodes are laid out: `[addressing] layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressLayout {
    /// One after the other, in the order of nodes.
    Sequential,
    /// By the coordinates of nodes ([`crate::coordinates`]).
    Coordinates,
}

impl Cluster {
    /// Whether paths use no VLAN tags, because nodes route or because no path crosses two switches.
    #[must_use]
    pub fn is_untagged(&self) -> bool {
        self.kind.is_routed() || self.routing.strategy == Strategy::Direct
    }

    /// Returns the uplink switch of a flat neighbourhood: one of the wiring table (folded), or one behind these.
    #[must_use]
    pub fn uplink(&self) -> Option<SwitchId> {
        match &self.kind {
            TopologyShape::Fnn { uplink: Some(name), .. } => {
                self.switches.iter().position(|switch| switch.name == *name).map(SwitchId::from)
            }
            _ => None,
        }
    }

    /// Whether a cable leads to the uplink switch.
    #[must_use]
    pub fn is_uplink(&self, link: &Link) -> bool {
        let uplink = self.uplink();
        uplink.is_some() && [Some(link.a.switch), Some(link.b.switch)].contains(&uplink)
    }

    /// Whether a node is on the uplink switch alone, so that all its paths cross the uplink's cables.
    #[must_use]
    pub fn is_behind_uplink(&self, node: NodeId) -> bool {
        let uplink = self.uplink();
        uplink.is_some() && self.node(node).nics.iter().all(|nic| Some(nic.switch) == uplink)
    }

    /// Returns the switch with this index.
    #[must_use]
    pub fn switch(&self, id: SwitchId) -> &Switch {
        &self.switches[id.index()]
    }

    /// Returns the largest number of VLAN trees that every switch and the VID ranges have room for; at least 1.
    #[must_use]
    pub fn most_trees(&self) -> usize {
        let vids =
            self.vlans.free_ranges().iter().map(|(low, high)| usize::from(high - low) + 1).sum();
        let base = u32::from(self.vlans.base.is_some());
        let held = self.switches.iter().map(|s| s.max_vlans.saturating_sub(base) as usize).min();
        held.map_or(vids, |held| held.min(vids)).max(1)
    }

    /// Returns, for each switch, the nodes on it that may forward frames of others, each with the index of its
    /// NIC on that switch.
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

    /// Returns the node with this index.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the cables between nodes, in the order of their lower ends; the lower end comes first.
    pub fn direct_cables(&self) -> impl Iterator<Item = (NicEnd, NicEnd)> {
        self.nodes.iter().enumerate().flat_map(|(k, node)| {
            let ends = node.nics.iter().enumerate();
            ends.filter_map(move |(nic, n)| Some((NicEnd { node: k.into(), nic }, n.peer?)))
                .filter(|(a, b)| a < b)
        })
    }

    /// Returns the link with this index.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The name of the machine that is a node: the node's own, unless a spare has taken its place.
    #[must_use]
    pub fn machine(&self, node: NodeId) -> &str {
        let node = self.node(node);
        node.machine.as_ref().unwrap_or(&node.name)
    }

    /// The node that the machine with this name is. A machine that a spare has replaced is none.
    #[must_use]
    pub fn node_on(&self, machine: &str) -> Option<NodeId> {
        (0..self.nodes.len()).map(NodeId::from).find(|node| self.machine(*node) == machine)
    }

    /// Returns the node with this name.
    #[must_use]
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(NodeId::from)
    }

    /// Returns the switch with this name.
    #[must_use]
    pub fn switch_named(&self, name: &str) -> Option<SwitchId> {
        self.switches.iter().position(|s| s.name == name).map(SwitchId::from)
    }
}

#[cfg(test)]
mod tests {
    use super::Vlans;

    #[test]
    fn free_ranges_leave_the_base_out() {
        let free =
            |ranges: &[(u16, u16)], base| Vlans { ranges: ranges.into(), base }.free_ranges();
        assert_eq!(free(&[(2, 4094)], Some(100)), [(2, 99), (101, 4094)]);
        assert_eq!(free(&[(2, 4094)], Some(2)), [(3, 4094)]);
        assert_eq!(free(&[(5, 5), (7, 9)], Some(5)), [(7, 9)]);
        assert_eq!(free(&[(2, 4094)], None), [(2, 4094)]);
    }
}
