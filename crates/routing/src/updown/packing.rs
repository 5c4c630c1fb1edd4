//! Packs all routes into VLAN trees, and keeps the segments that they have become.

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::cluster::Prefer;
use tresse_topology::{Channel, Graph};

use super::pack::Packer;
use super::spread::Spread;
use super::tree_segment::TreeSegment;
use crate::fold::{TreeRoute, even_out, fold};
use crate::left::shortest_left;
use crate::order::Order;
use crate::packing::RouteList;
use crate::routes::{SwitchDemand, SwitchRoutes, copy_lanes, longest_first, without_pairs};

/// In [`Packed::paths`]: this bit marks a path of one segment; the other bits are its tree.
pub(super) const ONE: u32 = 1 << 31;
/// The most routes that are placed again and again.
const LISTED: usize = 1 << 21;

/// What [`Updown`](super::Updown) keeps of routes in trees.
pub(super) struct Packed {
    pub paths: Vec<u32>,
    pub tree_segments: Vec<TreeSegment>,
    pub crowded: Vec<(u32, u32)>,
}

impl Packed {
    /// Gives up trees whose segments have room in others; the links of those that are left.
    pub fn fold(
        &mut self,
        graph: &Graph,
        order: &Order,
        demand: &SwitchDemand,
        links: Vec<Vec<LinkId>>,
        prefer: Prefer,
    ) -> Vec<Vec<LinkId>> {
        let n = graph.switches() as u32;
        let mut routes = Vec::new();
        self.each_segment(demand, n, |ends, pairs, cut, tree| {
            routes.push(TreeRoute { ends, pairs, tree: tree.index(), cut });
        });
        let up = order.ups(graph);
        if !self.crowded.is_empty() {
            even_out(graph, &links, (&demand.slowness, &up), &mut routes);
        }
        let links = fold(graph, links, (&demand.slowness, &up), &mut routes, prefer);
        let mut folded = routes.into_iter();
        self.each_segment(demand, n, |_, _, _, tree| {
            *tree = TreeId::from(folded.next().expect("as many as before").tree);
        });
        copy_lanes(demand, &mut self.paths);
        links
    }

    /// Calls `of` with the ends, the pairs of nodes, [`TreeRoute::cut`] and the tree of each segment, and keeps that tree.
    /// Routes that no node can need are in tree 0, and lanes without pairs are left out.
    fn each_segment(
        &mut self,
        demand: &SwitchDemand,
        n: u32,
        mut of: impl FnMut((u32, u32), u64, [bool; 2], &mut TreeId),
    ) {
        for source in 0..demand.sources() {
            let s = demand.switch(source);
            for d in 0..n {
                let path = &mut self.paths[(source * n + d) as usize];
                let needed = s != d && demand.is_home(source) && demand.homes[d as usize];
                let pairs = demand.pairs(source, d);
                if source % demand.lanes > 0 && pairs == 0 {
                    continue;
                }
                if *path & ONE != 0 {
                    let mut tree = TreeId(if needed { *path & !ONE } else { 0 });
                    if needed {
                        of((s, d), pairs, [false; 2], &mut tree);
                    }
                    *path = ONE | tree.0;
                    continue;
                }
                let (mut from, first) = (s, *path as usize);
                for segment in &mut self.tree_segments[first..] {
                    let to = segment.to.0;
                    of((from, to), pairs, [from != s, to != d], &mut segment.tree);
                    from = to;
                    if from == d {
                        break;
                    }
                }
            }
        }
    }
}

/// Routes that are being packed into trees, and the segments that they have become.
pub(super) struct Packing<'a> {
    graph: &'a Graph,
    packer: Packer<'a>,
    lanes: u32,
    paths: Vec<u32>,
    tree_segments: Vec<TreeSegment>,
    /// Sources and destinations without room.
    left: Vec<(u32, u32)>,
    /// The route being extended.
    path: Vec<TreeSegment>,
}

/// The legal parts of all routes.
#[derive(Default)]
struct Parts {
    list: RouteList,
    /// By part: the source and destination of its route, and where the part ends.
    of: Vec<(u32, u32, SwitchId)>,
    /// The route in hand.
    channels: Vec<Channel>,
}

impl Parts {
    /// Adds a route; how many parts it has.
    fn add(
        &mut self,
        packing: &Packing<'_>,
        demand: &SwitchDemand,
        routes: &SwitchRoutes,
        (source, d): (u32, u32),
    ) -> usize {
        let before = self.of.len();
        self.channels.clear();
        routes.walk(source, d, &mut self.channels);
        let mut rest = &self.channels[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(packing.packer.legal(rest));
            self.of.push((source, d, SwitchId(packing.graph.head(part[part.len() - 1]))));
            self.list.add((demand.switch(source), d), part);
            rest = after;
        }
        self.of.len() - before
    }
}

