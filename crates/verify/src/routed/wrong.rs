//! Wrong routes in the place of the plan's: each must give a violation.

use std::collections::BTreeMap;

use tresse_base::id::NodeId;
use tresse_plan::{FoundRoutes, NodeRoutes, Plan};
use tresse_topology::Hop;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::check;
use super::fabric::Lookup;

/// The plan's routes, but for those planted here.
struct Planted<'a> {
    right: NodeRoutes<'a>,
    /// By (node, destination).
    main: BTreeMap<(u32, u32), Hop>,
    backup: BTreeMap<(u32, u32), Hop>,
    /// By (node, NIC of arrival, destination).
    table: BTreeMap<(u32, usize, u32), Hop>,
}

impl Lookup for Planted<'_> {
    fn main_of_all(&self, to: NodeId, hops: &mut Vec<Hop>) {
        self.right.main_of_all(to, hops);
        let planted = self.main.iter().filter(|((_, dst), _)| *dst == to.0);
        planted.for_each(|((at, _), hop)| hops[*at as usize] = *hop);
    }

    fn find(&self, at: NodeId, came: Option<usize>, to: NodeId) -> FoundRoutes {
        let FoundRoutes { table, main } = self.right.find(at, came, to);
        let planted = came.and_then(|came| self.table.get(&(at.0, came, to.0)).copied());
        let main = self.main.get(&(at.0, to.0)).copied().unwrap_or(main);
        FoundRoutes { table: planted.or(table), main }
    }

    fn backup(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        self.backup.get(&(at.0, to.0)).copied().or_else(|| self.right.backup(at, to))
    }
}

