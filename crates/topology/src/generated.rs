//! Builds a generated cluster with all defaults, without a file. Tests and benchmarks plan such clusters.

use tresse_base::units::Prefix;

use crate::cluster::{
    Addressing, Choice, Cluster, Prefer, ReflectMode, Routing, Strategy, TopologyShape, Vlans,
};
use crate::generate;

impl Cluster {
    /// Returns the cluster of a file with only these keys. If `nodes_per_switch` is 0, it is the kind's
    /// usual number of nodes per switch. The caller must give valid sizes; whether the prefixes have room is
    /// not checked (a /16 holds 65,534 nodes).
    #[must_use]
    pub fn generated(
        kind: TopologyShape,
        nodes_per_switch: u32,
        nics_per_node: u32,
        strategy: Strategy,
        paths: u32,
    ) -> Self {
        let nodes_per_switch = match nodes_per_switch {
            0 => generate::usual_nodes_per_switch(&kind, nics_per_node),
            given => given,
        };
        let fabric = generate::generate(&kind, nodes_per_switch, nics_per_node);
        Self {
            name: default_name(&kind),
            kind,
            switches: fabric.switches,
            nodes: fabric.nodes,
            links: fabric.links,
            lags: Vec::new(),
            routing: Routing {
                strategy,
                paths,
                lossless: false,
                reflect: ReflectMode::Off,
                use_uplink: false,
                choice: Choice::Balanced,
                prefer: Prefer::Balance,
                mptcp: false,
            },
            vlans: Vlans::default(),
            addressing: Addressing::default(),
            demand: Vec::new(),
        }
    }
}

impl Default for Vlans {
    /// Returns the range 2-4094 without an untagged VLAN.
    fn default() -> Self {
        Self { ranges: vec![(2, 4094)], base: None }
    }
}

impl Default for Addressing {
    /// Returns 10.77.0.0/16 for nodes and 10.78.0.0/16 for NICs.
    fn default() -> Self {
        let prefix = |second| Prefix { address: [10, second, 0, 0].into(), len: 16 };
        Self { nodes: vec![prefix(77)], nics: vec![prefix(78)], layout: None }
    }
}

/// Returns the name, such as `torus-4x4`, that a fabric of this kind and size has if the cluster file gives none.
#[must_use]
pub fn default_name(kind: &TopologyShape) -> String {
    let sizes = |dims: &[u32]| dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    match kind {
        TopologyShape::Mesh { dims } => format!("mesh-{}", sizes(dims)),
        TopologyShape::Torus { dims } => format!("torus-{}", sizes(dims)),
        TopologyShape::Clique { ports } => format!("clique-{ports}"),
        TopologyShape::Irregular { switches, ports, seed } => {
            format!("irregular-{switches}-{ports}-{seed}")
        }
        TopologyShape::Explicit => "explicit".into(),
        TopologyShape::Pmesh { dims, .. } => format!("pmesh-{}", sizes(dims)),
        TopologyShape::Ring { nodes } => format!("ring-{nodes}"),
        TopologyShape::DirectMesh { dims } => format!("direct-mesh-{}", sizes(dims)),
        TopologyShape::DirectTorus { dims } => format!("direct-torus-{}", sizes(dims)),
        TopologyShape::FullMesh { nodes } => format!("full-mesh-{nodes}"),
        TopologyShape::Fnn { wiring, .. } => format!("fnn-{}", wiring.pcs()),
        TopologyShape::Clos { spines, leaves, cables: 1 } => format!("clos-{spines}x{leaves}"),
        TopologyShape::Clos { spines, leaves, cables } => {
            format!("clos-{spines}x{leaves}x{cables}")
        }
        TopologyShape::FatTree { k } => format!("fat-tree-{k}"),
        TopologyShape::Hypercube { dimensions } => format!("hypercube-{dimensions}"),
        TopologyShape::Hyperx { dims } => format!("hyperx-{}", sizes(dims)),
        TopologyShape::Dragonfly { groups, routers, global } => {
            format!("dragonfly-{groups}-{routers}-{global}")
        }
        TopologyShape::SlimFly { q } => format!("slim-fly-{q}"),
        TopologyShape::Cabled { nodes, .. } => format!("cabled-{nodes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_cluster_has_the_defaults_of_the_file() {
        let kind = TopologyShape::Torus { dims: vec![16, 16, 16] };
        let cluster = Cluster::generated(kind, 1, 1, Strategy::Dor, 1);
        assert_eq!((cluster.nodes.len(), cluster.links.len()), (4096, 3 * 4096));
        assert_eq!(cluster.name, "torus-16x16x16");
        assert_eq!(cluster.vlans.ranges, [(2, 4094)]);
        assert_eq!(cluster.node_named("n4095"), Some(tresse_base::id::NodeId(4095)));
        assert_eq!(cluster.addressing.nics[0].to_string(), "10.78.0.0/16");
    }

    #[test]
    fn a_clique_takes_its_usual_nodes() {
        let cluster =
            Cluster::generated(TopologyShape::Clique { ports: 8 }, 0, 1, Strategy::Stp, 1);
        assert_eq!(cluster.nodes.len(), 20);
    }
}
