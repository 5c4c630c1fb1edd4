//! Identifiers: indices into the vectors of a cluster or a plan, VLAN IDs (IEEE 802.1Q) and MPLS labels
//! (RFC 3032). Each is a type of its own, so that the compiler refuses to mix them up.

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
            /// Returns the position in the vector that this identifier indexes.
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
    /// Identifies a switch: index into `Cluster::switches`.
    SwitchId
);
index!(
    /// Identifies a node (host): index into `Cluster::nodes`.
    NodeId
);
index!(
    /// Identifies a switch-to-switch cable: index into `Cluster::links`.
    LinkId
);
index!(
    /// Identifies a VLAN tree: index into `Plan::trees`.
    TreeId
);

impl SwitchId {
    /// No switch: the NIC is cabled directly to a NIC of another node.
    pub const NONE: Self = Self(u32::MAX);
}

impl TreeId {
    /// No VLAN tree: frames of the segment are untagged.
    pub const NONE: Self = Self(u32::MAX);
}

/// Identifies one path of a plan: source node, destination node, and the path's rank among the paths of
/// that pair (0: the primary).
///
/// The nodes are indices into the plan's cluster, so a `PathId` is valid only within its plan. Code that
/// prints or stores paths translates the indices into node names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
pub struct PathId {
    /// Node where the path begins.
    #[serde(default)]
    pub src: NodeId,
    /// Node where the path ends.
    #[serde(default)]
    pub dst: NodeId,
    /// Position among the paths of the pair: 0 is the primary, then come the paths that share its traffic by
    /// weight, then backups in order of preference.
    pub rank: u32,
}

/// An IEEE 802.1Q VLAN identifier, 1 to 4094.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Vid(pub u16);

impl Vid {
    /// Returns the VID with this number; `None` for 0, which stands for "no VLAN".
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

/// An MPLS label (RFC 3032), 16 to 1,048,575. It is local to one transit node (a node that forwards
/// frames for other nodes): at another node the same number can mean something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(pub u32);
