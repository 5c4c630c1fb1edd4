//! Chooses the pairs of switches that get detours through reflectors, for the demand of the cluster
//! (big-fat-switches-ring-clique-reflector, section 5). A reflector is a node that sends a frame out of the NIC that
//! it came in by.
//!
//! A detour has two segments: from the source's switch to the reflector's, and from there to the destination's. Both
//! are existing paths of the strategy. So no tree is added, and the channel dependencies are those of other primaries.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_routing::reflect::{
    CANDIDATES, Detour, DetourFigures, Detours, LinearProgram, MOST_SWITCHES, Optimum, PairFlow,
    Split, USUAL_SWITCHES, Uses, weights,
};
use tresse_topology::Channel;
use tresse_topology::cluster::ReflectMode;
use tresse_topology::demand::Demand;
use tresse_topology::path::{Segment, Segments};

use crate::primaries::Primaries;

/// Sources whose demand is added up in one go: a fixed number, so that sums are the same everywhere.
const CHUNK: usize = 64;

/// The most switches of a fabric whose detours can be used as they are needed.
pub(super) const ADAPTIVE_SWITCHES: usize = 128;

/// A switch whose nodes may be reflectors for a pair of switches, and the trees of the two segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThirdSwitch {
    at: SwitchId,
    there: TreeId,
    on: TreeId,
}

/// By pair of switches: those whose nodes may be reflectors, the nearest first.
pub(crate) type ThirdSwitches = BTreeMap<(SwitchId, SwitchId), Vec<ThirdSwitch>>;

/// The demand from the nodes on one switch to those on another.
#[derive(Debug, Clone, Default)]
struct Sum {
    weight: u64,
    /// NICs of transit nodes on the primaries, by number, and how much crosses them.
    transit: BTreeMap<usize, u64>,
}

/// The demand of all pairs, and of every NIC.
#[derive(Debug, Default)]
struct Sums {
    pairs: BTreeMap<(SwitchId, SwitchId, u32), Sum>,
    sent: BTreeMap<usize, u64>,
    received: BTreeMap<usize, u64>,
}

impl Primaries {
    /// The detours of this plan, from the linear program.
    pub(crate) fn find_detours(&self) -> Detours {
        let cluster = &self.cluster;
        if let Some(direct) = self.direct() {
            return Detours { found: direct.detours().found, ..Detours::default() };
        }
        if cluster.routing.reflect != ReflectMode::Demand || self.graph.switches() > MOST_SWITCHES {
            return Detours::default();
        }
        let demand = Demand::of(cluster);
        let sums = self.sums(&demand);
        let (mut network, candidates, restricted) = self.network(&sums);
        let Some(mut optimum) = network.optimum() else { return Detours::default() };
        let mut found = DetourFigures {
            optimum: optimum.congestion,
            candidates: candidates.iter().map(Vec::len).sum(),
            restricted,
            limited: false,
        };
        let most = self.most_detours();
        let mut kept = candidates;
        // After the largest shares of each flow are kept, the shares are computed again. If other
        // flows then have too many, the computation is repeated with the used detours only.
        for used_alone in [false, true] {
            if !self.keep_greatest(&mut network, &mut kept, &optimum, most, used_alone) {
                break;
            }
            found.limited = true;
            match network.optimum() {
                Some(again) => optimum = again,
                None => return Detours { found: Some(found), ..Detours::default() },
            }
        }
        let mut by_pair = BTreeMap::new();
        for ((pair, detours), shares) in sums.pairs.keys().zip(&kept).zip(&optimum.shares) {
            if let Some(split) = split(detours, shares) {
                by_pair.insert(*pair, split);
            }
        }
        Detours { by_pair, found: Some(found) }
    }

    /// Weighted siblings that a pair may have: `paths` counts them, and where nodes have several NICs
    /// one place is kept for the backup that a lost carrier needs (K1). Not in a flat neighbourhood, where
    /// the siblings leave by other NICs.
    #[must_use]
    pub fn most_detours(&self) -> usize {
        let several = || self.cluster.nodes.iter().any(|node| node.nics.len() > 1);
        let backup = usize::from(self.direct().is_none() && several());
        (self.cluster.routing.paths as usize - 1).saturating_sub(backup)
    }

    fn sums(&self, demand: &Demand) -> Sums {
        let nodes: Vec<NodeId> = (0..self.cluster.nodes.len()).map(NodeId::from).collect();
        let first = self.first_nics();
        let parts: Vec<Sums> = nodes
            .par_chunks(CHUNK)
            .map(|sources| {
                let mut sums = Sums::default();
                for &src in sources {
                    for (dst, weight) in demand.from(src) {
                        sums.add(self, &self.primary(src, dst), weight, &first);
                    }
                }
                sums
            })
            .collect();
        parts.into_iter().fold(Sums::default(), Sums::merge)
    }

