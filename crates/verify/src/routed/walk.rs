//! Follows the primaries of all nodes to one destination.

use tresse_base::id::NodeId;
use tresse_topology::Hop;

use super::fabric::Fabric;
use super::faults::{Faults, least};
use super::reach::Reach;

/// Result of walking the primaries of all pairs.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub reached: u64,
    pub hops: u64,
    pub transit: u64,
    pub most: u32,
    pub faults: Faults,
    /// Number of primaries that leave each NIC; with switches followed by the number that enter it.
    pub loads: Vec<u64>,
}

/// Buffers for one destination after another. The next hops form a tree that leads to the
/// destination, or there is a loop.
pub(super) struct Walk {
    hops: Vec<Hop>,
    /// Nodes whose next hop this one is and that are not yet counted.
    waiting: Vec<u32>,
    /// Sources at or behind each node.
    pub count: Vec<u64>,
    /// Hops of each node's primary, by [`measure`](Walk::measure).
    pub depth: Vec<u32>,
    order: Vec<u32>,
}

impl Walk {
    pub fn of(fabric: &Fabric<'_>) -> Self {
        let n = fabric.nodes;
        Self {
            hops: Vec::with_capacity(n),
            waiting: vec![0; n],
            count: vec![0; n],
            depth: vec![0; n],
            order: Vec::with_capacity(n),
        }
    }

    /// Counts the paths to a destination, each node after all nodes behind it. A node whose nexthop is not on the
    /// wire keeps its packets.
    pub fn destination(&mut self, fabric: &Fabric<'_>, to: NodeId, seen: &mut Seen) {
        let (n, d) = (fabric.nodes, to.index());
        fabric.routes.main_of_all(to, &mut self.hops);
        self.waiting.fill(0);
        let mut misled = None;
        for (hop, at) in self.hops.iter_mut().zip(0..) {
            if at == to.0 {
                continue;
            }
            if !fabric.wires.lead(NodeId(at), hop) {
                misled = least(misled, (NodeId(at), to));
                hop.to = NodeId(at);
            }
            self.waiting[hop.to.0 as usize] += 1;
        }
        self.order.clear();
        let outermost = |at: &u32| self.waiting[*at as usize] == 0 && *at != to.0;
        self.order.extend((0..n as u32).filter(outermost));
        self.count.fill(1);
        let switched = seen.loads.len() > fabric.nics;
        let mut done = 0;
        while let Some(&at) = self.order.get(done) {
            done += 1;
            let (at, hop) = (at as usize, self.hops[at as usize]);
            let (load, next) = (self.count[at], hop.to.index());
            seen.loads[fabric.wires.first[at] + hop.nic] += load;
            if switched {
                seen.loads[fabric.nics + fabric.wires.first[next] + hop.to_nic] += load;
            }
            seen.hops += load;
            self.count[next] += load;
            self.waiting[next] -= 1;
            if self.waiting[next] == 0 && next != d {
                self.order.push(next as u32);
            }
        }
        if let Some(misled) = misled {
            seen.faults.misled = least(seen.faults.misled, misled);
        } else if done + 1 < n {
            let stuck = (0..n).find(|at| *at != d && self.waiting[*at] > 0);
            seen.faults.looping = least(seen.faults.looping, (stuck.unwrap_or(0).into(), to));
        }
        seen.reached += done as u64;
    }

    /// Counts the hops of each primary that arrives.
    pub fn measure(&mut self, to: NodeId) {
        self.depth[to.index()] = 0;
        for &at in self.order.iter().rev() {
            self.depth[at as usize] = self.depth[self.hops[at as usize].to.index()] + 1;
        }
    }

    /// Compares the hops of each path with the fewest possible; `bit` stands for the destination in
    /// `reach`.
    pub fn judge(&mut self, to: NodeId, reach: &Reach, bit: usize, seen: &mut Seen) {
        self.depth[to.index()] = 0;
        for &at in self.order.iter().rev() {
            let depth = self.depth[self.hops[at as usize].to.index()] + 1;
            self.depth[at as usize] = depth;
            seen.transit += u64::from(depth > 1);
            seen.most = seen.most.max(depth - 1);
            if !reach.is_at(at as usize, depth as usize, bit) {
                seen.faults.longer = least(seen.faults.longer, (NodeId(at), to));
            }
        }
    }
}

impl Seen {
    /// Nothing walked yet.
    pub fn none(fabric: &Fabric<'_>) -> Self {
        let directions = if fabric.wires.switched { 2 } else { 1 };
        Self { loads: vec![0; directions * fabric.nics], ..Self::default() }
    }

    pub fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.loads, &other.loads);
        self.reached += other.reached;
        self.hops += other.hops;
        self.transit += other.transit;
        self.most = self.most.max(other.most);
        self.faults = self.faults.merge(other.faults);
        self
    }
}
