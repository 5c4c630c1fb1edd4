//! Computes the bandwidth between two halves of the switches of a clique (a fabric in which every switch
//! is cabled to every other), and the bound of big-fat-switches-ring-clique-reflector, Theorem 2. All
//! cuts of a clique into two halves have the same number of links.

use serde::Serialize;
use tresse_plan::Plan;
use tresse_topology::cluster::TopologyShape;

/// Theorem 2: whatever the number of ports, the bisection bandwidth for each of half of the nodes is at least this part of a
/// link.
const THEOREM: f64 = 0.5;

/// The bandwidth between the two halves of a clique's switches (of an odd number of them, one half has one more): the number
/// of links that cross from one half to the other, the bandwidth per node, and the lower bound of
/// big-fat-switches-ring-clique-reflector, Theorem 2.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cut {
    /// Cables that cross it, counted in node links per direction.
    pub links: usize,
    /// Bandwidth across the cut for each of half of the nodes, in units of a node link's rate.
    pub per_node: f64,
    /// The lower bound of Theorem 2, which is reached as switches get more ports: a half.
    pub theorem: f64,
}

impl Cut {
    /// Returns the cut of a clique; `None` on other fabrics. All cuts of a clique into halves are
    /// equal.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let cluster = plan.cluster();
        let TopologyShape::Clique { .. } = cluster.kind else { return None };
        let half = cluster.switches.len() / 2;
        let side = |s: tresse_base::id::SwitchId| s.index() < half;
        let crossing = cluster.links.iter().filter(|l| side(l.a.switch) != side(l.b.switch));
        let links = crossing.count();
        let nodes = cluster.nodes.len() as f64 / 2.0;
        Some(Self {
            links,
            per_node: if nodes > 0.0 { links as f64 / nodes } else { 0.0 },
            theorem: THEOREM,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Cluster, Strategy};

    /// Section 4: 156 nodes on 24-port switches; 42 links cross each way. For switches of N ports, of which there are
    /// N / 2 + 1: (N + 2) / 2N where that is an even number, (N + 4) / (2N + 4) where it is odd.
    #[test]
    fn theorem_2() {
        let mut before = f64::INFINITY;
        for (ports, nodes, links) in
            [(6, 12, 4), (8, 20, 6), (16, 72, 20), (24, 156, 42), (26, 182, 49), (48, 600, 156)]
        {
            let cluster =
                Cluster::generated(TopologyShape::Clique { ports }, 0, 1, Strategy::Minimal, 1);
            assert_eq!(cluster.nodes.len(), nodes);
            let cut = Cut::of(&Plan::build(cluster).unwrap()).unwrap();
            assert_eq!(cut.links, links);
            let n = f64::from(ports);
            let exact = match (ports / 2) % 2 {
                1 => (n + 2.0) / (2.0 * n),
                _ => (n + 4.0) / (2.0 * n + 4.0),
            };
            assert!((cut.per_node - exact).abs() < 1e-9, "{ports}: {cut:?}");
            assert!(cut.per_node > cut.theorem && cut.per_node < before + 0.01, "{ports}: {cut:?}");
            before = cut.per_node;
        }
        assert!(before < 0.525, "{before}");
    }
}
