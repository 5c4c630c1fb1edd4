//! Parts of a fabric as operators name them, and which paths cross them.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, NodeId};
use tresse_topology::Graph;
use tresse_topology::cluster::Cluster;

use super::{Crossing, Watch};

/// What an operator names to take it out of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    wires: BTreeSet<Crossing>,
    node: Option<String>,
}

/// Nothing is called that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the fabric has no `{object}`: name a switch or node (s00, n03), a link (s00-s01, n03-s00), a port \
     (s00:3) or a NIC (n03:eth1)"
)]
pub struct UnknownPart {
    object: String,
}

impl Part {
    /// The part of `cluster` called `object`: a switch, a node, all cables between two of them (`s00-s01`),
    /// or the cable of a switch's port (`s00:3`) or of a node's NIC (`n03:eth1`).
    ///
    /// # Errors
    /// [`UnknownPart`].
    pub fn named(cluster: &Cluster, object: &str) -> Result<Self, UnknownPart> {
        let cables = Cables::of(cluster);
        let node = cluster.node_named(object).map(|_| object.to_owned());
        let is_place = node.is_some() || cluster.switch_named(object).is_some();
        let wires = if is_place {
            cables.at(|end| end.place == object)
        } else if let Some((place, port)) = object.split_once(':') {
            cables.at(|end| end.place == place && end.port == port)
        } else {
            let halves =
                object.match_indices('-').map(|(at, _)| (&object[..at], &object[at + 1..]));
            halves.flat_map(|(a, b)| cables.between(a, b)).collect()
        };
        if wires.is_empty() && !is_place {
            return Err(UnknownPart { object: object.into() });
        }
        Ok(Self { wires, node })
    }

    /// What its cables cross, both ways.
    #[must_use]
    pub const fn wires(&self) -> &BTreeSet<Crossing> {
        &self.wires
    }

    /// The node, where it is one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// Does a path cross it? One that ends at a node does not cross the node.
    #[must_use]
    pub fn is_crossed_by(&self, watch: &Watch) -> bool {
        self.node.as_deref() != Some(&watch.peer)
            && watch.wires.iter().any(|wire| self.wires.contains(wire))
    }
}

/// An end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End<'a> {
    place: &'a str,
    port: String,
}

/// The cables of a fabric: both ends, and what frames cross on them.
struct Cables<'a>(Vec<([End<'a>; 2], Vec<Crossing>)>);

impl<'a> Cables<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let graph = Graph::new(cluster);
        let switch = |port: &tresse_topology::cluster::Port| End {
            place: &cluster.switches[port.switch.index()].name,
            port: port.port.to_string(),
        };
        let mut channels = vec![Vec::new(); cluster.links.len()];
        for channel in 0..graph.channels() as u32 {
            let link: LinkId = graph.link(channel);
            channels[link.index()].push(Crossing::Between(channel));
        }
        let links = cluster.links.iter().map(|link| [switch(&link.a), switch(&link.b)]);
        let mut cables: Vec<_> = links.zip(channels).collect();
        for (at, node) in cluster.nodes.iter().enumerate() {
            for (index, nic) in node.nics.iter().enumerate() {
                let far = match nic.peer {
                    Some(peer) => {
                        let node = cluster.node(peer.node);
                        End { place: &node.name, port: node.nics[peer.nic].name.clone() }
                    }
                    None => match cluster.switches.get(nic.switch.index()) {
                        Some(switch) => End { place: &switch.name, port: nic.port.to_string() },
                        None => continue,
                    },
                };
                let near = End { place: &node.name, port: nic.name.clone() };
                let node = NodeId::from(at);
                let crossings = vec![Crossing::Out(node, index), Crossing::In(node, index)];
                cables.push(([near, far], crossings));
            }
        }
        Self(cables)
    }

    /// What cables cross that have such an end.
    fn at(&self, is: impl Fn(&End<'_>) -> bool) -> BTreeSet<Crossing> {
        let found = self.0.iter().filter(|(ends, _)| ends.iter().any(&is));
        found.flat_map(|(_, crossings)| crossings).copied().collect()
    }

    /// What cables between two places cross.
    fn between(&self, a: &str, b: &str) -> BTreeSet<Crossing> {
        let joins =
            |[x, y]: &[End<'_>; 2]| (x.place, y.place) == (a, b) || (x.place, y.place) == (b, a);
        let found = self.0.iter().filter(|(ends, _)| joins(ends));
        found.flat_map(|(_, crossings)| crossings).copied().collect()
    }
}
