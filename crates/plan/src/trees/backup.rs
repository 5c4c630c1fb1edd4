//! Adds backup trees to the VLAN trees of the strategy, so that pairs of switches have backups that share no link and no
//! switch with the primary, where the fabric allows (DESIGN section 4). These trees have the role `Role::Backup` and
//! carry no primary.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rayon::prelude::*;
use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_base::random::Random;
use tresse_routing::{DetourSearch, legal_trees, lines, woven_tree};
use tresse_topology::vlan::{Role, Tree, TreeLinks, TreeSpec};
use tresse_topology::{Channel, Dependencies, Grid};

use super::Trees;
use super::blocks::blocks;
use super::turns::Turns;

/// The most paths of pairs of switches for which backups are sought one by one. Where there are more, so many stand for all.
pub const MOST_PATHS: usize = 1 << 21;
const SOME_PATHS: usize = 1 << 18;
/// Then so many trees for backups are made at most, since each is looked at for every pair.
const FEW_TREES: usize = 32;
/// The most pairs of switches times channels for which detours are sought that close no cycle of channels.
const MOST_TURNS: usize = 1 << 29;
/// The most ways in trees, of pairs of switches, that are looked at for the turns that backups take.
const MOST_WAYS: usize = 1 << 19;
/// The largest number of trees for which every tree is tried for the backup of a pair; beyond it, only likely ones.
pub(crate) const ALL_TREES: usize = 64;
/// For drawing the switches from which paths are looked at; fixed because every node must plan the same.
const SEED: u64 = 1;
/// The most switches for which trees around each of them compete with those woven for pairs.
const ALL_ROOTS: usize = 128;

/// A path of a pair of switches without a backup: what a backup should avoid, and a detour that does.
struct Open {
    s: SwitchId,
    d: SwitchId,
    links: Vec<LinkId>,
    switches: Vec<SwitchId>,
    detour: Vec<Channel>,
}

impl Trees {
    /// Further trees so that pairs have disjoint backups where the fabric allows.
    pub(super) fn add_backup_trees(&mut self) {
        let homes = self.homes();
        let legal = self.updown_order().is_some();
        let restricted = self.cluster.routing.lossless && !legal;
        let primaries = restricted.then(|| self.primary_turns(&homes));
        self.turns = primaries.clone().and_then(|turns| Turns::new(&self.graph, turns));
        self.add_trees_for(&homes);
        // Turns that no backup takes in the end are in the way of others.
        let taken = primaries.and_then(|turns| self.taken_turns(&homes, turns));
        if taken.is_some() {
            self.turns = taken;
            self.add_trees_for(&homes);
        }
    }

    /// Trees for the pairs without a backup.
    fn add_trees_for(&mut self, homes: &BTreeSet<SwitchId>) {
        let mut turns = self.turns.take();
        let mut sources: Vec<SwitchId> = homes.iter().copied().collect();
        if self.backup_stride() > 1 {
            // Not those of some columns of a grid alone.
            Random::new(SEED).shuffle(&mut sources);
            sources.truncate(sources.len().div_ceil(self.backup_stride()));
            sources.sort_unstable();
        }
        let open = self.open_paths(&sources, homes, turns.as_mut());
        self.turns = turns;
        match self.updown_order() {
            Some(order) => {
                let detours: Vec<_> = open.into_iter().map(|open| open.detour).collect();
                let trees = legal_trees(&self.graph, order, &detours, self.spare_vids());
                self.add(trees.into_iter().map(TreeLinks::Links));
            }
            None => {
                let chosen = self.helpful_trees(open);
                self.add(chosen);
            }
        }
    }

    /// The turns of the primaries, of the best backups whose turns may be taken now, and then of backups that close no
    /// cycle with all these. `None` where every turn may be taken, or where there are too many pairs.
    fn taken_turns(&self, homes: &BTreeSet<SwitchId>, primaries: Dependencies) -> Option<Turns> {
        let allowed = self.turns.as_ref()?;
        let trees = self.specs.len();
        let pairs = homes.iter().flat_map(|s| homes.iter().map(move |d| (*s, *d)));
        let lanes = 0..self.lanes();
        let pairs = pairs.flat_map(|(s, d)| lanes.clone().map(move |lane| (s, d, lane)));
        if trees > ALL_TREES || homes.len().pow(2) * lanes.len() * trees > MOST_WAYS {
            return None;
        }
        let mut taken = Turns::new(&self.graph, primaries)?;
        let mut better = Vec::new();
        for (number, (s, d, lane)) in pairs.filter(|(s, d, _)| s != d).enumerate() {
            let primary = self.between(s, d, lane);
            let mut before = primary.clone();
            for rank in 1..self.cluster.routing.paths {
                let ways = self.ways((s, d), &primary, &before);
                let best = ways.iter().position(|(_, way)| allowed.allow(way));
                if let Some(best) = best {
                    taken.take(&ways[best].1).expect("part of what closes no cycle");
                    before.extend(&ways[best].1);
                }
                let least = best.map_or((u32::MAX, u32::MAX), |best| ways[best].0);
                let others = ways.into_iter().filter(|(shared, _)| *shared < least);
                better.extend(others.map(|(shared, way)| (shared, rank, number, way)));
                if best.is_none() {
                    break;
                }
            }
        }
        // One of each pair, the most disjoint ones first.
        better.sort_by_key(|(shared, rank, number, _)| (*shared, *rank, *number));
        let mut done = BTreeSet::new();
        for (_, rank, number, way) in better {
            if !done.contains(&(rank, number)) && taken.take(&way).is_ok() {
                done.insert((rank, number));
            }
        }
        Some(taken)
    }

