//! Finds the backup paths of a pair of nodes in the existing VLAN trees. Where the fabric allows, a backup shares
//! neither a link nor a switch with the pair's paths of lower rank (DESIGN section 4).

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, PathId, SwitchId, TreeId};
use tresse_topology::path::{Path, Segment};
use tresse_topology::vlan::Role;

use crate::primaries::Primaries;
use crate::trees::ALL_TREES;

/// How bad a backup is, compared with the paths before it: less is better.
type Penalty = (u32, u32, u32, u32, u32);

/// What a path that carries traffic needs. A backup that needs all of it too protects nothing but a VID.
struct Carrier {
    /// Its NICs at both ends; none where nodes in transit add theirs.
    nics: Option<(usize, usize)>,
    links: Vec<LinkId>,
}

impl Primaries {
    /// Returns the best backup after the paths `before`; `None` if every candidate is one of them.
    /// In a lossless plan backups close no cycle of channels.
    pub(super) fn backup(&self, before: &[Path]) -> Option<Segment> {
        let PathId { src, dst, .. } = before[0].id;
        let (a, b) = (&self.cluster.node(src).nics, &self.cluster.node(dst).nics);
        let taken: Vec<Segment> = before.iter().flat_map(|p| p.segments.iter().copied()).collect();
        let carriers: Vec<Carrier> =
            before.iter().filter(|path| path.weight > 0).map(|path| self.carrier(path)).collect();
        let mut links = vec![false; self.cluster.links.len()];
        let mut switches = vec![false; self.graph.switches()];
        let mut channels = Vec::new();
        for segment in &taken {
            channels.clear();
            self.walk(segment, &mut channels);
            for &c in &channels {
                links[self.graph.link(c).index()] = true;
                switches[self.graph.head(c) as usize] = true;
            }
            switches[self.sender(segment).switch.index()] = true;
            switches[self.receiver(segment).switch.index()] = true;
        }
        let mut best: Option<(Penalty, Segment)> = None;
        for (nic, from) in a.iter().enumerate() {
            for (to_nic, to) in b.iter().enumerate() {
                let same_nic = taken.iter().any(|t| (t.from, t.nic) == (src, nic));
                let same_peer = taken.iter().any(|t| (t.to, t.to_nic) == (dst, to_nic));
                let ends = [from.switch.0, to.switch.0];
                for tree in self.candidates(from.switch, to.switch) {
                    let segment = Segment { from: src, nic, tree, to: dst, to_nic };
                    channels.clear();
                    self.walk(&segment, &mut channels);
                    if taken.contains(&segment) {
                        continue;
                    }
                    let holds_all_of = |carrier: &Carrier| {
                        carrier.nics == Some((nic, to_nic))
                            && carrier
                                .links
                                .iter()
                                .all(|link| channels.iter().any(|c| self.graph.link(*c) == *link))
                    };
                    if carriers.iter().all(holds_all_of) {
                        continue;
                    }
                    if !self.may_back_up(&channels) {
                        continue;
                    }
                    let shared_links =
                        channels.iter().filter(|c| links[self.graph.link(**c).index()]).count();
                    let inner = channels.len().saturating_sub(1);
                    let shared_switches = channels
                        .iter()
                        .take(inner)
                        .map(|c| self.graph.head(*c))
                        .chain(
                            if same_nic && same_peer { &[][..] } else { &ends[..] }.iter().copied(),
                        )
                        .filter(|s| switches[*s as usize])
                        .count();
                    let penalty = (
                        u32::from(same_nic) + u32::from(same_peer),
                        shared_links as u32,
                        shared_switches as u32,
                        channels.len() as u32,
                        tree.0,
                    );
                    if best.as_ref().is_none_or(|(p, _)| penalty < *p) {
                        best = Some((penalty, segment));
                    }
                }
            }
        }
        best.map(|(_, segment)| segment)
    }

    fn carrier(&self, path: &Path) -> Carrier {
        let nics = match &path.segments[..] {
            [only] => Some((only.nic, only.to_nic)),
            _ => None,
        };
        let mut channels = Vec::new();
        for segment in &path.segments {
            self.walk(segment, &mut channels);
        }
        Carrier { nics, links: channels.iter().map(|c| self.graph.link(*c)).collect() }
    }

    /// Trees worth trying from `s` to `d`. Under dimension order the way back, reversed, shares
    /// no link with the path there unless they differ in one dimension only.
    fn candidates(&self, s: SwitchId, d: SwitchId) -> Vec<TreeId> {
        if self.specs.len() <= ALL_TREES {
            return (0..self.specs.len()).map(TreeId::from).collect();
        }
        let both = |lane| [self.primary_tree(d, s, lane), self.primary_tree(s, d, lane)];
        let mut trees: BTreeSet<TreeId> = (0..self.lanes()).flat_map(both).collect();
        let backups = self.specs.iter().rposition(|t| t.role != Role::Backup).map_or(0, |i| i + 1);
        trees.extend((backups..self.specs.len()).map(TreeId::from));
        if let Some(grid) = &self.grid {
            // Around the row and the column: trees of the neighbours of both ends.
            for end in [s, d] {
                let x = grid.coordinates(end);
                for dim in 0..grid.rank() {
                    for plus in [false, true] {
                        let n = grid.dims()[dim];
                        let edge = if plus { n - 1 } else { 0 };
                        if n == 1 || (!grid.is_torus() && x[dim] == edge) {
                            continue;
                        }
                        let mut y = x;
                        y[dim] = grid.step(x[dim], dim, plus);
                        let near = grid.switch(&y);
                        trees.insert(self.primary_tree(near, d, 0));
                        trees.insert(self.primary_tree(near, s, 0));
                    }
                }
            }
        }
        trees.into_iter().collect()
    }
}
