//! The kinds of topology, with their sizes.

use serde::Serialize;
use tresse_base::wiring::Wiring;

use super::cable::Cable;

/// The kind of topology that generated the fabric, with its sizes. The plan's digest includes the number of
/// the variant, so new variants come last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TopologyShape {
    /// An M-dimensional mesh of switches; switch k = x0 + N0 x1 + N0 N1 x2 ...
    Mesh {
        /// Switches per dimension, 1 to 6 entries, each at least 1.
        dims: Vec<u32>,
    },
    /// An M-dimensional torus of switches, numbered like the mesh. Size 2 has one link.
    Torus {
        /// Switches per dimension, 1 to 6 entries, each at least 1.
        dims: Vec<u32>,
    },
    /// Every switch cabled to every other.
    Clique {
        /// Ports per switch (N): N/2 nodes on each of N/2 + 1 switches.
        ports: u32,
    },
    /// Switches, nodes and links are listed in the file.
    Explicit,
    /// A random regular graph of switches ([`random::regular`](crate::random::regular)).
    Irregular {
        /// Number of switches.
        switches: u32,
        /// Ports per switch. Ports that no NIC needs are cabled to other switches.
        ports: u32,
        /// Seed of the random graph.
        seed: u32,
    },
    /// A P-Mesh (p-mesh, section 4.0): node k = x0 + N0 x1 + .... A line is a row of nodes that differ in
    /// one dimension only; each line has a switch, or shares one with other lines.
    Pmesh {
        /// Nodes per dimension, 1 to 6 entries, each at least 2.
        dims: Vec<u32>,
        /// The sizes for which the addresses have room, each at least that of `dims`.
        grow_to: Vec<u32>,
        /// Number of lines on one switch, each a network of its own; at least 1. The default 1 is left out
        /// of the digest, as with [`Cluster::demand`].
        #[serde(skip_serializing_if = "is_one")]
        lines_per_switch: u32,
    },
    /// Nodes in a ring, cabled to each other.
    Ring {
        /// Number of nodes, at least 2.
        nodes: u32,
    },
    /// A mesh of nodes that are cabled to each other.
    DirectMesh {
        /// Nodes per dimension, 1 to 6 entries, each at least 2.
        dims: Vec<u32>,
    },
    /// A torus of nodes that are cabled to each other. Size 2 has one cable.
    DirectTorus {
        /// Nodes per dimension, 1 to 6 entries, each at least 2.
        dims: Vec<u32>,
    },
    /// Every node cabled to every other.
    FullMesh {
        /// Number of nodes, at least 2.
        nodes: u32,
    },
    /// A flat neighbourhood (flat-neighborhood-network-compiler, section 2): nodes with several NICs on
    /// switches that have no path to each other.
    Fnn {
        /// The nodes on every switch. NIC i of a node goes to the i-th switch that lists the node.
        wiring: Wiring,
        /// The name of the uplink switch, if any: one of the wiring (folded), or one more. Each other switch has a cable
        /// to it that only the paths of nodes use that are on no other switch. An absent uplink is left out of the digest.
        #[serde(skip_serializing_if = "Option::is_none")]
        uplink: Option<String>,
        /// The names of further nodes, each with one NIC, on the uplink switch.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        spares: Vec<String>,
    },
    /// Leaf and spine: every leaf has the same number of cables to every spine
    /// ([`Family`](crate::families::Family), as all that follow). Nodes are on the leaves, which come first.
    Clos {
        /// Number of spines, at least 1.
        spines: u32,
        /// Number of leaves, at least 1.
        leaves: u32,
        /// Parallel cables between each leaf and each spine, at least 1.
        cables: u32,
    },
    /// The fat tree of switches with `k` ports: nodes are on the edge switches, which come first.
    FatTree {
        /// Ports per switch, even, at least 2.
        k: u32,
    },
    /// A binary hypercube of switches; also a mesh with the size 2 in every dimension, numbered alike.
    Hypercube {
        /// Number of dimensions, 1 to 16.
        dimensions: u32,
    },
    /// A HyperX: a grid of switches, numbered like a mesh, in which every line is a clique.
    Hyperx {
        /// Switches per dimension, 1 to 6 entries, each at least 1.
        dims: Vec<u32>,
    },
    /// A dragonfly: groups of switches, each group a clique, with cables between any two groups.
    Dragonfly {
        /// Number of groups, 1 to `routers` x `global` + 1.
        groups: u32,
        /// Switches per group, at least 1.
        routers: u32,
        /// The most cables that a switch has to other groups, at least 1.
        global: u32,
    },
    /// A Slim Fly: 2 q^2 switches of which any two are at most two cables apart.
    SlimFly {
        /// An odd prime.
        q: u32,
    },
    /// Nodes cabled to each other as the file lists it, without switches. Every NIC is in one cable, and the cables join
    /// all nodes.
    Cabled {
        /// Number of nodes, at least 2.
        nodes: u32,
        /// The cables.
        cables: Vec<Cable>,
    },
}

impl TopologyShape {
    /// Whether nodes route packets, as opposed to switches that carry VLANs.
    #[must_use]
    pub const fn is_routed(&self) -> bool {
        match self {
            Self::Mesh { .. }
            | Self::Torus { .. }
            | Self::Clique { .. }
            | Self::Explicit
            | Self::Irregular { .. }
            | Self::Fnn { .. }
            | Self::Clos { .. }
            | Self::FatTree { .. }
            | Self::Hypercube { .. }
            | Self::Hyperx { .. }
            | Self::Dragonfly { .. }
            | Self::SlimFly { .. } => false,
            Self::Pmesh { .. }
            | Self::Ring { .. }
            | Self::DirectMesh { .. }
            | Self::DirectTorus { .. }
            | Self::FullMesh { .. }
            | Self::Cabled { .. } => true,
        }
    }

    /// Whether one switch holds several lines of nodes, which VLANs separate.
    #[must_use]
    pub const fn shares_switches(&self) -> bool {
        matches!(self, Self::Pmesh { lines_per_switch: 2.., .. })
    }
}

/// Whether the number is 1, the default that digests leave out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}
