//! The resolved topology, and the check that this version can plan a fabric of its size.

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::TopologyShape;

use crate::kinds::TopologyKind;
use crate::limits;
use crate::read::At;

/// The resolved `topology`, whose sizes have been checked.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::resolve) enum Shape {
    /// The fabric is generated from sizes. If nodes route, both counts are 1.
    Generated { kind: TopologyShape, nodes_per_switch: u32, nics_per_node: u32 },
    /// The file lists everything.
    Explicit,
    /// The topology was reported as bad; its kind is given if it is known. Names of switches cannot be checked.
    Unknown(Option<TopologyKind>),
}

impl Shape {
    pub(in crate::resolve) fn kind(&self) -> TopologyShape {
        match self {
            Self::Generated { kind, .. } => kind.clone(),
            Self::Explicit | Self::Unknown(_) => TopologyShape::Explicit,
        }
    }

    /// The names of the spares of a flat neighbourhood.
    pub(in crate::resolve) fn spares(&self) -> &[String] {
        match self {
            Self::Generated { kind: TopologyShape::Fnn { spares, .. }, .. } => spares,
            _ => &[],
        }
    }

    /// Whether the kind is a flat neighbourhood, even one reported as bad.
    pub(in crate::resolve) fn is_fnn(&self) -> bool {
        let kind = Self::Unknown(Some(TopologyKind::Fnn));
        *self == kind || matches!(self, Self::Generated { kind: TopologyShape::Fnn { .. }, .. })
    }

    pub(in crate::resolve) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

/// Whether this version plans so many switches with `nodes` nodes each and `nics` NICs per node. Otherwise a
/// problem is reported.
pub(super) fn fits<T>(switches: u64, nodes: u32, nics: u32, at: &At<T>, found: &mut Found) -> bool {
    let nodes = switches.saturating_mul(nodes.into());
    fit(switches, nodes, nodes.saturating_mul(nics.into()), at, found)
}

/// Whether this version plans so many switches, nodes and NICs in all. Otherwise a problem is reported.
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