    /// The ways between two switches in all trees, without those that need all links of the primary, those first that share
    /// the fewest links and then switches with `before`.
    fn ways(
        &self,
        (s, d): (SwitchId, SwitchId),
        primary: &[Channel],
        before: &[Channel],
    ) -> Vec<((u32, u32), Vec<Channel>)> {
        let link = |c: &Channel| self.graph.link(*c);
        let shared = |way: &[Channel]| {
            let links = way.iter().filter(|c| before.iter().any(|b| link(b) == link(c))).count();
            let inner = way[..way.len().saturating_sub(1)].iter();
            let head = |c: &Channel| self.graph.head(*c);
            let switches = inner.filter(|c| before.iter().any(|b| head(b) == head(c))).count();
            (links as u32, switches as u32)
        };
        let mut ways = Vec::new();
        for tree in (0..self.specs.len()).map(TreeId::from) {
            let mut way = Vec::new();
            self.tree(tree).walk(&self.graph, s, d, &mut way);
            if !primary.iter().all(|c| way.iter().any(|other| link(other) == link(c))) {
                ways.push((shared(&way), way));
            }
        }
        ways.sort_by_key(|(shared, way)| (*shared, way.len()));
        ways
    }

    fn add(&mut self, links: impl IntoIterator<Item = TreeLinks>) {
        for links in links {
            let name = format!("T{}", self.specs.len());
            self.specs.push(TreeSpec { name, role: Role::Backup, links, at: SwitchId(0) });
        }
        self.built.resize_with(self.specs.len(), OnceLock::new);
    }

    /// Greedily the tree that helps most of the pairs that are left, until none helps any.
    fn helpful_trees(&self, mut open: Vec<Open>) -> Vec<TreeLinks> {
        let mut candidates: Vec<TreeLinks> =
            self.reverse_combs().into_iter().map(|t| t.links).collect();
        if self.graph.switches() <= ALL_ROOTS {
            let roots = 0..self.graph.switches() as u32;
            candidates.extend(roots.map(|root| TreeLinks::Links(self.breadth_first(root))));
        }
        let helps = |tree: &Tree, open: &Open, channels: &mut Vec<Channel>| {
            self.helps(tree, open, channels) && self.may_back_up(channels)
        };
        let (mut chosen, mut channels) = (Vec::new(), Vec::new());
        let most = self.spare_vids();
        while !open.is_empty() && chosen.len() < most {
            // It helps the first pair at least.
            let detours = open.iter().map(|open| &open.detour[..]);
            candidates.push(TreeLinks::Links(woven_tree(&self.graph, detours)));
            let helped = |links: &TreeLinks| {
                let tree = self.tree_of(links);
                open.iter().filter(|open| helps(&tree, open, &mut channels)).count()
            };
            let scores = candidates.iter().map(helped).enumerate();
            let best = scores.max_by_key(|(at, score)| (*score, usize::MAX - at));
            let links = candidates.swap_remove(best.map_or(0, |(at, _)| at));
            // On many switches, what was woven before is not looked at again: that would cost too much.
            candidates.retain(|links| {
                matches!(links, TreeLinks::Lines { .. }) || self.graph.switches() <= ALL_ROOTS
            });
            let tree = self.tree_of(&links);
            open.retain(|open| !helps(&tree, open, &mut channels));
            chosen.push(links);
        }
        chosen
    }

    /// Backups are sought for the paths from one of so many switches with nodes; 1 where there are at most [`MOST_PATHS`].
    #[must_use]
    pub fn backup_stride(&self) -> usize {
        let paths = self.homes().len().pow(2) * self.lanes() as usize;
        if paths > MOST_PATHS { paths.div_ceil(SOME_PATHS) } else { 1 }
    }

    /// Whether trees are also woven round primaries for backups that close no circle of channels, where these must not.
    #[must_use]
    pub fn seeks_detours(&self) -> bool {
        self.turns.is_none() || !self.has_too_many_turns(self.homes().len())
    }

    fn has_too_many_turns(&self, homes: usize) -> bool {
        homes.pow(2).saturating_mul(self.graph.channels()) > MOST_TURNS
    }

    /// The switches that any NIC is on.
    pub(super) fn homes(&self) -> BTreeSet<SwitchId> {
        self.cluster.nodes.iter().flat_map(|n| n.nics.iter().map(|nic| nic.switch)).collect()
    }

