//! Computes the bandwidth between two halves of the switches of a clique (a fabric in which every switch
//! is cabled to every other), and the bound of big-fat-switches-ring-clique-reflector, Theorem 2. All
//! cuts of a clique into two halves have the same number of links.

use serde::Serialize;
use tresse_plan::Plan;
use tresse_topology::cluster::TopologyShape;

/// The bandwidth between the two halves of a clique's switches: the number of links that cross from one
/// half to the other, the bandwidth per node, and its value by big-fat-switches-ring-clique-reflector,
/// Theorem 2.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cut {
    /// Cables that cross it, counted in node links per direction.
    pub links: usize,
    /// Bandwidth across the cut per node of one half, in units of a node link's rate.
    pub per_node: f64,
    /// The same by Theorem 2, (N + 2) / (2 N) for switches of N ports: never below a half.
    pub theorem: f64,
}

impl Cut {
    /// Returns the cut of a clique; `None` on other fabrics. All cuts of a clique into halves are
    /// equal.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let cluster = plan.cluster();
        let TopologyShape::Clique { ports } = cluster.kind else { return None };
        let half = cluster.switches.len() / 2;
        let side = |s: tresse_base::id::SwitchId| s.index() < half;
        let crossing = cluster.links.iter().filter(|l| side(l.a.switch) != side(l.b.switch));
        let links = crossing.count();
        let nodes = cluster.nodes.len() as f64 / 2.0;
        let ports = f64::from(ports);
        Some(Self {
            links,
            per_node: if nodes > 0.0 { links as f64 / nodes } else { 0.0 },
            theorem: (ports + 2.0) / (2.0 * ports),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Cluster, Strategy};

    /// Section 4: 156 nodes on 24-port switches; 42 links cross each way.
    #[test]
    fn theorem_2() {
        for (ports, nodes, links) in [(8, 20, 6), (16, 72, 20), (24, 156, 42), (6, 12, 4)] {
            let cluster =
                Cluster::generated(TopologyShape::Clique { ports }, 0, 1, Strategy::Minimal, 1);
            assert_eq!(cluster.nodes.len(), nodes);
            let cut = Cut::of(&Plan::build(cluster).unwrap()).unwrap();
            assert_eq!(cut.links, links);
            assert!(cut.per_node >= 0.5 && cut.per_node <= cut.theorem + 1e-9, "{cut:?}");
        }
    }
}
