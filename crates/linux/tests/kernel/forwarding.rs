//! Nexthop objects, groups, routes; what fails and what stays.

use libtest_mimic::Trial;
use tresse_base::id::Label;
use tresse_linux::kernel::{OperationStatus, execute, observe};
use tresse_namespace::{Feature, eventually, ip, ip_json, trial};
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, NEXTHOP_BASE, Operation, PROTOCOL};

use crate::cables::cables;
use crate::interfaces::{address, done, neighbour, tresse0};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("routes_go_through_weighted_groups", &[], routes_go_through_weighted_groups),
        trial("replacing_changes_only_what_exists", &[], replacing),
        trial("deleting_leaves_nothing_of_ours", &[], deleting),
        trial("k15_excl_leaves_foreign_routes", &[], excl_leaves_foreign_routes),
        trial("k15_deleting_leaves_foreign_routes", &[], deleting_leaves_foreign_routes),
        trial("a_failed_batch_says_what_was_done", &[], partial_failure),
        trial("k01_carrier_loss_deletes_nexthops_and_routes", &[], carrier_loss),
        trial("k01_backup_route_takes_over", &[], backup_takes_over),
        trial("prefsrc_needs_the_node_address", &[], prefsrc_needs_the_node_address),
        trial("vm_label_stacks_round_trip", &[Feature::Mpls], label_stacks),
    ]
}

const N1: u32 = NEXTHOP_BASE + 1;
const N2: u32 = NEXTHOP_BASE + 2;
const G: u32 = NEXTHOP_BASE + 16;
const G2: u32 = NEXTHOP_BASE + 17;

pub fn nexthop(id: u32, interface: &str, via: &str) -> Operation {
    Operation::AddNexthop {
        id,
        interface: interface.into(),
        via: via.parse().unwrap(),
        labels: Vec::new(),
    }
}

pub fn group(id: u32, members: &[(u32, u8)], replace: bool) -> Operation {
    Operation::AddGroup { id, members: members.to_vec(), replace }
}

pub fn route(dst: &str, metric: u32, src: &str, group: u32, replace: bool) -> Operation {
    Operation::AddRoute {
        dst: dst.parse().unwrap(),
        metric,
        group,
        src: Some(src.parse().unwrap()),
        mtu: Some(1496),
        advmss: Some(1456),
        replace,
    }
}

fn node(nics: usize) {
    cables(nics);
    done(&tresse0());
    done(&[address("tresse0", "10.77.0.1"), address("tresse0", "fd77::1")]);
    for n in 0..nics {
        let interface = format!("eth{n}");
        done(&[
            address(&interface, "10.78.0.1"),
            address(&interface, "fd78::1"),
            neighbour(&interface, "10.78.0.2", [2, 0, 0, 0, 0, 2], false),
            neighbour(&interface, "fd78::2", [2, 0, 0, 0, 0, 2], false),
        ]);
    }
}

fn routes_go_through_weighted_groups() {
    node(2);
    done(&[
        nexthop(N1, "eth0", "10.78.0.2"),
        nexthop(N2, "eth1", "10.78.0.2"),
        nexthop(N1 + 4, "eth0", "fd78::2"),
        group(G, &[(N1, 1), (N2, 255)], false),
        group(G2, &[(N1 + 4, 7)], false),
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G, false),
        route("fd77::2/128", METRIC_PRIMARY, "fd77::1", G2, false),
    ]);
    let groups = ip_json(&format!("nexthop show id {G}"));
    assert_eq!(groups[0]["group"][0]["id"], N1);
    assert_eq!(groups[0]["group"][1]["weight"], 255);
    let plain = &ip_json(&format!("nexthop show id {N1}"))[0];
    assert_eq!((&plain["gateway"], &plain["dev"]), (&"10.78.0.2".into(), &"eth0".into()));
    assert_eq!(plain["flags"][0], "onlink");
    let seen = &ip_json("route show 10.77.0.2")[0];
    assert_eq!((&seen["nhid"], &seen["prefsrc"]), (&G.into(), &"10.77.0.1".into()));
    assert_eq!((&seen["metric"], &seen["protocol"]), (&METRIC_PRIMARY.into(), &"78".into()));
    assert_eq!(seen["metrics"][0]["mtu"], 1496);
    assert_eq!(seen["metrics"][0]["advmss"], 1456);
    assert_eq!(ip_json("-6 route show fd77::2")[0]["nhid"], G2);

    let observed = observe([]).unwrap();
    assert_eq!(observed.nexthops.len(), 5);
    assert!(observed.nexthops.values().all(|n| n.protocol == PROTOCOL));
    assert_eq!(observed.nexthops[&G].group, [(N1, 1), (N2, 255)]);
    assert_eq!(observed.nexthops[&N2].interface.as_deref(), Some("eth1"));
    assert_eq!(observed.nexthops[&(N1 + 4)].via, Some("fd78::2".parse().unwrap()));
    for (dst, src, group) in [("10.77.0.2/32", "10.77.0.1", G), ("fd77::2/128", "fd77::1", G2)] {
        let route = &observed.routes[&(dst.parse().unwrap(), METRIC_PRIMARY)];
        assert_eq!((route.protocol, route.nexthop), (PROTOCOL, Some(group)));
        assert_eq!(route.src, Some(src.parse().unwrap()));
        assert_eq!((route.mtu, route.advmss, &route.interface), (Some(1496), Some(1456), &None));
    }
}

