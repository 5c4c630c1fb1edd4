//! Finds the VLANs on which one node sends or receives (rule K14). A NIC drops frames of VLANs that it has no
//! interface for, so a node needs a VLAN interface for each of their VIDs.

use std::collections::BTreeMap;

use tresse_base::id::{NodeId, TreeId};
use tresse_base::units::Rate;
use tresse_topology::path::{Crossing, Path, Segment};

use super::Plan;

impl Plan {
    /// The interface by which a node sends and receives on a tree; the NIC itself where `tree` is
    /// [`TreeId::NONE`].
    #[must_use]
    pub fn interface(&self, node: NodeId, nic: usize, tree: TreeId) -> String {
        let of_nic = &self.cluster().node(node).nics[nic];
        match tree {
            TreeId::NONE => of_nic.name.clone(),
            tree => of_nic.vlan_interface(nic, self.vid(tree)),
        }
    }

    /// Returns the (NIC index, tree) pairs on which a node sends or receives (K14), each with whether
    /// the NIC is the destination of a segment there. O(nodes x paths).
    #[must_use]
    pub fn uses(&self, node: NodeId) -> BTreeMap<(usize, TreeId), bool> {
        let trees = self.specs().len();
        if trees == 0 {
            return BTreeMap::new();
        }
        // By NIC and tree: None, or whether a segment ends there.
        let mut uses = vec![None; self.cluster().node(node).nics.len() * trees];
        let mut add = |segment: &Segment| {
            if segment.to == node {
                uses[segment.to_nic * trees + segment.tree.index()] = Some(true);
            }
            if segment.from == node {
                uses[segment.nic * trees + segment.tree.index()].get_or_insert(false);
            }
        };
        let one = self.cluster().routing.paths == 1;
        for peer in (0..self.cluster().nodes.len()).map(NodeId::from).filter(|p| *p != node) {
            for (a, b) in [(peer, node), (node, peer)] {
                if one {
                    self.primary(a, b).iter().for_each(&mut add);
                } else {
                    self.paths(a, b).iter().flat_map(|p| &p.segments).for_each(&mut add);
                }
            }
        }
        let transit = &self.transits()[node.index()];
        transit.labels.keys().chain(&transit.arrivals).for_each(&mut add);
        let used = uses.into_iter().enumerate().filter_map(|(at, use_)| Some((at, use_?)));
        used.map(|(at, ends)| ((at / trees, TreeId::from(at % trees)), ends)).collect()
    }

    /// What a segment crosses, in order: out of a NIC, between switches, into a NIC.
    #[must_use]
    pub fn crossings(&self, segment: &Segment) -> Vec<Crossing> {
        let mut channels = Vec::new();
        self.walk(segment, &mut channels);
        let out = Crossing::Out(segment.from, segment.nic);
        let into = Crossing::In(segment.to, segment.to_nic);
        let between = channels.into_iter().map(Crossing::Between);
        std::iter::once(out).chain(between).chain([into]).collect()
    }

    /// The rate of what is crossed.
    #[must_use]
    pub fn rate(&self, crossing: Crossing) -> Rate {
        match crossing {
            Crossing::Out(node, nic) | Crossing::In(node, nic) => {
                self.cluster().node(node).nics[nic].rate
            }
            Crossing::Between(channel) => self.cluster().link(self.graph().link(channel)).rate,
        }
    }

    /// What a path crosses, in order.
    #[must_use]
    pub fn path_crossings(&self, path: &Path) -> Vec<Crossing> {
        path.segments.iter().flat_map(|segment| self.crossings(segment)).collect()
    }
}
