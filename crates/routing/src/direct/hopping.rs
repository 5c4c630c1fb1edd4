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
use tresse_topology::cluster::{Cluster, TopologyShape};

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

/// The NICs and cables of a flat neighbourhood.
struct Wires {
    /// By node and NIC: its switch.
    rows: Vec<Vec<u32>>,
    /// By node and NIC: its rate.
    rates: Vec<Vec<f64>>,
    /// By switch: the rate of its cable to the uplink, 0 where there is none; empty without an uplink.
    cables: Vec<f64>,
}

/// So many nodes are looked at.
const MOST_NODES: usize = 256;
/// Ways through third nodes that the program may choose from: with more it finds up to 1 % more on KLAT2's table, and takes
/// twice as long.
const WAYS: usize = 1024;
const GIGA: f64 = 1e9;

/// What a way uses: numbers of NICs and cables, each in one direction.
type Way = Vec<usize>;

impl Hopping {
    /// Of a wiring table, in links, with a cable from each switch to an uplink; `None` with fewer than 2 PCs or more than
    /// 256, or if the program has no answer.
    #[must_use]
    pub fn of_wiring(wiring: &Wiring) -> Option<Self> {
        let rows = wiring.rows(wiring.pcs());
        let rates = rows.iter().map(|row| vec![1.0; row.len()]).collect();
        Self::of(&Wires { rows, rates, cables: vec![1.0; wiring.switches.len()] })
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
        let nics = || cluster.nodes.iter().map(|node| node.nics.iter());
        let uplink = cluster.uplink();
        let mut cables = vec![0.0; uplink.map_or(0, |_| cluster.switches.len())];
        for link in cluster.links.iter().filter(|link| cluster.is_uplink(link)) {
            for end in [link.a.switch, link.b.switch] {
                cables[end.index()] =
                    if Some(end) == uplink { f64::INFINITY } else { link.rate.0 as f64 / GIGA };
            }
        }
        let found = Self::of(&Wires {
            rows: nics().map(|nics| nics.map(|nic| nic.switch.0).collect()).collect(),
            rates: nics().map(|nics| nics.map(|nic| nic.rate.0 as f64 / GIGA).collect()).collect(),
            cables,
        })?;
        let bits = |links: f64| links * GIGA;
        Some(Self {
            own: bits(found.own),
            through_nodes: bits(found.through_nodes),
            across: found.across.map(bits),
            through_both: found.through_both.map(bits),
        })
    }

    /// Nodes are paired by chance, always the same for a number of nodes.
    fn of(wires: &Wires) -> Option<Self> {
        let nodes = wires.rows.len();
        if !(2..=MOST_NODES).contains(&nodes) {
            return None;
        }
        let mut order: Vec<usize> = (0..nodes).collect();
        Random::new(nodes as u64).shuffle(&mut order);
        let pairs = order.chunks_exact(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]);
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let net = Net::of(wires);
        let each = WAYS / pairs.len();
        let of = |ways: &dyn Fn((usize, usize)) -> Vec<Way>| -> Vec<Way> {
            pairs.iter().flat_map(|pair| ways(*pair)).collect()
        };
        let own = of(&|pair| net.own(pair));
        let third = of(&|pair| net.through_nodes(pair, each));
        let across = of(&|pair| net.across(pair));
        let with_uplink = |others: &[&[Way]]| match wires.cables.is_empty() {
            true => Some(None),
            false => net.most(&others.concat()).map(Some),
        };
        Some(Self {
            own: net.most(&own)?,
            through_nodes: net.most(&[&own[..], &third].concat())?,
            across: with_uplink(&[&own, &across])?,
            through_both: with_uplink(&[&own, &third, &across])?,
        })
    }
}

struct Net<'a> {
    wires: &'a Wires,
    /// By node: the number of its first NIC.
    first: Vec<usize>,
    /// By number: NICs as they send, as they receive, cables to the uplink, and from it.
    capacity: Vec<f64>,
}

