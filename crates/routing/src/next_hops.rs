//! The routing through nodes of a planned cluster, by the strategy that its kind of fabric has.

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;
use tresse_topology::cluster::{AddressLayout, Cluster, TopologyShape};
use tresse_topology::{Hop, Layout};

use crate::node_routing::NodeRouting;
use crate::shortest::Shortest;
use crate::xy::Xy;

/// The next hops of a fabric whose nodes route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NextHops {
    /// Shortest paths over cables as the file lists them.
    Shortest(Shortest),
    /// Dimension order.
    Xy(Xy),
}

impl NextHops {
    /// Returns the routing of a planned cluster; `None` if its switches carry VLANs. Spares of dimension order fold into
    /// prefixes where node addresses carry the coordinates and the shape allows it. O(1) but for shortest paths, which
    /// are balanced here (see [`Shortest::new`]).
    #[must_use]
    pub fn of_cluster(cluster: &Cluster) -> Option<Self> {
        let layout = Layout::of(&cluster.kind)?;
        if matches!(cluster.kind, TopologyShape::Cabled { .. }) {
            return Some(Self::Shortest(Shortest::new(cluster, layout)));
        }
        let coordinates = cluster.addressing.layout == Some(AddressLayout::Coordinates);
        let xy = Xy::new(layout);
        Some(Self::Xy(if coordinates { xy.with_spares_by_column() } else { xy }))
    }

    /// Returns the routing of this many nodes of which each has a cable to every other.
    #[must_use]
    pub fn of_full_mesh(nodes: u32) -> Option<Self> {
        Layout::of(&TopologyShape::FullMesh { nodes }).map(|layout| Self::Xy(Xy::new(layout)))
    }
}

impl NodeRouting for NextHops {
    fn layout(&self) -> &Layout {
        match self {
            Self::Xy(xy) => xy.layout(),
            Self::Shortest(shortest) => shortest.layout(),
        }
    }

    fn hop(&self, at: NodeId, to: NodeId) -> Hop {
        match self {
            Self::Xy(xy) => xy.hop(at, to),
            Self::Shortest(shortest) => shortest.hop(at, to),
        }
    }

    fn spare(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        match self {
            Self::Xy(xy) => xy.spare(at, to),
            Self::Shortest(shortest) => shortest.spare(at, to),
        }
    }

    fn redirected(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        match self {
            Self::Xy(xy) => xy.redirected(at, to),
            Self::Shortest(shortest) => shortest.redirected(at, to),
        }
    }

    fn hops_to(&self, to: NodeId, hops: &mut Vec<Hop>) {
        match self {
            Self::Xy(xy) => xy.hops_to(to, hops),
            Self::Shortest(shortest) => shortest.hops_to(to, hops),
        }
    }

    fn distance(&self, src: NodeId, dst: NodeId) -> u32 {
        match self {
            Self::Xy(xy) => xy.distance(src, dst),
            Self::Shortest(shortest) => shortest.distance(src, dst),
        }
    }
}
