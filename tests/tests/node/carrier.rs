//! Carrier loss: the kernel deletes nexthops, groups and routes without a word (K1).

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{answers, eventually, flood, json, ours, restored, sh, way};
use crate::rig::{FLAT, Rig, TWO_NICS, dual_stack};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("flat_k01_an_unplugged_nic_is_pending_and_installed_when_plugged_in", || {
            unplugged_nic(FLAT);
        }),
        ("long_k01_an_unplugged_nic_is_pending_and_installed_when_plugged_in", || {
            unplugged_nic(TWO_NICS);
        }),
        ("flat_k01_the_second_route_serves_while_the_daemon_is_dead", || {
            dead_daemon(FLAT, "10.77.0.2");
        }),
        ("long_k01_the_second_route_serves_while_the_daemon_is_dead", || {
            dead_daemon(TWO_NICS, "10.77.0.2");
        }),
        ("flat_k01_the_second_route_serves_ipv6_while_the_daemon_is_dead", || {
            dead_daemon(&dual_stack(FLAT), "fd77::2");
        }),
        ("long_k01_the_second_route_serves_ipv6_while_the_daemon_is_dead", || {
            dead_daemon(&dual_stack(TWO_NICS), "fd77::2");
        }),
        ("flat_k01_carrier_back_restores_everything", || carrier_back(FLAT)),
        ("k01_carrier_back_restores_everything", || carrier_back(TWO_NICS)),
    ]
}

fn unplugged_nic(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut other = Daemon::start(&rig, 1, &Setup::default());
    rig.carrier(0, "eth1", false);
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    let applied = daemon.client().apply(&request(cluster)).unwrap();
    assert!(!applied.pending.is_empty());
    eventually("the other NIC serves", || {
        let status = daemon.client().status().unwrap();
        let pending = status.pending.iter().any(|p| p.why.contains("no carrier"));
        let done = status.in_sync && status.unproven.is_empty() && pending;
        if done { Ok(()) } else { Err(format!("{status:?}")) }
    });
    other.in_sync();
    // The peer cannot see that its way back is cut: this is about what this node sends.
    assert_eq!(way(&rig.node(0), "10.77.0.2"), rig.words("eth0.2"));
    rig.carrier(0, "eth1", true);
    daemon.in_sync();
    let routes = json(&rig.node(0), "ip -j -d route show 10.77.0.2/32");
    let metrics: Vec<_> = routes.iter().map(|r| r["metric"].as_u64().unwrap()).collect();
    assert_eq!(metrics, [7800, 7801]);
    goes_first(&rig, "10.77.0.2");
    answers(&rig.node(0), "10.77.0.2");
}

/// Traffic goes by `eth1`; without VLANs, where flows share both NICs, by one of them.
fn goes_first(rig: &Rig, peer: &str) {
    let way = way(&rig.node(0), peer);
    assert!(way == rig.words("eth1.2") || (!rig.has_vlans() && way == "eth0"), "{way}");
}

fn dead_daemon(cluster: &str, peer: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), peer);
    goes_first(&rig, peer);
    let before = ours(&rig.node(0));
    daemons.drain(..).for_each(Daemon::kill);
    let flood = flood(&rig.node(0), peer, 300);
    std::thread::sleep(std::time::Duration::from_millis(700));
    for node in 0..2 {
        rig.carrier(node, "eth1", false);
    }
    let (sent, answered) = flood.end();
    // linkwatch takes up to a second to tell routing that the carrier went.
    assert!(answered + 120 >= sent, "{answered} of {sent} answered");
    answers(&rig.node(0), peer);
    assert_eq!(way(&rig.node(0), peer), rig.words("eth0.2"));
    // And a daemon that starts now, with the cable still out, then plugged in.
    let mut daemons: Vec<_> = (0..2).map(|n| Daemon::start(&rig, n, &Setup::default())).collect();
    eventually("pending", || {
        let status = daemons[0].client().status().unwrap();
        let done = status.in_sync && !status.pending.is_empty();
        if done { Ok(()) } else { Err(format!("{status:?}")) }
    });
    answers(&rig.node(0), peer);
    for node in 0..2 {
        rig.carrier(node, "eth1", true);
    }
    daemons.iter_mut().for_each(|daemon| drop(daemon.in_sync()));
    restored("the cable is back", &rig.node(0), &before);
    answers(&rig.node(0), peer);
}

fn carrier_back(cluster: &str) {
    let rig = Rig::new(&dual_stack(cluster));
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    let before = [ours(&rig.node(0)), ours(&rig.node(1))];
    for nic in ["eth1", "eth0"] {
        for node in 0..2 {
            rig.carrier(node, nic, false);
        }
        answers(&rig.node(0), "10.77.0.2");
        answers(&rig.node(0), "fd77::2");
        for node in 0..2 {
            rig.carrier(node, nic, true);
        }
        daemons.iter_mut().for_each(|daemon| drop(daemon.in_sync()));
        for (node, before) in before.iter().enumerate() {
            restored(&format!("{nic} of n{node} is back"), &rig.node(node), before);
        }
    }
    // Both cables out: no route is left; both back: all of it.
    for nic in ["eth0", "eth1"] {
        rig.carrier(0, nic, false);
    }
    eventually("no route is left", || {
        let routes = json(&rig.node(0), "ip -j route show 10.77.0.2/32");
        if routes.is_empty() { Ok(()) } else { Err(format!("{routes:?}")) }
    });
    for nic in ["eth0", "eth1"] {
        rig.carrier(0, nic, true);
    }
    daemons[0].in_sync();
    restored("both cables are back", &rig.node(0), &before[0]);
    // Faster than the daemon looks.
    let port = rig.port(0, "eth1");
    sh(
        &rig.switch(),
        &format!("for i in 1 2 3 4 5 6; do ip link set {port} down; ip link set {port} up; done"),
    );
    restored("a flapping cable", &rig.node(0), &before[0]);
    answers(&rig.node(0), "10.77.0.2");
}
