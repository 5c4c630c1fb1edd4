//! Estimates the demand matrix (how much the nodes on each switch send to those on each other switch) from the
//! measured loads of links and NICs. The first estimate is proportional to what each switch's nodes send and receive.
//! Then, link by link, the demands of all pairs whose paths cross the link are scaled until they add up to its load
//! (Kruithof's double factoring, which tomogravity applies to links; Zhang et al., SIGMETRICS 2003). The result is
//! exact if every link serves one pair of switches, as in a clique.

use std::collections::BTreeMap;

use tresse_base::id::{NodeId, SwitchId};
use tresse_topology::cluster::Traffic;

use super::Plan;

/// The measured loads of links and NICs in bits per second, from which a demand is estimated.
#[derive(Debug, Clone, Default)]
pub struct MeasuredLoads {
    /// Bits per second by (from, to): names of switches and nodes at the ends of cables.
    pub bps: BTreeMap<(String, String), f64>,
    /// The rate of every cable, where it is not that of the cluster file (a shaped lab).
    pub rate_bps: Option<f64>,
}

/// The traffic demand estimated from measured loads, with the measured utilisation of each channel (one direction of a
/// cable between switches) and of each node. Utilisation is the measured load divided by the rate; a node has that
/// of its busiest NIC.
#[derive(Debug, Clone, Default)]
pub struct Estimate {
    /// What the nodes that send at all send to those that receive, by pair of switches.
    pub demand: Vec<Traffic>,
    /// By channel: its load divided by its rate.
    pub links: Vec<f64>,
    /// By node: load divided by rate of its busiest NIC, first for sending, then for receiving.
    pub nodes: Vec<[f64; 2]>,
}

/// Rounds of scaling.
const ROUNDS: usize = 50;
/// The greatest weight; what is a thousandth of it is left out.
const SCALE: f64 = 1000.0;
/// A node that uses less of its link neither sends nor receives.
const IDLE: f64 = 0.02;

impl Plan {
    /// Estimates the demand. O(rounds x pairs of switches x hops).
    #[must_use]
    pub fn estimate(&self, measured: &MeasuredLoads) -> Estimate {
        let cluster = self.cluster();
        let name = |s: u32| cluster.switches[s as usize].name.as_str();
        let of = |from: &str, to: &str| {
            measured.bps.get(&(from.into(), to.into())).copied().unwrap_or(0.0)
        };
        let over = |bps: f64, rate: u64| bps / measured.rate_bps.unwrap_or(rate as f64);
        // Parallel cables are counted together: each bears its part.
        let (mut loads, mut links) = (Vec::new(), Vec::new());
        for c in 0..self.graph().channels() as u32 {
            let (a, b) = (self.graph().tail(c), self.graph().head(c));
            let parallel = self.graph().out(a).filter(|o| self.graph().head(*o) == b).count();
            let load = of(name(a), name(b)) / parallel as f64;
            loads.push(load);
            links.push(over(load, cluster.link(self.graph().link(c)).rate.0));
        }
        let mut nodes = Vec::new();
        let (mut sent, mut received) = (vec![0.0; self.graph().switches()], Vec::new());
        received.resize(sent.len(), 0.0);
        for node in &cluster.nodes {
            let mut busiest = [0.0_f64; 2];
            for nic in &node.nics {
                if nic.switch == SwitchId::NONE {
                    continue;
                }
                let switch = name(nic.switch.0);
                let both = [of(&node.name, switch), of(switch, &node.name)];
                sent[nic.switch.index()] += both[0];
                received[nic.switch.index()] += both[1];
                for (most, bps) in busiest.iter_mut().zip(both) {
                    *most = most.max(over(bps, nic.rate.0));
                }
            }
            nodes.push(busiest);
        }
        let pairs = self.scaled(&loads, &sent, &received);
        Estimate { demand: self.traffic(&pairs, &nodes), links, nodes }
    }

