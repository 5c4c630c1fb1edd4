use proptest::prelude::*;
use tresse_topology::{Channel, random};

use super::*;
use crate::left::build;

/// The network that the text of in-transit-buffers, section 2 implies.
const PAPER: [(u32, u32); 7] = [(0, 2), (0, 4), (0, 5), (1, 2), (1, 5), (1, 6), (4, 6)];

fn without_transit(graph: &Graph, nodes: &[u64]) -> SwitchDemand {
    SwitchDemand::new(graph, nodes, &vec![0; nodes.len()])
}

fn tree(updown: &Updown, s: u32, d: u32) -> TreeId {
    updown.tree_segments(SwitchId(s), SwitchId(d), 0).next().unwrap().tree
}

fn is_legal(graph: &Graph, order: &Order, way: &[Channel]) -> bool {
    let up = |c: &Channel| order.is_up(graph, *c);
    way.iter().skip_while(|c| up(c)).all(|c| !up(c))
}

/// Every path of every tree is legal, and returns the hops of each pair by its own tree.
fn check(graph: &Graph, trees: &[Vec<LinkId>], updown: &Updown) -> Vec<u32> {
    let built = build(graph, trees);
    let n = graph.switches() as u32;
    let pairs: Vec<_> = (0..n).flat_map(|s| (0..n).map(move |d| (s, d))).collect();
    let mut way = Vec::new();
    for tree in &built {
        for &(s, d) in &pairs {
            way.clear();
            tree.walk(graph, SwitchId(s), SwitchId(d), &mut way);
            assert!(is_legal(graph, updown.order(), &way), "{s} to {d}: {way:?}");
        }
    }
    let tree = |s: u32, d: u32| &built[tree(updown, s, d).index()];
    pairs.iter().map(|&(s, d)| tree(s, d).distance(SwitchId(s), SwitchId(d))).collect()
}

/// Levels: 0; 2 4 5; 1 6. Link 1-6 joins one level: 1 is its up end.
#[test]
fn ends_of_the_papers_example() {
    let graph = Graph::from_edges(7, &PAPER[..]);
    let up = |a: u32, b: u32| {
        let order = Order::new(&graph, 0);
        let channel = graph.between(SwitchId(a), SwitchId(b)).unwrap();
        order.is_up(&graph, channel)
    };
    assert!(up(4, 0) && !up(4, 6) && up(6, 1) && up(2, 0) && up(1, 2));
}

/// "A message transmitted from switch 4 to switch 1 cannot go through any minimal path."
#[test]
fn routes_of_the_papers_example() {
    let graph = Graph::from_edges(7, &PAPER[..]);
    // Switch 3 has no cable in the text; here it hangs on the root.
    let mut edges = PAPER.to_vec();
    edges.push((0, 3));
    assert_eq!(
        Updown::new(
            &graph,
            Some(SwitchId(0)),
            &without_transit(&graph, &[4; 7]),
            Prefer::Balance,
            100
        )
        .unwrap_err(),
        SwitchId(3),
        "a switch without a cable is named"
    );
    let graph = Graph::from_edges(7, &edges);
    let (trees, updown) = Updown::new(
        &graph,
        Some(SwitchId(0)),
        &without_transit(&graph, &[4; 7]),
        Prefer::Balance,
        100,
    )
    .unwrap();
    let hops = check(&graph, &trees, &updown);
    assert_eq!((hops[4 * 7 + 1], hops[7 + 4]), (3, 3));
    assert_eq!(hops[4 * 7 + 6], 1);
}

#[test]
fn single_switches_and_few_trees() {
    let graph = Graph::from_edges(1, &[]);
    let (trees, updown) =
        Updown::new(&graph, None, &without_transit(&graph, &[4]), Prefer::Balance, 9).unwrap();
    assert_eq!((trees.len(), tree(&updown, 0, 0)), (1, TreeId(0)));
    let graph = Graph::from_edges(16, &random::regular(16, 4, 3));
    let hops: Vec<u32> = [1, 3, 100]
        .into_iter()
        .map(|most| {
            let (trees, updown) = Updown::new(
                &graph,
                None,
                &without_transit(&graph, &[4; 16]),
                Prefer::Balance,
                most,
            )
            .unwrap();
            assert!(trees.len() <= most);
            check(&graph, &trees, &updown).iter().sum()
        })
        .collect();
    assert!(hops[0] > hops[1] && hops[1] > hops[2], "{hops:?}");
}

