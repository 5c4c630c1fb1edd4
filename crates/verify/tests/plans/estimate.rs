//! The demand that counters tell, judged by what detours then gain.

use tresse_base::id::NodeId;
use tresse_plan::{MeasuredLoads, Plan};
use tresse_topology::cluster::{Cluster, ReflectMode, Routing, Strategy, TopologyShape};
use tresse_verify::Reflect;

/// Three nodes of s0 fill the link to s1; n06 and n07 on s2 exchange their own.
#[test]
fn the_demand_behind_a_cliques_counters() {
    let cluster =
        Cluster::generated(TopologyShape::Clique { ports: 6 }, 0, 1, Strategy::Minimal, 3);
    let plan = Plan::build(cluster.clone()).unwrap();
    let mut measured = MeasuredLoads::default();
    let mut seen = |from: &str, to: &str, bps: f64| {
        measured.bps.insert((from.into(), to.into()), bps);
    };
    seen("s0", "s1", 0.96e9);
    seen("s1", "s0", 0.02e9);
    for k in 0..3 {
        seen(&format!("n0{k}"), "s0", 0.32e9);
        seen("s1", &format!("n0{}", 3 + k), 0.32e9);
    }
    seen("n03", "s1", 0.02e9);
    seen("s0", "n00", 0.02e9);
    seen("n06", "s2", 0.2e9);
    seen("s2", "n07", 0.2e9);
    let estimate = plan.estimate(&measured);
    let ids = |range: std::ops::Range<u32>| range.map(NodeId).collect::<Vec<_>>();
    let main = estimate.demand.iter().max_by_key(|t| t.weight * t.from.len() as u32).unwrap();
    assert_eq!((&main.from, &main.to), (&ids(0..3), &ids(3..6)), "{estimate:?}");
    let back = estimate.demand.iter().find(|t| t.from == ids(3..4)).unwrap();
    assert_eq!(back.to, ids(0..1));
    let own = estimate.demand.iter().find(|t| t.from.contains(&NodeId(6))).unwrap();
    assert_eq!((&own.from, &own.to), (&ids(6..7), &ids(7..8)));
    assert!((estimate.nodes[6][0] - 0.2).abs() < 1e-9);
    let demand = estimate.demand;
    let routing = Routing { reflect: ReflectMode::Demand, ..cluster.routing.clone() };
    let plan = Plan::build(Cluster { demand, routing, ..cluster }).unwrap();
    let found = Reflect::of(&plan).unwrap();
    assert!(found.achieved > 2.5 * found.direct, "{found:?}");
    assert!([6, 7].iter().all(|n| plan.transits()[*n].labels.is_empty()), "busy themselves");
}