impl<'a> Packing<'a> {
    pub fn new(graph: &'a Graph, order: &'a Order, lanes: u32, most: usize) -> Self {
        let packer = Packer::new(graph, order, most.min(u16::MAX.into()));
        let paths = vec![ONE; graph.switches().pow(2) * lanes as usize];
        let (tree_segments, left, path) = (Vec::new(), Vec::new(), Vec::new());
        Self { graph, packer, lanes, paths, tree_segments, left, path }
    }

    /// Places all routes that are needed. `by_source`: those of one source at once, to begin with.
    pub fn place_all(&mut self, demand: &SwitchDemand, routes: &SwitchRoutes, by_source: bool) {
        let empty = self.packer.clone();
        if by_source && demand.switches().pow(2) * demand.lanes as usize > LISTED {
            self.place_by_source(demand, routes, |packing, source, d, path| {
                packing.keep(source, d, path);
            });
        } else {
            let mut parts = Parts::default();
            let begun = if by_source {
                let mut at = Vec::new();
                self.place_by_source(demand, routes, |packing, source, d, path| {
                    let own = parts.add(packing, demand, routes, (source, d));
                    let trees = path.iter().map(|tree_segment| Some(tree_segment.tree.index()));
                    at.extend(trees.chain(std::iter::repeat(None)).take(own));
                });
                Some((std::mem::replace(&mut self.packer, empty.clone()), at))
            } else {
                for route in longest_first(demand, routes, false) {
                    parts.add(self, demand, routes, route);
                }
                None
            };
            let switches = self.graph.switches() as u32;
            let (packer, at) = parts.list.pack(switches, || empty.clone(), begun);
            self.packer = packer;
            self.keep_all(&parts, &at);
        }
        let mut channels = Vec::new();
        for (source, d) in without_pairs(demand) {
            channels.clear();
            routes.walk(source, d, &mut channels);
            self.place(source, d, &channels);
        }
        copy_lanes(demand, &mut self.paths);
    }

    fn place_by_source(
        &mut self,
        demand: &SwitchDemand,
        routes: &SwitchRoutes,
        mut keep: impl FnMut(&mut Self, u32, u32, &[TreeSegment]),
    ) {
        let (mut spread, mut path) = (Spread::new(self.graph.switches()), Vec::new());
        let mut wanted = Vec::new();
        for source in 0..demand.sources() {
            wanted.clear();
            let all = 0..demand.switches() as u32;
            wanted.extend(all.filter(|d| demand.pairs(source, *d) > 0));
            if wanted.is_empty() {
                continue;
            }
            let start = 2 * demand.switch(source);
            spread.place(&mut self.packer, routes, source, start, &wanted);
            for d in &wanted {
                spread.tree_segments(routes, source, start, *d, &mut path);
                keep(self, source, *d, &path);
            }
        }
    }

    /// Keeps the routes whose parts are in these trees.
    fn keep_all(&mut self, parts: &Parts, at: &[Option<usize>]) {
        let mut path = Some(Vec::new());
        for (&(source, d, to), tree) in parts.of.iter().zip(at) {
            let tree = tree.map(TreeId::from);
            path = path.zip(tree).map(|(mut path, tree)| {
                path.push(TreeSegment { tree, to });
                path
            });
            if to.0 == d {
                self.keep(source, d, &path.unwrap_or_default());
                path = Some(Vec::new());
            }
        }
    }

    /// Places one route.
    pub fn place(&mut self, source: u32, d: u32, channels: &[Channel]) {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut rest = channels;
        while let Some(next) = rest.first() {
            let (part, after) = rest.split_at(self.packer.legal(rest));
            let to = SwitchId(self.graph.head(*part.last().unwrap_or(next)));
            match self.packer.place(part) {
                Some(tree) => path.push(TreeSegment { tree, to }),
                None => {
                    path.clear();
                    break;
                }
            }
            rest = after;
        }
        self.keep(source, d, &path);
        self.path = path;
    }

    /// The segments of a source and destination, none where there is no room for one of them.
    fn keep(&mut self, source: u32, d: u32, path: &[TreeSegment]) {
        let at = source as usize * self.graph.switches() + d as usize;
        match path {
            [] => self.left.push((source, d)),
            [tree_segment] => self.paths[at] = ONE | tree_segment.tree.0,
            _ => {
                self.paths[at] = self.tree_segments.len() as u32;
                self.tree_segments.extend_from_slice(path);
            }
        }
    }

    /// The links of the trees, and all routes with their segments: pairs without room have a tree too.
    pub fn finish(mut self) -> (Vec<Vec<LinkId>>, Packed) {
        let links = self.packer.finish();
        for (source, d, tree) in shortest_left(self.graph, &links, self.lanes, &self.left) {
            self.paths[source as usize * self.graph.switches() + d as usize] = ONE | tree.0;
        }
        self.left.sort_unstable();
        (links, Packed { paths: self.paths, tree_segments: self.tree_segments, crowded: self.left })
    }
}