    /// What goes from switch to switch, by pair, in bits per second.
    fn scaled(
        &self,
        loads: &[f64],
        sent: &[f64],
        received: &[f64],
    ) -> Vec<((SwitchId, SwitchId), f64)> {
        let all: f64 = sent.iter().sum::<f64>().max(1.0);
        let mut pairs = Vec::new();
        let mut over: Vec<Vec<usize>> = vec![Vec::new(); loads.len()];
        for (s, out) in sent.iter().enumerate() {
            for (d, into) in received.iter().enumerate() {
                let pair = (SwitchId::from(s), SwitchId::from(d));
                if s != d && *out > 0.0 && *into > 0.0 && self.joins(pair.0, pair.1) {
                    let lanes = self.lanes();
                    for lane in 0..lanes {
                        let channels = self.between(pair.0, pair.1, lane);
                        channels.iter().for_each(|c| over[*c as usize].push(pairs.len()));
                        pairs.push((pair, out * into / all / f64::from(lanes)));
                    }
                }
            }
        }
        for _ in 0..ROUNDS {
            for (load, over) in loads.iter().zip(&over) {
                let sum: f64 = over.iter().map(|p| pairs[*p].1).sum();
                if sum > 0.0 {
                    over.iter().for_each(|p| pairs[*p].1 *= load / sum);
                }
            }
        }
        // What goes by several lanes is the traffic of one pair.
        pairs.dedup_by(|next, pair| {
            let same = next.0 == pair.0;
            pair.1 += if same { next.1 } else { 0.0 };
            same
        });
        // The rest is traffic within the switch.
        let (mut out, mut into) = (vec![0.0; sent.len()], vec![0.0; sent.len()]);
        for ((s, d), bps) in &pairs {
            out[s.index()] += bps;
            into[d.index()] += bps;
        }
        for s in 0..sent.len() {
            let stays = (sent[s] - out[s]).min(received[s] - into[s]);
            if stays > 0.0 {
                pairs.push(((s.into(), s.into()), stays));
            }
        }
        pairs
    }

    /// The pairs' traffic as that of their active nodes.
    fn traffic(&self, pairs: &[((SwitchId, SwitchId), f64)], nodes: &[[f64; 2]]) -> Vec<Traffic> {
        let on = |switch: SwitchId, way: usize| -> Vec<NodeId> {
            let all = self.cluster().nodes.iter().enumerate();
            let here = all.filter(|(_, n)| n.nics.iter().any(|nic| nic.switch == switch));
            let here: Vec<usize> = here.map(|(k, _)| k).collect();
            let active: Vec<usize> =
                here.iter().copied().filter(|k| nodes[*k][way] >= IDLE).collect();
            let chosen = if active.is_empty() { here } else { active };
            chosen.into_iter().map(NodeId::from).collect()
        };
        let split: Vec<(Traffic, f64)> = pairs
            .iter()
            .map(|((s, d), bps)| {
                let (from, to) = (on(*s, 0), on(*d, 1));
                let own = from.iter().filter(|node| to.contains(node)).count();
                let count = from.len() * to.len() - own;
                let each = if count > 0 { bps / count as f64 } else { 0.0 };
                (Traffic { from, to, weight: 0 }, each)
            })
            .collect();
        let most = split.iter().map(|(_, each)| *each).fold(0.0, f64::max);
        if most <= 0.0 {
            return Vec::new();
        }
        let weighted = split.into_iter().map(|(traffic, each)| {
            let weight = (each / most * SCALE).round() as u32;
            Traffic { weight, ..traffic }
        });
        weighted.filter(|traffic| traffic.weight > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    #[test]
    fn nothing_measured_is_no_demand() {
        let cluster =
            Cluster::generated(TopologyShape::Clique { ports: 6 }, 0, 1, Strategy::Minimal, 3);
        let estimate = Plan::build(cluster).unwrap().estimate(&MeasuredLoads::default());
        assert!(estimate.demand.is_empty());
    }

    /// On a mesh links serve several pairs: the estimate makes their loads again.
    #[test]
    fn the_estimate_makes_the_loads_again() {
        let kind = TopologyShape::Mesh { dims: vec![3, 3] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Dor, 1)).unwrap();
        let name = |s: u32| plan.cluster().switches[s as usize].name.clone();
        let mut measured = MeasuredLoads::default();
        for (s, d, bps) in [(0, 8, 5e8), (0, 2, 2e8), (3, 5, 3e8), (8, 1, 1e8)] {
            *measured.bps.entry((format!("n{s}"), name(s))).or_default() += bps;
            *measured.bps.entry((name(d), format!("n{d}"))).or_default() += bps;
            for c in plan.between(SwitchId(s), SwitchId(d), 0) {
                let ends = (name(plan.graph().tail(c)), name(plan.graph().head(c)));
                *measured.bps.entry(ends).or_default() += bps;
            }
        }
        let estimate = plan.estimate(&measured);
        let mut loads = vec![0.0; plan.graph().channels()];
        for traffic in &estimate.demand {
            let (s, d) = (traffic.from[0], traffic.to[0]);
            for c in plan.between(SwitchId(s.0), SwitchId(d.0), 0) {
                loads[c as usize] += f64::from(traffic.weight);
            }
        }
        let scale = loads.iter().copied().fold(0.0, f64::max)
            / estimate.links.iter().copied().fold(0.0, f64::max);
        for (load, seen) in loads.iter().zip(&estimate.links) {
            assert!((load / scale - seen).abs() < 0.02, "{loads:?} {:?}", estimate.links);
        }
    }
}
