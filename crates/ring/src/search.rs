//! Better orders by moving nodes.

use std::collections::HashMap;

use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::watch::Crossing;

use crate::order::{Cost, links, stages};

/// Nodes beyond which a move goes no further than this many places.
const FAR: usize = 128;

/// Links of all stages that were looked at, and the order that is worked on.
pub struct Search<'a> {
    plan: &'a Plan,
    numbers: HashMap<Crossing, u32>,
    between: Vec<bool>,
    paths: HashMap<(NodeId, NodeId), Vec<u32>>,
    /// By link, stages.
    load: Vec<u32>,
    cost: Cost,
}

impl<'a> Search<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            numbers: HashMap::new(),
            between: Vec::new(),
            paths: HashMap::new(),
            load: Vec::new(),
            cost: Cost::default(),
        }
    }

    fn path(&mut self, from: NodeId, to: NodeId) -> &[u32] {
        if !self.paths.contains_key(&(from, to)) {
            let crossings = if from == to { Vec::new() } else { links(self.plan, from, to) };
            let path = crossings.into_iter().map(|crossing| {
                let next = self.numbers.len() as u32;
                let number = *self.numbers.entry(crossing).or_insert(next);
                if number == next {
                    self.between.push(matches!(crossing, Crossing::Between(_)));
                    self.load.push(0);
                }
                number
            });
            let path = path.collect();
            self.paths.insert((from, to), path);
        }
        &self.paths[&(from, to)]
    }

    /// Links from one to the other.
    pub fn hops(&mut self, from: NodeId, to: NodeId) -> usize {
        self.path(from, to).len()
    }

    /// Of an order, which becomes the one that is worked on.
    pub fn cost(&mut self, nodes: &[NodeId]) -> Cost {
        self.load.fill(0);
        self.cost = Cost::default();
        for (from, to) in stages(nodes) {
            self.add(from, to);
        }
        self.cost
    }

    fn add(&mut self, from: NodeId, to: NodeId) {
        self.path(from, to);
        for link in &self.paths[&(from, to)] {
            let (load, between) = (&mut self.load[*link as usize], self.between[*link as usize]);
            self.cost.excess += u32::from(*load > 0);
            self.cost.crossings += u32::from(between);
            self.cost.links += 1;
            *load += 1;
        }
    }

    fn take(&mut self, from: NodeId, to: NodeId) {
        for link in &self.paths[&(from, to)] {
            let (load, between) = (&mut self.load[*link as usize], self.between[*link as usize]);
            *load -= 1;
            self.cost.excess -= u32::from(*load > 0);
            self.cost.crossings -= u32::from(between);
            self.cost.links -= 1;
        }
    }

    /// Stages on the link that most of the order that is worked on cross.
    pub fn most(&self) -> u32 {
        self.load.iter().copied().max().unwrap_or(0)
    }

    /// Moves single nodes to where that costs less, until no move does.
    pub fn improve(&mut self, nodes: &mut Vec<NodeId>) -> Cost {
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

    /// The best place for the node at `at`.
    fn place(&mut self, nodes: &mut Vec<NodeId>, at: usize) {
        let n = nodes.len();
        let (was, own) = (self.cost, nodes[at]);
        let (before, after) = (nodes[(at + n - 1) % n], nodes[(at + 1) % n]);
        self.take(before, own);
        self.take(own, after);
        self.add(before, after);
        let mut best = (was, at);
        // Behind which of the others.
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
}
