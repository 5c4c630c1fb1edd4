//! Packs routes into VLAN trees by first fit: a route goes into the first tree that it closes no loop in.
//!
//! A tree that is being filled is a forest. Two masks for each channel, one bit for each tree, save most of the looking:
//! which trees have its cable, and which can never take it since both its ends are joined otherwise.

use tresse_base::id::LinkId;
use tresse_topology::{Channel, Components, Graph};

use crate::packing::FirstFit;

/// Trees that are being filled.
pub(crate) struct Packer<'a> {
    graph: &'a Graph,
    most: usize,
    trees: Vec<Forest>,
    /// By 64 trees, then by channel.
    marks: Vec<Vec<Marks>>,
}

/// What 64 trees make of a channel: one bit for each.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    /// Its cable is in the tree.
    has: u64,
    /// Its ends are joined in the tree without it.
    closed: u64,
}

struct Forest {
    parts: Components,
}

impl<'a> Packer<'a> {
    /// No trees yet, and never more than `most`.
    pub fn new(graph: &'a Graph, most: usize) -> Self {
        Self { graph, most, trees: Vec::new(), marks: Vec::new() }
    }

    /// A tree takes a route in, unless that closes a loop.
    fn take(&mut self, tree: usize, channels: &[Channel]) -> bool {
        let (graph, parts) = (self.graph, &mut self.trees[tree].parts);
        let (marks, bit) = (&mut self.marks[tree / 64], 1 << (tree % 64));
        // The parts that the route's new cables would join: few, so a list will do.
        let mut joined: Vec<[usize; 2]> = Vec::new();
        for &c in channels.iter().filter(|c| marks[**c as usize].has & bit == 0) {
            let ends = [graph.tail(c), graph.head(c)].map(|s| parts.root(s as usize));
            if ends[0] == ends[1] {
                marks[c as usize].closed |= bit;
                marks[graph.reverse(c) as usize].closed |= bit;
                return false;
            }
            let now = |part| {
                joined.iter().fold(part, |part, [old, new]| if part == *old { *new } else { part })
            };
            let ends = ends.map(now);
            if ends[0] == ends[1] {
                return false;
            }
            joined.push(ends);
        }
        for &c in channels {
            marks[c as usize].has |= bit;
            marks[graph.reverse(c) as usize].has |= bit;
            parts.join(graph.tail(c) as usize, graph.head(c) as usize);
        }
        true
    }

    /// The links of every tree, ascending; at least one tree.
    pub fn finish(mut self) -> Vec<Vec<LinkId>> {
        if self.trees.is_empty() {
            self.place(&[]);
        }
        (0..self.trees.len()).map(|tree| self.links(tree)).collect()
    }

    /// The links of a tree, to which cables are added until it spans all switches.
    fn links(&mut self, tree: usize) -> Vec<LinkId> {
        let all = 0..self.graph.channels() as u32;
        all.clone().for_each(|c| {
            self.take(tree, &[c]);
        });
        let marks = &self.marks[tree / 64];
        let has = all.filter(|c| marks[*c as usize].has >> (tree % 64) & 1 == 1);
        let mut links: Vec<_> = has.map(|c| self.graph.link(c)).collect();
        links.sort_unstable();
        links.dedup();
        links
    }
}

impl FirstFit for Packer<'_> {
    fn place(&mut self, channels: &[Channel]) -> Option<usize> {
        for block in 0..self.marks.len() {
            let marks = |c: &Channel| self.marks[block][*c as usize];
            let all = channels.iter().fold(u64::MAX, |all, c| all & marks(c).has);
            let trees = self.trees.len() - 64 * block;
            let there = if trees < 64 { (1 << trees) - 1 } else { u64::MAX };
            let mut open = channels.iter().fold(there, |open, c| open & !marks(c).closed);
            while open != 0 {
                let bit = open.trailing_zeros() as usize;
                if all >> bit & 1 == 1 || self.take(64 * block + bit, channels) {
                    return Some(64 * block + bit);
                }
                open &= open - 1;
            }
        }
        let new = self.trees.len();
        if new == self.most {
            return None;
        }
        if new.is_multiple_of(64) {
            self.marks.push(vec![Marks::default(); self.graph.channels()]);
        }
        self.trees.push(Forest { parts: Components::new(self.graph.switches()) });
        self.take(new, channels);
        Some(new)
    }

    fn trees(&self) -> usize {
        self.trees.len()
    }
}

/// Trees that are being filled with any shortest routes between the ends of those that they are given.
pub(crate) struct AnyRoute<'a> {
    packer: Packer<'a>,
    /// By two switches: their distance.
    distances: &'a [Vec<u32>],
    /// The route in hand, and the parts of the tree that it has been through.
    path: Vec<Channel>,
    parts: Vec<usize>,
}

/// How many switches are looked at for a route in one tree.
const LOOKED_AT: u32 = 64;

impl<'a> AnyRoute<'a> {
    pub fn new(graph: &'a Graph, most: usize, distances: &'a [Vec<u32>]) -> Self {
        let packer = Packer::new(graph, most);
        Self { packer, distances, path: Vec::new(), parts: Vec::new() }
    }

    /// The links of every tree, ascending; at least one tree.
    pub fn finish(self) -> Vec<Vec<LinkId>> {
        self.packer.finish()
    }

    /// Finds a shortest route from `s` to `d` that closes no loop in a tree: it leaves a part of the tree, that is what
    /// its cables join, once at most. Cables that the tree has come first.
    fn find(&mut self, tree: usize, (s, d): (u32, u32), left: &mut u32) -> bool {
        if s == d {
            return true;
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let graph = self.packer.graph;
        let nearer = |c: &Channel| {
            let to_d = &self.distances[d as usize];
            to_d[graph.head(*c) as usize] + 1 == to_d[s as usize]
        };
        let (bit, marks) = (1 << (tree % 64), &self.packer.marks[tree / 64]);
        let all: Vec<(Channel, bool)> =
            graph.out(s).filter(nearer).map(|c| (c, marks[c as usize].has & bit != 0)).collect();
        for has in [true, false] {
            for &(c, _) in all.iter().filter(|(_, of)| *of == has) {
                let part = self.packer.trees[tree].parts.root(graph.head(c) as usize);
                if !has && self.parts.contains(&part) {
                    continue;
                }
                let before = self.parts.len();
                self.parts.push(part);
                self.path.push(c);
                if self.find(tree, (graph.head(c), d), left) {
                    return true;
                }
                self.path.pop();
                self.parts.truncate(before);
            }
        }
        false
    }
}

impl FirstFit for AnyRoute<'_> {
    fn place(&mut self, channels: &[Channel]) -> Option<usize> {
        if let [first, .., last] | [first @ last] = channels {
            let ends = (self.packer.graph.tail(*first), self.packer.graph.head(*last));
            for tree in 0..self.packer.trees.len() {
                self.path.clear();
                self.parts.clear();
                self.parts.push(self.packer.trees[tree].parts.root(ends.0 as usize));
                if self.find(tree, ends, &mut LOOKED_AT.clone()) {
                    let path = std::mem::take(&mut self.path);
                    let fits = self.packer.take(tree, &path);
                    self.path = path;
                    if fits {
                        return Some(tree);
                    }
                }
            }
        }
        self.packer.place(channels)
    }

    fn trees(&self) -> usize {
        self.packer.trees()
    }
}
