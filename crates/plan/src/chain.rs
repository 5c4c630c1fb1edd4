//! Chains: planned paths joined at nodes in transit, for pairs of nodes whose own paths have all failed (DESIGN
//! section 7a).
//!
//! Only planned paths are joined, and only such whose every crossing is known to be sound. So no new tree is needed, no
//! guess is made where a failure is, and on a lossless plan the channel dependencies stay acyclic: each planned path
//! is legal by itself, and a node in transit takes packets out of the network. Trees cover all cables, and each pair of
//! nodes on adjacent switches has a planned path over the one cable between them; therefore almost every pair that
//! cables join has a chain of two paths, and more than three are hardly ever needed. A pair has none if each way leads
//! through a switch without a live node in transit (figures: `docs/design.md`).
//!
//! [`Chains::from`] takes O(N^2) planned paths at worst, with N nodes, and O(N) while nothing is broken.

use std::collections::BTreeMap;

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_topology::path::{Crossing, Path};

use crate::Plan;

/// A planned path, or several joined at nodes in transit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The planned paths in order: each begins where the one before ends. Not empty.
    pub paths: Vec<Path>,
}

/// The chains of a plan while some crossings are not known to be sound.
pub struct Chains<'a, F> {
    plan: &'a Plan,
    is_sound: F,
}

/// What is compared between two chains of equally many paths: the number of crossings, then the hash of their last
/// joint.
type Cost = (usize, u64);

impl<'a, F: Fn(Crossing) -> bool> Chains<'a, F> {
    /// `is_sound`: whether packets are known to get over a crossing. The crossings of a node that is off are not sound.
    pub const fn new(plan: &'a Plan, is_sound: F) -> Self {
        Self { plan, is_sound }
    }

    /// The first by rank of the pair's planned paths that is sound.
    #[must_use]
    pub fn planned(&self, src: NodeId, dst: NodeId) -> Option<Path> {
        let is_sound = |path: &Path| {
            let crossings = path.segments.iter().flat_map(|segment| self.plan.crossings(segment));
            crossings.into_iter().all(&self.is_sound)
        };
        self.plan.paths(src, dst).into_iter().find(is_sound)
    }

    /// The chains from a node to all nodes that any lead to, by destination: of one path where one is sound, else with
    /// as few paths as possible, then as few crossings. Among equal ones each source and destination prefers another
    /// node in transit, so that no node gets all.
    #[must_use]
    pub fn from(&self, src: NodeId) -> BTreeMap<NodeId, Chain> {
        let nodes = (0..self.plan.cluster().nodes.len()).map(NodeId::from);
        let mut chains = BTreeMap::new();
        let mut missing = Vec::new();
        for dst in nodes.filter(|dst| *dst != src) {
            match self.planned(src, dst) {
                Some(path) => drop(chains.insert(dst, Chain { paths: vec![path] })),
                None => missing.push(dst),
            }
        }
        let mut joints: Vec<NodeId> = chains.keys().copied().collect();
        while !missing.is_empty() && !joints.is_empty() {
            joints.retain(|node| self.plan.cluster().node(*node).transit);
            let found: Vec<(NodeId, Chain)> = missing
                .iter()
                .filter_map(|dst| Some((*dst, self.longer(src, *dst, &joints, &chains)?)))
                .collect();
            missing.retain(|dst| found.iter().all(|(found, _)| found != dst));
            joints = found.iter().map(|(dst, _)| *dst).collect();
            chains.extend(found);
        }
        chains
    }

    /// The best chain that is by one path longer than that to one of the `joints`.
    fn longer(
        &self,
        src: NodeId,
        dst: NodeId,
        joints: &[NodeId],
        chains: &BTreeMap<NodeId, Chain>,
    ) -> Option<Chain> {
        let candidates = joints.iter().filter_map(|joint| {
            let before = &chains[joint];
            let path = self.planned(*joint, dst)?;
            let labels = before.segments() + path.segments.len() - 1;
            let cost =
                (self.crossings(&before.paths) + self.crossings(std::slice::from_ref(&path)), {
                    let [src, dst, joint] = [src, dst, *joint].map(|node| u64::from(node.0));
                    Random::new(src << 42 ^ dst << 21 ^ joint).number()
                });
            (labels <= LABELS_MOST).then_some((cost, before, path))
        });
        let best: Option<(Cost, &Chain, Path)> = candidates.min_by_key(|(cost, ..)| *cost);
        best.map(|(_, before, path)| Chain { paths: [&before.paths[..], &[path]].concat() })
    }

    fn crossings(&self, paths: &[Path]) -> usize {
        let segments = paths.iter().flat_map(|path| &path.segments);
        segments.map(|segment| self.plan.crossings(segment).len()).sum()
    }
}

impl Chain {
    /// Number of its segments; a packet carries a label for each but the first.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.paths.iter().map(|path| path.segments.len()).sum()
    }
}

/// The deepest label stack that the kernel takes (`MAX_NEW_LABELS` in `net/mpls/internal.h`).
const LABELS_MOST: usize = 30;

#[cfg(test)]
mod tests;
