//! Finds the parts of a fabric by the names that operators give them (switch or node `s00`, link
//! `s00-s01`, NIC `n03:eth1`), and the paths that cross a part.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tresse_base::id::{NodeId, SwitchId};
use tresse_topology::Graph;
use tresse_topology::cluster::{self, Cluster};

use super::{Crossing, Watch};

/// A part of the fabric that operators can drain (keep paths off): a switch, a node, a link, a port
/// or a NIC. It has the crossings of its cables, by which the paths that use it are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricPart {
    wires: BTreeSet<Crossing>,
    node: Option<NodeId>,
}

/// What to do about a name that no part of the fabric has.
pub const NAMES_OF_PARTS: &str = "name a switch or node (s00, n03), a link (s00-s01, n03-s00), a port \
                                  (s00:3) or a NIC (n03:eth1)";

/// Error: the fabric has no switch, node, link, port or NIC of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the fabric has no `{object}`: {NAMES_OF_PARTS}")]
pub struct UnknownPart {
    object: String,
}

impl FabricPart {
    /// Returns the part of `cluster` called `object`; see [`FabricParts::named`].
    pub fn named(cluster: &Cluster, object: &str) -> Result<Self, UnknownPart> {
        FabricParts::of(cluster, &Graph::new(cluster)).named(object)
    }

    /// The crossings of all cables of the part, in both directions.
    #[must_use]
    pub const fn wires(&self) -> &BTreeSet<Crossing> {
        &self.wires
    }

    /// The node, if the part is a node.
    #[must_use]
    pub const fn node(&self) -> Option<NodeId> {
        self.node
    }

    /// Does the path cross this part? A path that ends at a node does not cross that node.
    #[must_use]
    pub fn is_crossed_by(&self, watch: &Watch) -> bool {
        self.is_on_way_to(watch.id.dst, &watch.wires)
    }

    /// The same for a path to `dst` with these crossings.
    #[must_use]
    pub fn is_on_way_to(&self, dst: NodeId, wires: &[Crossing]) -> bool {
        self.node != Some(dst) && wires.iter().any(|wire| self.wires.contains(wire))
    }
}

/// The names of all switches, nodes and NICs of a fabric, and its cables: all that is needed to
/// find a [`FabricPart`] of the fabric by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FabricParts {
    switches: Vec<String>,
    nodes: Vec<NodeNames>,
    cables: Vec<Cable>,
}

/// Names of a node and of its NICs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct NodeNames {
    name: String,
    nics: Vec<String>,
}

/// A cable, or the cables of a link aggregation group: two ends and the crossings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cable {
    ends: [End; 2],
    crossings: [Crossing; 2],
    /// The ports of further cables of the group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    more: Vec<End>,
}

/// One end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    /// A port of a switch.
    Port(SwitchId, u32),
    /// A NIC of a node, by its index.
    Nic(NodeId, u32),
}

impl FabricParts {
    /// Collects the parts of a cluster, whose switch graph is `graph`.
    #[must_use]
    pub fn of(cluster: &Cluster, graph: &Graph) -> Self {
        let port = |port: &cluster::Port| End::Port(port.switch, port.port);
        let nics = cluster.nodes.iter().map(|node| node.nics.len()).sum::<usize>();
        let mut cables = Vec::with_capacity(cluster.links.len() + nics);
        for channel in 0..graph.channels() as u32 {
            let back = graph.reverse(channel);
            if channel < back {
                let of = cluster.cables_of(graph.link(channel));
                let ends = of.iter().flat_map(|cable| [&cable.a, &cable.b]).map(port);
                let mut ends: Vec<End> = ends.collect();
                let more = ends.split_off(2);
                let crossings = [channel, back].map(Crossing::Between);
                cables.push(Cable { ends: [ends[0], ends[1]], crossings, more });
            }
        }
        for (at, node) in cluster.nodes.iter().enumerate() {
            let at = NodeId::from(at);
            for (index, nic) in node.nics.iter().enumerate() {
                let far = match nic.peer {
                    Some(peer) => End::Nic(peer.node, peer.nic as u32),
                    None if nic.switch.index() < cluster.switches.len() => {
                        End::Port(nic.switch, nic.port)
                    }
                    None => continue,
                };
                let ends = [End::Nic(at, index as u32), far];
                let crossings = [Crossing::Out(at, index), Crossing::In(at, index)];
                cables.push(Cable { ends, crossings, more: Vec::new() });
            }
        }
        let names = |node: &cluster::Node| NodeNames {
            name: node.name.clone(),
            nics: node.nics.iter().map(|nic| nic.name.clone()).collect(),
        };
        Self {
            switches: cluster.switches.iter().map(|switch| switch.name.clone()).collect(),
            nodes: cluster.nodes.iter().map(names).collect(),
            cables,
        }
    }

