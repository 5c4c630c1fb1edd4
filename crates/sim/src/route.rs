//! The channels that the messages of each pair cross in a simulation.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_routing::next_hops::NextHops;
use tresse_routing::node_routing::NodeRouting;
use tresse_topology::Hop;
use tresse_topology::cluster::NicEnd;
use tresse_topology::path::Crossing;
use tresse_topology::path::Segment;

use crate::network::SimulatedNetwork;

/// Up to this many pairs all routes are computed beforehand.
const MOST_KEPT: usize = 1 << 21;

/// The paths of all pairs of nodes in a simulation, as the channels (directions of cables) that
/// they cross, with weights where a pair has several.
#[derive(Debug)]
pub struct SimulatedPaths<'a> {
    nodes: usize,
    /// `None` if all routes were given.
    plan: Option<(&'a Plan, &'a SimulatedNetwork)>,
    /// The next hops, on fabrics whose nodes route.
    next_hops: Option<NextHops>,
    failed: BTreeSet<u32>,
    /// Routes of all ordered pairs including the diagonal, if they are few enough.
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Index of the first path of each pair.
    pairs: Vec<u32>,
    paths: Vec<KeptPath>,
    channels: Vec<u32>,
}

/// One path: position of its first channel, and the sum of the weights up to and with it.
#[derive(Debug, Clone, Copy)]
struct KeptPath {
    first: u32,
    weight: u64,
}

impl<'a> SimulatedPaths<'a> {
    /// Returns the plan's primaries and weighted siblings. With `failed` channels: the first path
    /// of each pair that crosses none of them or, if nodes route, the path that results from each
    /// node's rerouting.
    #[must_use]
    pub fn new(plan: &'a Plan, network: &'a SimulatedNetwork, failed: BTreeSet<u32>) -> Self {
        let next_hops = NextHops::of_cluster(plan.cluster());
        let mut routes = Self {
            nodes: network.nodes,
            plan: Some((plan, network)),
            next_hops,
            failed,
            kept: None,
        };
        if network.nodes * network.nodes <= MOST_KEPT {
            routes.kept = Some(Kept::new(network.nodes, |src, dst| routes.paths(src, dst)));
        }
        routes
    }

    /// Returns given routes: one path for each ordered pair, by pair number (source times nodes
    /// plus destination). An empty path means that there is none.
    #[must_use]
    pub fn given(nodes: usize, paths: &[Vec<u32>]) -> Self {
        let one = |src: NodeId, dst: NodeId| {
            let path = &paths[src.index() * nodes + dst.index()];
            (!path.is_empty()).then(|| (path.clone(), 1)).into_iter().collect()
        };
        let kept = Some(Kept::new(nodes, one));
        Self { nodes, plan: None, next_hops: None, failed: BTreeSet::new(), kept }
    }

    /// Returns the same routes without a reference to the plan; `None` if there are too many pairs
    /// to store.
    #[must_use]
    pub fn detached(self) -> Option<SimulatedPaths<'static>> {
        let Self { nodes, kept: Some(kept), .. } = self else { return None };
        Some(SimulatedPaths {
            nodes,
            plan: None,
            next_hops: None,
            failed: BTreeSet::new(),
            kept: Some(kept),
        })
    }

    /// Appends the channels from `src` to `dst` to `channels`. Of several paths `draw` chooses one
    /// by weight. Returns false if no path is left.
    pub fn route(&self, src: u32, dst: u32, draw: u64, channels: &mut Vec<u32>) -> bool {
        if src == dst {
            return false;
        }
        let Some(kept) = &self.kept else {
            let paths = self.paths(NodeId(src), NodeId(dst));
            let total: u64 = paths.iter().map(|(_, weight)| weight).sum();
            let mut rest = below(draw, total);
            for (path, weight) in paths {
                if rest < weight {
                    channels.extend(path);
                    return true;
                }
                rest -= weight;
            }
            return false;
        };
        let paths = kept.paths(src as usize * self.nodes + dst as usize);
        let Some(last) = kept.paths[paths.clone()].last() else { return false };
        let draw = below(draw, last.weight);
        let path = paths.start + kept.paths[paths].partition_point(|path| path.weight <= draw);
        channels.extend_from_slice(kept.channels(path));
        true
    }

    /// Calls `with` for each path from `src` to `dst`, with its share of their traffic.
    pub fn each(&self, src: u32, dst: u32, mut with: impl FnMut(&[u32], f64)) {
        if src == dst {
            return;
        }
        if let Some(kept) = &self.kept {
            let paths = kept.paths(src as usize * self.nodes + dst as usize);
            let total = kept.paths[paths.clone()].last().map_or(0, |path| path.weight);
            let mut before = 0;
            for path in paths {
                let weight = kept.paths[path].weight - before;
                before += weight;
                with(kept.channels(path), weight as f64 / total as f64);
            }
            return;
        }
        let paths = self.paths(NodeId(src), NodeId(dst));
        let total: u64 = paths.iter().map(|(_, weight)| weight).sum();
        for (path, weight) in &paths {
            with(path, *weight as f64 / total as f64);
        }
    }

    fn paths(&self, src: NodeId, dst: NodeId) -> Vec<(Vec<u32>, u64)> {
        let Some((plan, network)) = self.plan else { return Vec::new() };
        let one = |segments: &[Segment]| channels(plan, network, segments);
        if self.failed.is_empty() {
            let carriers = plan.carriers(src, dst);
            return carriers.iter().map(|path| (one(&path.segments), path.weight.into())).collect();
        }
        if let Some(next_hops) = &self.next_hops {
            return self
                .rerouted(next_hops, network, src, dst)
                .into_iter()
                .map(|path| (path, 1))
                .collect();
        }
        let paths = plan.paths(src, dst);
        let all = paths.iter().map(|path| (one(&path.segments), u64::from(path.weight)));
        let whole: Vec<_> = all
            .filter(|(path, _)| path.iter().all(|channel| !self.failed.contains(channel)))
            .collect();
        match whole.iter().any(|(_, weight)| *weight > 0) {
            true => whole.into_iter().filter(|(_, weight)| *weight > 0).collect(),
            false => whole.into_iter().take(1).map(|(path, _)| (path, 1)).collect(),
        }
    }
}

