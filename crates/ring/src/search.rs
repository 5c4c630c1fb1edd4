//! Improves the order of a ring by moving members to other places in it, so that links carry less
//! load.

use std::collections::HashMap;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

use crate::links::{RingCost, links, stages};

/// Orders of more nodes than this move a node by at most this many places.
const FAR: usize = 128;
/// Moves for each node that annealing tries.
const MOVES: usize = 2_000;

/// The direction in which data goes round a ring: from each member to the next one only, or also to
/// the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Each node sends to the one behind it.
    Forward,
    /// Each node also sends to the one before it.
    Both,
}

/// Searches for the order in which the members of a ring send to each other such that the directed
/// links of the fabric carry the least load. Holds the order's load on each link, together with that
/// of other rings, and a cache of the links on the path between each pair of nodes.
pub struct RingSearch<'a> {
    plan: &'a Plan,
    direction: Direction,
    numbers: HashMap<Crossing, u32>,
    between: Vec<bool>,
    paths: HashMap<(NodeId, NodeId), Vec<u32>>,
    /// Stages on each link: those of other rings alone, and those including the order.
    held: Vec<u32>,
    load: Vec<u32>,
    cost: RingCost,
}

impl<'a> RingSearch<'a> {
    pub fn new(plan: &'a Plan, direction: Direction) -> Self {
        Self {
            plan,
            direction,
            numbers: HashMap::new(),
            between: Vec::new(),
            paths: HashMap::new(),
            held: Vec::new(),
            load: Vec::new(),
            cost: RingCost::default(),
        }
    }

    /// Counts the stages of another ring as load.
    pub fn hold(&mut self, nodes: &[NodeId]) {
        let direction = std::mem::replace(&mut self.direction, Direction::Forward);
        for (from, to) in stages(nodes) {
            for link in self.numbered(from, to) {
                self.held[link as usize] += 1;
            }
        }
        self.direction = direction;
    }

    fn numbered(&mut self, from: NodeId, to: NodeId) -> Vec<u32> {
        let mut crossings = links(self.plan, from, to);
        if self.direction == Direction::Both {
            crossings.extend(links(self.plan, to, from));
        }
        let numbered = crossings.into_iter().map(|crossing| {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(crossing).or_insert(next);
            if number == next {
                self.between.push(matches!(crossing, Crossing::Between(_)));
                self.load.push(0);
                self.held.push(0);
            }
            number
        });
        numbered.collect()
    }

    /// With stages in both directions, the order of the pair does not matter.
    fn key(&self, from: NodeId, to: NodeId) -> (NodeId, NodeId) {
        if self.direction == Direction::Both { (from.min(to), from.max(to)) } else { (from, to) }
    }

    fn path(&mut self, from: NodeId, to: NodeId) -> &[u32] {
        let key = self.key(from, to);
        if !self.paths.contains_key(&key) {
            let path = if from == to { Vec::new() } else { self.numbered(from, to) };
            self.paths.insert(key, path);
        }
        &self.paths[&key]
    }

    /// Returns the number of links between two nodes.
    pub fn hops(&mut self, from: NodeId, to: NodeId) -> usize {
        self.path(from, to).len()
    }

    /// Makes `nodes` the order under work and returns its cost.
    pub fn cost(&mut self, nodes: &[NodeId]) -> RingCost {
        self.load.copy_from_slice(&self.held);
        self.cost = RingCost::default();
        for (from, to) in stages(nodes) {
            self.add(from, to);
        }
        self.cost
    }

    fn add(&mut self, from: NodeId, to: NodeId) {
        self.path(from, to);
        for link in &self.paths[&self.key(from, to)] {
            let (load, between) = (&mut self.load[*link as usize], self.between[*link as usize]);
            self.cost.excess += u32::from(*load > 0);
            self.cost.crossings += u32::from(between);
            self.cost.links += 1;
            *load += 1;
        }
    }

    fn take(&mut self, from: NodeId, to: NodeId) {
        for link in &self.paths[&self.key(from, to)] {
            let (load, between) = (&mut self.load[*link as usize], self.between[*link as usize]);
            *load -= 1;
            self.cost.excess -= u32::from(*load > 0);
            self.cost.crossings -= u32::from(between);
            self.cost.links -= 1;
        }
    }

    /// Moves single nodes to cheaper places until no move lowers the cost.
    pub fn improve(&mut self, nodes: &mut Vec<NodeId>) -> RingCost {
        let n = nodes.len();
        self.cost(nodes);
        if n < 4 {
            return self.cost;
        }
        loop {
            let before = self.cost;
            for at in 0..n {
                self.place(nodes, at);
            }
            if self.cost == before {
                return before;
            }
        }
    }

    /// Moves the node at `at` to its best place.
    fn place(&mut self, nodes: &mut Vec<NodeId>, at: usize) {
        let n = nodes.len();
        let (was, own) = (self.cost, nodes[at]);
        let (before, after) = (nodes[(at + n - 1) % n], nodes[(at + 1) % n]);
        self.take(before, own);
        self.take(own, after);
        self.add(before, after);
        let mut best = (was, at);
        // Tries every place behind the other nodes.
        for step in 1..n - 1 {
            if step > FAR && n - step > FAR {
                continue;
            }
            let to = (at + step) % n;
            let (left, right) = (nodes[to], nodes[(to + 1) % n]);
            self.take(left, right);
            self.add(left, own);
            self.add(own, right);
            if self.cost < best.0 {
                best = (self.cost, to);
            }
            self.take(own, right);
            self.take(left, own);
            self.add(left, right);
        }
        let to = best.1;
        self.take(before, after);
        self.add(before, own);
        self.add(own, after);
        if to != at {
            nodes.remove(at);
            let to = if to > at { to } else { to + 1 };
            nodes.insert(to, own);
            self.cost(nodes);
        }
    }

    /// Simulated annealing: reverses sections of the order until no link is shared or [`MOVES`]
    /// moves were tried. For stages in both directions, where a reversed section costs the same
    /// inside.
    pub fn anneal(&mut self, nodes: &mut [NodeId]) -> RingCost {
        let (n, mut random) = (nodes.len(), Random(0x9e37_79b9_7f4a_7c15));
        self.cost(nodes);
        let moves = n * MOVES;
        for step in 0..moves {
            if self.cost.excess == 0 {
                break;
            }
            let (i, j) = (random.below(n), random.below(n));
            let (i, j) = (i.min(j), i.max(j));
            if j - i < 2 || j - i > FAR || (i == 0 && j == n - 1) {
                continue;
            }
            // Nodes i + 1 to j.
            let (a, b, c, d) = (nodes[i], nodes[i + 1], nodes[j], nodes[(j + 1) % n]);
            let before = energy(self.cost);
            self.take(a, b);
            self.take(c, d);
            self.add(a, c);
            self.add(b, d);
            let worse = energy(self.cost) - before;
            let heat = 3.0 * (1.0 - step as f64 / moves as f64) + 0.1;
            if worse <= 0.0 || random.fraction() < (-worse / heat).exp() {
                nodes[i + 1..=j].reverse();
            } else {
                self.take(a, c);
                self.take(b, d);
                self.add(a, b);
                self.add(c, d);
            }
        }
        self.cost(nodes)
    }
}

fn energy(cost: RingCost) -> f64 {
    f64::from(cost.excess) + f64::from(cost.links) / 4.0
}

/// Xorshift generator (Marsaglia 2003): always the same sequence.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
