//! Backup paths: link- and switch-disjoint from the paths before them where the fabric allows
//! (DESIGN section 4). Existing trees are used first; further trees carry `Role::Backup`.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_routing::updown::detour_trees;
use tresse_routing::{Assignment, lines};
use tresse_topology::path::{Path, Segment};
use tresse_topology::vlan::{Role, Shape, TreeSpec};
use tresse_topology::{Channel, Dependencies, Grid, Parts};

use super::{Plan, dependencies};

/// Trees tried for one pair: all of them in fabrics of up to so many trees, else the likely ones.
const ALL_TREES: usize = 64;
/// Up to so many switches, further trees are sought for pairs without a disjoint backup.
const SEEK_SWITCHES: usize = 128;

/// How bad a backup is, compared with what comes before it: less is better.
type Penalty = (u32, u32, u32, u32, u32);

impl Plan {
    /// The best backup after `before`, or `None` where every candidate is one of them.
    pub(super) fn backup(&self, before: &[Path]) -> Option<Segment> {
        let (src, dst) = (before[0].src, before[0].dst);
        let (a, b) = (&self.cluster.node(src).nics, &self.cluster.node(dst).nics);
        let taken: Vec<Segment> = before.iter().flat_map(|p| p.segments.iter().copied()).collect();
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
        // All trees of up*/down* routing are legal, so that any turn may be taken.
        let legal = matches!(self.assignment, Assignment::Updown(_));
        let turns = (self.cluster.routing.lossless && !legal).then(|| self.primary_turns());
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
                    // The same way under another VID protects nothing but the VID itself.
                    if taken.contains(&segment) {
                        continue;
                    }
                    let allowed = turns.is_none_or(|t| {
                        channels.windows(2).all(|pair| t.contains(pair[0], pair[1]))
                    });
                    if !allowed {
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

    /// The turns that primaries make. A lossless plan's backups make no others, so that its channel
    /// dependency graph is as acyclic with them as without.
    fn primary_turns(&self) -> &Dependencies {
        self.turns.get_or_init(|| dependencies::of_primaries(self))
    }

    /// Trees worth trying from `s` to `d`. Under dimension order the way back, reversed, shares
    /// no link with the way there unless they differ in one dimension only.
    fn candidates(&self, s: SwitchId, d: SwitchId) -> Vec<TreeId> {
        if self.specs.len() <= ALL_TREES {
            return (0..self.specs.len()).map(TreeId::from).collect();
        }
        let mut trees = BTreeSet::from([self.primary_tree(d, s), self.primary_tree(s, d)]);
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
                        trees.insert(self.primary_tree(near, d));
                        trees.insert(self.primary_tree(near, s));
                    }
                }
            }
        }
        trees.into_iter().collect()
    }

    /// Further trees so that pairs have link-disjoint backups where one exists at all: candidates
    /// are combs in reverse order and breadth-first trees; greedily the one that helps most pairs
    /// that are left, until none helps any.
    pub(super) fn backup_trees(&self) -> Vec<TreeSpec> {
        let n = self.graph.switches();
        let legal = match &self.assignment {
            Assignment::Updown(updown) => Some(updown.order()),
            _ => None,
        };
        if n > SEEK_SWITCHES {
            let mut combs = if legal.is_some() { Vec::new() } else { self.reverse_combs() };
            combs.truncate(self.spare_vids());
            return combs;
        }
        let homes: BTreeSet<SwitchId> =
            self.cluster.nodes.iter().flat_map(|n| n.nics.iter().map(|nic| nic.switch)).collect();
        let mut open: Vec<(SwitchId, SwitchId, Vec<LinkId>)> = Vec::new();
        let mut channels = Vec::new();
        for &s in &homes {
            for &d in &homes {
                if s == d {
                    continue;
                }
                channels.clear();
                let mut at = s;
                for leg in self.assignment.legs(s, d) {
                    self.tree(leg.tree).walk(&self.graph, at, leg.to, &mut channels);
                    at = leg.to;
                }
                let links: Vec<_> = channels.iter().map(|c| self.graph.link(*c)).collect();
                if !(0..self.specs.len()).any(|t| self.avoids(self.tree(t.into()), s, d, &links)) {
                    open.push((s, d, links));
                }
            }
        }
        if let Some(order) = legal {
            let trees = detour_trees(&self.graph, order, &open, self.spare_vids());
            return (self.specs.len()..)
                .zip(trees)
                .map(|(k, links)| TreeSpec {
                    name: format!("T{k}"),
                    role: Role::Backup,
                    shape: Shape::Links(links),
                })
                .collect();
        }
        let mut shapes: Vec<Shape> = self.reverse_combs().into_iter().map(|t| t.shape).collect();
        shapes.extend((0..n as u32).map(|root| Shape::Links(self.breadth_first(root))));
        let mut chosen = Vec::new();
        open.retain(|(s, d, links)| self.detour(*s, *d, links).is_some());
        while !open.is_empty() {
            shapes.push(Shape::Links(self.woven(&open)));
            let helped = |shape: &Shape| {
                let tree = self.shape(shape);
                open.iter().filter(|(s, d, l)| self.avoids(&tree, *s, *d, l)).count()
            };
            let scores: Vec<_> = shapes.iter().map(helped).collect();
            let Some((at, &score)) =
                scores.iter().enumerate().max_by_key(|(i, s)| (**s, usize::MAX - i))
            else {
                break;
            };
            if score == 0 || chosen.len() >= self.spare_vids() {
                break;
            }
            let shape = shapes.swap_remove(at);
            let tree = self.shape(&shape);
            open.retain(|(s, d, l)| !self.avoids(&tree, *s, *d, l));
            let name = format!("T{}", self.specs.len() + chosen.len());
            chosen.push(TreeSpec { name, role: Role::Backup, shape });
        }
        chosen
    }

    /// Trees that the VID ranges and every switch have room for beside those that are there: a backup
    /// never makes a plan fail that fits without it.
    fn spare_vids(&self) -> usize {
        self.cluster.most_trees().saturating_sub(self.specs.len())
    }

    fn shape(&self, shape: &Shape) -> tresse_topology::vlan::Tree {
        match (shape, &self.grid) {
            (Shape::Lines { center, order }, Some(grid)) => {
                tresse_topology::vlan::Tree::of_lines(grid, &self.graph, center, order)
            }
            (Shape::Lines { .. }, None) => unreachable!("lines exist on grids only"),
            (Shape::Links(links), _) => {
                let ends: Vec<_> = links
                    .iter()
                    .map(|&id| {
                        let link = self.cluster.link(id);
                        (id, link.a.switch.0, link.b.switch.0)
                    })
                    .collect();
                tresse_topology::vlan::Tree::of_links(&self.graph, &ends)
                    .expect("breadth-first trees span a connected fabric")
            }
        }
    }

    fn avoids(
        &self,
        tree: &tresse_topology::vlan::Tree,
        s: SwitchId,
        d: SwitchId,
        links: &[LinkId],
    ) -> bool {
        let mut channels = Vec::new();
        tree.walk(&self.graph, s, d, &mut channels);
        channels.iter().all(|c| !links.contains(&self.graph.link(*c)))
    }

    /// Combs VL(x | (M-1, ..., 0)) at the two ends of the last dimension's lines: on a mesh the
    /// detour of a pair that differs in the last dimension only.
    fn reverse_combs(&self) -> Vec<TreeSpec> {
        let Some(grid) = &self.grid else { return Vec::new() };
        let order: Vec<_> = (0..grid.rank()).rev().collect();
        let ends: [fn(u32) -> u32; 2] = [|_| 0, |n| n - 1];
        ends.into_iter()
            .enumerate()
            .map(|(i, end)| {
                let mut center = [0; Grid::MAX_DIMS];
                for (x, &n) in center.iter_mut().zip(grid.dims()) {
                    *x = end(n);
                }
                let spec = lines::tree(grid, center, order.clone());
                let name = format!("T{}", self.specs.len() + i);
                TreeSpec { name, role: Role::Backup, ..spec }
            })
            .collect()
    }

    /// A tree woven from detours: every open pair's shortest detour is laid down unless it would
    /// close a loop, then links are added until the tree spans. Helps at least the first pair.
    fn woven(&self, open: &[(SwitchId, SwitchId, Vec<LinkId>)]) -> Vec<LinkId> {
        let mut parts = Parts::new(self.graph.switches());
        let ends = |c: Channel| (self.graph.tail(c) as usize, self.graph.head(c) as usize);
        let mut links = BTreeSet::new();
        for (s, d, avoid) in open {
            let Some(way) = self.detour(*s, *d, avoid) else { continue };
            let mut merged = parts.clone();
            let fits = way.iter().all(|&c| {
                let (a, b) = ends(c);
                links.contains(&self.graph.link(c)) || merged.join(a, b)
            });
            if fits {
                parts = merged;
                links.extend(way.iter().map(|c| self.graph.link(*c)));
            }
        }
        for c in 0..self.graph.channels() as u32 {
            let (a, b) = ends(c);
            if parts.join(a, b) {
                links.insert(self.graph.link(c));
            }
        }
        links.into_iter().collect()
    }

    /// The channels of a shortest way from `s` to `d` that crosses none of `avoid`.
    fn detour(&self, s: SwitchId, d: SwitchId, avoid: &[LinkId]) -> Option<Vec<Channel>> {
        let mut into = vec![None; self.graph.switches()];
        let mut queue = vec![s.0];
        let mut next = 0;
        while let Some(&u) = queue.get(next) {
            next += 1;
            for c in self.graph.out(u) {
                let v = self.graph.head(c);
                if v != s.0 && into[v as usize].is_none() && !avoid.contains(&self.graph.link(c)) {
                    into[v as usize] = Some(c);
                    queue.push(v);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = d.0;
        while at != s.0 {
            let c = into[at as usize]?;
            way.push(c);
            at = self.graph.tail(c);
        }
        way.reverse();
        Some(way)
    }

    fn breadth_first(&self, root: u32) -> Vec<LinkId> {
        let mut seen = vec![false; self.graph.switches()];
        seen[root as usize] = true;
        let mut queue = vec![root];
        let mut links = Vec::new();
        let mut next = 0;
        while let Some(&u) = queue.get(next) {
            next += 1;
            for c in self.graph.out(u) {
                let v = self.graph.head(c);
                if !std::mem::replace(&mut seen[v as usize], true) {
                    links.push(self.graph.link(c));
                    queue.push(v);
                }
            }
        }
        links.sort_unstable();
        links
    }
}