    /// The turns of the primaries between these switches.
    fn primary_turns(&self, homes: &BTreeSet<SwitchId>) -> Dependencies {
        let homes: Vec<SwitchId> = homes.iter().copied().collect();
        let none = || Dependencies::new(&self.graph);
        let of_source = |mut found: Dependencies, s: &SwitchId| {
            let mut channels = Vec::new();
            for (d, lane) in
                homes.iter().flat_map(|d| (0..self.lanes()).map(move |lane| (*d, lane)))
            {
                let mut at = *s;
                for tree_segment in self.assignment.tree_segments(*s, d, lane).filter(|_| *s != d) {
                    channels.clear();
                    self.tree(tree_segment.tree).walk(
                        &self.graph,
                        at,
                        tree_segment.to,
                        &mut channels,
                    );
                    channels.windows(2).for_each(|turn| found.add(turn[0], turn[1]));
                    at = tree_segment.to;
                }
            }
            found
        };
        let merge = |mut a: Dependencies, b: Dependencies| {
            a.merge(&b);
            a
        };
        homes.par_iter().fold(none, of_source).reduce(none, merge)
    }

    /// The paths from these sources that no tree has a backup for. `turns`: those that backups may take, where not
    /// all may be taken.
    fn open_paths(
        &self,
        sources: &[SwitchId],
        homes: &BTreeSet<SwitchId>,
        mut turns: Option<&mut Turns>,
    ) -> Vec<Open> {
        let beyond = self.has_too_many_turns(homes.len());
        let mut search = DetourSearch::new(&self.graph, self.updown_order());
        let blocks = blocks(&self.graph);
        let mut links_in = vec![0; self.graph.channels() / 2];
        blocks.iter().for_each(|block| links_in[*block as usize] += 1);
        // Only the trees that are tried for a pair's backup.
        let all = self.specs.len() <= ALL_TREES;
        let tried = |tree: &TreeId| all || self.specs[tree.index()].role == Role::Backup;
        let trees: Vec<TreeId> = (0..self.specs.len()).map(TreeId::from).filter(tried).collect();
        let mut open = Vec::new();
        let mut walked = Vec::new();
        for (&s, &d) in sources.iter().flat_map(|s| homes.iter().map(move |d| (s, d))) {
            for lane in (0..self.lanes()).filter(|_| s != d) {
                let channels = self.between(s, d, lane);
                let block = |c: Channel| blocks[self.graph.link(c).index()];
                let links = channels.iter().filter(|c| links_in[block(**c) as usize] > 1);
                let links = links.map(|c| self.graph.link(*c)).collect();
                let inner = channels.windows(2).filter(|pair| block(pair[0]) == block(pair[1]));
                let switches = inner.map(|pair| SwitchId(self.graph.head(pair[0]))).collect();
                let mut path = Open { s, d, links, switches, detour: Vec::new() };
                if path.links.is_empty() && path.switches.is_empty() {
                    continue;
                }
                let likely = [self.primary_tree(s, d, lane), self.primary_tree(d, s, lane)];
                let tried = || trees.iter().chain(&likely);
                if self.helped(&path, tried(), turns.as_deref(), &mut walked) {
                    continue;
                }
                let mut detour = |switches: &[SwitchId]| match &mut turns {
                    Some(_) if beyond => None,
                    Some(turns) => turns.detour(&self.graph, (s, d), &path.links, switches),
                    None => search.find(s, d, &path.links, switches),
                };
                if let Some(detour) = detour(&path.switches) {
                    open.push(Open { detour, ..path });
                    continue;
                }
                let Some(detour) = detour(&[]) else { continue };
                path.switches.clear();
                if !self.helped(&path, tried(), turns.as_deref(), &mut walked) {
                    open.push(Open { detour, ..path });
                }
            }
        }
        open
    }

    /// Whether one of these trees has a backup for a path.
    fn helped<'t>(
        &self,
        path: &Open,
        mut trees: impl Iterator<Item = &'t TreeId>,
        turns: Option<&Turns>,
        walked: &mut Vec<Channel>,
    ) -> bool {
        trees.any(|tree| {
            self.helps(self.tree(*tree), path, walked)
                && turns.is_none_or(|turns| turns.allow(walked))
        })
    }

    /// Whether a path in a tree avoids what a backup should. `channels`: scratch.
    fn helps(&self, tree: &Tree, open: &Open, channels: &mut Vec<Channel>) -> bool {
        channels.clear();
        tree.walk(&self.graph, open.s, open.d, channels);
        channels.iter().all(|c| {
            let at = SwitchId(self.graph.head(*c));
            let inner = at == open.d || !open.switches.contains(&at);
            inner && !open.links.contains(&self.graph.link(*c))
        })
    }

    /// Trees that the VID ranges and every switch have room for beside those that are there: a backup
    /// never makes a plan fail that fits without it. On many pairs only [few](FEW_TREES).
    fn spare_vids(&self) -> usize {
        let spare = self.cluster.most_trees().saturating_sub(self.specs.len());
        if self.backup_stride() == 1 {
            return spare;
        }
        let backups = self.specs.iter().filter(|spec| spec.role == Role::Backup).count();
        spare.min(FEW_TREES.saturating_sub(backups))
    }

    fn tree_of(&self, links: &TreeLinks) -> Tree {
        self.build(links, SwitchId(0)).expect("breadth-first trees span a connected fabric")
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
