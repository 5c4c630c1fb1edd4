//! The strategies `updown` and `transit`: up*/down* routing (in-transit-buffers, section 2) on any connected fabric.
//! Every link between switches has an up end, the one nearer to a root switch. A route is legal if it goes up, then
//! down, and never up again.
//!
//! `updown` gives balanced legal routes in VLAN trees. `transit` gives routes with the fewest hops. Where such a route
//! goes up after down, a node on the switch takes the frame in and sends it on, a transit node, so the route is split
//! into legal segments (section 3). Every path in every tree is legal, so the channel dependency graph has no cycle.

mod detours;
mod forced;
mod order;
mod pack;
mod paper;
mod relieve;
mod routes;
mod spread;
mod tree_segment;

pub use detours::detour_trees;
pub use forced::forced_turns;
pub use order::Order;
pub use pack::Packer;
use relieve::relieve;
pub use tree_segment::TreeSegment;

pub use routes::{RouteSetCost, SwitchDemand, SwitchRoutes};
use spread::Spread;

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::vlan::Tree;
use tresse_topology::{Channel, Graph};

/// Roots that are compared, those with the fewest hops to all others first.
const ROOTS: usize = 64;
/// How often routes are taken up and laid anew.
const ROUNDS: usize = 32;
/// How much work choosing the root and balancing may be each: sources times channels.
const WORK: usize = 1 << 24;
/// How much work moving single routes may be, alike, for each of the roots that are tried to the end.
const RELIEF: usize = 1 << 19;
/// How often all routes are looked at for each power of the loads, and how many roots are tried.
const SWEEPS: usize = 8;
const SOME_ROOTS: usize = 8;
/// With more switches than these, pairs are placed source by source: much faster, and in fewer trees;
/// with few switches it can take one or two more.
const MANY: u32 = 512;
/// In [`Updown::paths`]: this bit marks a path of one segment; the other bits are its tree.
const ONE: u32 = 1 << 31;

/// The result of up*/down* routing: for each ordered pair of switches, the VLAN tree of each segment of its path. A
/// path has several segments only if transit nodes forward its frames.
#[derive(Debug, Clone)]
pub struct Updown {
    order: Order,
    /// By source and destination: [`ONE`] and the tree, or the index of the first of several segments.
    paths: Vec<u32>,
    /// The segments of all paths that have several. A path ends with the segment that reaches its destination.
    tree_segments: Vec<TreeSegment>,
    /// Pairs whose route fits into no tree, ascending.
    crowded: Vec<(u32, u32)>,
}

impl Updown {
    /// Returns the links of at most `most` trees, and the assignment. Without a `root`, several are
    /// compared and the one with the lowest maximum load is used. If a pair's route fits into no tree,
    /// the pair uses the shortest path that a tree has.
    ///
    /// # Errors
    /// A switch that cannot be reached.
    pub fn new(
        graph: &Graph,
        root: Option<SwitchId>,
        demand: &SwitchDemand,
        most: usize,
    ) -> Result<(Vec<Vec<LinkId>>, Self), SwitchId> {
        let (order, routes) = Self::routes(graph, root, demand)?;
        let by_source = graph.switches() > MANY as usize;
        Ok(Self::packed(graph, order, &routes, most, by_source))
    }

    /// As [`Updown::new`], with the routes of the paper's evaluation: each is drawn at random among the
    /// minimal legal ones, or among the minimal ones if none is legal. Loads are ignored. `transit`:
    /// transit nodes on each switch. The default root is the first switch, which has the lowest ID.
    ///
    /// # Errors
    /// As for [`Updown::new`].
    pub fn as_in_the_paper(
        graph: &Graph,
        root: Option<SwitchId>,
        transit: &[u64],
        most: usize,
    ) -> Result<(Vec<Vec<LinkId>>, Self), SwitchId> {
        unreached(graph)?;
        let order = Order::new(graph, root.map_or(0, |root| root.0));
        let routes = paper::routes(graph, &order, transit);
        let mut packing = Packing::new(graph, &order, most);
        for (s, d, channels) in &routes {
            packing.place(*s, *d, channels);
        }
        let (links, Packed { paths, tree_segments, crowded }) = packing.finish();
        Ok((links, Self { order, paths, tree_segments, crowded }))
    }

    /// Returns the routes alone, before they are packed into trees, and the order of switches.
    ///
    /// # Errors
    /// As for [`Updown::new`].
    pub fn routes(
        graph: &Graph,
        root: Option<SwitchId>,
        demand: &SwitchDemand,
    ) -> Result<(Order, SwitchRoutes), SwitchId> {
        unreached(graph)?;
        Ok(choose(graph, root, demand))
    }

