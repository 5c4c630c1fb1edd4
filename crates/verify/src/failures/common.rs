//! What all planned paths of a pair of nodes need.

use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_plan::Plan;
use tresse_topology::path::Path;

use super::cuts::Cuts;

/// The links, switches and transit nodes that all planned paths of a pair need.
pub(crate) struct Common {
    pair: (NodeId, NodeId),
    /// How many paths are planned.
    pub(crate) paths: usize,
    pub(crate) links: Vec<LinkId>,
    /// Ascending, with those of the two nodes.
    pub(crate) switches: Vec<u32>,
    pub(crate) nodes: Vec<NodeId>,
    /// The switches on which the first path begins and ends.
    ends: [u32; 2],
}

/// What one path needs.
struct Crossed {
    links: Vec<LinkId>,
    switches: Vec<u32>,
    nodes: Vec<NodeId>,
}

impl Crossed {
    fn of(plan: &Plan, path: &Path) -> Self {
        let graph = plan.graph();
        let (mut channels, mut switches) = (Vec::new(), Vec::new());
        for segment in &path.segments {
            switches.push(plan.sender(segment).switch.0);
            let from = channels.len();
            plan.walk(segment, &mut channels);
            switches.extend(channels[from..].iter().map(|c| graph.head(*c)));
        }
        let links = channels.iter().map(|c| graph.link(*c)).collect();
        let nodes = path.segments[1..].iter().map(|segment| segment.from).collect();
        Self { links, switches, nodes }
    }
}

impl Common {
    /// Follows every path of the pair.
    pub(crate) fn of(plan: &Plan, s: NodeId, d: NodeId) -> Self {
        let paths = plan.paths(s, d);
        let mut all = Crossed::of(plan, &paths[0]);
        for path in &paths[1..] {
            let other = Crossed::of(plan, path);
            all.links.retain(|link| other.links.contains(link));
            all.switches.retain(|switch| other.switches.contains(switch));
            all.nodes.retain(|node| other.nodes.contains(node));
        }
        let Crossed { links, mut switches, nodes } = all;
        switches.sort_unstable();
        switches.dedup();
        let segments = &paths[0].segments;
        let ends = [
            plan.sender(&segments[0]).switch.0,
            plan.receiver(&segments[segments.len() - 1]).switch.0,
        ];
        Self { pair: (s, d), paths: paths.len(), links, switches, nodes, ends }
    }

    /// The switches between the pair's own.
    pub(crate) fn inner(&self) -> impl Iterator<Item = SwitchId> {
        let inner = self.switches.iter().filter(|s| !self.ends.contains(s));
        inner.map(|s| SwitchId(*s))
    }

    /// Has the pair one path? Between two nodes on one switch there is nothing but that and their own NICs.
    pub(crate) fn is_alone(&self) -> bool {
        self.paths < 2 && self.ends[0] != self.ends[1]
    }

    /// Do the paths share a link, or a switch between the pair's own?
    pub(crate) fn is_shared(&self) -> bool {
        self.is_alone() || !self.links.is_empty() || self.inner().next().is_some()
    }

    /// The switches between the pair's own and the links that the paths share and that every way along cables needs.
    pub(crate) fn forced(&self, plan: &Plan, cuts: &Cuts<'_>) -> (Vec<SwitchId>, Vec<LinkId>) {
        let switch = |s: &SwitchId| cuts.parts_at_switch(plan, self.pair, *s);
        let link = |link: &&LinkId| cuts.parts_at_link(plan, self.pair, **link);
        (self.inner().filter(switch).collect(), self.links.iter().filter(link).copied().collect())
    }

    /// How much of what the paths share every way along cables needs.
    pub(crate) fn how_forced(&self, plan: &Plan, cuts: &Cuts<'_>) -> Forced {
        let (switches, links) = self.forced(plan, cuts);
        let forced = switches.len() + links.len();
        Forced { some: forced > 0, all: forced == self.inner().count() + self.links.len() }
    }
}

/// What every way along cables needs of what paths share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forced {
    pub(crate) some: bool,
    pub(crate) all: bool,
}
