//! Cables between nodes as the file lists them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;

use crate::cluster::Cable;
use crate::hop::Hop;

/// Where each NIC leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    /// By node, then NIC.
    hops: Vec<Vec<Hop>>,
    /// By node, then NIC: the number of its cable.
    cables: Vec<Vec<usize>>,
}

impl Listed {
    /// Of `nodes` nodes. Every NIC is in one cable.
    pub(super) fn new(nodes: usize, cables: &[Cable]) -> Self {
        let mut ends: Vec<Vec<(Hop, usize)>> = vec![Vec::new(); nodes];
        for (cable, pairs) in cables.iter().enumerate() {
            for [a, b] in pairs.0.iter().flat_map(|&[a, b]| [[a, b], [b, a]]) {
                let hop = Hop { nic: a.nic, to: b.node, to_nic: b.nic };
                ends[a.node.index()].push((hop, cable));
            }
        }
        for ends in &mut ends {
            ends.sort_unstable();
        }
        let of = |ends: &Vec<(Hop, usize)>| ends.iter().copied().unzip();
        let (hops, cables) = ends.iter().map(of).unzip();
        Self { hops, cables }
    }

    /// The hops of a node, by NIC.
    pub(super) fn hops(&self, node: NodeId) -> &[Hop] {
        self.hops.get(node.index()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The number of the cable of a NIC.
    pub(super) fn cable(&self, node: NodeId, nic: usize) -> Option<usize> {
        self.cables.get(node.index())?.get(nic).copied()
    }

    /// The number of hops from every node to one, by a breadth-first search; [`u16::MAX`] from where none lead there.
    pub(super) fn distances(&self, to: NodeId) -> Vec<u16> {
        let mut distances = vec![u16::MAX; self.hops.len()];
        distances[to.index()] = 0;
        let mut open = VecDeque::from([to]);
        while let Some(node) = open.pop_front() {
            for hop in self.hops(node) {
                if distances[hop.to.index()] == u16::MAX {
                    distances[hop.to.index()] = distances[node.index()] + 1;
                    open.push_back(hop.to);
                }
            }
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NicEnd;

    /// A triangle with a tail; two cables between the first two nodes, of which one joins two pairs.
    #[test]
    fn every_nic_leads_where_its_cable_does() {
        let end = |node: u32, nic| NicEnd { node: NodeId(node), nic };
        let one = |a, b| Cable(vec![[a, b]]);
        let cables = [
            Cable(vec![[end(0, 0), end(1, 0)], [end(0, 2), end(1, 1)]]),
            one(end(1, 2), end(0, 1)),
            one(end(1, 3), end(2, 0)),
            one(end(2, 1), end(0, 3)),
            one(end(3, 0), end(2, 2)),
        ];
        let listed = Listed::new(4, &cables);
        let to: Vec<Vec<u32>> =
            listed.hops.iter().map(|hops| hops.iter().map(|hop| hop.to.0).collect()).collect();
        assert_eq!(to, [vec![1, 1, 1, 2], vec![0, 0, 0, 2], vec![1, 0, 3], vec![2]]);
        assert_eq!([0, 1, 2, 3].map(|nic| listed.cable(NodeId(0), nic)), [0, 1, 0, 3].map(Some));
        assert_eq!(listed.hops(NodeId(0))[2], Hop { nic: 2, to: NodeId(1), to_nic: 1 });
        let distance = |a, b: usize| listed.distances(NodeId(a))[b];
        assert_eq!([distance(0, 0), distance(0, 1), distance(3, 2), distance(3, 1)], [0, 1, 1, 2]);
    }
}
