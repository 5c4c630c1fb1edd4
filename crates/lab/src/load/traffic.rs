//! Who sends to whom in a load measurement.

use std::iter::repeat_n;

/// Who sends to whom, how much of all that it sends, and by how many flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// By node: the nodes that it sends to, and the weight of each, at least 1.
    to: Vec<Vec<(usize, u64)>>,
    /// Flows of each pair: UDP source ports, by which kernels choose among the paths of a pair (K6).
    flows: u32,
    /// Links of the node's rate that the busiest sender has.
    links: usize,
}

/// In one round a node sends so many datagrams to another at most.
const ROUND: u64 = 256;

impl Traffic {
    /// Every node to every other one alike, by one flow.
    #[must_use]
    pub fn uniform(nodes: usize) -> Self {
        let others = |own: usize| (0..nodes).filter(|to| *to != own).map(|to| (to, 1)).collect();
        Self { to: (0..nodes).map(others).collect(), flows: 1, links: 1 }
    }

    /// These ordered pairs with their weights. `links`: by node, how many links it has.
    ///
    /// # Panics
    /// If a pair names a node that is not there.
    #[must_use]
    pub fn of(pairs: &[(usize, usize, u64)], flows: u32, links: &[usize]) -> Self {
        let mut to = vec![Vec::new(); links.len()];
        for &(src, dst, weight) in pairs.iter().filter(|(src, dst, _)| src != dst) {
            to[src].push((dst, weight.max(1)));
        }
        let mut traffic = Self { to, flows: flows.max(1), links: 1 };
        let busiest = (0..links.len()).filter(|node| traffic.sent(*node) == traffic.most());
        traffic.links = busiest.map(|node| links[node]).max().unwrap_or(1).max(1);
        traffic
    }

    /// Flows of each pair.
    pub(super) const fn flows(&self) -> u32 {
        self.flows
    }

    /// The most that the busiest sender can offer, in units of a link's rate.
    pub(super) const fn highest(&self) -> f64 {
        self.links as f64
    }

    /// What a node sends, in units of what the busiest one sends.
    pub(super) fn part(&self, node: usize) -> f64 {
        self.sent(node) as f64 / self.most().max(1) as f64
    }

    /// How many nodes as busy as the busiest would send as much as all do.
    pub(super) fn senders(&self) -> f64 {
        (0..self.to.len()).map(|node| self.part(node)).sum()
    }

    /// The destinations of one round of a node, each as often as it weighs.
    pub(super) fn round(&self, node: usize) -> Vec<usize> {
        let to = &self.to[node];
        let most = to.iter().map(|(_, weight)| *weight).max().unwrap_or(1);
        let divisor = to.iter().fold(0, |divisor, (_, weight)| common(divisor, *weight)).max(1);
        let scale = divisor.max(most.div_ceil(ROUND));
        let times = |weight: u64| (weight / scale).max(1) as usize;
        to.iter().flat_map(|(dst, weight)| repeat_n(*dst, times(*weight))).collect()
    }

    fn sent(&self, node: usize) -> u64 {
        self.to[node].iter().map(|(_, weight)| weight).sum()
    }

    fn most(&self) -> u64 {
        (0..self.to.len()).map(|node| self.sent(node)).max().unwrap_or(0)
    }
}

/// The greatest common divisor.
const fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_traffic_has_as_many_senders_as_nodes() {
        let traffic = Traffic::uniform(3);
        assert_eq!(traffic.round(1), [0, 2]);
        assert!((traffic.senders() - 3.0).abs() < 1e-9 && (traffic.highest() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn weights_are_shares_of_what_a_node_sends() {
        let pairs = [(0, 1, 30), (0, 2, 10), (1, 0, 20), (2, 2, 5)];
        let traffic = Traffic::of(&pairs, 16, &[2, 1, 1]);
        assert_eq!(traffic.round(0), [1, 1, 1, 2]);
        assert_eq!(traffic.round(1), [0]);
        assert!(traffic.round(2).is_empty());
        assert!((traffic.part(1) - 0.5).abs() < 1e-9 && (traffic.senders() - 1.5).abs() < 1e-9);
        assert!((traffic.highest() - 2.0).abs() < 1e-9, "two links of the busiest");
        let far = Traffic::of(&[(0, 1, 1_000_003), (0, 2, 1)], 1, &[1, 1, 1]);
        assert!(far.round(0).len() <= 2 * ROUND as usize);
    }
}
