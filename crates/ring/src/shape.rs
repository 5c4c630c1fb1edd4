//! The shapes of a broadcast (a ring, a ring of rings, a tree) and the time that each takes.
//!
//! A ring takes `X / L + N d` for X bytes, links of rate L, and N members that each add the delay d
//! (big-fat-switches, section 3): best for much data. In a tree each member sends to two others,
//! which takes twice the time of one link, but data passes few members: best for little data. A
//! ring of rings is between the two, and crosses fewer links between switches than a tree.

use std::collections::BTreeMap;
use std::time::Duration;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

use crate::links::links;

/// The shape of a broadcast from one member of a copy to all others: which member receives from
/// which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Each sends to the next one.
    Ring,
    /// A ring in which every `n`-th node also sends to the node `n` places further on.
    Rings(usize),
    /// Each node sends to the next one, and to the middle one of all nodes behind it.
    Tree,
}

impl Distribution {
    /// Returns for each place of the order the place that it receives from; `None` for the first.
    #[must_use]
    pub fn parents(self, n: usize) -> Vec<Option<usize>> {
        let mut parents: Vec<Option<usize>> = (0..n).map(|at| at.checked_sub(1)).collect();
        match self {
            Self::Ring => {}
            Self::Rings(group) => {
                for head in (1..n).filter(|at| at % group.max(1) == 0) {
                    parents[head] = head.checked_sub(group);
                }
            }
            Self::Tree => {
                let mut open = vec![(0, n)];
                while let Some((at, end)) = open.pop() {
                    let middle = at + 1 + (end - at) / 2;
                    if middle < end {
                        parents[middle] = Some(at);
                        open.push((middle, end));
                    }
                    if at + 1 < middle.min(end) {
                        open.push((at + 1, middle.min(end)));
                    }
                }
            }
        }
        parents
    }
}

/// The flow of one stream (one stripe of one part of the copy) from its source through the other
/// members: for each member, from which one it receives the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFlow {
    /// By member: the member it receives from; `None` for the source and for members that do not
    /// take part.
    pub parents: Vec<Option<usize>>,
}

impl StreamFlow {
    /// Returns the flow from the member at `root` to all others of an order.
    #[must_use]
    pub fn along(order: &[usize], root: usize, shape: Distribution) -> Self {
        let start = order.iter().position(|member| *member == root).unwrap_or(0);
        let at = |place: usize| order[(start + place) % order.len()];
        let mut parents = vec![None; order.iter().max().map_or(0, |most| most + 1)];
        for (place, parent) in shape.parents(order.len()).into_iter().enumerate() {
            parents[at(place)] = parent.map(at);
        }
        Self { parents }
    }

    /// Returns the flow from one member directly to one other.
    #[must_use]
    pub fn straight(members: usize, from: usize, to: usize) -> Self {
        let mut parents = vec![None; members];
        if from != to {
            parents[to] = Some(from);
        }
        Self { parents }
    }

    /// Returns the number of stages from the source to a member.
    #[must_use]
    pub fn depth(&self, member: usize) -> usize {
        std::iter::successors(self.parents[member], |at| self.parents[*at]).count()
    }
}

/// Returns, for each pair (sender, receiver) of members, the streams that the sender sends to the
/// receiver. Streams whose source is nearest to the sender come first, so that its own data fills
/// the link while the rest is still arriving.
#[must_use]
pub fn stages(flows: &[StreamFlow]) -> BTreeMap<(usize, usize), Vec<u32>> {
    let mut stages: BTreeMap<(usize, usize), Vec<(usize, u32)>> = BTreeMap::new();
    for (stream, flow) in (0..).zip(flows) {
        let depths = depths(flow);
        for (to, from) in flow.parents.iter().enumerate() {
            if let Some(from) = *from {
                stages.entry((from, to)).or_default().push((depths[from], stream));
            }
        }
    }
    let sorted = |mut streams: Vec<(usize, u32)>| {
        streams.sort_unstable();
        streams.into_iter().map(|(_, stream)| stream).collect()
    };
    stages.into_iter().map(|(stage, streams)| (stage, sorted(streams))).collect()
}

