//! Legal up*/down* routes in as few VLAN trees as found.
//!
//! A route climbs to its highest switch and goes down from there: seen from both ends, every switch
//! below the highest names one cable up. So a tree in which every switch but the root has one cable
//! up is a spanning tree whose every path is legal, and a route fits into it unless one of its
//! switches has another cable up there already.

use super::order::Order;
use crate::id::{LinkId, TreeId};
use crate::topology::{Channel, Graph};

/// No cable up chosen yet.
const NONE: Channel = Channel::MAX;

/// A tree by the channel up of every switch.
#[derive(Debug, Clone)]
pub struct Climb {
    up: Vec<Channel>,
}

impl Climb {
    /// A tree with nothing chosen.
    fn new(switches: usize) -> Self {
        Self { up: vec![NONE; switches] }
    }

    /// Could `route` be the way between its ends?
    fn fits(&self, route: &[(u32, Channel)]) -> bool {
        route.iter().all(|(s, up)| [NONE, *up].contains(&self.up[*s as usize]))
    }

    fn add(&mut self, route: &[(u32, Channel)]) {
        route.iter().for_each(|(s, up)| self.up[*s as usize] = *up);
    }

    /// Chooses the highest neighbour where nothing is chosen; the links, ascending.
    fn finish(&self, graph: &Graph, order: &Order) -> Vec<LinkId> {
        let highest = |s: u32| {
            let up = graph.out(s).filter(|c| order.is_up(graph, *c));
            up.min_by_key(|c| order.place(graph.head(*c)))
        };
        let chosen =
            (0..).zip(&self.up).map(|(s, up)| if *up == NONE { highest(s) } else { Some(*up) });
        let mut links: Vec<_> = chosen.flatten().map(|up| graph.link(up)).collect();
        links.sort_unstable();
        links
    }
}

/// Trees that are being filled, first fit.
#[derive(Debug)]
pub struct Packer<'a> {
    graph: &'a Graph,
    order: &'a Order,
    trees: Vec<Climb>,
    most: usize,
    route: Vec<(u32, Channel)>,
}

impl<'a> Packer<'a> {
    /// No trees yet, and never more than `most`.
    #[must_use]
    pub const fn new(graph: &'a Graph, order: &'a Order, most: usize) -> Self {
        Self { graph, order, trees: Vec::new(), most, route: Vec::new() }
    }

    /// The tree that a legal route goes on, a new one where it fits into none; `None` where there
    /// may be no more.
    pub fn place(&mut self, channels: &[Channel]) -> Option<TreeId> {
        self.route.clear();
        self.route.extend(channels.iter().map(|&c| {
            if self.order.is_up(self.graph, c) {
                (self.graph.tail(c), c)
            } else {
                (self.graph.head(c), self.graph.reverse(c))
            }
        }));
        let mut at = self.trees.iter().position(|tree| tree.fits(&self.route));
        if at.is_none() && self.trees.len() < self.most {
            self.trees.push(Climb::new(self.graph.switches()));
            at = Some(self.trees.len() - 1);
        }
        self.trees[at?].add(&self.route);
        at.map(TreeId::from)
    }

    /// The links of every tree, at least one tree.
    #[must_use]
    pub fn finish(mut self) -> Vec<Vec<LinkId>> {
        if self.trees.is_empty() {
            self.trees.push(Climb::new(self.graph.switches()));
        }
        self.trees.iter().map(|tree| tree.finish(self.graph, self.order)).collect()
    }
}
