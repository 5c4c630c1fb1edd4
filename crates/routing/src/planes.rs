//! The trees of a fabric of several planes ([`tresse_topology::Planes`]): each plane has those of its own strategy's run.

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::{Graph, Planes};

use crate::{Assignment, TreeSegment};

/// The assignment of a fabric: one, or one for each plane.
#[derive(Debug, Clone)]
pub enum Assignments {
    /// Cables join all switches, or none.
    One(Assignment),
    /// Several planes.
    Planes(OfPlanes),
}

impl Assignments {
    /// That of a fabric of one plane.
    #[must_use]
    pub const fn one(&self) -> Option<&Assignment> {
        match self {
            Self::One(one) => Some(one),
            Self::Planes(_) => None,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Assignment> {
        let planes = match self {
            Self::One(_) => &[][..],
            Self::Planes(planes) => &planes.each,
        };
        self.one().into_iter().chain(planes.iter().map(|of| &of.assignment))
    }

    /// Whether routes may take any tree.
    #[must_use]
    pub fn may_keep_some(&self) -> bool {
        self.all().any(Assignment::may_keep_some)
    }

    /// Whether routes may have transit nodes.
    #[must_use]
    pub fn has_transit(&self) -> bool {
        self.all().any(Assignment::has_transit)
    }

    /// As [`Assignment::lanes`]; of several planes the most.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.all().map(Assignment::lanes).max().unwrap_or(1)
    }

    /// Routes of each ordered pair of switches in the plane of one.
    #[must_use]
    pub fn lanes_at(&self, switch: SwitchId) -> u32 {
        match self {
            Self::One(one) => one.lanes(),
            Self::Planes(planes) => planes.at(switch).0.assignment.lanes(),
        }
    }

    /// As [`Assignment::tree_segments`]; none between switches of different planes.
    pub fn tree_segments(
        &self,
        s: SwitchId,
        d: SwitchId,
        lane: u32,
    ) -> impl Iterator<Item = TreeSegment> + '_ {
        let one = self.one().map(|one| one.tree_segments(s, d, lane));
        let of_plane = match self {
            Self::One(_) => Vec::new(),
            Self::Planes(planes) => planes.tree_segments(s, d, lane),
        };
        one.into_iter().flatten().chain(of_plane)
    }

    /// As [`Assignment::tree`].
    #[must_use]
    pub fn tree(&self, s: SwitchId, d: SwitchId, lane: u32) -> TreeId {
        match self {
            Self::One(one) => one.tree(s, d, lane),
            Self::Planes(planes) => {
                let segments = planes.tree_segments(s, d, lane);
                segments.first().map_or(TreeId(0), |segment| segment.tree)
            }
        }
    }

    /// As [`Assignment::crowded`].
    #[must_use]
    pub fn crowded(&self) -> Option<(usize, [SwitchId; 2])> {
        match self {
            Self::One(one) => one.crowded(),
            Self::Planes(planes) => planes.crowded(),
        }
    }

    /// As [`Assignment::is_crowded`].
    #[must_use]
    pub fn is_crowded(&self, s: SwitchId, d: SwitchId, lane: u32) -> bool {
        match self {
            Self::One(one) => one.is_crowded(s, d, lane),
            Self::Planes(planes) => planes.is_crowded(s, d, lane),
        }
    }

    /// As [`Assignment::keep`].
    pub fn keep(&mut self, graph: &Graph, trees: &[TreeId], links: &[Vec<LinkId>]) {
        match self {
            Self::One(one) => one.keep(graph, trees, links),
            Self::Planes(planes) => planes.keep(trees, links),
        }
    }
}

/// What each plane of a fabric uses, in numbers of the whole fabric.
#[derive(Debug, Clone)]
pub struct OfPlanes {
    planes: Planes,
    each: Vec<OfPlane>,
}

/// What one plane uses, in its own numbers.
#[derive(Debug, Clone)]
struct OfPlane {
    graph: Graph,
    assignment: Assignment,
    /// By its own number: the tree's number in the whole fabric.
    trees: Vec<TreeId>,
}

impl OfPlanes {
    /// Of the graph and the assignment of each plane, whose `primaries` trees come one plane after the other.
    #[must_use]
    pub fn new(planes: Planes, each: Vec<(Graph, Assignment, usize)>) -> Self {
        let mut next = 0;
        let each = each.into_iter().map(|(graph, assignment, primaries)| {
            let trees = (next..next + primaries).map(TreeId::from).collect();
            next += primaries;
            OfPlane { graph, assignment, trees }
        });
        Self { each: each.collect(), planes }
    }

    /// The planes.
    #[must_use]
    pub const fn planes(&self) -> &Planes {
        &self.planes
    }

    /// The strategy's choice in a switch's plane, and the number of the switch there.
    fn at(&self, switch: SwitchId) -> (&OfPlane, SwitchId) {
        (&self.each[self.planes.plane(switch)], self.planes.local(switch))
    }

    /// The path between two switches; none if they are of different planes.
    fn tree_segments(&self, s: SwitchId, d: SwitchId, lane: u32) -> Vec<TreeSegment> {
        let plane = self.planes.plane(s);
        if self.planes.plane(d) != plane {
            return Vec::new();
        }
        let (of, s) = self.at(s);
        // A plane of one node keeps none.
        if of.trees.is_empty() {
            return Vec::new();
        }
        let switches = self.planes.switches(plane);
        let whole = |segment: TreeSegment| TreeSegment {
            tree: of.trees[segment.tree.index()],
            to: switches[segment.to.index()],
        };
        let lane = lane % of.assignment.lanes();
        of.assignment.tree_segments(s, self.planes.local(d), lane).map(whole).collect()
    }

    /// Routes that fit into no tree: how many, and the ends of the first.
    fn crowded(&self) -> Option<(usize, [SwitchId; 2])> {
        let each = self.each.iter().enumerate().filter_map(|(plane, of)| {
            let (routes, ends) = of.assignment.crowded()?;
            Some((routes, ends.map(|end| self.planes.switches(plane)[end.index()])))
        });
        each.reduce(|(routes, first), (more, _)| (routes + more, first))
    }

    /// Whether the route of two switches of one plane on a lane fits into no tree.
    fn is_crowded(&self, s: SwitchId, d: SwitchId, lane: u32) -> bool {
        let (of, s) = self.at(s);
        of.assignment.is_crowded(s, self.planes.local(d), lane % of.assignment.lanes())
    }

    /// As [`Assignment::keep`].
    fn keep(&mut self, trees: &[TreeId], links: &[Vec<LinkId>]) {
        for (plane, of) in self.each.iter_mut().enumerate() {
            let number = |tree: &TreeId| trees.iter().position(|kept| kept == tree);
            let kept: Vec<(TreeId, usize)> = (0..of.trees.len())
                .filter_map(|own| Some((own.into(), number(&of.trees[own])?)))
                .collect();
            let of_plane = self.planes.links(plane);
            let local = |link: &LinkId| of_plane.binary_search(link).ok().map(LinkId::from);
            let own_links: Vec<Vec<LinkId>> =
                kept.iter().map(|(_, at)| links[*at].iter().filter_map(local).collect()).collect();
            let own: Vec<TreeId> = kept.iter().map(|(own, _)| *own).collect();
            if of.assignment.may_keep_some() && !own.is_empty() {
                of.assignment.keep(&of.graph, &own, &own_links);
            }
            of.trees = kept.into_iter().map(|(_, at)| at.into()).collect();
        }
    }
}