impl SimulatedPaths<'_> {
    /// Returns the path on which every node routes around failures next to it.
    fn rerouted(
        &self,
        next_hops: &NextHops,
        network: &SimulatedNetwork,
        src: NodeId,
        dst: NodeId,
    ) -> Option<Vec<u32>> {
        let crossed = |at: NodeId, hop: &Hop| {
            [Crossing::Out(at, hop.nic), Crossing::In(hop.to, hop.to_nic)]
                .map(|crossing| network.channel(crossing))
        };
        let alive = |end: NicEnd, hop: &Hop| {
            crossed(end.node, hop).iter().all(|channel| !self.failed.contains(channel))
        };
        let (mut at, mut came, mut path) = (src, None, Vec::new());
        while at != dst {
            // A path with more crossings is a loop, which ends with the packet's TTL.
            if path.len() > 2 * self.nodes {
                return None;
            }
            let hop = next_hops.next_alive(at, came, dst, &alive)?;
            // A cable between nodes is one channel.
            path.extend(crossed(at, &hop));
            path.dedup();
            (at, came) = (hop.to, Some(hop.to_nic));
        }
        Some(path)
    }
}

impl Kept {
    fn new(nodes: usize, paths: impl Fn(NodeId, NodeId) -> Vec<(Vec<u32>, u64)>) -> Self {
        let mut kept = Self { pairs: vec![0], paths: Vec::new(), channels: Vec::new() };
        for pair in 0..nodes * nodes {
            let (src, dst) = (NodeId::from(pair / nodes), NodeId::from(pair % nodes));
            let mut weight = 0;
            if src != dst {
                for (path, of) in paths(src, dst) {
                    weight += of;
                    kept.paths.push(KeptPath { first: kept.channels.len() as u32, weight });
                    kept.channels.extend(path);
                }
            }
            kept.pairs.push(kept.paths.len() as u32);
        }
        kept.paths.push(KeptPath { first: kept.channels.len() as u32, weight: 0 });
        kept
    }

    /// Returns the range of a pair's paths.
    fn paths(&self, pair: usize) -> std::ops::Range<usize> {
        self.pairs[pair] as usize..self.pairs[pair + 1] as usize
    }

    fn channels(&self, path: usize) -> &[u32] {
        &self.channels[self.paths[path].first as usize..self.paths[path + 1].first as usize]
    }
}

fn channels(plan: &Plan, network: &SimulatedNetwork, segments: &[Segment]) -> Vec<u32> {
    let mut channels = Vec::new();
    for segment in segments {
        channels.push(network.channel(Crossing::Out(segment.from, segment.nic)));
        plan.walk(segment, &mut channels);
        // A cable between nodes is one channel.
        let into = network.channel(Crossing::In(segment.to, segment.to_nic));
        if channels.last() != Some(&into) {
            channels.push(into);
        }
    }
    channels
}

/// Maps a random number to one below `limit`.
fn below(draw: u64, limit: u64) -> u64 {
    ((u128::from(draw) * u128::from(limit)) >> 64) as u64
}