fn replacing() {
    node(2);
    done(&[
        nexthop(N1, "eth0", "10.78.0.2"),
        nexthop(N2, "eth1", "10.78.0.2"),
        group(G, &[(N1, 1)], false),
        group(G2, &[(N2, 1)], false),
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G, false),
        group(G, &[(N2, 3)], true),
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G2, true),
    ]);
    let observed = observe([]).unwrap();
    assert_eq!(observed.nexthops[&G].group, [(N2, 3)]);
    let key = ("10.77.0.2/32".parse().unwrap(), METRIC_PRIMARY);
    assert_eq!(observed.routes[&key].nexthop, Some(G2));
    assert_eq!(observed.routes.len(), 1 + foreign_routes(&observed));
    for absent in [
        group(G + 9, &[(N1, 1)], true),
        route("10.77.0.9/32", METRIC_PRIMARY, "10.77.0.1", G, true),
    ] {
        let outcome = execute(&[absent]);
        assert_eq!(outcome.errors[0].1.errno(), Some(libc::ENOENT), "{:?}", outcome.errors);
    }
}

fn foreign_routes(observed: &tresse_reconcile::Observed) -> usize {
    observed.routes.values().filter(|r| r.protocol != PROTOCOL).count()
}

fn deleting() {
    node(1);
    done(&[
        nexthop(N1, "eth0", "10.78.0.2"),
        group(G, &[(N1, 1)], false),
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G, false),
        route("10.77.0.2/32", METRIC_BACKUP, "10.77.0.1", G, false),
    ]);
    done(&[
        Operation::DeleteRoute { dst: "10.77.0.2/32".parse().unwrap(), metric: METRIC_BACKUP },
        Operation::DeleteRoute { dst: "10.77.0.2/32".parse().unwrap(), metric: METRIC_PRIMARY },
        Operation::DeleteNexthop { id: G },
        Operation::DeleteNexthop { id: N1 },
    ]);
    let observed = observe([]).unwrap();
    assert!(observed.nexthops.is_empty());
    assert_eq!(observed.routes.len(), foreign_routes(&observed));
}

fn excl_leaves_foreign_routes() {
    node(1);
    ip(&format!("route add 10.77.0.2/32 dev eth0 metric {METRIC_PRIMARY} proto static"));
    ip(&format!("nexthop add id {N2} via 10.78.0.2 dev eth0 onlink proto static"));
    done(&[nexthop(N1, "eth0", "10.78.0.2"), group(G, &[(N1, 1)], false)]);
    for operation in [
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G, false),
        nexthop(N2, "eth0", "10.78.0.2"),
    ] {
        let outcome = execute(&[operation]);
        assert_eq!(outcome.status, [OperationStatus::Failed]);
        let error = &outcome.errors[0].1;
        assert_eq!(error.errno(), Some(libc::EEXIST));
        assert!(error.to_string().contains("never replaced"), "{error}");
    }
    let observed = observe([]).unwrap();
    assert_eq!(observed.nexthops[&N2].protocol, 4, "proto static");
    let seen = &observed.routes[&("10.77.0.2/32".parse().unwrap(), METRIC_PRIMARY)];
    assert_eq!((seen.protocol, seen.interface.as_deref()), (4, Some("eth0")));
}

fn deleting_leaves_foreign_routes() {
    node(1);
    ip(&format!("route add 10.77.0.2/32 dev eth0 metric {METRIC_PRIMARY} proto static"));
    ip(&format!("-6 route add fd77::2/128 dev eth0 metric {METRIC_PRIMARY} proto static"));
    let outcome =
        execute(&["10.77.0.2/32", "fd77::2/128"].map(|dst| Operation::DeleteRoute {
            dst: dst.parse().unwrap(),
            metric: METRIC_PRIMARY,
        }));
    assert_eq!(outcome.status, [OperationStatus::Absent; 2], "{:?}", outcome.errors);
    assert_eq!(ip_json("route show 10.77.0.2")[0]["protocol"], "static");
    assert_eq!(ip_json("-6 route show fd77::2")[0]["protocol"], "static");
}