impl<'a> Net<'a> {
    fn of(wires: &'a Wires) -> Self {
        let count =
            |next: &mut usize, row: &Vec<u32>| Some(std::mem::replace(next, *next + row.len()));
        let first = wires.rows.iter().scan(0, count).collect();
        let nics = || wires.rates.iter().flatten().copied();
        let cables = || wires.cables.iter().copied();
        let capacity = nics().chain(nics()).chain(cables()).chain(cables()).collect();
        Self { wires, first, capacity }
    }

    /// The way from one NIC to another, by node and place among its NICs.
    fn hop(&self, from: (usize, usize), to: (usize, usize)) -> Way {
        let rates = self.capacity.len() / 2 - self.wires.cables.len();
        vec![self.first[from.0] + from.1, rates + self.first[to.0] + to.1]
    }

    /// NICs of two nodes on one switch.
    fn shared(&self, src: usize, dst: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let [from, to] = [src, dst].map(|node| &self.wires.rows[node]);
        let on = move |(nic, s): (usize, &u32)| Some((nic, to.iter().position(|d| d == s)?));
        from.iter().enumerate().filter_map(on)
    }

    fn own(&self, (src, dst): (usize, usize)) -> Vec<Way> {
        self.shared(src, dst).map(|(nic, to_nic)| self.hop((src, nic), (dst, to_nic))).collect()
    }

    /// The `most` ways through third nodes that come first where every third node takes its turn.
    fn through_nodes(&self, (src, dst): (usize, usize), most: usize) -> Vec<Way> {
        let nodes = self.wires.rows.len();
        let own: Vec<(usize, usize)> = self.shared(src, dst).collect();
        let mut ways = Vec::new();
        for via in (1..nodes).map(|turn| (src + turn) % nodes).filter(|via| *via != dst) {
            for (nic, arrives) in self.shared(src, via) {
                for (leaves, to_nic) in self.shared(via, dst) {
                    let idle =
                        [own.iter().any(|own| own.0 == nic), own.iter().any(|own| own.1 == to_nic)];
                    let way = [
                        self.hop((src, nic), (via, arrives)),
                        self.hop((via, leaves), (dst, to_nic)),
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
        let cables = self.wires.cables.len();
        let up = self.capacity.len() - 2 * cables;
        let mut ways = Vec::new();
        for (nic, s) in self.wires.rows[src].iter().enumerate().filter(|_| cables > 0) {
            for (to_nic, d) in self.wires.rows[dst].iter().enumerate().filter(|(_, d)| *d != s) {
                let mut way = self.hop((src, nic), (dst, to_nic));
                way.extend([up + *s as usize, up + cables + *d as usize]);
                ways.push(way);
            }
        }
        ways
    }

    /// How much fits on these ways at once.
    fn most(&self, ways: &[Way]) -> Option<f64> {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let mut rows = vec![Vec::new(); self.capacity.len()];
        for way in ways {
            let least = way.iter().map(|at| self.capacity[*at]).fold(f64::INFINITY, f64::min);
            let amount = problem.add_var(1.0, (0.0, least));
            way.iter().for_each(|at| rows[*at].push((amount, 1.0)));
        }
        for (row, capacity) in rows.iter().zip(&self.capacity).filter(|(row, _)| row.len() > 1) {
            problem.add_constraint(&row[..], ComparisonOp::Le, *capacity);
        }
        Some(problem.solve().ok()?.into_solution().ok()?.objective())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[u32]], switches: usize) -> Hopping {
        let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
        let rates = rows.iter().map(|row| vec![1.0; row.len()]).collect();
        Hopping::of(&Wires { rows, rates, cables: vec![1.0; switches] }).unwrap()
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
        let rates = rows.iter().map(|row| vec![1.0; row.len()]).collect();
        let wires = Wires { rows, rates, cables: Vec::new() };
        let net = Net::of(&wires);
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
