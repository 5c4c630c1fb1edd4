//! Detours of a flat neighbourhood: what a pair of nodes sends through third nodes, over switches that its own paths do not
//! use (big-fat-switches-ring-clique-reflector, section 5; flat-neighborhood-network-compiler, section 4, knows the
//! switches alone that both nodes are on).
//!
//! What a pair sends by its own paths stays divided by the rates of these.

use std::collections::BTreeMap;

use tresse_base::id::NodeId;
use tresse_topology::cluster::Cluster;
use tresse_topology::demand::Demand;
use tresse_topology::path::{Path, Segment, Segments};

use super::resources::Resources;
use crate::reflect::{CANDIDATES, DetourFigures, LinearProgram, PairFlow, Uses, weights};

/// So many detours of a pair are looked at, however many pairs there are.
const EACH: usize = 4;

/// The pairs that send through third nodes too.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeDetours {
    /// By ordered pair: its paths, those of its own first, with their weights.
    pub by_pair: BTreeMap<(NodeId, NodeId), Vec<(u32, Segments)>>,
    /// The result of the linear program; `None` if it did not run or failed.
    pub found: Option<DetourFigures>,
}

/// What the strategy knows of a pair.
pub(super) struct Ways<'a> {
    /// Its own paths that carry traffic while nothing fails.
    pub(super) own: &'a dyn Fn(NodeId, NodeId) -> Vec<Path>,
    /// All its paths through a third node.
    pub(super) round: &'a dyn Fn(NodeId, NodeId) -> Vec<Segments>,
    /// All its paths across the uplink that it may use.
    pub(super) across: &'a dyn Fn(NodeId, NodeId) -> Vec<Segment>,
}

/// A pair with demand.
struct Flow {
    pair: (NodeId, NodeId),
    own: Vec<Path>,
    program: PairFlow,
    detours: Vec<Segments>,
}

impl NodeDetours {
    /// Finds the detours for the demand of `cluster`. O(pairs with demand x paths of a pair), and the linear program.
    pub(super) fn find(cluster: &Cluster, ways: &Ways<'_>) -> Self {
        let nics = cluster.nodes.iter().flat_map(|node| &node.nics);
        let slowest = nics.map(|nic| nic.rate.0 as f64).fold(f64::INFINITY, f64::min);
        let resources = Resources::of(cluster, slowest);
        let mut flows = ways.flows(cluster, &resources);
        let mut network = LinearProgram {
            fixed: vec![0.0; resources.capacity.len()],
            capacity: resources.capacity.clone(),
            ..LinearProgram::default()
        };
        network.flows = flows.iter().map(|flow| flow.program.clone()).collect();
        let base = network.loads(&network.direct());
        let busy: Vec<f64> = base.iter().zip(&network.capacity).map(|(l, c)| l / c).collect();
        let busiest = |uses: &Uses| uses.iter().map(|(r, _)| busy[*r as usize]).fold(0.0, f64::max);
        // If not all pairs can have detours, those with the busiest paths come first.
        let height = |flow: &Flow| busiest(&flow.program.paths[0]);
        flows.sort_by(|a, b| height(b).total_cmp(&height(a)).then(a.pair.cmp(&b.pair)));
        let mut left = CANDIDATES;
        let each = (left / flows.len().max(1)).max(EACH);
        let mut restricted = false;
        for flow in &mut flows {
            let nodes = cluster.nodes.len();
            let found = ways.candidates(flow, nodes, |way| busiest(&resources.uses(way, 1.0)));
            restricted |= found.len() > each.min(left);
            flow.detours = found.into_iter().take(each.min(left)).collect();
            left -= flow.detours.len();
            let uses = flow.detours.iter().map(|way| resources.uses(way, 1.0));
            flow.program.paths.extend(uses);
        }
        // What has no choice is a fixed load.
        let (choosing, fixed): (Vec<Flow>, Vec<Flow>) =
            flows.into_iter().partition(|flow| !flow.detours.is_empty());
        for flow in &fixed {
            for (resource, times) in &flow.program.paths[0] {
                network.fixed[*resource as usize] += flow.program.weight * times;
            }
        }
        network.flows = choosing.iter().map(|flow| flow.program.clone()).collect();
        Self::solve(cluster, network, choosing, restricted).unwrap_or_default()
    }

    /// Divides the traffic of each pair among its own paths and as many detours as `paths` leaves.
    fn solve(
        cluster: &Cluster,
        mut network: LinearProgram,
        mut flows: Vec<Flow>,
        restricted: bool,
    ) -> Option<Self> {
        let mut optimum = network.optimum()?;
        let candidates = flows.iter().map(|flow| flow.detours.len()).sum();
        let congestion = optimum.congestion;
        let mut limited = false;
        let most = |flow: &Flow| (cluster.routing.paths as usize).saturating_sub(flow.own.len());
        // The greatest shares of each pair are kept. If others then have too many, those that had a share alone remain.
        for used_alone in [false, true] {
            let used = |shares: &[f64]| shares[1..].iter().filter(|share| **share > 0.0).count();
            let pairs = || flows.iter().zip(&optimum.shares);
            if pairs().all(|(flow, shares)| used(shares) <= most(flow)) {
                break;
            }
            limited = true;
            for (at, shares) in optimum.shares.iter().enumerate() {
                let most = most(&flows[at]);
                if used(shares) > most || used_alone {
                    flows[at].keep(&mut network.flows[at], shares, most);
                }
            }
            optimum = network.optimum()?;
        }
        let split = |(flow, shares): (&Flow, &Vec<f64>)| Some((flow.pair, flow.split(shares)?));
        let by_pair = flows.iter().zip(&optimum.shares).filter_map(split).collect();
        let found = DetourFigures { optimum: congestion, candidates, restricted, limited };
        Some(Self { by_pair, found: Some(found) })
    }
}

