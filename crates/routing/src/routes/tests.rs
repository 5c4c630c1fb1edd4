use proptest::prelude::*;
use tresse_topology::Graph;

use super::*;
use crate::updown::Order;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Moving routes keeps them routes, as short as they were, and the loads what they put there; begun
    /// with routes that may turn or may not.
    #[test]
    fn moved_routes_are_as_short_and_counted(
        n in 2usize..20,
        tail in prop::collection::vec((0u32..20, 0u32..20), 0..40),
        turning in any::<bool>(),
        lanes in 1u32..4,
    ) {
        let mut edges: Vec<(u32, u32)> = (1..n as u32).map(|s| (s * 7 % s, s)).collect();
        let more = tail.into_iter().map(|(a, b)| (a % n as u32, b % n as u32));
        edges.extend(more.filter(|(a, b)| a != b));
        let graph = Graph::from_edges(n, &edges);
        let (nodes, transit) = (vec![2; n], vec![1; n]);
        let demand = SwitchDemand { lanes, ..SwitchDemand::new(&graph, &nodes, &transit) };
        let order = Order::new(&graph, 0);
        let up: Vec<bool> = (0..graph.channels() as u32).map(|c| order.is_up(&graph, c)).collect();
        let begun = if turning { demand.clone() } else { demand.without_transit() };
        let mut routes = SwitchRoutes::new(&graph, &up, &begun, 2);
        let mut distance = Vec::new();
        for source in 0..demand.sources() {
            graph.distances(demand.switch(source), &mut distance, &mut Vec::new());
            if (0..n as u32).any(|d| routes.hops(source, d) != distance[d as usize]) {
                return Ok(());
            }
        }
        let before = routes.cost(&demand);
        relieve(&graph, &up, &demand, &mut routes, 8);
        prop_assert!(routes.cost(&demand) <= before);
        let (mut loads, mut transit_pairs) = (vec![0; graph.channels()], vec![0; n]);
        for source in 0..demand.sources() {
            let s = demand.switch(source);
            graph.distances(s, &mut distance, &mut Vec::new());
            for d in 0..n as u32 {
                let (mut way, pairs) = (Vec::new(), demand.pairs(source, d));
                routes.walk(source, d, &mut way);
                prop_assert_eq!(way.len() as u32, distance[d as usize]);
                let ends = way.iter().fold(s, |at, c| {
                    if graph.tail(*c) == at { graph.head(*c) } else { u32::MAX }
                });
                prop_assert_eq!(ends, d);
                way.iter().for_each(|c| loads[*c as usize] += pairs);
                for pair in way.windows(2).filter(|p| !up[p[0] as usize] && up[p[1] as usize]) {
                    transit_pairs[graph.tail(pair[1]) as usize] += pairs;
                }
            }
        }
        let kept = routes.edges.iter().zip(&routes.loads);
        prop_assert!(kept.into_iter().all(|((c, _), load)| loads[*c as usize] == *load));
        prop_assert_eq!(&transit_pairs, &routes.transit_pairs);
    }
}
