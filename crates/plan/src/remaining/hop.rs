//! What is known of the hops of a node-routed fabric.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_topology::{Hop, Layout};

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

    /// Is a path in this state taken rather than an earlier one in the other? Of those that are not avoided the first
    /// is taken.
    #[must_use]
    pub const fn comes_before(self, other: Self) -> bool {
        self.badness() < other.badness()
    }

    const fn badness(self) -> u8 {
        match self {
            Self::Unknown | Self::Sound => 0,
            Self::Drained => 1,
            Self::Held => 2,
            Self::Broken => 3,
        }
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
    /// A cable that the file lists, which may join several pairs of NICs.
    Cable(usize),
}

/// Is there one NIC, cable or line that all these hops cross? True of no hops.
pub(super) fn are_of_one_part(layout: &Layout, hops: impl Iterator<Item = (NodeId, Hop)>) -> bool {
    let common = hops.map(|(from, hop)| parts(layout, from, hop)).reduce(|a, b| &a & &b);
    common.is_none_or(|common| !common.is_empty())
}

/// The parts that a hop crosses. A cable that the file does not list is the NICs at its ends.
fn parts(layout: &Layout, from: NodeId, hop: Hop) -> BTreeSet<Part> {
    let line = layout.has_switches().then(|| Part::Line(layout.line(from, hop.nic)));
    let cable = layout.listed_cable(from, hop.nic).map(Part::Cable);
    let nics = [Part::Nic(from, hop.nic), Part::Nic(hop.to, hop.to_nic)];
    nics.into_iter().chain(line).chain(cable).collect()
}
