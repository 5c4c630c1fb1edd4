//! What someone takes away behind our back comes back.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::judge::{answers, eventually, ours, restored, sh, try_sh, way};
use crate::rig::{FLAT, Rig, TWO_NICS, dual_stack};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("flat_deleted_routes_and_neighbours_come_back", || taken_away(FLAT, ROUTES)),
        ("long_deleted_routes_and_neighbours_come_back", || taken_away(TWO_NICS, ROUTES)),
        ("flat_deleted_nexthops_and_groups_come_back_with_their_routes", || {
            taken_away(FLAT, NEXTHOPS);
        }),
        ("long_deleted_nexthops_and_groups_come_back_with_their_routes", || {
            taken_away(TWO_NICS, NEXTHOPS);
        }),
        ("deleted_interfaces_and_addresses_come_back", || taken_away(TWO_NICS, INTERFACES)),
        ("flat_admin_down_and_up_restores_everything", || taken_away(FLAT, ADMIN)),
        ("long_admin_down_and_up_restores_everything", || taken_away(TWO_NICS, ADMIN)),
        ("flat_deleted_ipv6_objects_come_back", || ipv6(FLAT)),
        ("long_deleted_ipv6_objects_come_back", || ipv6(TWO_NICS)),
        ("flat_a_new_nic_in_the_place_of_the_old_is_used", || new_nic(FLAT)),
        ("a_new_nic_in_the_place_of_the_old_is_used", || new_nic(TWO_NICS)),
        ("flat_repairs_are_counted_and_limited", || repairs_are_limited(FLAT)),
        ("long_repairs_are_counted_and_limited", || repairs_are_limited(TWO_NICS)),
    ]
}

const ROUTES: &[&str] = &[
    "ip route del 10.77.0.2/32 metric 7800",
    // Not `ip route flush`: it fails on routes through nexthop objects.
    "ip route del 10.77.0.2/32 metric 7800; ip route del 10.77.0.2/32 metric 7801",
    "ip neigh del 10.78.0.4 dev eth1.2",
    "ip neigh flush dev eth1.2 nud permanent",
    "ip neigh replace 10.78.0.4 lladdr 02:00:00:00:00:98 dev eth1.2 nud permanent protocol 78",
];

/// The second is what systemd-networkd 252 does to every group.
const NEXTHOPS: &[&str] = &[
    "ip nexthop del id $(ip -j nexthop | jq -r '[.[]|select(.group)][0].id')",
    "for i in $(ip -j nexthop | jq -r '.[]|select(.group).id'); do ip nexthop del id $i; done",
    "ip nexthop flush proto 78",
    "ip nexthop del id $(ip -j nexthop | jq -r '[.[]|select(.dev==\"eth1.2\")][0].id')",
];

const INTERFACES: &[&str] = &[
    "ip link del eth1.2",
    "ip link del tresse0",
    "ip addr del 10.78.0.2/32 dev eth1.2",
    "ip addr del 10.77.0.1/32 dev tresse0",
    "ip link set eth1.2 down",
    "ip link set eth0.2 mtu 1400",
    "ip link set eth0.2 alias tresse:other",
];

const ADMIN: &[&str] = &[
    "ip link set tresse0 down",
    "ip link set eth1 down; ip link set eth1 up",
    "ip link set eth0 down; sleep 1; ip link set eth0 up",
    "ip link set eth0 down; ip link set eth1 down; sleep 1; ip link set eth0 up; ip link set eth1 up",
];

fn taken_away(cluster: &str, scripts: &[&str]) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    let before = ours(&rig.node(0));
    for script in scripts {
        sh(&rig.node(0), &rig.words(script));
        restored(script, &rig.node(0), &before);
        daemons[0].in_sync();
        answers(&rig.node(0), "10.77.0.2");
        assert_eq!(daemons[0].client().diff().unwrap().operations, [], "{script}");
    }
}

fn ipv6(cluster: &str) {
    let rig = Rig::new(&dual_stack(cluster));
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "fd77::2");
    let before = ours(&rig.node(0));
    let scripts = [
        "ip -6 route del fd77::2 metric 7800; ip -6 route del fd77::2 metric 7801",
        "ip -6 neigh flush dev eth1.2 nud permanent",
        "ip nexthop flush proto 78",
        "ip link set eth1 down; ip link set eth1 up",
        "ip -6 addr flush dev eth1.2 to fd78::/64",
        "ip link del eth1.2",
    ];
    // The last is for an interface of ours.
    let count = if rig.has_vlans() { scripts.len() } else { scripts.len() - 1 };
    for script in &scripts[..count] {
        sh(&rig.node(0), &rig.words(script));
        restored(script, &rig.node(0), &before);
        daemons[0].in_sync();
        answers(&rig.node(0), "fd77::2");
    }
}

fn new_nic(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = ours(&rig.node(0));
    sh(&rig.node(0), "ip link del eth1");
    // The peer cannot see that its way back is cut: this is about what this node sends.
    assert_eq!(way(&rig.node(0), "10.77.0.2"), rig.words("eth0.2"));
    eventually("eth1 is pending", || {
        let pending = daemons[0].client().status().unwrap().pending;
        if pending.is_empty() { Err("nothing is pending".to_owned()) } else { Ok(()) }
    });
    rig.replace(0, "eth1");
    restored("a new eth1", &rig.node(0), &before);
    daemons[0].in_sync();
    answers(&rig.node(0), "10.77.0.2");
}

fn repairs_are_limited(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = ours(&rig.node(0));
    // Someone who takes the route away as often as it comes back.
    let begin = Instant::now();
    for _ in 0..60 {
        let _ = try_sh(&rig.node(0), "ip route del 10.77.0.2/32 metric 7801");
        sleep(Duration::from_millis(50));
    }
    restored("after a quarrel", &rig.node(0), &before);
    let counters = daemons[0].client().counters().unwrap().counters;
    let repairs = counters.iter().find(|c| c.name == "repairs_total").map_or(0, |c| c.value);
    // Five at once, then one every two seconds.
    let most = 5 + begin.elapsed().as_secs() / 2 + 2;
    assert!((2..=most).contains(&repairs), "{repairs} repairs, {most} allowed");
}
