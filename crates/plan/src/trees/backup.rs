//! Adds backup trees to the VLAN trees of the strategy, so that pairs of switches have backups that share no link with
//! the primary, where the fabric allows (DESIGN section 4). These trees have the role `Role::Backup` and carry no
//! primary.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, SwitchId};
use tresse_routing::updown::detour_trees;
use tresse_routing::{Assignment, lines};
use tresse_topology::vlan::{Role, Tree, TreeLinks, TreeSpec};
use tresse_topology::{Channel, Components, Grid};

use super::Trees;

/// The most switches for which backup trees are sought pair by pair.
const SEEK_SWITCHES: usize = 128;

impl Trees {
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
        for &s in &homes {
            for &d in &homes {
                if s == d {
                    continue;
                }
                for lane in 0..self.lanes() {
                    let channels = self.between(s, d, lane);
                    let links: Vec<_> = channels.iter().map(|c| self.graph.link(*c)).collect();
                    let avoids = |t: usize| self.avoids(self.tree(t.into()), s, d, &links);
                    if !(0..self.specs.len()).any(avoids) {
                        open.push((s, d, links));
                    }
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
                    links: TreeLinks::Links(links),
                })
                .collect();
        }
        let mut candidates: Vec<TreeLinks> =
            self.reverse_combs().into_iter().map(|t| t.links).collect();
        candidates.extend((0..n as u32).map(|root| TreeLinks::Links(self.breadth_first(root))));
        let mut chosen = Vec::new();
        open.retain(|(s, d, links)| self.detour(*s, *d, links).is_some());
        while !open.is_empty() {
            candidates.push(TreeLinks::Links(self.woven(&open)));
            let helped = |links: &TreeLinks| {
                let tree = self.tree_of(links);
                open.iter().filter(|(s, d, l)| self.avoids(&tree, *s, *d, l)).count()
            };
            let scores: Vec<_> = candidates.iter().map(helped).collect();
            let Some((at, &score)) =
                scores.iter().enumerate().max_by_key(|(i, s)| (**s, usize::MAX - i))
            else {
                break;
            };
            if score == 0 || chosen.len() >= self.spare_vids() {
                break;
            }
            let links = candidates.swap_remove(at);
            let tree = self.tree_of(&links);
            open.retain(|(s, d, l)| !self.avoids(&tree, *s, *d, l));
            let name = format!("T{}", self.specs.len() + chosen.len());
            chosen.push(TreeSpec { name, role: Role::Backup, links });
        }
        chosen
    }

    /// Trees that the VID ranges and every switch have room for beside those that are there: a backup
    /// never makes a plan fail that fits without it.
    fn spare_vids(&self) -> usize {
        self.cluster.most_trees().saturating_sub(self.specs.len())
    }

    fn tree_of(&self, links: &TreeLinks) -> Tree {
        self.build(links).expect("breadth-first trees span a connected fabric")
    }

    fn avoids(&self, tree: &Tree, s: SwitchId, d: SwitchId, links: &[LinkId]) -> bool {
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
        let mut parts = Components::new(self.graph.switches());
        let ends = |c: Channel| (self.graph.tail(c) as usize, self.graph.head(c) as usize);
        let mut links = BTreeSet::new();
        for (s, d, avoid) in open {
            let Some(path) = self.detour(*s, *d, avoid) else { continue };
            let mut merged = parts.clone();
            let fits = path.iter().all(|&c| {
                let (a, b) = ends(c);
                links.contains(&self.graph.link(c)) || merged.join(a, b)
            });
            if fits {
                parts = merged;
                links.extend(path.iter().map(|c| self.graph.link(*c)));
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

    /// The channels of a shortest path from `s` to `d` that crosses none of `avoid`.
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
        let mut path = Vec::new();
        let mut at = d.0;
        while at != s.0 {
            let c = into[at as usize]?;
            path.push(c);
            at = self.graph.tail(c);
        }
        path.reverse();
        Some(path)
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
