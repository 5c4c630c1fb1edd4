//! The strategies `updown` and `transit`: up*/down* routing (in-transit-buffers, section 2) on any connected fabric.
//! Every link between switches has an up end, the one nearer to a root switch. A route is legal if it goes up, then
//! down, and never up again.
//!
//! `updown` gives balanced legal routes in VLAN trees. `transit` gives routes with the fewest hops. Where such a route
//! goes up after down, a node on the switch takes the frame in and sends it on, a transit node, so the route is split
//! into legal segments (section 3). Every path in every tree is legal, so the channel dependency graph has no cycle.

mod forced;
mod pack;
mod packing;
mod paper;
mod roots;
mod spread;
mod tree_segment;

pub use crate::order::Order;
pub use forced::forced_turns;
pub use pack::Packer;
pub use tree_segment::TreeSegment;

use packing::{ONE, Packed, Packing};
use roots::{choose, on_one_lane};

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::Graph;
use tresse_topology::cluster::Prefer;

use crate::keep::Kept;
use crate::left::unreached;
use crate::routes::{SwitchDemand, SwitchRoutes};

/// With more switches than these, pairs are placed source by source: much faster, and in fewer trees;
/// with few switches it can take one or two more.
const MANY: usize = 512;

/// The result of up*/down* routing: for each ordered pair of switches, the VLAN tree of each segment of its path. A
/// path has several segments only if transit nodes forward its frames.
#[derive(Debug, Clone)]
pub struct Updown {
    order: Order,
    /// Routes of each ordered pair of switches.
    lanes: u32,
    /// By source (switch and lane) and destination: [`ONE`] and the tree, or the index of the first of several segments.
    paths: Vec<u32>,
    /// The segments of all paths that have several. A path ends with the segment that reaches its destination.
    tree_segments: Vec<TreeSegment>,
    /// Sources and destinations whose route fits into no tree, ascending.
    crowded: Vec<(u32, u32)>,
}

impl Updown {
    /// Returns the links of at most `most` trees, and the assignment. Without a `root`, several are
    /// compared and the one with the lowest maximum load is used. If a pair's route fits into no tree,
    /// the pair uses the shortest path that a tree has. Where few trees are preferred, a pair has one route.
    ///
    /// # Errors
    /// A switch that cannot be reached.
    pub fn new(
        graph: &Graph,
        root: Option<SwitchId>,
        demand: &SwitchDemand,
        prefer: Prefer,
        most: usize,
    ) -> Result<(Vec<Vec<LinkId>>, Self), SwitchId> {
        let (order, demand, routes) = match prefer {
            Prefer::Balance => Self::routes(graph, root, demand)?,
            Prefer::FewestVlans => {
                unreached(graph)?;
                let (order, routes) = on_one_lane(graph, root, demand);
                (order, demand.clone(), routes)
            }
        };
        let by_source = graph.switches() > MANY;
        Ok(Self::packed(graph, order, &demand, &routes, prefer, most, by_source))
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
        let mut packing = Packing::new(graph, &order, 1, most);
        for (s, d, channels) in &routes {
            packing.place(*s, *d, channels);
        }
        let (links, Packed { paths, tree_segments, crowded }) = packing.finish();
        Ok((links, Self { order, lanes: 1, paths, tree_segments, crowded }))
    }

    /// Returns the order of switches, and the routes before they are packed into trees with the demand on the lanes that
    /// they have.
    ///
    /// # Errors
    /// As for [`Updown::new`].
    pub fn routes(
        graph: &Graph,
        root: Option<SwitchId>,
        demand: &SwitchDemand,
    ) -> Result<(Order, SwitchDemand, SwitchRoutes), SwitchId> {
        unreached(graph)?;
        Ok(choose(graph, root, demand))
    }

    /// Packs routes into trees.
    fn packed(
        graph: &Graph,
        order: Order,
        demand: &SwitchDemand,
        routes: &SwitchRoutes,
        prefer: Prefer,
        most: usize,
        by_source: bool,
    ) -> (Vec<Vec<LinkId>>, Self) {
        let mut packing = Packing::new(graph, &order, demand.lanes, most);
        packing.place_all(demand, routes, by_source);
        let (links, mut packed) = packing.finish();
        let links = packed.fold(graph, &order, demand, links, prefer);
        let Packed { paths, tree_segments, crowded } = packed;
        (links, Self { order, lanes: demand.lanes, paths, tree_segments, crowded })
    }

    /// Routes of each ordered pair of switches.
    #[must_use]
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// The path of an ordered pair of switches on a lane: one segment, or several with a transit node between each and
    /// the next.
    pub fn tree_segments(
        &self,
        s: SwitchId,
        d: SwitchId,
        lane: u32,
    ) -> impl Iterator<Item = TreeSegment> + '_ {
        let source = self.source(s, lane) as usize;
        let path = self.paths[source * self.order.switches() + d.index()];
        let one = (path & ONE != 0).then_some(TreeSegment { tree: TreeId(path & !ONE), to: d });
        let several = if one.is_some() { &[][..] } else { &self.tree_segments[path as usize..] };
        let last =
            several.iter().position(|tree_segment| tree_segment.to == d).map_or(0, |at| at + 1);
        one.into_iter().chain(several[..last].iter().copied())
    }

    /// Gives up trees: paths with a segment in one of these take the shortest way that another has.
    pub(crate) fn keep(&mut self, kept: &Kept<'_>) {
        let n = self.order.switches();
        let (mut left, mut tree_segments) = (Vec::new(), Vec::new());
        for at in 0..self.paths.len() {
            let (source, d) = ((at / n) as u32, (at % n) as u32);
            let (s, lane) = (SwitchId(source / self.lanes), source % self.lanes);
            let number = |segment: TreeSegment| {
                kept.number(segment.tree).map(|tree| TreeSegment { tree, ..segment })
            };
            let segments: Option<Vec<_>> =
                self.tree_segments(s, SwitchId(d), lane).map(number).collect();
            self.paths[at] = match segments.as_deref() {
                None => {
                    left.push((source, d));
                    ONE
                }
                Some([only]) => ONE | only.tree.0,
                Some(several) => {
                    let first = tree_segments.len() as u32;
                    tree_segments.extend_from_slice(several);
                    first
                }
            };
        }
        self.tree_segments = tree_segments;
        for ((source, d), tree) in left.iter().zip(kept.shortest(self.lanes, &left)) {
            self.paths[*source as usize * n + *d as usize] = ONE | tree.0;
        }
    }

    /// Whether some paths have transit nodes.
    #[must_use]
    pub const fn has_transit(&self) -> bool {
        !self.tree_segments.is_empty()
    }

    /// Sources (switch and lane) and destinations whose route fits into no tree, ascending.
    #[must_use]
    pub fn crowded(&self) -> &[(u32, u32)] {
        &self.crowded
    }

    /// Whether the route of two switches on a lane fits into no tree. They use the shortest path that a tree has.
    #[must_use]
    pub fn is_crowded(&self, s: SwitchId, d: SwitchId, lane: u32) -> bool {
        self.crowded.binary_search(&(self.source(s, lane), d.0)).is_ok()
    }

    const fn source(&self, s: SwitchId, lane: u32) -> u32 {
        s.0 * self.lanes + lane
    }

    /// Which ends of cables are up.
    #[must_use]
    pub const fn order(&self) -> &Order {
        &self.order
    }
}

#[cfg(test)]
mod tests;