    /// Returns the part called `object`: a switch, a node, all links between two of them
    /// (`s00-s01`), or the cable of a switch's port (`s00:3`), with all of its link aggregation group, or of a node's NIC
    /// (`n03:eth1`).
    ///
    /// # Errors
    /// [`UnknownPart`].
    pub fn named(&self, object: &str) -> Result<FabricPart, UnknownPart> {
        let node = self.nodes.iter().position(|node| node.name == object).map(NodeId::from);
        let is_place = node.is_some() || self.switches.iter().any(|name| name == object);
        let wires = if is_place {
            self.at(|end| self.place(end) == object)
        } else if let Some((place, port)) = object.split_once(':') {
            self.at(|end| self.place(end) == place && self.port(end) == port)
        } else {
            let halves =
                object.match_indices('-').map(|(at, _)| (&object[..at], &object[at + 1..]));
            halves.flat_map(|(a, b)| self.between(a, b)).collect()
        };
        if wires.is_empty() && !is_place {
            return Err(UnknownPart { object: object.into() });
        }
        Ok(FabricPart { wires, node })
    }

    /// The two ends (`s00:3`, `n03:eth1`) and the crossings of each cable. One between two nodes is here twice, by the
    /// NIC of either.
    pub fn cables(&self) -> impl Iterator<Item = ([String; 2], [Crossing; 2])> {
        let end = |end| format!("{}:{}", self.place(end), self.port(end));
        self.cables.iter().map(move |cable| (cable.ends.map(end), cable.crossings))
    }

    /// The nodes that whole cables join to `from`, over switches and nodes, itself included. A cable is
    /// whole if none of its crossings is in `without`. O(cables).
    #[must_use]
    pub fn joined(&self, from: NodeId, without: &BTreeSet<Crossing>) -> BTreeSet<NodeId> {
        self.joined_over(from, without, |_| true)
    }

    /// The same, over switches and only those nodes that `may` be crossed.
    #[must_use]
    pub fn joined_over(
        &self,
        from: NodeId,
        without: &BTreeSet<Crossing>,
        may: impl Fn(NodeId) -> bool,
    ) -> BTreeSet<NodeId> {
        // Places are numbered: the switches, then the nodes.
        let first = self.switches.len();
        let place = |end: End| match end {
            End::Port(switch, _) => switch.index(),
            End::Nic(node, _) => first + node.index(),
        };
        let mut beside = vec![Vec::new(); first + self.nodes.len()];
        let whole = |cable: &&Cable| !cable.crossings.iter().any(|wire| without.contains(wire));
        for cable in self.cables.iter().filter(whole) {
            let [a, b] = cable.ends.map(place);
            beside[a].push(b);
            beside[b].push(a);
        }
        let mut seen = vec![false; beside.len()];
        let mut open = vec![first + from.index()];
        seen[first + from.index()] = true;
        while let Some(at) = open.pop() {
            let node = at.checked_sub(first).map(NodeId::from);
            if node.is_none_or(|node| node == from || may(node)) {
                open.extend(
                    beside[at].iter().filter(|to| !std::mem::replace(&mut seen[**to], true)),
                );
            }
        }
        (0..self.nodes.len()).filter(|node| seen[first + node]).map(NodeId::from).collect()
    }

    /// The names of a node and of one of its NICs.
    #[must_use]
    pub fn nic(&self, node: NodeId, nic: u32) -> Option<(&str, &str)> {
        let node = self.nodes.get(node.index())?;
        Some((&node.name, node.nics.get(nic as usize)?))
    }

    /// The name of a node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&str> {
        self.nodes.get(node.index()).map(|node| node.name.as_str())
    }

    /// The name of a switch.
    #[must_use]
    pub fn switch(&self, switch: SwitchId) -> Option<&str> {
        self.switches.get(switch.index()).map(String::as_str)
    }

    fn place(&self, end: End) -> &str {
        let name = match end {
            End::Port(switch, _) => self.switch(switch),
            End::Nic(node, _) => self.node(node),
        };
        name.unwrap_or_default()
    }

    fn port(&self, end: End) -> Cow<'_, str> {
        match end {
            End::Port(_, port) => port.to_string().into(),
            End::Nic(node, nic) => self.nic(node, nic).map_or("", |(_, nic)| nic).into(),
        }
    }

    /// The crossings of cables with an end for which `is` holds.
    fn at(&self, is: impl Fn(End) -> bool) -> BTreeSet<Crossing> {
        let ends = |cable: &Cable| cable.ends.iter().chain(&cable.more).any(|end| is(*end));
        let found = self.cables.iter().filter(|cable| ends(cable));
        found.flat_map(|cable| &cable.crossings).copied().collect()
    }

    /// The crossings of cables between two switches or nodes.
    fn between(&self, a: &str, b: &str) -> BTreeSet<Crossing> {
        let joins = |cable: &&Cable| {
            let [x, y] = cable.ends.map(|end| self.place(end));
            (x, y) == (a, b) || (x, y) == (b, a)
        };
        self.cables.iter().filter(joins).flat_map(|cable| &cable.crossings).copied().collect()
    }
}
