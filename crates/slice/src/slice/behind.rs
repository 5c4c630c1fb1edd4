//! Packets to networks behind nodes, looked up and judged as kernels would by what slices install.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::kernel::TUNNEL_INTERFACE;
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_reconcile::{
    GuardAction, GuardParts, GuardRule, METRIC_PRIMARY, Nexthop, TunnelEnd, Wanted,
};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::Slice;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A fabric with a network behind each second node.
fn plan(kind: TopologyShape, change: impl FnOnce(&mut Cluster)) -> Plan {
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
    for (k, node) in cluster.nodes.iter_mut().enumerate().step_by(2) {
        node.prefixes = vec![format!("192.168.{k}.0/24").parse().unwrap()];
    }
    change(&mut cluster);
    Plan::build(cluster).unwrap()
}

fn installed(plan: &Plan) -> Vec<Wanted> {
    let nodes = (0..plan.cluster().nodes.len()).map(NodeId::from);
    nodes.map(|node| Slice::of(plan, node).without_daemon()).collect()
}

/// What the policy rules say of a packet that arrived by an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Drop,
    Pass,
    /// To its destination through the tunnel to gateways.
    Back,
}

/// Do the policy rules let a packet on that arrived by a NIC?
fn passes(wanted: &Wanted, came: &str, from: IpAddr, to: IpAddr) -> bool {
    judged(wanted, came, from, to) == Verdict::Pass
}

fn judged(wanted: &Wanted, came: &str, from: IpAddr, to: IpAddr) -> Verdict {
    let mut rules: Vec<GuardParts> = wanted.guard.iter().map(GuardRule::parts).collect();
    rules.sort_by_key(|rule| rule.priority);
    let matches = |rule: &GuardParts| {
        rule.ipv4 == from.is_ipv4()
            && rule.from.is_none_or(|prefix| prefix.contains(from))
            && rule.to.is_none_or(|prefix| prefix.contains(to))
            && rule.interface.as_deref().is_none_or(|nic| nic == came)
    };
    let mut least = 0;
    while let Some(rule) = rules.iter().find(|rule| rule.priority >= least && matches(rule)) {
        match rule.action {
            GuardAction::Blackhole => return Verdict::Drop,
            GuardAction::Goto(priority) => least = priority,
            GuardAction::Nop => return Verdict::Pass,
            GuardAction::Table(table) => {
                assert_eq!(table, GuardRule::BACK_TABLE);
                if wanted.back.keys().any(|dst| dst.contains(to)) {
                    return Verdict::Back;
                }
                least = rule.priority + 1;
            }
        }
    }
    Verdict::Pass
}

/// The nexthop by the table for what arrives by a NIC, or else by the main one.
fn next<'a>(wanted: &'a Wanted, came: Option<&str>, to: IpAddr) -> Option<&'a Nexthop> {
    let tables = wanted.xy.tables.iter();
    let of_nic = tables.filter(|((nic, dst), _)| Some(nic.as_str()) == came && dst.contains(to));
    let of_nic = of_nic.max_by_key(|((_, dst), _)| dst.len).map(|(_, nexthop)| nexthop);
    let main = wanted.routes.iter().filter(|((dst, _), _)| dst.contains(to));
    let main = main.max_by_key(|((dst, metric), _)| (dst.len, *metric == METRIC_PRIMARY));
    of_nic.or_else(|| main.map(|(_, route)| &route.nexthops[0]))
}

/// The node at which a packet leaves the fabric, or why it does not.
fn leaves(
    plan: &Plan,
    all: &[Wanted],
    at: usize,
    from: IpAddr,
    to: IpAddr,
) -> Result<usize, String> {
    let (mut at, mut came) = (at, None::<String>);
    for _ in 0..=all.len() {
        let (node, wanted) = (&plan.cluster().nodes[at], &all[at]);
        if let Some(came) = &came
            && !passes(wanted, came, from, to)
        {
            return Err(format!("{} drops it", node.name));
        }
        let is_own = node.prefixes.iter().any(|prefix: &Prefix| prefix.contains(to));
        let Some(nexthop) = next(wanted, came.as_deref(), to).filter(|_| !is_own) else {
            return if is_own { Ok(at) } else { Err(format!("{} has no route", node.name)) };
        };
        let receives = |wanted: &Wanted| {
            let of = wanted.addresses.iter().find(|(_, address)| *address == nexthop.via);
            of.map(|(nic, _)| nic.clone())
        };
        let (there, nic) =
            all.iter().enumerate().find_map(|(k, w)| Some((k, receives(w)?))).unwrap();
        (at, came) = (there, Some(nic));
    }
    Err("it circles".into())
}

