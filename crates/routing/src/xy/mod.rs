//! The strategy `xy`: dimension order through nodes (p-mesh, section 4.2). A packet goes along dimension 0, then 1,
//! and so on, and nodes forward it as plain IP. This module computes next hops only; the slice (the part of a plan for
//! one node) adds the addresses.
//!
//! **Primary.** The next hop is in the lowest dimension in which the two nodes differ: on a P-Mesh and a full mesh
//! straight to the wanted coordinate, along cables one step, in a ring in the shorter direction. If both directions
//! are equally long, a node goes to the higher neighbour if the sum of its coordinate and the destination's other
//! coordinates is even: so half of the pairs take each direction, and after one step there is no tie.
//!
//! **Failures.** No node notifies another. A node that has lost its next hop takes the `spare`: the next dimension in
//! which the two nodes differ, else a step aside in another dimension, else (in a ring) the opposite direction. A
//! packet that arrives by the very NIC that it should leave by comes from such a node, because dimension order never
//! sends a packet back. It is `redirected` to the dimension after, and so goes around the gap instead of back to it
//! (interface-specific forwarding, as in Nelakuditi et al., "Fast local rerouting for handling transient link
//! failures", 2007). Tested for all pairs: after any one failure of a switch, cable or NIC every packet arrives,
//! unless no path is left.
//!
//! **Backups that fold into prefixes.** Where node addresses carry the coordinates (`[addressing] layout`), one route
//! serves all nodes of a column as long as they have one next hop. On a P-Mesh of two dimensions the spare therefore
//! depends on the destination's column x2 alone. A node (x, y) sends
//!
//! - to other columns: along its own column to a row chosen by x2 - x, where the packet goes on in dimension order: one
//!   hop more than straight to the destination's row;
//! - within its column, to (x, y2): to the node (x + y2 - y, y) of its row. That node redirects what arrives by its row
//!   for column x to the row y + (its own column - x) = y2. So the step aside carries the wanted row, and nobody has to
//!   look it up. Where columns are longer than rows, steps aside carry several rows: those beyond the first are redirected
//!   by routes to single nodes.
//!
//! On a direct torus or mesh of two dimensions a node (x, y) that has lost its hop sends
//!
//! - to columns beyond the next one: a step along its own column, up where the primary moves up and down where it moves
//!   down (at the border of a mesh the other way). The packet goes on in dimension order in that row;
//! - to the next column: a step along its own column towards the destination's row, so that it passes the node beside if
//!   that is what has failed;
//! - within its column: a step aside, to the higher column where the primary moves up, else to the lower one. The node there
//!   redirects it along its own column, by routes for this one column, and sends it back one row on.
//!
//! All sums are taken modulo the sizes. What is said of failures above holds, by the same tests.
//!
//! ```text
//! the switch of column 2 has failed: (2,0) to (2,3)
//!   (2,0) -spare-> (1,0) -redirected-> (1,3) -dimension 0-> (2,3)
//! ```

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;
use tresse_topology::{Hop, Layout};

use crate::node_routing::NodeRouting;

/// The next hop from any node to any other under the strategy `xy`, and a spare next hop for failures. Every query is
/// O(dimensions).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Xy {
    layout: Layout,
    /// Do spares depend on the destination's column alone, or nearly so?
    #[serde(default)]
    by_column: bool,
}

impl Xy {
    /// Over nodes of this layout, whose cables follow from their coordinates.
    pub(crate) const fn new(layout: Layout) -> Self {
        Self { layout, by_column: false }
    }

    /// The same with spares that depend on the destination's column alone; along cables on its row too where it is the
    /// next column. Nothing changes but in two dimensions of at least two nodes each.
    pub(crate) fn with_spares_by_column(self) -> Self {
        let by_column = matches!(*self.layout.dims(), [n0, n1] if n0 >= 2 && n1 >= 2);
        Self { by_column, ..self }
    }