    /// Packs routes into trees.
    fn packed(
        graph: &Graph,
        order: Order,
        routes: &SwitchRoutes,
        most: usize,
        by_source: bool,
    ) -> (Vec<Vec<LinkId>>, Self) {
        let n = graph.switches() as u32;
        let mut packing = Packing::new(graph, &order, most);
        if by_source {
            let (mut spread, mut path) = (Spread::new(graph.switches()), Vec::new());
            for s in 0..n {
                spread.place(&mut packing.packer, routes, s);
                for d in (0..n).filter(|d| *d != s) {
                    spread.tree_segments(routes, s, d, &mut path);
                    packing.keep(s, d, &path);
                }
            }
        } else {
            let mut channels = Vec::new();
            for (s, d) in longest_first(n, routes) {
                channels.clear();
                routes.walk(s, d, &mut channels);
                packing.place(s, d, &channels);
            }
        }
        let (links, Packed { paths, tree_segments, crowded }) = packing.finish();
        (links, Self { order, paths, tree_segments, crowded })
    }

    /// The path of an ordered pair of switches: one segment, or several with a transit node between each and
    /// the next.
    pub fn tree_segments(
        &self,
        s: SwitchId,
        d: SwitchId,
    ) -> impl Iterator<Item = TreeSegment> + '_ {
        let path = self.paths[s.index() * self.order.switches() + d.index()];
        let one = (path & ONE != 0).then_some(TreeSegment { tree: TreeId(path & !ONE), to: d });
        let several = if one.is_some() { &[][..] } else { &self.tree_segments[path as usize..] };
        let last =
            several.iter().position(|tree_segment| tree_segment.to == d).map_or(0, |at| at + 1);
        one.into_iter().chain(several[..last].iter().copied())
    }

    /// Whether some paths have transit nodes.
    #[must_use]
    pub const fn has_transit(&self) -> bool {
        !self.tree_segments.is_empty()
    }

    /// Whether the route of two switches fits into no tree. They use the shortest path that a tree has.
    #[must_use]
    pub fn is_crowded(&self, s: SwitchId, d: SwitchId) -> bool {
        self.crowded.binary_search(&(s.0, d.0)).is_ok()
    }

    /// Which ends of cables are up.
    #[must_use]
    pub const fn order(&self) -> &Order {
        &self.order
    }
}

/// What [`Updown`] keeps of routes in trees.
struct Packed {
    paths: Vec<u32>,
    tree_segments: Vec<TreeSegment>,
    crowded: Vec<(u32, u32)>,
}

/// Routes that are being packed into trees, and the segments that they have become.
struct Packing<'a> {
    graph: &'a Graph,
    packer: Packer<'a>,
    paths: Vec<u32>,
    tree_segments: Vec<TreeSegment>,
    /// Pairs without room.
    left: Vec<(u32, u32)>,
    /// The route being extended.
    path: Vec<TreeSegment>,
}

impl<'a> Packing<'a> {
    fn new(graph: &'a Graph, order: &'a Order, most: usize) -> Self {
        let packer = Packer::new(graph, order, most.min(u16::MAX.into()));
        let paths = vec![ONE; graph.switches().pow(2)];
        Self { graph, packer, paths, tree_segments: Vec::new(), left: Vec::new(), path: Vec::new() }
    }

    /// Places one route.
    fn place(&mut self, s: u32, d: u32, channels: &[Channel]) {
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
        self.keep(s, d, &path);
        self.path = path;
    }

    /// The segments of a pair, none where there is no room for one of them.
    fn keep(&mut self, s: u32, d: u32, path: &[TreeSegment]) {
        let at = s as usize * self.graph.switches() + d as usize;
        match path {
            [] => self.left.push((s, d)),
            [tree_segment] => self.paths[at] = ONE | tree_segment.tree.0,
            _ => {
                self.paths[at] = self.tree_segments.len() as u32;
                self.tree_segments.extend_from_slice(path);
            }
        }
    }

    /// The links of the trees, and all routes with their segments: pairs without room have a tree too.
    fn finish(mut self) -> (Vec<Vec<LinkId>>, Packed) {
        let links = self.packer.finish();
        for (s, d, tree) in shortest_left(self.graph, &links, &self.left) {
            self.paths[s as usize * self.graph.switches() + d as usize] = ONE | tree.0;
        }
        self.left.sort_unstable();
        (links, Packed { paths: self.paths, tree_segments: self.tree_segments, crowded: self.left })
    }
}

/// The first switch that the first one cannot reach, as an error.
pub(super) fn unreached(graph: &Graph) -> Result<(), SwitchId> {
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    graph.distances(0, &mut distance, &mut queue);
    let missing = distance.iter().position(|hops| *hops == u32::MAX);
    missing.map_or(Ok(()), |missing| Err(missing.into()))
}

