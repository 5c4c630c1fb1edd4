//! Computes the distances between the nodes of a node-routed fabric, in hops, by breadth-first search
//! over the cables. It uses neither the coordinates of the nodes nor the routes of the plan, which it
//! serves to check.

use tresse_topology::cluster::{Nic, Node};

use super::fabric::Fabric;

/// Breadth-first search over what is cabled, lines or nodes, from 64 nodes at once, one bit each.
pub(super) struct Reach {
    nodes: usize,
    /// Neighbours of each node: lines (switches, or their VLANs), or nodes.
    near: Vec<Vec<u32>>,
    /// Per line, the search starts that have reached it, one bit each.
    lines: Vec<u64>,
    switched: bool,
    seen: Vec<u64>,
    /// `fresh[hops * nodes + node]`: the starts from which `node` is exactly that many hops away.
    fresh: Vec<u64>,
}

impl Reach {
    pub fn of(fabric: &Fabric<'_>) -> Self {
        let wires = &fabric.wires;
        let near = |(own, nic): (usize, &Nic)| match nic.peer {
            Some(end) => end.node.0,
            None => wires.of[own],
        };
        let nodes = fabric.plan.cluster().nodes.iter().zip(&wires.first);
        let of_node = |(node, first): (&Node, &usize)| {
            node.nics.iter().enumerate().map(|(k, nic)| near((first + k, nic))).collect()
        };
        Self {
            nodes: fabric.nodes,
            near: nodes.map(of_node).collect(),
            lines: vec![0; if wires.switched { wires.count } else { 0 }],
            switched: wires.switched,
            seen: vec![0; fabric.nodes],
            fresh: Vec::new(),
        }
    }

    pub fn search(&mut self, from: std::ops::Range<usize>) {
        self.seen.fill(0);
        for (bit, seen) in self.seen[from].iter_mut().enumerate() {
            *seen = 1 << bit;
        }
        self.fresh.clear();
        self.fresh.extend_from_slice(&self.seen);
        loop {
            let last = self.fresh.len() - self.nodes;
            let mut any = 0;
            if self.switched {
                self.lines.fill(0);
                for (near, bits) in self.near.iter().zip(&self.fresh[last..]) {
                    near.iter().for_each(|line| self.lines[*line as usize] |= bits);
                }
            }
            for node in 0..self.nodes {
                let near = self.near[node].iter();
                let bits = if self.switched {
                    near.fold(0, |bits, line| bits | self.lines[*line as usize])
                } else {
                    near.fold(0, |bits, there| bits | self.fresh[last + *there as usize])
                };
                let fresh = bits & !self.seen[node];
                self.seen[node] |= fresh;
                any |= fresh;
                self.fresh.push(fresh);
            }
            if any == 0 {
                break;
            }
        }
    }

    /// Returns whether `node` is exactly `hops` hops from the node that `bit` stands for.
    pub fn is_at(&self, node: usize, hops: usize, bit: usize) -> bool {
        self.fresh.get(hops * self.nodes + node).is_some_and(|from| from >> bit & 1 == 1)
    }
}
