//! What is at fault, as it is told.

use serde::Serialize;

/// What a suspect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A cable.
    Cable,
    /// A switch.
    Switch,
    /// A node.
    Node,
    /// A VLAN that nodes have taken out of use.
    Vlan,
    /// A plan that some nodes have and others have not.
    Plan,
    /// A pair of nodes whose path is broken, which nothing else explains.
    Path,
}

impl Kind {
    /// As text and JSON have it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cable => "cable",
            Self::Switch => "switch",
            Self::Node => "node",
            Self::Vlan => "vlan",
            Self::Plan => "plan",
            Self::Path => "path",
        }
    }
}

/// Something at fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// What it is.
    pub kind: Kind,
    /// Its name: `n0:eth1-n1:eth0`, `s03`, `n07`, `104`, a generation, `n0 > n5`.
    pub object: String,
    /// Since when, in milliseconds since 1 January 1970, UTC; null: longer than anybody knows.
    pub since: Option<u64>,
    /// How often it went up or down today, by the node that saw most of it.
    pub count: u32,
    /// Ordered pairs of nodes of which a path is broken by it; of a dark cable or switch at least those whose first
    /// planned path crosses it.
    pub pairs: usize,
    /// Those of them that nothing joins now.
    pub cut: usize,
    /// Those of them that one more failure may cut off.
    pub unprotected: usize,
    /// What is seen of it, in words.
    pub seen: String,
    /// What to do.
    pub remedy: String,
}

impl Suspect {
    /// A suspect of which no date and no pair is known.
    pub(crate) const fn new(kind: Kind, object: String, seen: String, remedy: String) -> Self {
        Self { kind, object, since: None, count: 0, pairs: 0, cut: 0, unprotected: 0, seen, remedy }
    }
}
