//! Flat neighbourhoods on any kernel: a `tressed` per node, plain bridges as switches. Labels of paths
//! through third nodes are pushed and popped by the daemons where the kernel has none.
//!
//! Judged by `ping`, by `tcpdump` for ARP, and by what `ss` says has arrived.

use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tresse_fabric::id::NodeId;

use crate::Tests;
use crate::lab::{Lab, eventually};
use crate::routed::{none, silent};

pub const TESTS: Tests = &[
    ("routed_flat_24_nodes_outlive_every_switch_without_arp", outlive_every_switch),
    ("routed_flat_pairs_without_a_switch_go_through_third_nodes", third_nodes),
    ("routed_flat_flows_use_all_that_is_shared", all_that_is_shared),
    ("routed_paths_are_listed", paths_are_listed),
];

/// The example that `tresse design` wired.
const WIRED: &str = include_str!("../../../configs/flat24.fnn");

fn cluster(wiring: &str, more: &str) -> String {
    format!("[fabric]\ntopology = {{ kind = \"fnn\", wiring = {wiring:?} }}\n{more}")
}

/// Nobody asks for an address, whatever fails; and without any one switch all pairs answer.
fn outlive_every_switch() {
    let lab = Lab::up(&cluster(WIRED, ""), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let switches: Vec<String> =
        lab.now.plan.cluster().switches.iter().map(|switch| switch.name.clone()).collect();
    let asked = Asked::listen(&lab, &switches);
    assert_eq!(silent(&lab), []);
    for switch in &switches {
        assert!(lab.verb(&["fail", switch]).1);
        eventually(&format!("all answer without {switch}"), 60, || none(silent(&lab)));
        assert!(lab.verb(&["heal", switch]).1);
        eventually("in sync again", 60, || lab.in_sync());
    }
    assert_eq!(silent(&lab), []);
    assert_eq!(asked.end(), "", "ARP");
}

/// `tcpdump` for ARP on every switch.
struct Asked(Vec<Child>);

impl Asked {
    fn listen(lab: &Lab, switches: &[String]) -> Self {
        let tcpdump = |switch: &String| {
            lab.inside(switch, || {
                let mut command = Command::new("tcpdump");
                command.args(["-n", "-l", "-i", "any", "arp"]);
                command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
            })
        };
        let asked = Self(switches.iter().map(tcpdump).collect());
        // It says nothing more about when it listens.
        std::thread::sleep(Duration::from_secs(2));
        asked
    }

    /// What was asked.
    fn end(mut self) -> String {
        self.0.iter_mut().for_each(|child| child.kill().unwrap());
        let outputs = self.0.into_iter().map(|child| child.wait_with_output().unwrap().stdout);
        outputs.map(|text| String::from_utf8(text).unwrap()).collect()
    }
}

/// Six nodes of which no two opposite ones share a switch: their packets cross a third one behind labels.
fn third_nodes() {
    let options = ["--engine", "packet", "--source", "tun"];
    let lab = Lab::up(&cluster("0: 0 1 2\n1: 2 3 4\n2: 4 5 0\n3: 1 3 5\n", ""), &options);
    eventually("in sync", 60, || lab.in_sync());
    let plan = &lab.now.plan;
    let relayed: Vec<_> =
        plan.pairs().filter(|(src, dst)| plan.primary(*src, *dst).len() == 2).collect();
    assert_eq!(relayed.len(), 6, "{relayed:?}");
    assert_eq!(lab.ping(&relayed), []);
    assert_eq!(silent(&lab), []);
    for (src, dst) in relayed {
        let relay = plan.primary(src, dst)[0].to;
        let popped = || -> u64 {
            let counters = lab.client(relay).counters().unwrap().counters;
            let of_labels = counters.iter().filter(|c| c.name == "forward_label_frames_total");
            of_labels.map(|c| c.value).sum()
        };
        let before = popped();
        assert_eq!(lab.ping(&[(src, dst)]), []);
        assert!(popped() > before, "{src:?} to {dst:?} through {relay:?}");
    }
}

/// Of each NIC, in Mbit/s.
const RATE: f64 = 20.0;

/// Two nodes that share two switches send over both, those that share one over that.
fn all_that_is_shared() {
    let rate = format!("[[node]]\nname = \"n[0-2]\"\nnics = [{0}, {0}]\n", "{ rate = \"20M\" }");
    let lab = Lab::up(&cluster("0: 0 1 2\n1: 0 1\n2: 2\n", &rate), &["--shape"]);
    eventually("in sync", 60, || lab.in_sync());
    let (one, two) = (rate_of(&lab, NodeId(0), NodeId(2)), rate_of(&lab, NodeId(0), NodeId(1)));
    eprintln!("one NIC shared {one:.1} Mbit/s, two {two:.1}");
    assert!(one > 0.8 * RATE && one < 1.02 * RATE, "{one}");
    assert!(two >= 1.8 * one, "{two} is {:.2} times {one}", two / one);
}

/// What arrives of eight TCP flows, in Mbit/s.
fn rate_of(lab: &Lab, src: NodeId, dst: NodeId) -> f64 {
    let iperf3 = |node: NodeId, args: &[&str]| {
        lab.inside(lab.now.node(node), || {
            let mut command = Command::new("iperf3");
            command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
    };
    let mut server = iperf3(dst, &["-s", "-1"]);
    let (name, to): (_, IpAddr) = (lab.now.node(dst), lab.address(dst));
    eventually("iperf3 listens", 20, || {
        let listening = lab.run(name, "ss -Hltn sport = :5201");
        if listening.trim().is_empty() { Err("nobody listens") } else { Ok(()) }
    });
    let mut client = iperf3(src, &["-c", &to.to_string(), "-P", "8", "-t", "60"]);
    let arrived = || -> u64 {
        let sockets = lab.run(name, "ss -Htin sport = :5201");
        let counts = sockets.split("bytes_received:").skip(1);
        let number = |rest: &str| rest.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        counts.map(number).sum()
    };
    eventually("octets arrive", 30, || {
        let now = arrived();
        if now > 2_000_000 { Ok(()) } else { Err(now) }
    });
    let (begin, before) = (Instant::now(), arrived());
    std::thread::sleep(Duration::from_secs(5));
    let (seconds, after) = (begin.elapsed().as_secs_f64(), arrived());
    for program in [&mut client, &mut server] {
        program.kill().unwrap();
        program.wait().unwrap();
    }
    (after - before) as f64 * 8.0 / seconds / 1e6
}

/// `tresse paths` of a node, where there are no VLANs.
fn paths_are_listed() {
    for topology in ["kind = \"ring\", nodes = 3", "kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 1\""] {
        let lab = Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), &[]);
        eventually("in sync", 60, || lab.in_sync());
        let paths = lab.client(NodeId(0)).paths(None).unwrap().paths;
        assert!(!paths.is_empty() && paths.iter().all(|path| path.state != "pending"), "{paths:?}");
        assert!(paths.iter().all(|path| path.segments.iter().all(|s| s.vlan.is_none())));
    }
}