    /// The linear program's data: resources are the channels, then every NIC sending, then every NIC
    /// receiving. With it the detours of each flow, in the order of its paths past the first.
    fn network(&self, sums: &Sums) -> (LinearProgram, Vec<Vec<Detour>>, bool) {
        let nics = || self.cluster.nodes.iter().flat_map(|node| &node.nics);
        let unit = nics().map(|nic| nic.rate.0).min().unwrap_or(1) as f64;
        let (channels, count) = (self.graph.channels(), nics().count());
        let rates = (0..channels as u32).map(|c| self.cluster.link(self.graph.link(c)).rate.0);
        let edges = || nics().map(|nic| nic.rate.0);
        let capacity = rates.chain(edges()).chain(edges()).map(|rate| rate as f64 / unit);
        let mut network =
            LinearProgram { capacity: capacity.collect(), ..LinearProgram::default() };
        network.fixed = vec![0.0; network.capacity.len()];
        sums.sent.iter().for_each(|(n, load)| network.fixed[channels + n] = *load as f64);
        sums.received
            .iter()
            .for_each(|(n, load)| network.fixed[channels + count + n] = *load as f64);
        for (&(s, d, lane), sum) in &sums.pairs {
            let mut direct: Uses = self.between(s, d, lane).iter().map(|c| (*c, 1.0)).collect();
            for (&nic, &load) in &sum.transit {
                let part = load as f64 / sum.weight as f64;
                direct.extend([channels + nic, channels + count + nic].map(|r| (r as u32, part)));
            }
            network.flows.push(PairFlow { weight: sum.weight as f64, paths: vec![direct] });
        }
        let base = network.loads(&network.direct());
        let busy: Vec<f64> = base.iter().zip(&network.capacity).map(|(l, c)| l / c).collect();
        let mut candidates = vec![Vec::new(); network.flows.len()];
        let first = self.first_nics();
        // If not all pairs can have detours, those with the busiest paths come first.
        let height = |flow: &PairFlow| {
            flow.paths[0].iter().map(|(r, _)| busy[*r as usize]).fold(0.0_f64, f64::max)
        };
        let mut order: Vec<usize> = (0..network.flows.len()).collect();
        order.sort_by(|a, b| {
            let [a_height, b_height] = [a, b].map(|f| height(&network.flows[*f]));
            b_height.total_cmp(&a_height).then(a.cmp(b))
        });
        let switches = self.graph.switches().max(USUAL_SWITCHES);
        let mut left = CANDIDATES * USUAL_SWITCHES.pow(2) / switches.pow(2);
        let each = (left / order.len().max(1)).max(EACH);
        let pairs: Vec<_> = sums.pairs.keys().copied().collect();
        let mut restricted = false;
        for f in order {
            let (s, d, lane) = pairs[f];
            if s == d {
                continue;
            }
            if left == 0 {
                restricted = true;
                break;
            }
            let (detours, more) = self.candidates_between((s, d, lane), &busy, each.min(left));
            restricted |= more;
            left -= detours.len();
            for detour in &detours {
                let at = self.cluster.node(detour.node).nics[detour.nic].switch;
                let mut uses: Uses = Vec::new();
                for channel in self.along(detour.there, s, at) {
                    uses.push((channel, 1.0));
                }
                for channel in self.along(detour.on, at, d) {
                    uses.push((channel, 1.0));
                }
                let nic = first[detour.node.index()] + detour.nic;
                uses.extend([channels + nic, channels + count + nic].map(|r| (r as u32, 1.0)));
                network.flows[f].paths.push(uses);
            }
            candidates[f] = detours;
        }
        (network, candidates, restricted)
    }

    /// At most `most` detours from `s` to `d`: near and idle switches first, one node of each in turn.
    /// Were there more?
    fn candidates_between(
        &self,
        (s, d, lane): (SwitchId, SwitchId, u32),
        busy: &[f64],
        most: usize,
    ) -> (Vec<Detour>, bool) {
        let switches = self.third_switches(s, d, lane, |channel| busy[channel as usize]);
        let nodes = |third: &ThirdSwitch| &self.transit_nodes[third.at.index()];
        let all: usize = switches.iter().map(|third| nodes(third).len()).sum();
        let mut detours = Vec::with_capacity(most.min(all));
        for round in 0.. {
            if detours.len() >= most.min(all) {
                break;
            }
            for third in &switches {
                let nodes = nodes(third);
                if round < nodes.len() && detours.len() < most {
                    let (node, nic) = nodes[(s.index() + d.index() + round) % nodes.len()];
                    detours.push(Detour { node, nic, there: third.there, on: third.on, weight: 0 });
                }
            }
        }
        (detours, all > most)
    }

