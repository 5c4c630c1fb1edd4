//! The way to the machine stays open (K19), and NICs in someone else's hands are not taken (K20).

use tresse_control::{ClientError, NodeError};

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{answers, json, same, sh, snapshot};
use crate::rig::{FLAT, Rig, TWO_NICS};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("k19_the_interface_of_the_default_route_is_only_added_to", default_route),
        ("k19_a_management_peer_is_never_taken_over", management_peer),
        ("flat_k20_a_nic_in_a_bridge_is_refused_by_name", || nic_in_a_bridge(FLAT)),
        ("long_k20_a_nic_in_a_bridge_is_refused_by_name", || nic_in_a_bridge(TWO_NICS)),
        ("flat_k09_a_nic_with_a_small_mtu_is_refused_not_changed", || small_mtu(FLAT)),
        ("k09_a_nic_with_a_small_mtu_is_refused_not_changed", || small_mtu(TWO_NICS)),
        ("flat_k16_a_nic_with_another_mac_is_refused_not_changed", || other_mac(FLAT)),
        ("long_k16_a_nic_with_another_mac_is_refused_not_changed", || other_mac(TWO_NICS)),
    ]
}

/// The NIC itself: address, MTU, state, addresses.
fn nic(rig: &Rig, name: &str) -> String {
    let link = json(&rig.node(0), &format!("ip -j -d addr show {name}")).remove(0);
    let keys = ["address", "mtu", "operstate", "flags", "addr_info", "promiscuity", "allmulti"];
    keys.iter().map(|k| format!("{k}={} ", link[*k])).collect()
}

fn default_route() {
    let rig = Rig::new(TWO_NICS);
    sh(
        &rig.node(0),
        "ip addr add 192.0.2.2/24 dev eth1; ip route add default via 192.0.2.1 dev eth1",
    );
    let (before, route) = (nic(&rig, "eth1"), json(&rig.node(0), "ip -j route get 203.0.113.1"));
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    assert_eq!(before, nic(&rig, "eth1"));
    assert_eq!(route, json(&rig.node(0), "ip -j route get 203.0.113.1"));
    daemons[0].client().withdraw(false).unwrap();
    assert_eq!(before, nic(&rig, "eth1"));
    assert_eq!(route, json(&rig.node(0), "ip -j route get 203.0.113.1"));
}

fn management_peer() {
    let rig = Rig::new(TWO_NICS);
    sh(
        &rig.node(0),
        "ip addr add 192.0.2.2/24 dev eth0; ip route add default via 192.0.2.1 dev eth0",
    );
    let before = snapshot(&rig.node(0));
    let more = "management = [\"10.77.0.2\"]".to_owned();
    let mut daemon = Daemon::start(&rig, 0, &Setup { more, ..Setup::idle() });
    let answer = daemon.client().apply(&request(TWO_NICS));
    let Err(ClientError::Node(NodeError::WouldLockOut { message, .. })) = &answer else {
        panic!("{answer:?}");
    };
    assert!(message.contains("10.77.0.2"), "{message}");
    same("a refused apply", &before, &snapshot(&rig.node(0)));
}

/// Applies to the first node, which must refuse with all of these words and change nothing.
fn refuses(rig: &Rig, cluster: &str, words: &[&str]) {
    let before = snapshot(&rig.node(0));
    let mut daemon = Daemon::start(rig, 0, &Setup::idle());
    let answer = daemon.client().apply(&request(cluster));
    let Err(ClientError::Node(NodeError::Refused { message, .. })) = &answer else {
        panic!("{answer:?}");
    };
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    same("a refused apply", &before, &snapshot(&rig.node(0)));
}

fn nic_in_a_bridge(cluster: &str) {
    let rig = Rig::new(cluster);
    sh(&rig.node(0), "ip link add br9 type bridge; ip link set eth1 master br9");
    refuses(&rig, cluster, &["eth1", "br9"]);
    let mut forced = request(cluster);
    forced.force_interfaces = Some(vec!["eth1".into()]);
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    daemon.client().apply(&forced).unwrap();
}

fn small_mtu(cluster: &str) {
    let rig = Rig::new(cluster);
    sh(&rig.node(0), "ip link set eth1 mtu 1400");
    refuses(&rig, cluster, &["eth1", "1400"]);
}

fn other_mac(cluster: &str) {
    let rig = Rig::new(cluster);
    sh(&rig.node(0), "ip link set eth1 address 02:00:00:00:00:77");
    refuses(&rig, cluster, &["eth1", "02:00:00:00:00:77"]);
}
