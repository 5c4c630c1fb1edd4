//! What is known of the hops of a node-routed fabric.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_topology::Hop;

use super::Remaining;

/// What is known of a hop from one node to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HopState {
    /// Nothing.
    #[default]
    Unknown,
    /// Packets arrive by it.
    Sound,
    /// Packets arrive by it again, but it broke a short while ago: used where nothing else leads.
    Held,
    /// Packets arrive by it, but an operator keeps it free: used where nothing else leads.
    Drained,
    /// Nothing arrives by it.
    Broken,
}

impl HopState {
    /// Is it broken, or was it a short while ago?
    #[must_use]
    pub const fn was_broken(self) -> bool {
        matches!(self, Self::Held | Self::Broken)
    }

    /// Does a planned route by it no longer hold?
    #[must_use]
    pub const fn is_avoided(self) -> bool {
        matches!(self, Self::Held | Self::Drained | Self::Broken)
    }

    /// Do packets arrive by it?
    #[must_use]
    pub const fn arrives(self) -> bool {
        matches!(self, Self::Sound | Self::Held | Self::Drained)
    }
}

/// A part of the fabric that hops have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Nic(NodeId, usize),
    Line(usize),
}

impl Remaining {
    /// Is there one NIC, cable or line that all these hops cross? True of no hops. They are given as the sender and the
    /// place among its [`hops`](Self::hops).
    #[must_use]
    pub fn are_of_one_part(&self, hops: impl IntoIterator<Item = (NodeId, usize)>) -> bool {
        let known = |(from, at): (NodeId, usize)| Some(self.parts(from, *self.hops(from).get(at)?));
        let common = hops.into_iter().filter_map(known).reduce(|a, b| &a & &b);
        common.is_none_or(|common| !common.is_empty())
    }

    /// The parts that a hop crosses. A cable is the NICs at its ends.
    fn parts(&self, from: NodeId, hop: Hop) -> BTreeSet<Part> {
        let layout = self.xy.layout();
        let line = layout.has_switches().then(|| Part::Line(layout.line(from, hop.nic)));
        let nics = [Part::Nic(from, hop.nic), Part::Nic(hop.to, hop.to_nic)];
        nics.into_iter().chain(line).collect()
    }
}
