//! After `withdraw` the namespace is what it was before.

use tresse_control::OperationLine;

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{answers, same, sh, snapshot};
use crate::rig::{FLAT, Rig, TWO_NICS, dual_stack, ipv6_only};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("flat_withdraw_leaves_the_namespace_as_it_was", || leaves_as_it_was(FLAT, "10.77.0.2")),
        ("long_withdraw_leaves_the_namespace_as_it_was", || {
            leaves_as_it_was(TWO_NICS, "10.77.0.2");
        }),
        ("withdraw_leaves_a_dual_stack_namespace_as_it_was", || {
            leaves_as_it_was(&dual_stack(TWO_NICS), "fd77::2");
        }),
        ("flat_withdraw_leaves_a_dual_stack_namespace_as_it_was", || {
            leaves_as_it_was(&dual_stack(FLAT), "fd77::2");
        }),
        ("flat_withdraw_leaves_an_ipv6_namespace_as_it_was", || {
            leaves_as_it_was(&ipv6_only(FLAT), "fd77::2");
        }),
        ("long_withdraw_leaves_an_ipv6_namespace_as_it_was", || {
            leaves_as_it_was(&ipv6_only(TWO_NICS), "fd77::2");
        }),
        ("flat_withdraw_leaves_mptcp_endpoints_and_limits_as_they_were", || mptcp_as_it_was(FLAT)),
        ("long_withdraw_leaves_mptcp_endpoints_and_limits_as_they_were", || {
            mptcp_as_it_was(TWO_NICS);
        }),
        ("flat_a_withdrawal_outlives_the_daemon", || stays_withdrawn(FLAT)),
        ("long_a_withdrawal_outlives_the_daemon", || stays_withdrawn(TWO_NICS)),
        ("withdraw_names_what_it_had_to_leave", names_what_is_left),
    ]
}

/// Somebody's endpoint and limits, with a daemon that is killed in between.
fn mptcp_as_it_was(cluster: &str) {
    let cluster = cluster.replace("paths = 2", "paths = 2\nmptcp = true");
    let rig = Rig::new(&cluster);
    sh(
        &rig.node(0),
        "ip mptcp limits set subflows 1 add_addr_accepted 3
         ip mptcp endpoint add 192.0.2.9 id 7 signal
         echo 0 >/proc/sys/net/mptcp/enabled",
    );
    let held = || (snapshot(&rig.node(0)), sh(&rig.node(0), "ip mptcp endpoint; ip mptcp limits"));
    let before = held();
    let mut daemon = Daemon::start(&rig, 0, &Setup { canary: false, ..Setup::idle() });
    daemon.client().apply(&request(&cluster)).unwrap();
    daemon.in_sync();
    let (_, shown) = held();
    for line in ["10.78.0.1 id 78 subflow", "10.78.0.2 id 79 subflow", "192.0.2.9 id 7 signal"] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(shown.contains("add_addr_accepted 3 subflows 8"), "{shown}");
    assert_eq!(daemon.client().diff().unwrap().operations, []);
    daemon.kill();
    let mut daemon = Daemon::start(&rig, 0, &Setup { canary: false, ..Setup::idle() });
    daemon.in_sync();
    daemon.client().withdraw(false).unwrap();
    let after = held();
    same("withdraw", &before.0, &after.0);
    assert_eq!(before.1, after.1);
}

fn leaves_as_it_was(cluster: &str, peer: &str) {
    let rig = Rig::new(cluster);
    // What was there before is not what a fresh namespace has.
    sh(
        &rig.node(0),
        "echo 3 >/proc/sys/net/ipv4/fib_multipath_hash_policy
         echo 2 >/proc/sys/net/ipv6/fib_multipath_hash_policy
         echo 1 >/proc/sys/net/ipv4/conf/eth0/rp_filter
         ip addr add 192.0.2.2/24 dev eth0
         ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:99 dev eth0 nud permanent
         ip nexthop add id 77 via 192.0.2.1 dev eth0
         ip route add 198.51.100.0/24 nhid 77
         tc qdisc add dev eth1 root handle 5: tbf rate 1gbit burst 100k latency 10ms",
    );
    let before = snapshot(&rig.node(0));
    let mut other = Daemon::start(&rig, 1, &Setup::default());
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    daemon.client().apply(&request(cluster)).unwrap();
    daemon.in_sync();
    other.in_sync();
    answers(&rig.node(0), peer);
    let installed = snapshot(&rig.node(0));
    // Without VLANs there are fewer interfaces, and so fewer settings.
    let more = if cluster.contains("fnn") { 5 } else { 50 };
    assert!(installed.len() > before.len() + more, "{} objects", installed.len());
    let withdrawn = daemon.client().withdraw(false).unwrap();
    assert!(withdrawn.operations.len() > 10);
    same("withdraw", &before, &snapshot(&rig.node(0)));
    let status = daemon.client().status().unwrap();
    assert_eq!((status.node, status.generation, status.in_sync), (None, None, true));
    // And once more, over a restart.
    daemon.client().apply(&request(cluster)).unwrap();
    daemon.in_sync();
    daemon.kill();
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    daemon.in_sync();
    daemon.client().withdraw(false).unwrap();
    same("withdraw after a restart", &before, &snapshot(&rig.node(0)));
}

fn stays_withdrawn(cluster: &str) {
    let rig = Rig::new(cluster);
    let before = snapshot(&rig.node(0));
    let quick = || Setup { canary: false, ..Setup::default() };
    let mut daemon = Daemon::start(&rig, 0, &quick());
    daemon.in_sync();
    daemon.client().withdraw(false).unwrap();
    for killed in [false, true] {
        if killed {
            daemon.kill();
        } else {
            assert!(daemon.stop().success());
        }
        daemon = Daemon::start(&rig, 0, &quick());
        let status = daemon.client().status().unwrap();
        assert!(status.withdrawn && status.in_sync && status.generation.is_none(), "{status:?}");
        assert!(daemon.log().contains("tresse apply"), "{}", daemon.log());
        same("a restart after withdraw", &before, &snapshot(&rig.node(0)));
    }
    daemon.client().reload().unwrap();
    daemon.kill();
    let mut daemon = Daemon::start(&rig, 0, &quick());
    assert!(!daemon.in_sync().withdrawn);
    daemon.client().withdraw(false).unwrap();
    same("withdraw again", &before, &snapshot(&rig.node(0)));
}

/// Something foreign on an interface of ours stays, with what it hangs on, and is named.
fn names_what_is_left() {
    let rig = Rig::new(TWO_NICS);
    let before = snapshot(&rig.node(0));
    let mut daemon = Daemon::start(&rig, 0, &Setup { canary: false, ..Setup::default() });
    daemon.in_sync();
    sh(
        &rig.node(0),
        "ip route add 192.168.8.0/24 dev eth1.2
         ip link add link eth0.2 name macvlan0 type macvlan",
    );
    let withdrawn = daemon.client().withdraw(false).unwrap();
    let named = |l: &OperationLine| l.why.contains("eth1.2") && l.why.contains("192.168.8.0/24");
    assert!(withdrawn.left.iter().any(named), "{:?}", withdrawn.left);
    let named = |l: &OperationLine| l.why.contains("macvlan0");
    assert!(withdrawn.left.iter().any(named), "{:?}", withdrawn.left);
    sh(
        &rig.node(0),
        "ip route del 192.168.8.0/24 dev eth1.2
         ip link del macvlan0",
    );
    assert_eq!(daemon.client().withdraw(false).unwrap().left, []);
    same("withdraw once more", &before, &snapshot(&rig.node(0)));
}
