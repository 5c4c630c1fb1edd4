//! Identifiers: indices into the vectors of a cluster or a plan, and the numbers of IEEE 802.1Q and
//! RFC 3032. Each is a type of its own, so that they cannot be mixed up.

use serde::{Deserialize, Serialize};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
        )]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the vector that this identifier indexes.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("a fabric has fewer than 2^32 objects of a kind"))
            }
        }
    };
}

index!(
    /// A switch: index into `Cluster::switches`.
    SwitchId
);
index!(
    /// A node (host): index into `Cluster::nodes`.
    NodeId
);
index!(
    /// A switch-to-switch cable: index into `Cluster::links`.
    LinkId
);
index!(
    /// A VLAN tree: index into `Plan::trees`.
    TreeId
);

impl SwitchId {
    /// No switch: the NIC is cabled to another node's.
    pub const NONE: Self = Self(u32::MAX);
}

impl TreeId {
    /// No VLAN tree: the segment is untagged.
    pub const NONE: Self = Self(u32::MAX);
}

/// An IEEE 802.1Q VLAN identifier, 1 to 4094.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Vid(pub u16);

impl Vid {
    /// The tag of a number in which 0 stands for none.
    #[must_use]
    pub fn tag(vid: u16) -> Option<Self> {
        (vid > 0).then_some(Self(vid))
    }
}

impl std::fmt::Display for Vid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An MPLS label (RFC 3032), 16 to 1,048,575; local to one transit node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(pub u32);