    /// The dimensions in which two nodes differ, ascending.
    fn differing(&self, a: NodeId, b: NodeId) -> impl Iterator<Item = usize> + '_ {
        let pairs = self.layout.coordinates(a).iter().zip(self.layout.coordinates(b));
        pairs.enumerate().filter_map(|(dim, (a, b))| (a != b).then_some(dim))
    }

    /// The hop from `at` in `dim`, in which it differs from `to`, in the shorter direction.
    fn along(&self, at: NodeId, to: NodeId, dim: usize) -> Option<Hop> {
        self.layout.towards(at, dim, self.layout.coordinates(to)[dim], self.is_up(at, to, dim))
    }

    /// Whether the shorter direction from `at` to `to` in `dim` is that of rising coordinates.
    fn is_up(&self, at: NodeId, to: NodeId, dim: usize) -> bool {
        let (x, y) = (self.layout.coordinates(at), self.layout.coordinates(to));
        let (from, target) = (x[dim], y[dim]);
        let n = self.layout.dims()[dim];
        // Two nodes have one cable.
        if !self.layout.is_closed() || n <= 2 {
            return target > from;
        }
        let up = (target + n - from) % n;
        match (2 * up).cmp(&n) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => (from + y.iter().sum::<u32>() - target) % 2 == 0,
        }
    }

    /// The spare by the destination's column (see the module's text).
    fn spare_by_column(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        let ([x, y], [x2, y2], [n0, n1]) = (self.pair(at)?, self.pair(to)?, self.sizes()?);
        if x == x2 {
            let rows = (y2 + n1 - y) % n1;
            let beside = (x + 1 + rows.checked_sub(1)? % (n0 - 1)) % n0;
            return self.layout.towards(at, 0, beside, true);
        }
        let row = (y + 1 + ((x2 + n0 - x) % n0 - 1) % (n1 - 1)) % n1;
        self.layout.towards(at, 1, row, true)
    }

    /// The redirection by the destination's column: the distance from that column gives the row.
    fn redirected_by_column(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        let ([x, y], [x2, y2], [n0, n1]) = (self.pair(at)?, self.pair(to)?, self.sizes()?);
        let (columns, rows) = ((x + n0 - x2) % n0, (y2 + n1 - y) % n1);
        // The rows that one step aside carries, the first of which is as many rows on as the node is columns away.
        let carried = rows > 0 && 1 + (rows - 1) % (n0 - 1) == columns;
        let other = (y + 1 + columns.checked_sub(1)? % (n1 - 1)) % n1;
        let row = if carried { y2 } else { other };
        self.layout.towards(at, 1, row, true)
    }

    /// The spare along cables (see the module's text).
    fn spare_along_cables(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        let ([x, y], [x2, y2]) = (self.pair(at)?, self.pair(to)?);
        let first = usize::from(x == x2);
        if first == 0 && y != y2 && self.pair(self.hop(at, to).to)?[0] == x2 {
            return self.along(at, to, 1);
        }
        let (plus, other) = (self.is_up(at, to, first), 1 - first);
        self.layout.step(at, other, plus).or_else(|| self.layout.step(at, other, !plus))
    }

    /// The redirection along cables: of what steps aside from the next column, along the own one.
    fn redirected_along_cables(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        let ([x, y], [x2, y2]) = (self.pair(at)?, self.pair(to)?);
        if x == x2 || y == y2 {
            return None;
        }
        let next = self.hop(at, to).to;
        let steps_aside = self.pair(next)?[0] == x2 && self.spare(next, to)?.to == at;
        if steps_aside { self.along(at, to, 1) } else { None }
    }

    /// The coordinates of a node, of two.
    fn pair(&self, node: NodeId) -> Option<[u32; 2]> {
        self.layout.coordinates(node).try_into().ok()
    }

    /// The sizes of two dimensions.
    fn sizes(&self) -> Option<[u32; 2]> {
        self.layout.dims().try_into().ok()
    }

    /// A step in another dimension than the only one in which the two differ, so that destinations share
    /// the nodes beside.
    fn aside(&self, at: NodeId, to: NodeId, only: usize) -> Option<Hop> {
        let (x, y) = (self.layout.coordinates(at), self.layout.coordinates(to));
        let rank = self.layout.rank();
        // Packets from a later dimension are never sent back; only those from the last one need to
        // be redirected.
        let (first, others) = if only + 1 < rank { (only + 1, rank - 1 - only) } else { (0, only) };
        let round_robin_index = x[only] + y[only];
        if others == 0 {
            return None;
        }
        let dim = first + round_robin_index as usize % others;
        let n = self.layout.dims()[dim];
        if self.layout.has_switches() {
            let beside = (x[dim] + 1 + round_robin_index % (n - 1)) % n;
            return self.layout.towards(at, dim, beside, true);
        }
        let plus = round_robin_index % 2 == 0;
        self.layout.step(at, dim, plus).or_else(|| self.layout.step(at, dim, !plus))
    }

    /// The alternative in the same dimension: the other direction of a ring, a third node of a full mesh.
    fn round(&self, at: NodeId, to: NodeId, dim: usize) -> Option<Hop> {
        let hop = self.along(at, to, dim)?;
        if self.layout.is_closed() {
            let both = [false, true].into_iter().filter_map(|plus| self.layout.step(at, dim, plus));
            return both.into_iter().find(|other| other.nic != hop.nic);
        }
        if self.layout.is_complete() {
            let n = self.layout.dims()[dim];
            let third = (1..n).map(|i| (to.0 + i) % n).find(|third| *third != at.0)?;
            return self.layout.towards(at, dim, third, true);
        }
        None
    }
}

impl NodeRouting for Xy {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn hop(&self, at: NodeId, to: NodeId) -> Hop {
        let dim = self.differing(at, to).next().expect("two nodes differ in a dimension");
        self.along(at, to, dim).expect("every line of nodes is connected")
    }

    fn hops_to(&self, to: NodeId, hops: &mut Vec<Hop>) {
        hops.clear();
        let nowhere = Hop { nic: 0, to, to_nic: 0 };
        let y = self.layout.coordinates(to);
        if !self.layout.has_switches() {
            let all = (0..self.layout.nodes()).map(NodeId::from);
            hops.extend(all.map(|at| if at == to { nowhere } else { self.hop(at, to) }));
            return;
        }
        let all = self.layout.all_coordinates().chunks_exact(self.layout.rank());
        hops.extend(all.zip(0..).map(|(x, at)| match x.iter().zip(y).position(|(x, y)| x != y) {
            Some(dim) => {
                let next = self.layout.shifted(at, dim, x[dim], y[dim]);
                Hop { nic: dim, to: next, to_nic: dim }
            }
            None => nowhere,
        }));
    }

    fn spare(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        if self.by_column && !self.layout.has_switches() {
            return self.spare_along_cables(at, to);
        }
        if self.by_column {
            return self.spare_by_column(at, to);
        }
        let mut differing = self.differing(at, to);
        let first = differing.next()?;
        match differing.next() {
            Some(second) => self.along(at, to, second),
            None => self.aside(at, to, first).or_else(|| self.round(at, to, first)),
        }
    }

    fn redirected(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        if self.by_column && !self.layout.has_switches() {
            return self.redirected_along_cables(at, to);
        }
        if self.by_column {
            return self.redirected_by_column(at, to);
        }
        let mut differing = self.differing(at, to);
        let first = differing.next()?;
        match differing.next() {
            Some(second) => self.along(at, to, second),
            None if self.layout.rank() == 1 => self.round(at, to, first),
            None => None,
        }
    }
}