/// For each pair without room in any tree: of the trees with its shortest route, the one with the fewest such pairs.
pub(super) fn shortest_left(
    graph: &Graph,
    links: &[Vec<LinkId>],
    left: &[(u32, u32)],
) -> Vec<(u32, u32, TreeId)> {
    let built = if left.is_empty() { Vec::new() } else { build(graph, links) };
    let mut given = vec![0u32; built.len()];
    let mut choose = |&(s, d): &(u32, u32)| {
        let rank = |t: &usize| (built[*t].distance(SwitchId(s), SwitchId(d)), given[*t]);
        let tree = (0..built.len()).min_by_key(rank).unwrap_or(0);
        given[tree] += 1;
        (s, d, tree.into())
    };
    left.iter().map(&mut choose).collect()
}

pub(super) fn build(graph: &Graph, trees: &[Vec<LinkId>]) -> Vec<Tree> {
    let mut ends = vec![(0, 0); graph.channels() / 2];
    for c in 0..graph.channels() as u32 {
        ends[graph.link(c).index()] = (graph.tail(c), graph.head(c));
    }
    let ends = |link: &LinkId| (*link, ends[link.index()].0, ends[link.index()].1);
    let tree = |links: &Vec<LinkId>| {
        let ends: Vec<_> = links.iter().map(ends).collect();
        Tree::of_links(graph, &ends).expect("every switch but the root has one cable up")
    };
    trees.iter().map(tree).collect()
}

/// All ordered pairs, those with long routes first: short ones fit in beside them. Where there are many
/// switches, source by source: as good, and what one source's routes are made of stays in the cache.
pub(super) fn longest_first(n: u32, routes: &SwitchRoutes) -> Vec<(u32, u32)> {
    let mut by_length: Vec<Vec<(u32, u32)>> = Vec::new();
    let mut pairs = Vec::with_capacity(n as usize * n as usize);
    for s in 0..n {
        for d in (0..n).filter(|d| *d != s) {
            let length = routes.hops(s, d) as usize;
            by_length.resize_with(by_length.len().max(length + 1), Vec::new);
            by_length[length].push((s, d));
        }
        if n > MANY {
            by_length.iter_mut().rev().for_each(|some| pairs.append(some));
        }
    }
    by_length.iter_mut().rev().for_each(|some| pairs.append(some));
    pairs
}

fn choose(graph: &Graph, root: Option<SwitchId>, demand: &SwitchDemand) -> (Order, SwitchRoutes) {
    let search = (graph.switches() * graph.channels()).max(1);
    let balanced = |root: u32, rounds: usize| {
        let order = Order::new(graph, root);
        let routes = SwitchRoutes::new(graph, &ups(graph, &order), demand, rounds);
        (order, routes)
    };
    let roots = root.map_or_else(
        || {
            let mut roots: Vec<(u64, u32)> =
                graph.sums_of_hops(demand.nodes).into_iter().zip(0..).collect();
            roots.sort_unstable();
            roots.truncate((WORK / search).clamp(1, ROOTS));
            let mut roots: Vec<u32> = roots.into_iter().map(|(_, root)| root).collect();
            if roots.len() > 1 {
                roots.sort_by_cached_key(|root| balanced(*root, 1).1.cost(demand));
            }
            roots
        },
        |root| vec![root.0],
    );
    let best = roots.first().copied().unwrap_or(0);
    let rounds = (WORK / search).min(ROUNDS);
    let sweeps = (RELIEF / search).min(SWEEPS);
    if sweeps == 0 || demand.transit.iter().all(|hosts| *hosts == 0) {
        return balanced(best, rounds);
    }
    let some = roots.len().min((RELIEF / (16 * search)).clamp(1, SOME_ROOTS));
    let tried = roots[..some].iter().map(|root| balanced(*root, rounds));
    let relieved =
        tried.chain(legal_and_minimal(graph, root, demand)).map(|(order, mut routes)| {
            relieve(graph, &ups(graph, &order), demand, &mut routes, sweeps);
            (order, routes)
        });
    relieved.min_by_key(|(_, routes)| routes.cost(demand)).unwrap_or_else(|| balanced(best, rounds))
}

/// Which channels go up.
fn ups(graph: &Graph, order: &Order) -> Vec<bool> {
    (0..graph.channels() as u32).map(|c| order.is_up(graph, c)).collect()
}

/// The routes without transit nodes, where none of them is longer for it, as on a mesh: nothing that
/// turns need be worse than they are.
fn legal_and_minimal(
    graph: &Graph,
    root: Option<SwitchId>,
    demand: &SwitchDemand,
) -> Option<(Order, SwitchRoutes)> {
    let none = vec![0; graph.switches()];
    let (order, routes) =
        choose(graph, root, &SwitchDemand { nodes: demand.nodes, transit: &none });
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    let minimal = (0..graph.switches() as u32).all(|s| {
        graph.distances(s, &mut distance, &mut queue);
        (0..).zip(&distance).all(|(d, hops)| routes.hops(s, d) == *hops)
    });
    minimal.then_some((order, routes))
}

#[cfg(test)]
mod tests;
