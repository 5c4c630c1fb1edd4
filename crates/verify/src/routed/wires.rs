//! What joins the NICs of a node-routed fabric, by the cluster's cables and the ports of its VLANs: neither by the
//! coordinates of the nodes nor by the routes of the plan, which it serves to check.

use std::collections::HashMap;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::Hop;
use tresse_topology::cluster::{Nic, TopologyShape};

/// The wires of a fabric: a wire is a cable between two NICs, or a line, which is a switch or one of its VLANs. Two
/// NICs reach each other directly if they are on the same wire. NICs are numbered through all nodes.
pub(super) struct Wires {
    /// By node: its first NIC number; then the number of NICs.
    pub first: Vec<usize>,
    /// By NIC: its wire.
    pub of: Vec<u32>,
    /// By NIC: its cable. Of several wires in one cable it is the lowest; elsewhere the wire itself.
    pub cable: Vec<u32>,
    /// By NIC: its switch. Meaningless where cables join the nodes.
    pub switch: Vec<u32>,
    /// Whether switches join the nodes.
    pub switched: bool,
    /// Whether a switch may hold several lines. If not, a wire has the number of its switch.
    pub shared: bool,
    /// One more than the highest number of a wire.
    pub count: usize,
}

impl Wires {
    pub fn of(plan: &Plan) -> Self {
        let cluster = plan.cluster();
        let mut first = vec![0];
        for node in &cluster.nodes {
            first.push(first[first.len() - 1] + node.nics.len());
        }
        let lines = plan.lines().into_iter().zip(0..);
        let vlans: HashMap<_, u32> =
            lines.flat_map(|(l, k)| l.ports.map(move |port| ((l.switch, port), k))).collect();
        let line = |nic: &Nic| vlans.get(&(nic.switch, nic.port)).copied().unwrap_or(nic.switch.0);
        // The number of a cable is the smaller one of its NICs.
        let wire = |own: usize, nic: &Nic| match nic.peer {
            Some(end) => own.min(first[end.node.index()] + end.nic) as u32,
            None => line(nic),
        };
        let nics = || cluster.nodes.iter().flat_map(|node| &node.nics);
        let of: Vec<u32> = nics().enumerate().map(|(own, nic)| wire(own, nic)).collect();
        let mut cable = of.clone();
        if let TopologyShape::Cabled { cables, .. } = &cluster.kind {
            for pairs in cables.iter().map(|cable| &cable.0) {
                let ends = pairs.iter().flatten().map(|end| first[end.node.index()] + end.nic);
                let lowest = ends.clone().min().unwrap_or(0) as u32;
                ends.for_each(|nic| cable[nic] = lowest);
            }
        }
        Self {
            cable,
            switch: nics().map(|nic| nic.switch.0).collect(),
            switched: nics().any(|nic| nic.peer.is_none()),
            shared: cluster.kind.shares_switches(),
            count: of.iter().map(|wire| *wire as usize + 1).max().unwrap_or(0),
            first,
            of,
        }
    }

    /// Whether a packet that leaves `at` by the NIC of `hop`, sent to the MAC of the hop's other NIC, arrives there.
    #[inline]
    pub fn lead(&self, at: NodeId, hop: &Hop) -> bool {
        let (at, to) = (at.index(), hop.to.index());
        if to + 1 >= self.first.len() || to == at {
            return false;
        }
        let (own, far) = (self.first[at] + hop.nic, self.first[to] + hop.to_nic);
        own < self.first[at + 1] && far < self.first[to + 1] && self.of[own] == self.of[far]
    }

    /// Returns the fewest hops from `at` to every node, by breadth-first search, if `at` may not send by one of its
    /// NICs; `u32::MAX` where no path is left. O(NICs).
    pub fn around(&self, at: NodeId, without: usize) -> Vec<u32> {
        let nodes = self.first.len() - 1;
        let mut on: Vec<Vec<u32>> = vec![Vec::new(); self.count];
        for node in 0..nodes {
            let wires = &self.of[self.first[node]..self.first[node + 1]];
            wires.iter().for_each(|wire| on[*wire as usize].push(node as u32));
        }
        let mut hops = vec![u32::MAX; nodes];
        hops[at.index()] = 0;
        let (mut queue, mut next) = (vec![at.0], 0);
        while let Some(&node) = queue.get(next) {
            next += 1;
            let node = node as usize;
            for nic in self.first[node]..self.first[node + 1] {
                if node == at.index() && nic == self.first[node] + without {
                    continue;
                }
                // All nodes of a wire are reached from the first one.
                for there in std::mem::take(&mut on[self.of[nic] as usize]) {
                    if hops[there as usize] == u32::MAX {
                        hops[there as usize] = hops[node] + 1;
                        queue.push(there);
                    }
                }
            }
        }
        hops
    }
}