/// Averages over ten random networks of 4 cables and 4 nodes a switch; a prototype with simple
/// heuristics reached 0.20, 0.12 and 0.067 of the node rate.
#[test]
fn throughput_on_random_networks() {
    for (switches, least, most_trees) in [(16, 0.24, 12), (32, 0.14, 18), (64, 0.075, 28)] {
        let mut sum = 0.0;
        for seed in 1..=10 {
            let graph = Graph::from_edges(switches, &random::regular(switches as u32, 4, seed));
            let weights = vec![4; switches];
            let demand = without_transit(&graph, &weights);
            let (_, _, routes) = choose(&graph, None, &demand);
            sum += (4 * switches - 1) as f64 / routes.cost(&demand).0 as f64;
            if seed == 1 {
                let (trees, updown) =
                    Updown::new(&graph, None, &demand, Prefer::Balance, 4093).unwrap();
                assert!(trees.len() <= most_trees, "{switches} switches: {} trees", trees.len());
                check(&graph, &trees, &updown);
            }
        }
        assert!(sum / 10.0 > least, "{switches} switches: {:.3}", sum / 10.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// On any connected graph, with parallel cables: each pair's way in its tree is a shortest legal
    /// one.
    #[test]
    fn trees_hold_the_shortest_legal_routes(
        n in 2usize..14,
        tail in prop::collection::vec((0u32..14, 0u32..14), 0..24),
        root in 0u32..14,
    ) {
        let mut edges: Vec<(u32, u32)> = (1..n as u32).map(|s| (s * 7 % s, s)).collect();
        let more = tail.into_iter().map(|(a, b)| (a % n as u32, b % n as u32));
        edges.extend(more.filter(|(a, b)| a != b));
        let graph = Graph::from_edges(n, &edges);
        let root = SwitchId(root % n as u32);
        let (trees, updown) = Updown::new(&graph, Some(root), &without_transit(&graph, &vec![1; n]), Prefer::Balance, 4093).unwrap();
        let hops = check(&graph, &trees, &updown);
        let legal = shortest_legal(&graph, updown.order());
        prop_assert_eq!(hops, legal);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// One after the other or by source, with transit nodes or without: each segment's tree holds a
    /// legal way to its end, and together they are as long as the route; where there is room for all.
    #[test]
    fn both_ways_of_packing_hold_the_routes(
        n in 2usize..30,
        tail in prop::collection::vec((0u32..30, 0u32..30), 0..50),
        transit in any::<bool>(),
        most in prop_oneof![Just(2), Just(4093)],
    ) {
        let mut edges: Vec<(u32, u32)> = (1..n as u32).map(|s| (s * 7 % s, s)).collect();
        let more = tail.into_iter().map(|(a, b)| (a % n as u32, b % n as u32));
        edges.extend(more.filter(|(a, b)| a != b));
        let graph = Graph::from_edges(n, &edges);
        let (nodes, transit) = (vec![3; n], vec![u64::from(transit); n]);
        let demand = SwitchDemand::new(&graph, &nodes, &transit);
        let (order, demand, routes) = choose(&graph, None, &demand);
        for by_source in [false, true] {
            let (trees, updown) = Updown::packed(&graph, order.clone(), &demand, &routes, Prefer::Balance, most, by_source);
            check(&graph, &trees, &updown);
            let trees = build(&graph, &trees);
            let all = (0..demand.sources()).flat_map(|s| (0..n as u32).map(move |d| (s, d)));
            for (source, d) in all.filter(|(source, d)| demand.switch(*source) != *d) {
                let (s, lane) = (demand.switch(source), source % demand.lanes);
                let (mut at, mut hops) = (SwitchId(s), 0);
                for tree_segment in updown.tree_segments(SwitchId(s), SwitchId(d), lane) {
                    hops += trees[tree_segment.tree.index()].distance(at, tree_segment.to);
                    at = tree_segment.to;
                }
                prop_assert_eq!(at, SwitchId(d));
                prop_assert!(hops == routes.hops(source, d) || most == 2, "{} to {}: {}", s, d, hops);
            }
        }
    }
}

/// With many switches, placing by source is no waste of trees.
#[test]
fn by_source_needs_hardly_more_trees() {
    for transit in [0, 4] {
        let graph = Graph::from_edges(128, &random::regular(128, 4, 1));
        let (nodes, transit) = ([4; 128], [transit; 128]);
        let demand = SwitchDemand::new(&graph, &nodes, &transit);
        let (order, _, routes) = choose(&graph, None, &demand);
        let trees = [false, true].map(|by_source| {
            Updown::packed(
                &graph,
                order.clone(),
                &demand,
                &routes,
                Prefer::Balance,
                4093,
                by_source,
            )
            .0
            .len()
        });
        assert!(trees[1] <= trees[0] * 11 / 10, "{trees:?}");
    }
}

/// By Bellman and Ford over (switch, going down?).
fn shortest_legal(graph: &Graph, order: &Order) -> Vec<u32> {
    let n = graph.switches();
    let mut all = Vec::new();
    for s in 0..n {
        let mut hops = vec![[u32::MAX - 1; 2]; n];
        hops[s][0] = 0;
        for _ in 0..2 * n {
            for c in 0..graph.channels() as u32 {
                let (a, b) = (graph.tail(c) as usize, graph.head(c) as usize);
                let up = order.is_up(graph, c);
                let from = if up { hops[a][0] } else { hops[a][0].min(hops[a][1]) };
                let to = &mut hops[b][usize::from(!up)];
                *to = (*to).min(from + 1);
            }
        }
        all.extend(hops.iter().map(|h| h[0].min(h[1])));
    }
    all
}
