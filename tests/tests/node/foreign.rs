//! What is not ours stays as it is, and is named where it stands in the way (K15).

use tresse_control::{ClientError, NodeError};

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{answers, eventually, json, ours, restored, same, sh, snapshot};
use crate::rig::{FLAT, Rig, TWO_NICS};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("k15_foreign_objects_are_left_alone", foreign_objects_are_left_alone),
        ("flat_k15_a_shadowing_route_is_drift_and_stays", || shadowing_route(FLAT)),
        ("long_k15_a_shadowing_route_is_drift_and_stays", || shadowing_route(TWO_NICS)),
        ("flat_k15_an_overlapping_route_is_refused_by_name", || overlap_is_refused(FLAT)),
        ("long_k15_an_overlapping_route_is_refused_by_name", || overlap_is_refused(TWO_NICS)),
        ("k15_a_foreign_interface_of_our_name_is_refused", foreign_interface),
    ]
}

/// Made by others, some of it with our numbers and our protocol.
const FOREIGN: &str = "
    ip addr add 192.0.2.2/24 dev eth0
    ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:99 dev eth0 nud permanent
    ip nexthop add id 1409286144 via 192.0.2.1 dev eth0
    ip nexthop add id 77 via 192.0.2.1 dev eth0
    ip nexthop add id 78 group 77
    ip route add 198.51.100.0/24 nhid 78
    ip route add 203.0.113.0/24 via 192.0.2.1 metric 7800
    ip route add 203.0.113.0/25 via 192.0.2.1 metric 7801 proto static
    ip route add 203.0.113.64/26 via 192.0.2.1 proto 78
    ip link add tresse1 type dummy
    ip link set tresse1 up";

fn foreign_objects_are_left_alone() {
    let rig = Rig::new(TWO_NICS);
    sh(&rig.node(0), FOREIGN);
    let foreign = snapshot(&rig.node(0));
    let theirs = |what: &str| {
        let now = snapshot(&rig.node(0));
        let gone: Vec<_> = foreign
            .difference(&now)
            .filter(|line| !line.contains("fib_multipath_hash_policy"))
            .collect();
        assert!(gone.is_empty(), "{what}: {gone:#?}");
    };
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    theirs("install");
    for made in [
        "ip nexthop add id 1409286200 via 192.0.2.1 dev eth0",
        "ip route add 198.18.0.0/15 via 192.0.2.1 metric 7800",
        "ip neigh add 10.78.0.200 lladdr 02:00:00:00:00:98 dev eth1.2 nud permanent",
        "ip addr add 198.51.100.77/32 dev eth1.2",
    ] {
        sh(&rig.node(0), made);
    }
    daemons.remove(0).kill();
    let mut daemon = Daemon::start(&rig, 0, &Setup::default());
    daemon.in_sync();
    theirs("restart");
    assert_eq!(json(&rig.node(0), "ip -j nexthop show id 1409286200").len(), 1);
    assert_eq!(json(&rig.node(0), "ip -j route show 198.18.0.0/15").len(), 1);
    assert_eq!(json(&rig.node(0), "ip -j neigh show 10.78.0.200").len(), 1);
    // An interface of ours that others use stays until they have left.
    daemon.client().withdraw(false).unwrap();
    theirs("withdraw");
    assert!(daemon.log().contains("link eth1.2 is not wanted, but foreign"), "{}", daemon.log());
    assert_eq!(json(&rig.node(0), "ip -j neigh show 10.78.0.200").len(), 1);
}

fn shadowing_route(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = ours(&rig.node(0));
    sh(&rig.node(0), "ip route add 10.77.0.2/32 dev eth0 proto static");
    let mut client = daemons[0].client();
    eventually("the route is reported", || {
        let status = client.status().unwrap();
        let text = format!("{:?}", status.drift);
        if text.contains("10.77.0.2/32") && text.contains("eth0") { Ok(()) } else { Err(text) }
    });
    restored("ours stays beside it", &rig.node(0), &before);
    assert_eq!(json(&rig.node(0), "ip -j route show 10.77.0.2/32 proto static").len(), 1);
    sh(&rig.node(0), "ip route del 10.77.0.2/32 dev eth0 proto static");
    eventually("nothing is reported", || {
        let status = client.status().unwrap();
        if status.drift.is_empty() { Ok(()) } else { Err(format!("{:?}", status.drift)) }
    });
    restored("ours", &rig.node(0), &before);
}

fn overlap_is_refused(cluster: &str) {
    let rig = Rig::new(cluster);
    sh(&rig.node(0), "ip addr add 10.77.0.99/16 dev eth0");
    let before = snapshot(&rig.node(0));
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    let answer = daemon.client().apply(&request(cluster));
    let Err(ClientError::Node(NodeError::Refused { message, .. })) = &answer else {
        panic!("{answer:?}");
    };
    assert!(message.contains("10.77.0.0/16") && message.contains("eth0"), "{message}");
    same("a refused apply", &before, &snapshot(&rig.node(0)));
    let status = daemon.client().status().unwrap();
    assert_eq!(status.generation, None);
}

fn foreign_interface() {
    let rig = Rig::new(TWO_NICS);
    sh(&rig.node(0), "ip link add eth1.2 link eth1 type vlan id 2");
    let before = snapshot(&rig.node(0));
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    let answer = daemon.client().apply(&request(TWO_NICS));
    let Err(ClientError::Node(NodeError::Refused { message, .. })) = &answer else {
        panic!("{answer:?}");
    };
    assert!(message.contains("eth1.2"), "{message}");
    same("a refused apply", &before, &snapshot(&rig.node(0)));
}