    /// The switches whose nodes may be reflectors from `s` to `d`: near and idle ones first.
    fn third_switches(
        &self,
        s: SwitchId,
        d: SwitchId,
        lane: u32,
        busy: impl Fn(Channel) -> f64,
    ) -> Vec<ThirdSwitch> {
        let n = self.graph.switches();
        let direct = self.between(s, d, lane);
        let mut switches = Vec::new();
        for at in (0..n).map(SwitchId::from) {
            if [s, d].contains(&at) || self.transit_nodes[at.index()].is_empty() {
                continue;
            }
            let (Some(there), Some(on)) = (self.one_segment(s, at), self.one_segment(at, d)) else {
                continue;
            };
            let mut channels = self.along(there, s, at);
            channels.extend(self.along(on, at, d));
            // A detour that crosses everything the direct path crosses brings no relief.
            if direct.iter().all(|c| channels.contains(c)) {
                continue;
            }
            let busiest = channels.iter().map(|c| busy(*c)).fold(0.0_f64, f64::max);
            let round_robin_index = (at.index() + n - (s.index() + d.index()) % n) % n;
            let third = ThirdSwitch { at, there, on };
            switches.push((channels.len(), busiest, round_robin_index, third));
        }
        switches.sort_by(|a, b| (a.0.cmp(&b.0)).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        switches.into_iter().map(|(.., third)| third).collect()
    }

    /// With `reflect = "adaptive"`: the switches whose nodes may be reflectors, for each pair of switches.
    pub(crate) fn all_third_switches(&self) -> ThirdSwitches {
        let switches = self.graph.switches();
        let adaptive = self.cluster.routing.reflect == ReflectMode::Adaptive;
        if !adaptive
            || self.direct().is_some()
            || self.next_hops.is_some()
            || switches > ADAPTIVE_SWITCHES
        {
            return ThirdSwitches::new();
        }
        let most = self.most_detours();
        let of = |s: usize| {
            let others = (0..switches).filter(move |d| *d != s);
            others.map(move |d| {
                let (s, d) = (SwitchId::from(s), SwitchId::from(d));
                let mut thirds = self.third_switches(s, d, 0, |_| 0.0);
                thirds.truncate(most);
                ((s, d), thirds)
            })
        };
        (0..switches).into_par_iter().flat_map_iter(of).collect()
    }

    /// Detours from one node to another through nodes on these switches, which belong to the switches of its primary: one on
    /// each switch in turn, another one for each pair of nodes, at most as many as the pair may have.
    pub(crate) fn detours_through(
        &self,
        thirds: &[ThirdSwitch],
        primary: &Segments,
    ) -> Vec<Segments> {
        let (first, last) = (primary[0], primary[primary.len() - 1]);
        let (src, dst) = (first.from, last.to);
        let most = self.most_detours();
        let mut detours = Vec::new();
        for round in 0.. {
            let before = detours.len();
            for third in thirds {
                let nodes = &self.transit_nodes[third.at.index()];
                if round >= nodes.len() || detours.len() >= most {
                    continue;
                }
                let (at, nic) = nodes[(src.index() + dst.index() + round) % nodes.len()];
                if ![src, dst].contains(&at) {
                    let there = Segment { tree: third.there, to: at, to_nic: nic, ..first };
                    let on =
                        Segment { from: at, nic, tree: third.on, to: dst, to_nic: last.to_nic };
                    detours.push([there, on].into_iter().collect());
                }
            }
            if detours.len() == before {
                break;
            }
        }
        detours
    }

    /// Leaves each flow the direct path and the `most` detours through the switches with the greatest
    /// shares: of several nodes on one switch that with the greatest. Flows that have no more keep what
    /// they do not use, unless `used_alone`. Did any go that had a share? If not, all is left as it was.
    fn keep_greatest(
        &self,
        network: &mut LinearProgram,
        detours: &mut [Vec<Detour>],
        optimum: &Optimum,
        most: usize,
        used_alone: bool,
    ) -> bool {
        let used = |shares: &[f64]| -> Vec<usize> {
            (1..shares.len()).filter(|j| shares[*j] > 0.0).collect()
        };
        if optimum.shares.iter().all(|shares| used(shares).len() <= most) {
            return false;
        }
        // Shares that differ by rounding only are equal; the first one wins.
        let grain = |share: f64| (share * 1e5).round() as i64;
        for ((flow, detours), shares) in network.flows.iter_mut().zip(detours).zip(&optimum.shares)
        {
            let used = used(shares);
            if used.len() <= most && !used_alone {
                continue;
            }
            let mut by_switch: BTreeMap<SwitchId, (f64, usize)> = BTreeMap::new();
            for &j in &used {
                let Detour { node, nic, .. } = detours[j - 1];
                let switch = self.cluster.node(node).nics[nic].switch;
                let (sum, best) = by_switch.entry(switch).or_insert((0.0, j));
                *sum += shares[j];
                if grain(shares[j]) > grain(shares[*best]) {
                    *best = j;
                }
            }
            let mut order: Vec<(i64, usize)> =
                by_switch.values().map(|(sum, best)| (-grain(*sum), *best)).collect();
            let rest = used.iter().filter(|j| !by_switch.values().any(|(_, best)| best == *j));
            let mut rest: Vec<(i64, usize)> = rest.map(|j| (-grain(shares[*j]), *j)).collect();
            order.sort_unstable();
            rest.sort_unstable();
            let mut kept: Vec<usize> =
                order.into_iter().chain(rest).take(most).map(|(_, j)| j).collect();
            kept.sort_unstable();
            let paths: Vec<Uses> =
                kept.iter().map(|j| std::mem::take(&mut flow.paths[*j])).collect();
            flow.paths.truncate(1);
            flow.paths.extend(paths);
            *detours = kept.iter().map(|j| detours[j - 1]).collect();
        }
        true
    }

    /// The tree of the primary path from `s` to `d`, if it has one segment.
    fn one_segment(&self, s: SwitchId, d: SwitchId) -> Option<TreeId> {
        let mut tree_segments = self.assignment.tree_segments(s, d, 0);
        let tree_segment = tree_segments.next()?;
        tree_segments.next().is_none().then_some(tree_segment.tree)
    }

    fn along(&self, tree: TreeId, s: SwitchId, d: SwitchId) -> Vec<Channel> {
        let mut channels = Vec::new();
        self.tree(tree).walk(&self.graph, s, d, &mut channels);
        channels
    }
}

/// So many detours a pair are looked at, however many pairs there are.
const EACH: usize = 4;

impl Sums {
    fn add(&mut self, primaries: &Primaries, segments: &Segments, weight: u64, first: &[usize]) {
        let (start, end) = (&segments[0], &segments[segments.len() - 1]);
        let (from, to) = (primaries.sender(start), primaries.receiver(end));
        let pair = (from.switch, to.switch, primaries.lane(from, to));
        let sum = self.pairs.entry(pair).or_default();
        sum.weight += weight;
        for after in &segments[1..] {
            *sum.transit.entry(first[after.from.index()] + after.nic).or_default() += weight;
        }
        *self.sent.entry(first[start.from.index()] + start.nic).or_default() += weight;
        *self.received.entry(first[end.to.index()] + end.to_nic).or_default() += weight;
    }