fn kinds() -> [TopologyShape; 4] {
    [
        TopologyShape::Ring { nodes: 6 },
        TopologyShape::DirectTorus { dims: vec![3, 3] },
        TopologyShape::Pmesh { dims: vec![3, 3], grow_to: vec![3, 3], lines_per_switch: 1 },
        TopologyShape::FullMesh { nodes: 4 },
    ]
}

#[test]
fn networks_behind_nodes_are_reached_from_everywhere_inside() {
    for kind in kinds() {
        let plan = plan(kind, |_| {});
        let all = installed(&plan);
        for (from, to) in plan.pairs().filter(|(_, to)| to.index().is_multiple_of(2)) {
            let dst = address(&format!("192.168.{}.7", to.0));
            let mut sources = plan.addresses().node[from.index()].clone();
            sources.extend(plan.addresses().nic[from.index()].iter().flatten());
            if from.index().is_multiple_of(2) {
                sources.push(address(&format!("192.168.{}.9", from.0)));
            }
            for src in sources {
                let found = leaves(&plan, &all, from.index(), src, dst);
                assert_eq!(found, Ok(to.index()), "{src} at {from:?} to {dst}");
            }
            // Nothing else is let on: neither from elsewhere nor to there.
            let outside = address("8.8.8.8");
            let nics = &plan.cluster().nodes[to.index()].nics;
            for nic in nics {
                let wanted = &all[to.index()];
                assert!(!passes(wanted, &nic.name, outside, dst));
                assert!(!passes(wanted, &nic.name, dst, outside));
            }
        }
    }
}

/// Where nodes do not route, each node sends to the first gateway by planned paths alone. Where they do, through a tunnel.
#[test]
fn gateways_are_used_in_their_order() {
    let kinds = [
        (TopologyShape::Torus { dims: vec![3, 3] }, Strategy::Dor),
        (TopologyShape::Ring { nodes: 6 }, Strategy::Xy),
    ];
    for (kind, strategy) in kinds {
        let mut cluster = Cluster::generated(kind, 1, 1, strategy, 2);
        cluster.nodes[3].gateway = true;
        cluster.nodes[1].gateway = true;
        cluster.nodes[1].gateway_order = 1;
        let plan = Plan::build(cluster).unwrap();
        let everything: Prefix = "0.0.0.0/0".parse().unwrap();
        for (node, wanted) in installed(&plan).iter().enumerate() {
            let gateways = [3, 1].map(|gateway| plan.addresses().node[gateway][0]);
            let expected = (node != 1 && node != 3).then_some(gateways);
            assert_eq!(
                wanted.behind.get(&everything).map(Vec::as_slice),
                expected.as_ref().map(|e| &e[..])
            );
            let route = wanted.routes.get(&(everything, METRIC_PRIMARY));
            let to_first = wanted.routes.get(&(Prefix::host(gateways[0]), METRIC_PRIMARY));
            if strategy == Strategy::Dor {
                assert_eq!(route, to_first.filter(|_| expected.is_some()));
            } else {
                let by_tunnel = expected.map(|_| {
                    let interface = TUNNEL_INTERFACE.into();
                    let via = gateways[0];
                    Nexthop { interface, via, labels: Vec::new(), weight: 1 }
                });
                let nexthops = route.map(|route| route.nexthops.clone());
                assert_eq!(nexthops, by_tunnel.map(|nexthop| vec![nexthop]));
                assert!(route.is_none_or(|route| (route.mtu, route.advmss) == (1450, 1410)));
            }
            assert_eq!(wanted.open, node == 1 || node == 3);
        }
    }
}

/// By a gateway: from anywhere to the fabric, and out of it; but nothing that does not concern it. By no other node.
#[test]
fn a_gateway_lets_out_and_others_do_not() {
    let plan = plan(TopologyShape::Ring { nodes: 6 }, |cluster| cluster.nodes[3].gateway = true);
    let all = installed(&plan);
    let (own, far) = (plan.addresses().node[2][0], address("203.0.113.9"));
    let behind = address("192.168.2.7");
    for nic in ["eth0", "eth1", TUNNEL_INTERFACE] {
        assert_eq!(judged(&all[3], nic, far, own), Verdict::Back);
        assert_eq!(judged(&all[3], nic, far, behind), Verdict::Back);
        assert!(passes(&all[3], nic, behind, far) && passes(&all[3], nic, own, behind));
        assert!(!passes(&all[3], nic, far, address("8.8.8.8")));
        for other in [0, 1, 2, 4, 5] {
            assert!(!passes(&all[other], nic, far, own) && !passes(&all[other], nic, own, far));
            assert!(passes(&all[other], nic, own, address("192.168.4.1")));
            assert_eq!(passes(&all[other], nic, far, behind), other == 2);
        }
    }
    // From the world, and what the gateway itself sends.
    for nic in ["wan", "lo"] {
        assert_eq!(judged(&all[3], nic, far, own), Verdict::Back);
    }
    assert_eq!(judged(&all[3], "lo", address("0.0.0.0"), own), Verdict::Pass);
}