impl Ways<'_> {
    /// The pairs with demand, each with its own paths.
    fn flows(&self, cluster: &Cluster, resources: &Resources) -> Vec<Flow> {
        let demand = Demand::of(cluster);
        let nodes = (0..cluster.nodes.len()).map(NodeId::from);
        let pairs = nodes.flat_map(|src| {
            let to = demand.from(src).into_iter();
            to.map(move |(dst, weight)| (src, dst, weight))
        });
        let flow = |(src, dst, weight): (NodeId, NodeId, u64)| {
            let own = (self.own)(src, dst);
            let sum: u32 = own.iter().map(|path| path.weight).sum();
            let share = |path: &Path| f64::from(path.weight) / f64::from(sum);
            let uses = own.iter().flat_map(|path| resources.uses(&path.segments, share(path)));
            let paths = vec![uses.collect()];
            let program = PairFlow { weight: weight as f64, paths };
            Flow { pair: (src, dst), own, program, detours: Vec::new() }
        };
        pairs.map(flow).collect()
    }

    /// The detours that the linear program may choose from, best first: those that leave and arrive by other NICs than the
    /// pair's own paths come before others, idle ones before busy ones. Detours with the same NICs at both ends take turns;
    /// of those across the uplink, one in four is among the first.
    fn candidates(
        &self,
        flow: &Flow,
        nodes: usize,
        busiest: impl Fn(&[Segment]) -> f64,
    ) -> Vec<Segments> {
        let ((src, dst), own) = (flow.pair, &flow.own);
        let leaves = |nic| own.iter().any(|path| path.segments[0].nic == nic);
        let arrives =
            |nic| own.iter().any(|path| path.segments.last().is_some_and(|s| s.to_nic == nic));
        let turn = (src.index() + dst.index()) % nodes;
        let mut by_ends: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let across = (self.across)(src, dst).into_iter().map(|way| Segments::from_iter([way]));
        let ways = (self.round)(src, dst).into_iter().chain(across).filter_map(|way| {
            let (there, on) = (way[0], way[way.len() - 1]);
            let common = usize::from(leaves(there.nic)) + usize::from(arrives(on.to_nic));
            // One that crosses what the pair's own paths cross brings no relief.
            (common < 2).then(|| {
                let late = (there.to.index() + nodes - turn) % nodes;
                if way.len() == 1 {
                    let first = (turn + there.nic + on.to_nic).is_multiple_of(4);
                    return (common, if first { 1 } else { 2 }, busiest(&way), late, way);
                }
                let round = by_ends.entry((there.nic, on.to_nic)).or_default();
                *round += 1;
                (common, *round, busiest(&way), late, way)
            })
        });
        let mut ways: Vec<_> = ways.collect();
        ways.sort_by(|a, b| {
            let key = |way: &(usize, usize, f64, usize, Segments)| (way.0, way.1);
            key(a).cmp(&key(b)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3)).then(a.4.cmp(&b.4))
        });
        ways.into_iter().map(|(.., way)| way).collect()
    }
}

impl Flow {
    /// Leaves the pair the `most` detours with the greatest shares.
    fn keep(&mut self, program: &mut PairFlow, shares: &[f64], most: usize) {
        // Shares that differ by rounding only are equal; the first one wins.
        let grain = |at: usize| (shares[at] * 1e5).round() as i64;
        let mut used: Vec<usize> = (1..shares.len()).filter(|at| shares[*at] > 0.0).collect();
        used.sort_by_key(|at| (-grain(*at), *at));
        used.truncate(most);
        used.sort_unstable();
        let paths: Vec<Uses> =
            used.iter().map(|at| std::mem::take(&mut program.paths[*at])).collect();
        program.paths.truncate(1);
        program.paths.extend(paths);
        self.detours = used.iter().map(|at| self.detours[at - 1].clone()).collect();
    }

    /// The paths of the pair with whole weights; `None` if no detour has any.
    fn split(&self, shares: &[f64]) -> Option<Vec<(u32, Segments)>> {
        let sum: u32 = self.own.iter().map(|path| path.weight).sum();
        let own = self.own.iter().map(|path| {
            (shares[0] * f64::from(path.weight) / f64::from(sum), path.segments.clone())
        });
        let mut detours: Vec<_> = self.detours.iter().zip(&shares[1..]).collect();
        detours.retain(|(_, share)| **share > 0.0);
        detours.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
        let detours =
            detours.into_iter().map(|(way, share)| (*share, way.iter().copied().collect()));
        let (shares, ways): (Vec<f64>, Vec<Segments>) = own.chain(detours).unzip();
        let weights = weights(&shares);
        if weights[self.own.len()..].iter().all(|weight| *weight == 0) {
            return None;
        }
        let split = weights.into_iter().zip(ways).enumerate();
        // The pair's first path stays: it is what the others stand beside.
        let split = split.filter(|(at, (weight, _))| *at == 0 || *weight > 0);
        Some(split.map(|(_, of)| of).collect())
    }
}
