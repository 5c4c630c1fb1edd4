//! What half of the nodes of a flat neighbourhood can send the other half if they hop neighbourhoods: by third nodes, or
//! by the uplink switch, where the switches that a pair shares leave NICs idle
//! (flat-neighborhood-network-compiler, sections 1 and 4.2, where that is left to be computed).
//!
//! The nodes are paired at random, and all pairs send both ways as much as they can. A linear program finds how much that
//! is: a NIC sends and receives at most its rate, and so does the cable of a switch to the uplink. Paths through more than
//! one third node are left out.

use microlp::{ComparisonOp, OptimizationDirection, Problem};
use serde::Serialize;
use tresse_base::random::Random;
use tresse_base::wiring::Wiring;
use tresse_topology::cluster::{Cluster, Node, TopologyShape};

use super::resources::Resources;

/// What half of the nodes and the other half send each other in all, paired at random, both directions together: in links, or
/// in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hopping {
    /// By the switches that they share.
    pub own: f64,
    /// Through third nodes as well.
    pub through_nodes: f64,
    /// By the switches that they share, and across the uplink, without third nodes; `None` without an uplink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<f64>,
    /// By all of these; `None` without an uplink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through_both: Option<f64>,
}

/// So many nodes are looked at.
const MOST_NODES: usize = 256;
/// Ways through third nodes that the program may choose from: with more it finds up to 1 % more on KLAT2's table, and takes
/// twice as long.
const WAYS: usize = 1024;
const GIGA: f64 = 1e9;

/// What a way uses, by number ([`Resources`]).
type Way = Vec<u32>;

impl Hopping {
    /// Of a wiring table, in links, with a cable from each switch to an uplink; `None` with fewer than 2 PCs or more than
    /// 256, or if the program has no answer.
    #[must_use]
    pub fn of_wiring(wiring: &Wiring) -> Option<Self> {
        let rows = wiring.rows(wiring.pcs());
        let rates: Vec<Vec<f64>> = rows.iter().map(|row| vec![1.0; row.len()]).collect();
        let resources = Resources::new(&rows, &rates, &vec![Some(1.0); wiring.switches.len()]);
        Net { rows, resources }.hopping()
    }

    /// The four in a sentence, each as `amount` writes it.
    #[must_use]
    pub fn words(&self, amount: impl Fn(f64) -> String) -> String {
        let [own, nodes] = [self.own, self.through_nodes].map(&amount);
        let mut words = format!(
            "pairs by chance have {own} over switches they share, {nodes} with third nodes"
        );
        if let (Some(across), Some(both)) = (self.across, self.through_both) {
            let [across, both] = [across, both].map(amount);
            words += &format!(", {across} with the uplink, {both} with both");
        }
        words
    }

    /// Of a flat neighbourhood, in bits per second; `None` for another fabric too.
    #[must_use]
    pub fn of_cluster(cluster: &Cluster) -> Option<Self> {
        let TopologyShape::Fnn { .. } = cluster.kind else { return None };
        let row = |node: &Node| node.nics.iter().map(|nic| nic.switch.0).collect();
        let rows = cluster.nodes.iter().map(row).collect();
        let found = Net { rows, resources: Resources::of(cluster, GIGA) }.hopping()?;
        let bits = |links: f64| links * GIGA;
        Some(Self {
            own: bits(found.own),
            through_nodes: bits(found.through_nodes),
            across: found.across.map(bits),
            through_both: found.through_both.map(bits),
        })
    }
}

struct Net {
    /// By node and NIC: its switch.
    rows: Vec<Vec<u32>>,
    resources: Resources,
}

