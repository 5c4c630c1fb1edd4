//! `transit` beside `updown` where each switch has one node only: a node in transit pays with its one
//! link.

use tresse_base::id::SwitchId;
use tresse_plan::Plan;
use tresse_routing::SwitchDemand;
use tresse_routing::reflect::{LinearProgram, PairFlow};
use tresse_routing::updown::{Order, Updown};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};
use tresse_topology::{Channel, Graph};
use tresse_verify::{self, Report};

const UPDOWN: Strategy = Strategy::Updown { root: None };
const TRANSIT: Strategy = Strategy::Transit { root: None };

fn both(kind: &TopologyShape) -> [Report; 2] {
    [UPDOWN, TRANSIT].map(|strategy| {
        tresse_verify::check(
            &Plan::build(Cluster::generated(kind.clone(), 1, 1, strategy, 1)).unwrap(),
        )
    })
}

/// On a mesh all legal paths are minimal: nothing needs to turn.
#[test]
fn transit_is_never_below_updown_on_a_mesh() {
    for dims in [&[3, 3][..], &[2, 5], &[4, 4], &[5, 3], &[9], &[2, 3, 2], &[3, 3, 3], &[6, 5]] {
        let [updown, transit] = both(&TopologyShape::Mesh { dims: dims.into() });
        let what =
            format!("{dims:?}: {} and {}", updown.ideal_throughput, transit.ideal_throughput);
        assert!(transit.ideal_throughput >= updown.ideal_throughput, "{what}");
        assert!(transit.minimal && transit.deadlock_free, "{what}");
    }
}

/// Where `transit` is below, `check` says so, and that it must be where few pairs prove it.
#[test]
fn check_says_where_minimal_paths_cost_throughput() {
    let torus = |dims: &[u32]| TopologyShape::Torus { dims: dims.into() };
    let irregular = |seed| TopologyShape::Irregular { switches: 16, ports: 5, seed };
    for (kind, proved) in [
        (torus(&[5]), true),
        (torus(&[7]), true),
        (torus(&[9]), true),
        (torus(&[5, 4]), false),
        (irregular(1), true),
        (irregular(5), true),
    ] {
        let [updown, transit] = both(&kind);
        assert!(transit.minimal && transit.ideal_throughput < updown.ideal_throughput, "{kind:?}");
        let note = transit.notes.iter().find(|note| note.kind == "below-updown").unwrap();
        assert_eq!(
            note.message.contains("from whatever root, some transit node"),
            proved,
            "{note}"
        );
        let ideal = format!("{:.4} by updown", updown.ideal_throughput);
        assert!(note.message.contains(&ideal), "{note}");
    }
    for kind in [torus(&[4, 4]), torus(&[6, 6]), torus(&[5, 5])] {
        let [updown, transit] = both(&kind);
        let ideals = (updown.ideal_throughput, transit.ideal_throughput);
        assert!(ideals.1 >= ideals.0, "{kind:?}: {ideals:?}");
        assert!(transit.notes.iter().all(|note| note.kind != "below-updown"), "{kind:?}");
    }
}

/// The proof for a torus of 5 x 4, where no pair alone is enough: by linear programs over all minimal
/// paths, split as one likes, some link carries more than the 25 that updown needs, whatever the root.
#[test]
fn no_minimal_ways_reach_updown_on_a_torus_of_5_by_4() {
    let cluster = Cluster::generated(TopologyShape::Torus { dims: vec![5, 4] }, 1, 1, TRANSIT, 1);
    let graph = Graph::new(&cluster);
    let without = SwitchDemand::new(&graph, &[1; 20], &[0; 20]);
    let updown = Updown::routes(&graph, None, &without).unwrap().2.cost(&without).0;
    // By symmetry all roots of a torus are alike but for ties between equal levels, which go by index.
    for root in [0, 7, 19] {
        let order = Order::new(&graph, root);
        let least = optimum(&graph, &order);
        assert!(least > updown as f64 + 1e-6, "root {root}: {least} and {updown}");
    }
}

/// The lowest highest load that minimal paths can have, split among all of them at will, each link with
/// capacity 1; a switch has one node, whose link carries its own 19 paths.
fn optimum(graph: &Graph, order: &Order) -> f64 {
    let (n, channels) = (graph.switches(), graph.channels());
    let mut network =
        LinearProgram { capacity: vec![1.0; channels + n], ..LinearProgram::default() };
    network.fixed = vec![0.0; channels];
    network.fixed.resize(channels + n, n as f64 - 1.0);
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    for d in 0..n as u32 {
        graph.distances(d, &mut distance, &mut queue);
        for s in (0..n as u32).filter(|s| *s != d) {
            let mut paths = Vec::new();
            extend(graph, &distance, s, &mut Vec::new(), &mut paths);
            let uses = |path: &Vec<Channel>| {
                let up = |c: Channel| order.is_up(graph, c);
                let turns = path.windows(2).filter(|pair| !up(pair[0]) && up(pair[1]));
                let turns = turns.map(|pair| (channels as u32 + graph.tail(pair[1]), 1.0));
                path.iter().map(|c| (*c, 1.0)).chain(turns).collect()
            };
            network.flows.push(PairFlow { weight: 1.0, paths: paths.iter().map(uses).collect() });
        }
    }
    network.optimum().unwrap().congestion
}

/// All paths on from `at` that come nearer with each step.
fn extend(
    graph: &Graph,
    distance: &[u32],
    at: u32,
    path: &mut Vec<Channel>,
    paths: &mut Vec<Vec<Channel>>,
) {
    let hops = |s: u32| distance[SwitchId(s).index()];
    if hops(at) == 0 {
        return paths.push(path.clone());
    }
    for c in graph.out(at).filter(|c| hops(graph.head(*c)) < hops(at)) {
        path.push(c);
        extend(graph, distance, graph.head(c), path, paths);
        path.pop();
    }
}
