//! Assigns the lines of a P-Mesh to switches and ports. A line is the nodes that differ in one coordinate only; a
//! switch holds L lines (p-mesh, figure 4: the eight lines of a 4 x 4 P-Mesh, of four nodes each, on two switches
//! with 24 ports, four lines on each). Switch k holds the lines k L to k L + L - 1, each on consecutive ports, in
//! their order.
//!
//! ```text
//! 4 x 4, L = 4    s0: ports 1-4 line(-,0), 5-8 line(-,1), ...    s1: ports 1-4 line(0,-), ...
//! ```

use std::ops::{Range, RangeInclusive};

use tresse_base::id::{NodeId, SwitchId};

use super::Layout;

/// Returns the number of lines of a P-Mesh with the sizes `dims`, in all dimensions together; `u64::MAX` if 64 bits do
/// not hold it. A line is the nodes that differ in one coordinate only.
#[must_use]
pub fn lines(dims: &[u32]) -> u64 {
    let nodes = dims.iter().fold(1_u64, |product, n| product.saturating_mul((*n).into()));
    dims.iter().fold(0, |lines, n| lines.saturating_add(nodes / u64::from(*n).max(1)))
}

impl Layout {
    /// Whether one switch holds several lines.
    #[must_use]
    pub const fn shares_switches(&self) -> bool {
        self.lines_per_switch > 1
    }

    /// Returns the switch that holds a line.
    #[must_use]
    pub fn switch(&self, line: usize) -> SwitchId {
        SwitchId::from(line / self.lines_per_switch)
    }

    /// Returns the lines of a switch.
    #[must_use]
    pub fn lines_of(&self, switch: SwitchId) -> Range<usize> {
        let first = switch.index() * self.lines_per_switch;
        first..(first + self.lines_per_switch).min(self.lines())
    }

    /// Returns the number of switches; 0 if cables join the nodes directly.
    #[must_use]
    pub fn switches(&self) -> usize {
        if self.has_switches() { self.lines().div_ceil(self.lines_per_switch) } else { 0 }
    }

    /// Returns the number of ports that these lines take.
    #[must_use]
    pub fn ports(&self, lines: Range<usize>) -> u32 {
        let mut first = 0;
        let of_dimension = |n: &u32| {
            let last = first + self.nodes() / *n as usize;
            let here = lines.end.min(last).saturating_sub(lines.start.max(first));
            first = last;
            here as u32 * n
        };
        self.dims.iter().map(of_dimension).sum()
    }

    /// Returns the ports of a line on its switch, from 1.
    #[must_use]
    pub fn line_ports(&self, line: usize) -> RangeInclusive<u32> {
        let first = self.lines_of(self.switch(line)).start;
        self.ports(first..line) + 1..=self.ports(first..line + 1)
    }

    /// Returns the switch port of the NIC of `node` for `dim`, from 1.
    #[must_use]
    pub fn port(&self, node: NodeId, dim: usize) -> u32 {
        self.line_ports(self.line(node, dim)).start() + self.coordinates(node)[dim]
    }

    /// Returns the name of a line by the coordinates that its nodes share, such as `line(-,2)`.
    ///
    /// # Panics
    /// If there is no such line.
    #[must_use]
    pub fn line_name(&self, line: usize) -> String {
        let mut place = line;
        let counts = self.dims.iter().map(|n| self.nodes() / *n as usize);
        let along = counts.into_iter().position(|count| match place.checked_sub(count) {
            Some(rest) => {
                place = rest;
                false
            }
            None => true,
        });
        let along = along.expect("a layout names its own lines");
        let coordinate = |(dim, n): (usize, &u32)| {
            if dim == along {
                return "-".to_owned();
            }
            let x = place % *n as usize;
            place /= *n as usize;
            x.to_string()
        };
        let coordinates: Vec<_> = self.dims.iter().enumerate().map(coordinate).collect();
        format!("line({})", coordinates.join(","))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::cluster::TopologyShape;

    fn layout(dims: &[u32], lines_per_switch: u32) -> Layout {
        let kind =
            TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch };
        Layout::of(&kind).unwrap()
    }

    /// Every line has ports of its own beside each other, in the order of lines and coordinates.
    #[test]
    fn switches_are_cut_into_lines_without_a_gap() {
        for dims in [&[4, 4][..], &[3, 3], &[2, 3, 4], &[3, 5], &[2, 2, 2, 2], &[7]] {
            for per_switch in 1..=9 {
                let layout = layout(dims, per_switch);
                assert_eq!(layout.lines() as u64, lines(dims));
                assert_eq!(layout.switches(), layout.lines().div_ceil(per_switch as usize));
                let mut ends = BTreeMap::new();
                for node in (0..layout.nodes()).map(NodeId::from) {
                    for (dim, x) in layout.coordinates(node).iter().enumerate() {
                        let line = layout.line(node, dim);
                        let end = (layout.switch(line), layout.port(node, dim));
                        assert_eq!(ends.insert(end, (line, *x)), None, "{dims:?} {end:?}");
                        assert!(layout.lines_of(end.0).contains(&line));
                    }
                }
                assert!(ends.values().is_sorted(), "{dims:?} {per_switch}: {ends:?}");
                for switch in (0..layout.switches()).map(SwitchId::from) {
                    let ports = ends.keys().filter(|end| end.0 == switch).map(|end| end.1);
                    assert!(ports.eq(1..=layout.ports(layout.lines_of(switch))), "{dims:?}");
                }
            }
        }
    }

    #[test]
    fn the_test_bed_of_the_paper_has_two_switches_of_sixteen_ports() {
        let layout = layout(&[4, 4], 4);
        assert_eq!((layout.lines(), layout.switches()), (8, 2));
        assert_eq!(layout.ports(layout.lines_of(SwitchId(1))), 16);
        // n06 is at (2, 1).
        assert_eq!([0, 1].map(|dim| layout.port(NodeId(6), dim)), [7, 10]);
        assert_eq!([0, 1].map(|dim| layout.switch(layout.line(NodeId(6), dim)).0), [0, 1]);
    }

    #[test]
    fn lines_are_named_by_what_their_nodes_share() {
        for dims in [&[4, 3][..], &[2, 3, 4]] {
            let layout = layout(dims, 2);
            let mut names = BTreeSet::new();
            for node in (0..layout.nodes()).map(NodeId::from) {
                for dim in 0..dims.len() {
                    let name = |(d, x): (usize, &u32)| {
                        if d == dim { "-".to_owned() } else { x.to_string() }
                    };
                    let x: Vec<_> = layout.coordinates(node).iter().enumerate().map(name).collect();
                    let name = layout.line_name(layout.line(node, dim));
                    assert_eq!(name, format!("line({})", x.join(",")));
                    names.insert(name);
                }
            }
            assert_eq!(names.len(), layout.lines());
        }
    }

    #[test]
    fn sizes_beyond_64_bits_are_counted_as_far_as_they_go() {
        assert_eq!(lines(&[1 << 16, 1 << 16, 1 << 16, 1 << 16, 2, 2]), u64::MAX);
    }
}