/// Routes 3 and 900 of 1,500 are refused: the rest of their first batch is done, what comes after
/// that batch is not sent.
fn partial_failure() {
    node(1);
    done(&[nexthop(N1, "eth0", "10.78.0.2"), group(G, &[(N1, 1)], false)]);
    ip(&format!("route add 10.79.0.3/32 dev eth0 metric {METRIC_PRIMARY} proto static"));
    let mut operations: Vec<_> = (0..1500)
        .map(|n| {
            let dst = format!("10.79.{}.{}/32", n / 256, n % 256);
            route(&dst, METRIC_PRIMARY, "10.77.0.1", G, false)
        })
        .collect();
    operations[7] = route("10.79.9.9/32", METRIC_PRIMARY, "10.77.0.1", G + 5, false);
    let outcome = execute(&operations);
    let failed: Vec<_> = outcome.errors.iter().map(|(i, e)| (*i, e.errno())).collect();
    assert_eq!(failed, [(3, Some(libc::EEXIST)), (7, Some(libc::EINVAL))]);
    let message = outcome.errors[1].1.to_string();
    assert!(message.contains("10.79.9.9/32") && message.contains("kernel says"), "{message}");
    let routes = observe([]).unwrap().routes;
    for (index, operation) in operations.iter().enumerate() {
        let Operation::AddRoute { dst, metric, .. } = operation else { unreachable!() };
        let there = routes.get(&(*dst, *metric)).is_some_and(|r| r.protocol == PROTOCOL);
        let said = outcome.status[index] == OperationStatus::Done;
        assert_eq!(there, said, "operation {index}: {:?}", outcome.status[index]);
    }
    assert_eq!(outcome.done().count(), 510, "one batch less two");
    assert_eq!(outcome.status[512], OperationStatus::NotSent);
}

fn carrier_loss() {
    node(1);
    done(&[
        nexthop(N1, "eth0", "10.78.0.2"),
        group(G, &[(N1, 1)], false),
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G, false),
    ]);
    ip("link set far0 down");
    eventually("nexthops are gone", || observe([]).unwrap().nexthops.is_empty());
    let observed = observe([]).unwrap();
    assert_eq!(observed.routes.len(), foreign_routes(&observed));
    assert_eq!(observed.neighbours.len(), 2, "permanent neighbours stay");
    assert!(!observed.links["eth0"].carrier && observed.links["eth0"].up);
    let outcome = execute(&[nexthop(N1, "eth0", "10.78.0.2")]);
    let message = outcome.errors[0].1.to_string();
    assert!(message.contains("Carrier for nexthop device is down"), "{message}");
    assert!(message.contains("installed when it is up"), "{message}");
    let outcome = execute(&[group(G, &[(N1, 1)], true)]);
    assert_eq!(outcome.status, [OperationStatus::Failed], "a lost group is not rebuilt unseen");
}

fn backup_takes_over() {
    node(2);
    done(&[
        nexthop(N1, "eth0", "10.78.0.2"),
        nexthop(N2, "eth1", "10.78.0.2"),
        group(G, &[(N1, 1)], false),
        group(G2, &[(N2, 1)], false),
        route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", G, false),
        route("10.77.0.2/32", METRIC_BACKUP, "10.77.0.1", G2, false),
    ]);
    let device = || ip_json("route get 10.77.0.2")[0]["dev"].clone();
    assert_eq!(device(), "eth0");
    ip("link set far0 down");
    eventually("the backup carries", || device() == "eth1");
}

fn prefsrc_needs_the_node_address() {
    node(1);
    done(&[nexthop(N1, "eth0", "10.78.0.2"), group(G, &[(N1, 1)], false)]);
    let outcome = execute(&[route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.66", G, false)]);
    let message = outcome.errors[0].1.to_string();
    assert!(message.contains("node address must be on tresse0"), "{message}");
}

fn label_stacks() {
    node(1);
    let labels = vec![Label(100), Label(1_048_575)];
    done(&[Operation::AddNexthop {
        id: N1,
        interface: "eth0".into(),
        via: "10.78.0.2".parse().unwrap(),
        labels: labels.clone(),
    }]);
    assert_eq!(observe([]).unwrap().nexthops[&N1].labels, labels);
    assert!(ip(&format!("nexthop show id {N1}")).contains("encap mpls  100/1048575"));
}
