//! How pairs of nodes use the planes of a fabric. A pair uses all planes that both are on, each for a part of its flows by
//! the rate of its path there; one of them is the primary, by turns. Two nodes that are on no plane in common reach each
//! other through nodes that are on one of each.

use std::collections::BTreeMap;

use tresse_base::id::NodeId;
use tresse_routing::{RoutingError, gcd};
use tresse_topology::Planes;
use tresse_topology::cluster::Cluster;

/// The greatest weight of a path in a nexthop group.
const MOST: u64 = 255;

/// The planes of each node, and the nodes that forward from one plane to another.
#[derive(Debug)]
pub(crate) struct PlaneWays {
    /// By node: its planes, ascending.
    of_node: Vec<Vec<usize>>,
    /// By two planes: the nodes that may forward from one to the other, by round-robin index.
    relays: BTreeMap<(usize, usize), Vec<NodeId>>,
    /// By two planes: those on the way with the fewest nodes in between, both included.
    ways: BTreeMap<(usize, usize), Vec<usize>>,
}

impl PlaneWays {
    /// Of a fabric whose nodes have these round-robin indices.
    ///
    /// # Errors
    /// [`RoutingError::PlanesApart`] for two nodes that no nodes join.
    pub fn new(
        cluster: &Cluster,
        planes: &Planes,
        round_robin: &[usize],
    ) -> Result<Self, RoutingError> {
        let of_node: Vec<Vec<usize>> = cluster
            .nodes
            .iter()
            .map(|node| {
                let mut on: Vec<usize> =
                    node.nics.iter().map(|nic| planes.plane(nic.switch)).collect();
                on.sort_unstable();
                on.dedup();
                on
            })
            .collect();
        let mut relays: BTreeMap<(usize, usize), Vec<NodeId>> = BTreeMap::new();
        for (k, on) in of_node.iter().enumerate().filter(|(k, _)| cluster.nodes[*k].transit) {
            for (&p, &q) in on.iter().flat_map(|p| on.iter().map(move |q| (p, q))) {
                if p != q {
                    relays.entry((p, q)).or_default().push(k.into());
                }
            }
        }
        for nodes in relays.values_mut() {
            nodes.sort_by_key(|node| round_robin[node.index()]);
        }
        let ways = ways(planes.count(), &relays);
        let found = Self { of_node, relays, ways };
        found.check(cluster)?;
        Ok(found)
    }

    /// Whether all nodes are joined. Nodes on the same planes are alike.
    fn check(&self, cluster: &Cluster) -> Result<(), RoutingError> {
        let mut kinds: BTreeMap<&[usize], usize> = BTreeMap::new();
        for (k, on) in self.of_node.iter().enumerate() {
            kinds.entry(on).or_insert(k);
        }
        let pairs = kinds.values().flat_map(|a| kinds.values().map(move |b| (*a, *b)));
        for (a, b) in pairs.filter(|(a, b)| a < b) {
            let pair = (NodeId::from(a), NodeId::from(b));
            if self.shared(pair).next().is_none() && self.between(pair).is_empty() {
                let [a, b] = [a, b].map(|node| cluster.nodes[node].name.clone());
                return Err(RoutingError::PlanesApart { a, b });
            }
        }
        Ok(())
    }

    /// The planes of a node, ascending.
    pub fn of(&self, node: NodeId) -> &[usize] {
        &self.of_node[node.index()]
    }

    /// The planes that both nodes are on.
    pub fn shared(&self, (a, b): (NodeId, NodeId)) -> impl Iterator<Item = usize> {
        let other = &self.of_node[b.index()];
        self.of_node[a.index()].iter().copied().filter(|plane| other.contains(plane))
    }

    /// The shortest ways from a plane of one node to one of the other.
    pub(super) fn between(&self, (a, b): (NodeId, NodeId)) -> Vec<&[usize]> {
        let (from, to) = (&self.of_node[a.index()], &self.of_node[b.index()]);
        let pairs = from.iter().flat_map(|p| to.iter().map(move |q| (*p, *q)));
        let ways: Vec<&[usize]> =
            pairs.filter_map(|pair| self.ways.get(&pair)).map(Vec::as_slice).collect();
        let fewest = ways.iter().map(|way| way.len()).min();
        ways.into_iter().filter(|way| Some(way.len()) == fewest).collect()
    }

    /// Whether any two nodes are on no plane in common.
    pub(super) fn is_apart(&self) -> bool {
        let mut kinds: Vec<&Vec<usize>> = self.of_node.iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.iter().any(|a| kinds.iter().any(|b| a.iter().all(|plane| !b.contains(plane))))
    }

    /// Whether any node may forward from one plane to another.
    pub fn has_relays(&self) -> bool {
        !self.relays.is_empty()
    }

    /// Those that may forward from one plane to another, those of this turn first.
    pub(crate) fn relays(
        &self,
        planes: (usize, usize),
        turn: usize,
    ) -> impl Iterator<Item = NodeId> {
        let all = self.relays.get(&planes).map_or(&[][..], Vec::as_slice);
        let (before, first) = all.split_at(turn % all.len().max(1));
        first.iter().chain(before).copied()
    }
}

/// By two planes: those on the way with the fewest nodes in between (breadth-first).
fn ways(
    planes: usize,
    relays: &BTreeMap<(usize, usize), Vec<NodeId>>,
) -> BTreeMap<(usize, usize), Vec<usize>> {
    let mut ways = BTreeMap::new();
    for from in 0..planes {
        let mut found: Vec<Option<Vec<usize>>> = vec![None; planes];
        found[from] = Some(vec![from]);
        let (mut queue, mut next) = (vec![from], 0);
        while let Some(&at) = queue.get(next) {
            next += 1;
            let onwards = (0..planes).filter(|to| relays.contains_key(&(at, *to)));
            for to in onwards.collect::<Vec<_>>() {
                if found[to].is_none() {
                    found[to] = found[at].clone().map(|way| [way, vec![to]].concat());
                    queue.push(to);
                }
            }
        }
        let others = found.into_iter().enumerate().filter(|(to, _)| *to != from);
        ways.extend(others.filter_map(|(to, way)| Some(((from, to), way?))));
    }
    ways
}

/// Weights as these rates, as small as they can be, and at most [`MOST`].
pub(super) fn weights(rates: &[u64]) -> Vec<u64> {
    let unit = rates.iter().fold(0, |unit, rate| gcd(unit, u128::from(*rate))).max(1) as u64;
    let most = rates.iter().max().map_or(1, |most| most / unit);
    let part = |rate: &u64| match rate / unit {
        weight if most <= MOST => weight,
        weight => (weight as u128 * u128::from(MOST) / u128::from(most)).max(1) as u64,
    };
    rates.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::weights;

    #[test]
    fn weights_are_as_the_rates() {
        assert_eq!(weights(&[1_000_000_000, 1_000_000_000]), [1, 1]);
        assert_eq!(weights(&[25_000_000_000, 10_000_000_000]), [5, 2]);
        assert_eq!(weights(&[400_000_000_000, 1_000_000_000]), [255, 1]);
        assert_eq!(weights(&[7]), [1]);
    }
}
