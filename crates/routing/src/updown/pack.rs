//! Packs legal up*/down* routes into VLAN trees, as few as the search finds.
//!
//! A legal route goes up to its highest switch and down from there. Seen from either end, it leaves every switch below
//! the highest by one link that goes up. A tree in which every switch but the root has exactly one link up is a
//! spanning tree in which every path is legal. So a route fits into such a tree unless one of its switches already has
//! another link up there.

use tresse_base::id::{LinkId, TreeId};
use tresse_topology::{Channel, Graph};

use crate::order::Order;
use crate::packing::FirstFit;

/// No cable up chosen yet.
const NONE: Channel = Channel::MAX;

/// Packs legal up*/down* routes into VLAN trees: each route goes into the first tree that can hold it, else into a new
/// one, as long as there may be more trees.
#[derive(Debug, Clone)]
pub struct Packer<'a> {
    graph: &'a Graph,
    order: &'a Order,
    most: usize,
    /// By tree and switch: the channel up.
    chosen: Vec<Vec<Channel>>,
    /// By channel, and 64 trees: see [`Marks`]. Trees that do not exist yet take everything.
    marks: Vec<Marks>,
    /// Of 64 trees, how many are marked.
    blocks: usize,
    /// By channel: itself where it goes up, else the other direction of its cable.
    climb: Vec<Channel>,
    /// The channels up of the route in hand.
    route: Vec<Channel>,
}

/// What 64 trees make of a channel up, or of several: one bit for each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// The channel's lower switch has chosen it or none.
    pub free: u64,
    /// The channel's lower switch has chosen it.
    pub taken: u64,
}

impl Marks {
    /// Of trees that hold nothing yet.
    const NEW: Self = Self { free: u64::MAX, taken: 0 };
    /// Of no channel at all.
    pub const ALL: Self = Self { free: u64::MAX, taken: u64::MAX };

    /// What the trees make of both.
    pub const fn and(self, other: Self) -> Self {
        Self { free: self.free & other.free, taken: self.taken & other.taken }
    }
}

/// The first tree that has a bit, by 64 trees; the one after them where none has.
pub(super) fn first_fit(fits: impl IntoIterator<Item = u64>) -> usize {
    let mut after = 0;
    for fits in fits {
        if fits != 0 {
            return after + fits.trailing_zeros() as usize;
        }
        after += 64;
    }
    after
}

impl<'a> Packer<'a> {
    /// No trees yet, and never more than `most`.
    #[must_use]
    pub fn new(graph: &'a Graph, order: &'a Order, most: usize) -> Self {
        let climb = |c: Channel| if order.is_up(graph, c) { c } else { graph.reverse(c) };
        let climb = (0..graph.channels() as u32).map(climb).collect();
        let (chosen, marks, route) = (Vec::new(), Vec::new(), Vec::new());
        Self { graph, order, most, chosen, marks, blocks: 0, climb, route }
    }

    /// The tree that a legal route goes on, a new one where it fits into none; `None` where there
    /// may be no more.
    pub fn place(&mut self, channels: &[Channel]) -> Option<TreeId> {
        self.route.clear();
        self.route.extend(channels.iter().map(|c| self.climb[*c as usize]));
        let fits = |block: usize| {
            let fits = |fits, up: &Channel| fits & self.marks(*up)[block].free;
            self.route.iter().fold(u64::MAX, fits)
        };
        let tree = self.open(first_fit((0..self.blocks).map(fits)))?;
        for at in 0..self.route.len() {
            self.take(tree, self.route[at]);
        }
        Some(tree)
    }

    /// A tree by its number, made where it is the next one; `None` where there may be no more.
    pub(super) fn open(&mut self, at: usize) -> Option<TreeId> {
        if at >= self.most {
            return None;
        }
        if at == 64 * self.blocks {
            self.grow();
        }
        if self.chosen.len() == at {
            self.chosen.push(vec![NONE; self.graph.switches()]);
        }
        Some(at.into())
    }

    /// How many channels from the start of a route are legal together: it is cut where it turns from down
    /// to up.
    #[must_use]
    pub fn legal(&self, channels: &[Channel]) -> usize {
        let cut = channels.windows(2).position(|pair| !self.is_up(pair[0]) && self.is_up(pair[1]));
        cut.map_or(channels.len(), |at| at + 1)
    }

    pub(super) fn is_up(&self, channel: Channel) -> bool {
        self.climb[channel as usize] == channel
    }

    /// The channel up of a channel's cable.
    pub(super) fn up(&self, channel: Channel) -> Channel {
        self.climb[channel as usize]
    }

    /// Of 64 trees each, what they make of a channel up.
    pub(super) fn marks(&self, up: Channel) -> &[Marks] {
        &self.marks[up as usize * self.blocks..][..self.blocks]
    }

    /// How many times 64 trees are marked.
    pub(super) const fn blocks(&self) -> usize {
        self.blocks
    }

    /// A tree takes a channel up that is free there.
    pub(super) fn take(&mut self, tree: TreeId, up: Channel) {
        let (switch, at) = (self.graph.tail(up), tree.index());
        let chosen = &mut self.chosen[at][switch as usize];
        if *chosen == NONE {
            *chosen = up;
            let bit = 1 << (at % 64);
            for other in self.graph.out(switch) {
                let marks = &mut self.marks[other as usize * self.blocks + at / 64];
                if other == up {
                    marks.taken |= bit;
                } else {
                    marks.free &= !bit;
                }
            }
        }
    }

    /// Room for 64 trees more.
    fn grow(&mut self) {
        let mut marks = Vec::with_capacity((self.blocks + 1) * self.graph.channels());
        for channel in 0..self.graph.channels() as u32 {
            marks.extend_from_slice(self.marks(channel));
            marks.push(Marks::NEW);
        }
        (self.marks, self.blocks) = (marks, self.blocks + 1);
    }

    /// The links of every tree, at least one tree.
    #[must_use]
    pub fn finish(mut self) -> Vec<Vec<LinkId>> {
        if self.chosen.is_empty() {
            self.chosen.push(vec![NONE; self.graph.switches()]);
        }
        self.chosen.iter().map(|chosen| self.links(chosen)).collect()
    }

    /// The links of a tree, ascending: the highest neighbour where nothing is chosen.
    fn links(&self, chosen: &[Channel]) -> Vec<LinkId> {
        let highest = |s: u32| {
            let up = self.graph.out(s).filter(|c| self.order.is_up(self.graph, *c));
            up.min_by_key(|c| self.order.place(self.graph.head(*c)))
        };
        let chosen =
            (0..).zip(chosen).map(|(s, up)| if *up == NONE { highest(s) } else { Some(*up) });
        let mut links: Vec<_> = chosen.flatten().map(|up| self.graph.link(up)).collect();
        links.sort_unstable();
        links
    }
}

impl FirstFit for Packer<'_> {
    fn place(&mut self, channels: &[Channel]) -> Option<usize> {
        Packer::place(self, channels).map(TreeId::index)
    }

    fn trees(&self) -> usize {
        self.chosen.len()
    }
}
