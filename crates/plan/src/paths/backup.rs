//! Finds the backup paths of a pair of nodes in the existing VLAN trees. Where the fabric allows, a backup shares
//! neither a link nor a switch with the pair's paths of lower rank (DESIGN section 4).

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, NodeId, PathId, SwitchId, TreeId};
use tresse_topology::path::{Path, Segment, Segments};
use tresse_topology::vlan::Role;

use crate::primaries::Primaries;
use crate::trees::ALL_TREES;

/// Of the nodes that may forward from one plane to another so many are looked at for a backup.
const LOOKED_AT: usize = 16;

/// How bad a backup is, compared with the paths before it: less is better.
type Penalty = (u32, u32, u32, u32, u32);

/// What a path that carries traffic needs. A backup that needs all of it too protects nothing but a VID.
struct Carrier {
    /// Its NICs at both ends; none where nodes in transit add theirs.
    nics: Option<(usize, usize)>,
    links: Vec<LinkId>,
}

impl Primaries {
    /// Returns the best backup after the paths `before`; `None` if every candidate is one of them. Between nodes on several
    /// planes: through a node that forwards from one plane to another where all others share links with these.
    /// In a lossless plan backups close no cycle of channels.
    pub(super) fn backup(&self, before: &[Path]) -> Option<Segments> {
        let in_a_tree = self.backup_in_a_tree(before);
        let shares_links = |(penalty, _): &(Penalty, Segment)| penalty.1 > 0;
        let alone = |(_, segment): (Penalty, Segment)| [segment].into_iter().collect();
        if in_a_tree.as_ref().is_some_and(|found| !shares_links(found)) {
            return in_a_tree.map(alone);
        }
        let PathId { src, dst, .. } = before[0].id;
        let paths: Vec<&Segments> = before.iter().map(|path| &path.segments).collect();
        self.backup_through_relay((src, dst), &paths).or(in_a_tree.map(alone))
    }

    /// The path through a node that forwards from one plane to another, for a pair that has the paths `before`: by links, planes
    /// and through nodes that these do not use, if there are any.
    fn backup_through_relay(
        &self,
        (src, dst): (NodeId, NodeId),
        before: &[&Segments],
    ) -> Option<Segments> {
        let ways = self.ways.as_ref()?;
        let index = self.round_robin_index(src, dst);
        let taken = |node: NodeId| before.iter().any(|path| path.iter().any(|s| s.to == node));
        let links_of = |segments: &Segments| {
            let mut channels = Vec::new();
            segments.iter().for_each(|segment| self.walk(segment, &mut channels));
            channels.into_iter().map(|c| self.graph.link(c)).collect::<Vec<_>>()
        };
        let links: BTreeSet<_> = before.iter().flat_map(|path| links_of(path)).collect();
        let (from, to) = (ways.of(src), ways.of(dst));
        let first = self.sender(before.first()?.first()?).switch;
        let mut best = None;
        for (&p, &q) in from.iter().flat_map(|p| to.iter().map(move |q| (p, q))) {
            let others = ways.relays((p, q), index).filter(|relay| ![src, dst].contains(relay));
            for (late, relay) in others.take(LOOKED_AT).enumerate() {
                let mut segments = self.nearest((src, relay), Some(p), index);
                segments.extend(self.nearest((relay, dst), Some(q), index));
                let shared = links_of(&segments).iter().filter(|link| links.contains(link)).count();
                let key = (shared, self.planes()?.plane(first) == p, taken(relay), late);
                let is_better = best.as_ref().is_none_or(|(least, _)| key < *least);
                if is_better && !before.contains(&&segments) {
                    best = Some((key, segments));
                }
            }
        }
        best.map(|(_, segments)| segments)
    }

    /// Returns the best backup of one segment.
    fn backup_in_a_tree(&self, before: &[Path]) -> Option<(Penalty, Segment)> {
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
                if !self.joins(from.switch, to.switch) {
                    continue;
                }
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
        best
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
        let all = (0..self.specs.len()).map(TreeId::from);
        let here = all.filter(|tree| self.joins(self.specs[tree.index()].at, s));
        if self.specs.len() <= ALL_TREES {
            return here.collect();
        }
        let both = |lane| [self.primary_tree(d, s, lane), self.primary_tree(s, d, lane)];
        let mut trees: BTreeSet<TreeId> = (0..self.lanes()).flat_map(both).collect();
        let backups = self.specs.iter().rposition(|t| t.role != Role::Backup).map_or(0, |i| i + 1);
        trees.extend(here.filter(|tree| tree.index() >= backups));
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