/// The violations of a fabric's plan with some routes planted, by kind and object.
fn found(
    kind: TopologyShape,
    plant: impl Fn(&Plan, &mut Planted<'_>),
) -> Vec<(&'static str, String)> {
    let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
    let mut routes = Planted {
        right: plan.node_routes().unwrap(),
        main: BTreeMap::new(),
        backup: BTreeMap::new(),
        table: BTreeMap::new(),
    };
    assert_eq!(check(&plan, &routes).violations, []);
    plant(&plan, &mut routes);
    let report = check(&plan, &routes);
    report.violations.into_iter().map(|finding| (finding.kind, finding.object)).collect()
}

/// The hop from a node to one of its neighbours, by the cables of the cluster.
fn hop(plan: &Plan, at: u32, to: u32) -> Hop {
    let nics = plan.cluster().node(NodeId(at)).nics.iter().enumerate();
    let ends = nics.filter_map(|(nic, own)| own.peer.map(|end| (nic, end)));
    let (nic, end) = ends.into_iter().find(|(_, end)| end.node.0 == to).unwrap();
    Hop { nic, to: NodeId(to), to_nic: end.nic }
}

fn torus() -> TopologyShape {
    TopologyShape::DirectTorus { dims: vec![5, 5] }
}

fn pmesh(lines_per_switch: u32) -> TopologyShape {
    TopologyShape::Pmesh { dims: vec![3, 3], grow_to: vec![3, 3], lines_per_switch }
}

#[test]
fn a_nexthop_that_no_cable_leads_to_is_found() {
    // The plan names the neighbour, but says that the cable of the NIC leads to another.
    let wrong = found(torus(), |plan, routes| {
        let right = hop(plan, 0, 1);
        routes.main.insert((0, 1), Hop { nic: hop(plan, 0, 5).nic, ..right });
    });
    assert!(wrong.contains(&("unreachable", "n00 n01".into())), "{wrong:?}");
    // A NIC, and a node, that do not exist.
    for beyond in
        [Hop { nic: 9, to: NodeId(1), to_nic: 0 }, Hop { nic: 0, to: NodeId(99), to_nic: 0 }]
    {
        let wrong = found(torus(), |_, routes| {
            routes.main.insert((0, 1), beyond);
        });
        assert!(wrong.contains(&("unreachable", "n00 n01".into())), "{wrong:?}");
        let wrong = found(torus(), |_, routes| {
            routes.backup.insert((7, 2), beyond);
        });
        assert_eq!(wrong, [("unreachable", "n07 n02".into())]);
    }
}

/// Lines are apart whether each has a switch or a VLAN of its own.
#[test]
fn a_nexthop_on_another_line_is_found() {
    for lines_per_switch in [1, 3] {
        let wrong = found(pmesh(lines_per_switch), |_, routes| {
            routes.main.insert((0, 1), Hop { nic: 1, to: NodeId(1), to_nic: 1 });
        });
        assert!(wrong.contains(&("unreachable", "n0 n1".into())), "{wrong:?}");
    }
}

#[test]
fn a_nexthop_that_sends_back_is_a_loop() {
    let wrong = found(torus(), |plan, routes| {
        routes.main.insert((1, 2), hop(plan, 1, 0));
    });
    assert!(wrong.iter().any(|(kind, _)| *kind == "routing-loop"), "{wrong:?}");
    let wrong = found(pmesh(3), |_, routes| {
        routes.main.insert((1, 2), Hop { nic: 0, to: NodeId(0), to_nic: 0 });
        routes.main.insert((0, 2), Hop { nic: 0, to: NodeId(1), to_nic: 0 });
    });
    assert!(wrong.iter().any(|(kind, _)| *kind == "routing-loop"), "{wrong:?}");
}

/// The long way round: it arrives, and every cable is right.
#[test]
fn a_primary_that_makes_a_detour_is_found() {
    let wrong = found(torus(), |plan, routes| {
        routes.main.insert((0, 1), hop(plan, 0, 5));
    });
    assert_eq!(wrong[0], ("not-minimal", "n00 n01".into()));
    let wrong = found(pmesh(1), |_, routes| {
        routes.main.insert((0, 1), Hop { nic: 0, to: NodeId(2), to_nic: 0 });
    });
    assert_eq!(wrong[0], ("not-minimal", "n0 n1".into()));
}

#[test]
fn a_backup_that_goes_round_or_protects_nothing_is_found() {
    // The backup of 0 -> 1 is 0 -> 5 -> 6 -> 1. Nodes 5 and 6 send each other its packets.
    let wrong = found(torus(), |plan, routes| {
        assert_eq!(routes.right.backup(NodeId(0), NodeId(1)).unwrap().to, NodeId(5));
        routes.table.insert((6, hop(plan, 5, 6).to_nic, 1), hop(plan, 6, 5));
        routes.table.insert((5, hop(plan, 6, 5).to_nic, 1), hop(plan, 5, 6));
    });
    assert!(wrong.contains(&("routing-loop", "n00 n01".into())), "{wrong:?}");
    // The primary of 5 -> 1 goes there too.
    assert!(wrong.contains(&("redirected", "n05 n01".into())), "{wrong:?}");
    // By the NIC whose failure it is for.
    let wrong = found(torus(), |plan, routes| {
        routes.backup.insert((0, 1), hop(plan, 0, 1));
    });
    assert_eq!(wrong, [("routing-loop", "n00 n01".into())]);
}

/// 0 to 1 by 2 is a step aside; by 2, 3, 4 and 5 it is too much.
#[test]
fn a_backup_that_makes_a_detour_is_found() {
    let wrong = found(TopologyShape::FullMesh { nodes: 6 }, |plan, routes| {
        assert_eq!(routes.right.backup(NodeId(0), NodeId(1)).unwrap().to, NodeId(2));
        for (before, at, next) in [(0, 2, 3), (2, 3, 4), (3, 4, 5)] {
            routes.table.insert((at, hop(plan, before, at).to_nic, 1), hop(plan, at, next));
        }
    });
    assert!(wrong.contains(&("not-minimal", "n0 n1".into())), "{wrong:?}");
}
