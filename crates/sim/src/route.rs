//! Which channels the messages of a pair cross.

use std::collections::BTreeSet;

use tresse_fabric::id::NodeId;
use tresse_fabric::path::Segment;
use tresse_fabric::plan::Plan;
use tresse_fabric::watch::Crossing;

use crate::network::Network;

/// Pairs up to which all routes are worked out beforehand.
const MOST_KEPT: usize = 1 << 21;

/// The paths that carry traffic, with their weights.
#[derive(Debug)]
pub struct Routes<'a> {
    plan: &'a Plan,
    network: &'a Network,
    failed: BTreeSet<u32>,
    /// Of all ordered pairs, the diagonal included, where they are few.
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Per pair its first way.
    pairs: Vec<u32>,
    ways: Vec<Way>,
    channels: Vec<u32>,
}

/// One path: where its channels begin, and the weights up to and with it.
#[derive(Debug, Clone, Copy)]
struct Way {
    first: u32,
    weight: u64,
}

impl<'a> Routes<'a> {
    /// The plan's primaries and weighted siblings; with `failed` channels the first path of each pair that
    /// crosses none of them.
    #[must_use]
    pub fn new(plan: &'a Plan, network: &'a Network, failed: BTreeSet<u32>) -> Self {
        let mut routes = Self { plan, network, failed, kept: None };
        let n = network.nodes;
        if n * n <= MOST_KEPT {
            let mut kept = Kept { pairs: vec![0], ways: Vec::new(), channels: Vec::new() };
            for pair in 0..n * n {
                let (src, dst) = (NodeId::from(pair / n), NodeId::from(pair % n));
                let mut weight = 0;
                if src != dst {
                    for (path, of) in routes.paths(src, dst) {
                        weight += of;
                        kept.ways.push(Way { first: kept.channels.len() as u32, weight });
                        kept.channels.extend(path);
                    }
                }
                kept.pairs.push(kept.ways.len() as u32);
            }
            kept.ways.push(Way { first: kept.channels.len() as u32, weight: 0 });
            routes.kept = Some(kept);
        }
        routes
    }

    /// The channels from `src` to `dst` onto the end of `channels`; of several paths that of `lot`, by
    /// weight. False where no path is left.
    pub fn route(&self, src: u32, dst: u32, lot: u64, channels: &mut Vec<u32>) -> bool {
        let Some(kept) = &self.kept else {
            let paths = self.paths(NodeId(src), NodeId(dst));
            let total: u64 = paths.iter().map(|(_, weight)| weight).sum();
            let mut rest = drawn(lot, total);
            for (path, weight) in paths {
                if rest < weight {
                    channels.extend(path);
                    return true;
                }
                rest -= weight;
            }
            return false;
        };
        let pair = src as usize * self.network.nodes + dst as usize;
        let (first, end) = (kept.pairs[pair] as usize, kept.pairs[pair + 1] as usize);
        let ways = &kept.ways[first..end];
        let Some(last) = ways.last() else { return false };
        let lot = drawn(lot, last.weight);
        let way = first + ways.partition_point(|way| way.weight <= lot);
        let range = kept.ways[way].first as usize..kept.ways[way + 1].first as usize;
        channels.extend_from_slice(&kept.channels[range]);
        true
    }

    fn paths(&self, src: NodeId, dst: NodeId) -> Vec<(Vec<u32>, u64)> {
        let one = |segments: &[Segment]| self.channels(segments);
        if self.failed.is_empty() {
            let carriers = self.plan.carriers(src, dst);
            return carriers.iter().map(|path| (one(&path.segments), path.weight.into())).collect();
        }
        let paths = self.plan.paths(src, dst);
        let all = paths.iter().map(|path| (one(&path.segments), u64::from(path.weight)));
        let whole: Vec<_> = all
            .filter(|(path, _)| path.iter().all(|channel| !self.failed.contains(channel)))
            .collect();
        match whole.iter().any(|(_, weight)| *weight > 0) {
            true => whole.into_iter().filter(|(_, weight)| *weight > 0).collect(),
            false => whole.into_iter().take(1).map(|(path, _)| (path, 1)).collect(),
        }
    }

    fn channels(&self, segments: &[Segment]) -> Vec<u32> {
        let mut channels = Vec::new();
        for segment in segments {
            channels.push(self.network.channel(Crossing::Out(segment.from, segment.nic)));
            self.plan.walk(segment, &mut channels);
            // A cable between nodes is one channel.
            let into = self.network.channel(Crossing::In(segment.to, segment.to_nic));
            if channels.last() != Some(&into) {
                channels.push(into);
            }
        }
        channels
    }
}

/// A number below `limit` out of any number.
fn drawn(lot: u64, limit: u64) -> u64 {
    ((u128::from(lot) * u128::from(limit)) >> 64) as u64
}
