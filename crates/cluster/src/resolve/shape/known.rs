//! What the topology says, and whether this version plans fabrics of its size.

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::Kind;

use crate::kinds::TopologyKind;
use crate::limits;
use crate::read::At;

/// What the topology says, once its sizes are known to be buildable.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::resolve) enum Shape {
    /// Generated from sizes; where nodes route, both counts are 1.
    Generated { kind: Kind, nodes_per_switch: u32, nics_per_node: u32 },
    /// Everything is listed.
    Explicit,
    /// Reported as bad, of this kind if any: names of switches cannot be checked.
    Unknown(Option<TopologyKind>),
}

impl Shape {
    pub(in crate::resolve) fn kind(&self) -> Kind {
        match self {
            Self::Generated { kind, .. } => kind.clone(),
            Self::Explicit | Self::Unknown(_) => Kind::Explicit,
        }
    }

    /// Is it a flat neighbourhood, be it a bad one?
    pub(in crate::resolve) fn is_fnn(&self) -> bool {
        let kind = Self::Unknown(Some(TopologyKind::Fnn));
        *self == kind || matches!(self, Self::Generated { kind: Kind::Fnn { .. }, .. })
    }

    pub(in crate::resolve) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

/// So many switches, nodes of each, and NICs of each node.
pub(super) fn fits<T>(switches: u64, nodes: u32, nics: u32, at: &At<T>, found: &mut Found) -> bool {
    let nodes = switches.saturating_mul(nodes.into());
    fit(switches, nodes, nodes.saturating_mul(nics.into()), at, found)
}

/// So many switches, nodes and NICs in all.
pub(super) fn fit<T>(switches: u64, nodes: u64, nics: u64, at: &At<T>, found: &mut Found) -> bool {
    let too_large = |what: &str, count: u64, most: u32| {
        (count > most.into()).then(|| format!("{count} {what}: this version plans at most {most}"))
    };
    let message = too_large("switches", switches, limits::SWITCHES)
        .or_else(|| too_large("nodes", nodes, limits::NODES))
        .or_else(|| too_large("NICs", nics, limits::NICS));
    if let Some(message) = &message {
        let help = "make the sizes smaller".to_owned();
        found.add(ProblemKind::TooLarge, &at.span, message.clone(), help);
    }
    message.is_none()
}