/// Computes the depth of every member in one pass.
fn depths(flow: &StreamFlow) -> Vec<usize> {
    let mut depths = vec![None; flow.parents.len()];
    for member in 0..depths.len() {
        let mut way = Vec::new();
        let mut at = member;
        while let (None, Some(parent)) = (depths[at], flow.parents[at]) {
            way.push(at);
            at = parent;
        }
        let mut depth = *depths[at].get_or_insert(0);
        for at in way.into_iter().rev() {
            depth += 1;
            depths[at] = Some(depth);
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

/// The two terms of the time that several simultaneous flows take: the time of the most loaded
/// link, and the largest number of members through which data passes one after another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Time in which the most loaded link, relative to its rate, carries its bytes.
    pub link: Duration,
    /// Longest chain of stages.
    pub depth: usize,
}

impl Time {
    /// Computes the time of flows between nodes, with the bytes of each.
    #[must_use]
    pub fn of(
        plan: &Plan,
        nodes: &[NodeId],
        flows: &[StreamFlow],
        bytes: impl Fn(u32) -> u64,
    ) -> Self {
        let mut loads: BTreeMap<Crossing, f64> = BTreeMap::new();
        for ((from, to), streams) in stages(flows) {
            let bytes: u64 = streams.iter().map(|stream| bytes(*stream)).sum();
            for crossing in links(plan, nodes[from], nodes[to]) {
                let seconds = bytes as f64 * 8.0 / plan.rate(crossing).0 as f64;
                *loads.entry(crossing).or_default() += seconds;
            }
        }
        let link = Duration::from_secs_f64(loads.into_values().fold(0.0, f64::max));
        let depth = flows.iter().flat_map(depths).max().unwrap_or(0);
        Self { link, depth }
    }

    /// Returns the total time, if each stage adds `latency`.
    #[must_use]
    pub fn total(self, latency: Duration) -> Duration {
        self.link + latency * self.depth as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(shape: Distribution, n: usize) -> usize {
        let order: Vec<usize> = (0..n).collect();
        let flow = StreamFlow::along(&order, 0, shape);
        assert!(
            (0..n).all(|member| member == 0 || flow.parents[member].is_some()),
            "{shape:?} {n}"
        );
        let deepest = (0..n).map(|member| flow.depth(member)).max().unwrap();
        assert_eq!(depths(&flow), (0..n).map(|m| flow.depth(m)).collect::<Vec<_>>());
        deepest
    }

    #[test]
    fn all_shapes_reach_all() {
        for n in 1..70 {
            assert_eq!(depth(Distribution::Ring, n), n - 1);
            assert!(depth(Distribution::Tree, n) <= n.ilog2() as usize, "{n}");
            let group = (n as f64).sqrt().ceil() as usize;
            assert!(depth(Distribution::Rings(group), n) < 2 * group, "{n}");
            for shape in [Distribution::Ring, Distribution::Rings(group), Distribution::Tree] {
                let parents = shape.parents(n);
                let children = |of| parents.iter().filter(|parent| **parent == Some(of)).count();
                assert!((0..n).all(|at| children(at) <= 2), "{shape:?} {n}");
            }
        }
    }

    #[test]
    fn a_member_sends_what_it_has_before_what_comes_to_it() {
        let order = [0, 1, 2, 3];
        let flows: Vec<StreamFlow> =
            (0..4).map(|root| StreamFlow::along(&order, root, Distribution::Ring)).collect();
        let stages = stages(&flows);
        assert_eq!(stages.len(), 4);
        assert_eq!(stages[&(2, 3)], [2, 1, 0]);
        assert_eq!(stages[&(3, 0)], [3, 2, 1]);
    }
}