    fn merge(mut self, other: Self) -> Self {
        for (pair, sum) in other.pairs {
            let mine = self.pairs.entry(pair).or_default();
            mine.weight += sum.weight;
            sum.transit
                .iter()
                .for_each(|(nic, more)| *mine.transit.entry(*nic).or_default() += more);
        }
        other.sent.iter().for_each(|(nic, more)| *self.sent.entry(*nic).or_default() += more);
        other
            .received
            .iter()
            .for_each(|(nic, more)| *self.received.entry(*nic).or_default() += more);
        self
    }
}

/// Shares as weights; `None` where all goes the direct path.
fn split(detours: &[Detour], shares: &[f64]) -> Option<Split> {
    let used: Vec<usize> = (1..shares.len()).filter(|j| shares[*j] > 0.0).collect();
    if used.is_empty() {
        return None;
    }
    let shares: Vec<f64> =
        std::iter::once(0).chain(used.iter().copied()).map(|j| shares[j]).collect();
    let weights = weights(&shares);
    let weighted = used.iter().zip(&weights[1..]).filter(|(_, weight)| **weight > 0);
    let mut detours: Vec<Detour> =
        weighted.map(|(j, &weight)| Detour { weight, ..detours[j - 1] }).collect();
    detours.sort_by_key(|detour| (std::cmp::Reverse(detour.weight), detour.node));
    (!detours.is_empty()).then_some(Split { direct: weights[0], detours })
}