/// Of a tunnel each end knows the others, by one MAC address for each, and the least that its packets have room for.
#[test]
fn ends_of_the_tunnel_know_each_other() {
    let plan = plan(
        TopologyShape::Pmesh { dims: vec![3, 3], grow_to: vec![3, 3], lines_per_switch: 1 },
        |cluster| {
            cluster.nodes[4].gateway = true;
            cluster.nodes[7].gateway = true;
            cluster.addressing.nodes.push("fd77::/64".parse().unwrap());
            cluster.addressing.nics.push("fd78::/64".parse().unwrap());
        },
    );
    let all = installed(&plan);
    for (node, wanted) in all.iter().enumerate() {
        let link = &wanted.links[TUNNEL_INTERFACE];
        let others: Vec<usize> = match node {
            4 | 7 => (0..9).filter(|other| *other != node).collect(),
            _ => vec![4, 7],
        };
        assert_eq!(wanted.fdb.len(), others.len());
        for other in others {
            let [ipv4, ipv6] = plan.addresses().node[other][..] else { panic!("two families") };
            let mac = all[other].links[TUNNEL_INTERFACE].mac.unwrap();
            assert_ne!(link.mac, Some(mac));
            assert_eq!(wanted.fdb[&(TUNNEL_INTERFACE.to_owned(), mac)], ipv4);
            for address in [ipv4, ipv6] {
                let end = TunnelEnd { mac, at: ipv4 };
                let key = (TUNNEL_INTERFACE.to_owned(), end.via(address));
                assert_eq!(wanted.neighbours[&key].mac, mac);
                assert_eq!(wanted.back.contains_key(&Prefix::host(address)), wanted.open);
            }
        }
        let networks = (0..9).step_by(2).filter(|owner| *owner != node);
        let back = networks.filter(|owner| {
            wanted.back.contains_key(&format!("192.168.{owner}.0/24").parse().unwrap())
        });
        assert_eq!(
            back.count(),
            if node == 4 {
                4
            } else if node == 7 {
                5
            } else {
                0
            }
        );
    }
}

/// While plans change, a node that is a gateway in one of them lets out what that one does, and forwards inside as both do.
#[test]
fn while_plans_change_what_one_lets_out_passes() {
    for kind in [TopologyShape::Ring { nodes: 6 }, TopologyShape::Torus { dims: vec![3, 3] }] {
        let is_routed = matches!(kind, TopologyShape::Ring { .. });
        let strategy = if is_routed { Strategy::Xy } else { Strategy::Dor };
        let mut cluster = Cluster::generated(kind, 1, 1, strategy, 2);
        for node in [2, 3] {
            cluster.nodes[node].prefixes = vec![format!("192.168.{node}.0/24").parse().unwrap()];
        }
        let closed = installed(&Plan::build(cluster.clone()).unwrap());
        cluster.nodes[3].gateway = true;
        cluster.nodes[4].prefixes = vec!["192.168.4.0/24".parse().unwrap()];
        let open = installed(&Plan::build(cluster).unwrap());
        let mut both = open[3].clone();
        both.guard.extend(closed[3].guard.clone());
        both.guard = GuardRule::united(both.guard);
        let [far, inside, behind, new] =
            ["203.0.113.9", "10.77.0.2", "192.168.2.7", "192.168.4.7"].map(address);
        let nics: BTreeSet<_> = both.guard.iter().filter_map(GuardRule::arriving).collect();
        assert!(!nics.is_empty());
        for nic in nics {
            for (from, to) in [(inside, far), (behind, far), (inside, behind), (new, inside)] {
                assert_eq!(judged(&both, nic, from, to), Verdict::Pass, "{nic}: {from} to {to}");
            }
            let back = if is_routed { Verdict::Back } else { Verdict::Pass };
            assert_eq!(judged(&both, nic, far, behind), back);
            assert_eq!(judged(&both, nic, far, address("8.8.8.8")), Verdict::Drop);
        }
    }
}
