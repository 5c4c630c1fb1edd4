use tresse_base::id::NodeId;
use tresse_plan::Plan;

use super::*;
use crate::links::{links, stages};

fn planned(topology: &str, strategy: &str) -> (Plan, Vec<NodeId>) {
    let text = format!(
        "[fabric]\ntopology = {{ {topology} }}\n[routing]\nstrategy = \"{strategy}\"\npaths = 1\n"
    );
    let cluster = tresse_cluster::parse(&text, "x").unwrap();
    let plan = Plan::build(cluster).unwrap();
    let members = (0..plan.cluster().nodes.len()).map(NodeId::from).collect();
    (plan, members)
}

fn ring(topology: &str, strategy: &str) -> RingOrder {
    let (plan, members) = planned(topology, strategy);
    let ring = RingOrder::of(&plan, &members);
    let mut sorted = ring.nodes().to_vec();
    sorted.sort();
    assert_eq!(sorted, members);
    assert_eq!(ring.nodes()[0], members[0]);
    ring
}

#[test]
fn a_ring_crosses_each_link_once_where_the_fabric_allows_it() {
    for (topology, strategy, crossings) in [
        // As many links between switches as there are switches, or two for each but one.
        ("kind = \"torus\", dims = [4, 4]", "dor", 16),
        ("kind = \"torus\", dims = [5, 3]", "dor", 15),
        ("kind = \"torus\", dims = [4, 4, 4]", "dor", 64),
        ("kind = \"torus\", dims = [4, 4], nodes_per_switch = 3", "dor", 16),
        ("kind = \"mesh\", dims = [4, 4]", "dor", 16),
        ("kind = \"mesh\", dims = [6]", "dor", 10),
        ("kind = \"clique\", ports = 8, nodes_per_switch = 3", "minimal", 5),
        // Nodes route: no link is between switches.
        ("kind = \"direct-torus\", dims = [4, 4]", "xy", 0),
        ("kind = \"pmesh\", dims = [4, 4]", "xy", 0),
        ("kind = \"ring\", nodes = 9", "xy", 0),
    ] {
        let ring = ring(topology, strategy);
        assert_eq!(ring.cost().excess, 0, "{topology}: {:?}", ring);
        assert_eq!(ring.cost().crossings, crossings, "{topology}: {:?}", ring);
    }
}

#[test]
fn nodes_that_route_send_to_neighbours() {
    for topology in ["kind = \"direct-torus\", dims = [4, 4]", "kind = \"ring\", nodes = 9"] {
        let ring = ring(topology, "xy");
        // Out of one NIC, into the other.
        assert_eq!(ring.cost().links, 2 * ring.nodes().len() as u32, "{topology}");
    }
}

/// Rings that share no directed link, as many as that.
fn disjoint(topology: &str, strategy: &str) -> usize {
    let (plan, members) = planned(topology, strategy);
    let rings = RingOrder::disjoint(&plan, &members);
    let mut seen = std::collections::BTreeSet::new();
    for ring in &rings {
        assert_eq!(ring.nodes().len(), members.len());
        for (from, to) in stages(ring.nodes()) {
            let fresh = links(&plan, from, to).into_iter().all(|link| seen.insert(link));
            assert!(fresh || rings.len() == 1, "{topology}: {from:?} to {to:?}");
        }
    }
    rings.len()
}

#[test]
fn nodes_with_several_nics_have_several_rings() {
    for (topology, strategy, rings) in [
        ("kind = \"torus\", dims = [4, 4]", "dor", 1),
        ("kind = \"ring\", nodes = 9", "xy", 2),
        ("kind = \"direct-torus\", dims = [4, 4]", "xy", 4),
        ("kind = \"direct-torus\", dims = [5, 5]", "xy", 4),
        ("kind = \"pmesh\", dims = [4, 4]", "xy", 2),
        ("kind = \"pmesh\", dims = [8, 8]", "xy", 2),
        ("kind = \"full-mesh\", nodes = 5", "xy", 4),
    ] {
        assert_eq!(disjoint(topology, strategy), rings, "{topology}");
    }
}
