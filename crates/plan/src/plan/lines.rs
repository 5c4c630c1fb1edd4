//! The VLANs that separate lines of nodes on a P-Mesh switch that holds several. (A line is the nodes that differ in
//! one coordinate only.) Each line is an untagged VLAN. As frames have no tag and no cable joins two switches, a VID
//! could serve again on another switch; the VIDs are unique in the fabric only to identify lines.

use std::ops::RangeInclusive;

use tresse_base::id::{NodeId, SwitchId, Vid};
use tresse_topology::Layout;

use super::Plan;

/// A line of nodes (nodes that differ in one coordinate only) on a P-Mesh switch that holds several lines, with its
/// VID and its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// By coordinates, `line(-,2)`.
    pub name: String,
    /// The VLAN that its ports are in, without a tag.
    pub vid: Vid,
    /// The switch.
    pub switch: SwitchId,
    /// Its ports there.
    pub ports: RangeInclusive<u32>,
}

impl Plan {
    /// Every line, in the order of [`Layout::line`]; none where each has a switch of its own.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let Some(layout) = shared(self) else { return Vec::new() };
        let line = |(line, vid): (usize, &Vid)| Line {
            name: layout.line_name(line),
            vid: *vid,
            switch: layout.switch(line),
            ports: layout.line_ports(line),
        };
        self.vids.lines.iter().enumerate().map(line).collect()
    }

    /// The VLAN that a node's NIC is in without a tag; `None` where its switch needs none.
    #[must_use]
    pub fn line_vid(&self, node: NodeId, nic: usize) -> Option<Vid> {
        Some(self.vids.lines[shared(self)?.line(node, nic)])
    }
}

/// The layout, where lines share switches.
fn shared(plan: &Plan) -> Option<&Layout> {
    plan.layout().filter(|layout| layout.shares_switches())
}
