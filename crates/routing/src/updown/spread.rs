//! Assigns all routes of one source switch to VLAN trees at once. The routes form a tree of states (a switch, and
//! whether the route goes up or down there), which is visited depth first.
//!
//! Routes to distant switches lead through near ones, so a VLAN tree that holds the long route also holds the shorter
//! ones. A state gets a VLAN tree of its own only when the visit leaves it and none of the longer routes through it
//! has been given one. Which VLAN trees can hold a route follows from which can hold the route one channel shorter.
//! That stays valid while the route is being extended: a VLAN tree that takes its channels only becomes unusable for
//! other routes. O(states x VLAN trees / 64) for each source.

use tresse_base::id::{SwitchId, TreeId};
use tresse_topology::Channel;

use super::pack::{Marks, Packer, first_fit};

use super::tree_segment::TreeSegment;
use crate::routes::{State, SwitchRoutes};

/// No state, and no tree.
const NONE: u32 = u32::MAX;
/// Not on any route.
const UNUSED: u32 = NONE - 1;

/// Scratch of one source after the other.
#[derive(Debug)]
pub(super) struct Spread {
    /// By state.
    nodes: Vec<Node>,
    /// The route being extended, without its start; and by step and 64 trees, what they make of its last segment.
    path: Vec<Step>,
    marks: Vec<Marks>,
}

/// A state and how the routes lead there.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The first of the states behind it, and the next of those behind the one before it.
    behind: u32,
    beside: u32,
    /// The cable's channel up, and in the lowest bit whether the routes go up there.
    up: u32,
    /// The last segment's tree, and where that segment begins.
    tree: u32,
    begins: u32,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    state: u32,
    up: Channel,
    /// The first step of its segment.
    tree_segment: u32,
}

impl Spread {
    pub fn new(switches: usize) -> Self {
        let node = Node { behind: NONE, beside: NONE, up: NONE, tree: UNUSED, begins: NONE };
        Self { nodes: vec![node; 2 * switches], path: Vec::new(), marks: Vec::new() }
    }

    /// Places the paths from a source, which begin in state `start`, to the `wanted` switches.
    pub fn place(
        &mut self,
        packer: &mut Packer,
        routes: &SwitchRoutes,
        source: u32,
        start: u32,
        wanted: &[u32],
    ) {
        self.link(packer, routes, source, start, wanted);
        self.path.clear();
        let mut next = self.nodes[start as usize].behind;
        loop {
            if next != NONE {
                self.enter(packer, start, next);
                next = self.nodes[next as usize].behind;
            } else if let Some(step) = self.path.last() {
                let Node { tree, beside, .. } = self.nodes[step.state as usize];
                if tree == NONE {
                    self.give(packer);
                }
                self.path.pop();
                next = beside;
            } else {
                return;
            }
        }
    }

    /// The segments of the path from a source to `d`, in order; none where there is no room for one of
    /// them.
    pub fn tree_segments(
        &self,
        routes: &SwitchRoutes,
        source: u32,
        start: u32,
        d: u32,
        tree_segments: &mut Vec<TreeSegment>,
    ) {
        tree_segments.clear();
        let mut state = routes.end(source, d) as u32;
        while state != start {
            let Node { tree, begins, .. } = self.nodes[state as usize];
            if tree == NONE {
                return tree_segments.clear();
            }
            tree_segments.push(TreeSegment { tree: TreeId(tree), to: SwitchId(state / 2) });
            state = begins;
        }
        tree_segments.reverse();
    }

    /// What is behind each state.
    fn link(
        &mut self,
        packer: &Packer,
        routes: &SwitchRoutes,
        source: u32,
        start: u32,
        wanted: &[u32],
    ) {
        for node in &mut self.nodes {
            (node.behind, node.tree) = (NONE, UNUSED);
        }
        self.nodes[start as usize].tree = NONE;
        let entry = routes.entries(source);
        for d in wanted {
            let mut state: State = routes.end(source, *d);
            while self.nodes[state].tree == UNUSED {
                let Some((channel, before)) = entry(state) else { break };
                let up = packer.up(channel);
                let beside = std::mem::replace(&mut self.nodes[before].behind, state as u32);
                let node = &mut self.nodes[state];
                (node.tree, node.beside) = (NONE, beside);
                node.up = up << 1 | u32::from(up == channel);
                state = before;
            }
        }
    }

    fn enter(&mut self, packer: &Packer, start: u32, state: u32) {
        let at = self.path.len();
        let node = &mut self.nodes[state as usize];
        let up = node.up >> 1;
        let (tree_segment, begins) = match self.path.last() {
            None => (0, start),
            // It goes up after down.
            Some(last) if last.state & node.up & 1 == 1 => (at as u32, last.state),
            Some(last) if last.tree_segment == 0 => (0, start),
            Some(last) => (last.tree_segment, self.path[last.tree_segment as usize - 1].state),
        };
        node.begins = begins;
        self.path.push(Step { state, up, tree_segment });
        self.mark(packer, at);
    }

    /// Marks of a step, from those of the step before.
    fn mark(&mut self, packer: &Packer, at: usize) {
        let blocks = packer.blocks();
        if self.marks.len() < (at + 1) * blocks {
            self.marks.resize((at + 1) * blocks, Marks::ALL);
        }
        let Step { up, tree_segment, .. } = self.path[at];
        let (before, own) = self.marks.split_at_mut(at * blocks);
        let own = own[..blocks].iter_mut().zip(packer.marks(up));
        if tree_segment == at as u32 {
            own.for_each(|(own, marks)| *own = *marks);
        } else {
            let before = &before[(at - 1) * blocks..];
            own.zip(before).for_each(|((own, marks), before)| *own = before.and(*marks));
        }
    }

    /// Gives the last segment in hand a tree, and those on the way that have none.
    fn give(&mut self, packer: &mut Packer) {
        let last = self.path.len() - 1;
        let tree_segment = self.path[last].tree_segment as usize;
        let blocks = packer.blocks();
        let marks = &self.marks[last * blocks..][..blocks];
        let fits = marks.iter().map(|marks| marks.free);
        let Some(tree) = packer.open(first_fit(fits)) else { return };
        let has = |marks: &Marks| marks.taken >> (tree.index() % 64) & 1 == 1;
        if !marks.get(tree.index() / 64).is_some_and(has) {
            self.path[tree_segment..].iter().for_each(|step| packer.take(tree, step.up));
            // At the beginning of a segment, this tree may have been lost to the last cable of the
            // segment before.
            (0..self.path.len()).for_each(|at| self.mark(packer, at));
        }
        for step in self.path[tree_segment..].iter().rev() {
            let given = &mut self.nodes[step.state as usize].tree;
            if *given != NONE {
                break;
            }
            *given = tree.0;
        }
    }
}