impl Net {
    /// Nodes are paired by chance, always the same for a number of nodes.
    fn hopping(&self) -> Option<Hopping> {
        let nodes = self.rows.len();
        if !(2..=MOST_NODES).contains(&nodes) {
            return None;
        }
        let mut order: Vec<usize> = (0..nodes).collect();
        Random::new(nodes as u64).shuffle(&mut order);
        let pairs = order.chunks_exact(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]);
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let each = WAYS / pairs.len();
        let of = |ways: &dyn Fn((usize, usize)) -> Vec<Way>| -> Vec<Way> {
            pairs.iter().flat_map(|pair| ways(*pair)).collect()
        };
        let own = of(&|pair| self.own(pair));
        let third = of(&|pair| self.through_nodes(pair, each));
        let across = of(&|pair| self.across(pair));
        let with_uplink = |others: &[&[Way]]| match self.resources.has_uplink() {
            true => self.most(&others.concat()).map(Some),
            false => Some(None),
        };
        Some(Hopping {
            own: self.most(&own)?,
            through_nodes: self.most(&[&own[..], &third].concat())?,
            across: with_uplink(&[&own, &across])?,
            through_both: with_uplink(&[&own, &third, &across])?,
        })
    }

    /// NICs of two nodes on one switch.
    fn shared(&self, src: usize, dst: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let [from, to] = [src, dst].map(|node| &self.rows[node]);
        let on = move |(nic, s): (usize, &u32)| Some((nic, to.iter().position(|d| d == s)?));
        from.iter().enumerate().filter_map(on)
    }

    fn own(&self, (src, dst): (usize, usize)) -> Vec<Way> {
        self.shared(src, dst)
            .map(|(nic, to_nic)| self.resources.hop((src, nic), (dst, to_nic)))
            .collect()
    }

    /// The `most` ways through third nodes that come first where every third node takes its turn.
    fn through_nodes(&self, (src, dst): (usize, usize), most: usize) -> Vec<Way> {
        let nodes = self.rows.len();
        let own: Vec<(usize, usize)> = self.shared(src, dst).collect();
        let mut ways = Vec::new();
        for via in (1..nodes).map(|turn| (src + turn) % nodes).filter(|via| *via != dst) {
            for (nic, arrives) in self.shared(src, via) {
                for (leaves, to_nic) in self.shared(via, dst) {
                    let idle =
                        [own.iter().any(|own| own.0 == nic), own.iter().any(|own| own.1 == to_nic)];
                    let way = [
                        self.resources.hop((src, nic), (via, arrives)),
                        self.resources.hop((via, leaves), (dst, to_nic)),
                    ];
                    ways.push((idle.into_iter().filter(|own| *own).count(), way.concat()));
                }
            }
        }
        // Those by NICs that the pair's own switches leave idle come first, and of these others for each pair.
        Random::new((src * nodes + dst) as u64).shuffle(&mut ways);
        ways.sort_by_key(|(own, _)| *own);
        ways.into_iter().map(|(_, way)| way).take(most).collect()
    }

    fn across(&self, (src, dst): (usize, usize)) -> Vec<Way> {
        let mut ways = Vec::new();
        for (nic, s) in self.rows[src].iter().enumerate() {
            for (to_nic, _) in self.rows[dst].iter().enumerate().filter(|(_, d)| *d != s) {
                ways.push(self.resources.hop((src, nic), (dst, to_nic)));
            }
        }
        ways
    }

    /// How much fits on these ways at once.
    fn most(&self, ways: &[Way]) -> Option<f64> {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let capacity = &self.resources.capacity;
        let mut rows = vec![Vec::new(); capacity.len()];
        for way in ways {
            let least = way.iter().map(|at| capacity[*at as usize]).fold(f64::INFINITY, f64::min);
            let amount = problem.add_var(1.0, (0.0, least));
            way.iter().for_each(|at| rows[*at as usize].push((amount, 1.0)));
        }
        for (row, capacity) in rows.iter().zip(capacity).filter(|(row, _)| row.len() > 1) {
            problem.add_constraint(&row[..], ComparisonOp::Le, *capacity);
        }
        Some(problem.solve().ok()?.into_solution().ok()?.objective())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(rows: Vec<Vec<u32>>, uplinks: usize) -> Net {
        let rates: Vec<Vec<f64>> = rows.iter().map(|row| vec![1.0; row.len()]).collect();
        let has = |switch| (switch < uplinks).then_some(1.0);
        let resources = Resources::new(&rows, &rates, &(0..8).map(has).collect::<Vec<_>>());
        Net { rows, resources }
    }

    fn of(rows: &[&[u32]], switches: usize) -> Hopping {
        let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
        net(rows, switches).hopping().unwrap()
    }

    /// Two nodes with one switch in common.
    #[test]
    fn a_pair_alone_has_the_uplink() {
        let Hopping { own, through_nodes, across, through_both } = of(&[&[0, 1], &[0, 2]], 3);
        assert_eq!((own, through_nodes, across, through_both), (2.0, 2.0, Some(4.0), Some(4.0)));
        assert_eq!(of(&[&[0, 1], &[0, 2]], 0).across, None);
        // A cable carries one message at a time, however many NICs are idle.
        assert_eq!(of(&[&[0, 1, 1], &[0, 2, 2]], 3).across, Some(4.0));
    }

    /// Two pairs with a switch each: each node of the other pair has a NIC on the two others' idle switches, and while it sends
    /// for them it sends nothing itself.
    #[test]
    fn third_nodes_carry_what_they_have_room_for() {
        let rows: Vec<Vec<u32>> = vec![vec![0, 2], vec![0, 3], vec![1, 2, 3], vec![1]];
        let pairs = [(0, 1), (1, 0), (2, 3), (3, 2)];
        let net = net(rows, 0);
        let own: Vec<Way> = pairs.iter().flat_map(|pair| net.own(*pair)).collect();
        let third: Vec<Way> = pairs.iter().flat_map(|pair| net.through_nodes(*pair, 9)).collect();
        assert_eq!(net.most(&own), Some(4.0));
        // 0 to 1 and back through 2.
        assert_eq!(third.len(), 2);
        assert_eq!(net.most(&[own, third].concat()), Some(6.0));
    }

    /// Section 4.2 adds both directions of each uplink cable, 1.8 Gbit/s for KLAT2; a message needs two of them.
    #[test]
    fn the_uplink_adds_a_link_for_each_switch() {
        let rows: Vec<Vec<u32>> = (0..32).map(|node| vec![node % 4, 4 + node / 4 % 4]).collect();
        let hopping = Hopping::of_wiring(&Wiring::from_rows(8, &rows)).unwrap();
        assert!((hopping.across.unwrap() - hopping.own - 8.0).abs() < 1e-6, "{hopping:?}");
        assert!(hopping.through_nodes <= (64.0 + hopping.own) / 2.0 + 1e-6, "{hopping:?}");
        assert!(hopping.through_nodes > hopping.own && hopping.through_both > hopping.across);
    }
}
