//! Installing, installing again, stopping and starting.

use std::process::{Child, Stdio};

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{answers, command, eventually, flood, json, ours, same, sh, snapshot};
use crate::rig::{FLAT, Rig, TWO_NICS, dual_stack, ipv6_only};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("long_apply_twice_is_no_operation", || apply_twice_is_no_operation(TWO_NICS)),
        ("flat_apply_twice_is_no_operation", || apply_twice_is_no_operation(FLAT)),
        ("restart_is_hitless", || restart_is_hitless(TWO_NICS)),
        ("flat_restart_is_hitless", || restart_is_hitless(FLAT)),
        ("flat_stopped_daemon_leaves_the_kernel_state", || stopped_leaves_the_kernel_state(FLAT)),
        ("long_stopped_daemon_leaves_the_kernel_state", || {
            stopped_leaves_the_kernel_state(TWO_NICS);
        }),
        ("dual_stack_pairs_answer", || dual_stack_pairs_answer(TWO_NICS)),
        ("flat_dual_stack_pairs_answer", || dual_stack_pairs_answer(FLAT)),
        ("flat_ipv6_only_pairs_answer", || ipv6_only_pairs_answer(FLAT)),
        ("long_ipv6_only_pairs_answer", || ipv6_only_pairs_answer(TWO_NICS)),
    ]
}

fn apply_twice_is_no_operation(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    let before = snapshot(&rig.node(0));
    let mut client = daemons[0].client();
    assert_eq!(client.diff().unwrap().operations, []);
    let mut again = request(cluster);
    again.dry_run = Some(true);
    assert_eq!(client.apply(&again).unwrap().operations, []);
    again.dry_run = None;
    assert_eq!(client.apply(&again).unwrap().operations, []);
    assert_eq!(client.reload().unwrap().operations, []);
    same("a second apply", &before, &snapshot(&rig.node(0)));
}

fn restart_is_hitless(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    let before = ours(&rig.node(0));
    let indexes = numbers(&rig);
    let monitor = Monitor::start(&rig, "link address route nexthop neigh");
    let flood = flood(&rig.node(0), "10.77.0.2", 600);
    for round in 0..3 {
        let daemon = daemons.remove(0);
        match round {
            0 => daemon.kill(),
            _ => assert!(daemon.stop().success()),
        }
        let mut daemon = Daemon::start(&rig, 0, &Setup::default());
        daemon.in_sync();
        let counters = daemon.client().counters().unwrap().counters;
        let done = counters.iter().find(|c| c.name == "kernel_operations_total");
        assert_eq!(done.map_or(0, |c| c.value), 0, "operations after a restart");
        daemons.insert(0, daemon);
    }
    assert_eq!(flood.end(), (600, 600));
    let seen = monitor.end();
    let ours_touched: Vec<_> = seen.lines().filter(|l| l.contains("10.7")).collect();
    assert_eq!(ours_touched, Vec::<&str>::new());
    same("three restarts", &before, &ours(&rig.node(0)));
    assert_eq!(indexes, numbers(&rig));
}

/// Interface and nexthop numbers: nothing was made anew.
fn numbers(rig: &Rig) -> Vec<String> {
    let links = json(&rig.node(0), "ip -j link");
    let nexthops = json(&rig.node(0), "ip -j nexthop");
    let links = links.iter().map(|l| format!("{} {}", l["ifname"], l["ifindex"]));
    links.chain(nexthops.iter().map(ToString::to_string)).collect()
}

/// `ip monitor` in the first node.
pub struct Monitor {
    child: Child,
    path: std::path::PathBuf,
}

impl Monitor {
    pub fn start(rig: &Rig, objects: &str) -> Self {
        let path = rig.home(0).join("monitor");
        let file = std::fs::File::create(&path).unwrap();
        let script = format!("exec ip -o monitor {objects}");
        let child = command(&rig.node(0), &script).stdout(file).stderr(Stdio::null()).spawn();
        let monitor = Self { child: child.unwrap(), path };
        eventually("ip monitor listens", || {
            sh(&rig.node(0), "ip link add probe0 type bridge && ip link del probe0");
            sh(&rig.node(0), "ip route add 192.0.2.1 dev lo && ip route del 192.0.2.1");
            let text = std::fs::read_to_string(&monitor.path).unwrap();
            if text.is_empty() { Err("nothing".to_owned()) } else { Ok(()) }
        });
        monitor
    }

    pub fn end(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::read_to_string(&self.path).unwrap()
    }
}

fn stopped_leaves_the_kernel_state(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = snapshot(&rig.node(0));
    for daemon in daemons.drain(..) {
        assert!(daemon.stop().success());
    }
    same("SIGTERM", &before, &snapshot(&rig.node(0)));
    answers(&rig.node(0), "10.77.0.2");
    answers(&rig.node(1), "10.77.0.1");
}

fn dual_stack_pairs_answer(cluster: &str) {
    let rig = Rig::new(&dual_stack(cluster));
    let _daemons = Daemon::all(&rig, 2);
    for address in ["10.77.0.2", "fd77::2"] {
        answers(&rig.node(0), address);
    }
    for address in ["10.77.0.1", "fd77::1"] {
        answers(&rig.node(1), address);
    }
}

fn ipv6_only_pairs_answer(cluster: &str) {
    let rig = Rig::new(&ipv6_only(cluster));
    let _daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "fd77::2");
    answers(&rig.node(1), "fd77::1");
    let addresses = json(&rig.node(0), "ip -j -4 addr show tresse0");
    assert!(addresses.iter().all(|l| l["addr_info"].as_array().is_none_or(Vec::is_empty)));
}
