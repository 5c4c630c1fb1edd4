//! Flat neighbourhoods on any kernel: a `tressed` per node, plain bridges as switches. Labels of paths
//! through third nodes are pushed and popped by the daemons where the kernel has none.
//!
//! Judged by `ping`, by `tcpdump` for ARP, and by what `ss` says has arrived.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::NamedTempFile;
use tresse_base::id::NodeId;
use tresse_topology::cluster::{Node, Switch};

use crate::flows::Flows;
use crate::lab::{Lab, eventually};
use crate::routed::{none, silent};
use crate::suite::Tests;

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
    let asked = Asked::listen(&lab);
    assert_eq!(silent(&lab), []);
    for switch in &switches {
        assert!(lab.verb(&["fail", switch]).1);
        eventually(&format!("all answer without {switch}"), 60, || none(silent(&lab)));
        assert!(lab.verb(&["heal", switch]).1);
        eventually("in sync again", 60, || lab.in_sync());
    }
    assert_eq!(silent(&lab), []);
    assert_eq!(asked.end(&lab), [""; 0], "ARP");
}

/// `tcpdump` for ARP on every switch, and what it says.
struct Asked(Vec<(Child, NamedTempFile)>);

/// Nobody has these addresses (RFC 5737): by switch, one that is asked for by hand.
fn stranger(switch: usize) -> String {
    format!("203.0.113.{switch}")
}

impl Asked {
    /// Returns when `tcpdump` hears what is asked on every switch.
    fn listen(lab: &Lab) -> Self {
        let tcpdump = |switch: &Switch| {
            let heard = NamedTempFile::new().unwrap();
            let output = heard.reopen().unwrap();
            let child = lab.inside(&switch.name, || {
                let mut command = Command::new("tcpdump");
                command.args(["-n", "-l", "-i", "any", "arp"]);
                command.stdout(output).stderr(Stdio::null()).spawn().unwrap()
            });
            (child, heard)
        };
        let asked = Self(lab.now.plan.cluster().switches.iter().map(tcpdump).collect());
        asked.hears_strangers(lab);
        asked
    }

    fn hears_strangers(&self, lab: &Lab) {
        for (k, (_, heard)) in self.0.iter().enumerate() {
            let on = |node: &&Node| node.nics.iter().any(|nic| nic.switch.index() == k);
            let node = lab.now.plan.cluster().nodes.iter().find(on).unwrap();
            let nic = node.nics.iter().find(|nic| nic.switch.index() == k).unwrap();
            let before = text(heard).matches(&stranger(k)).count();
            eventually(&format!("tcpdump hears on switch {k}"), 30, || {
                lab.inside(&node.name, || {
                    let mut ping = Command::new("ping");
                    ping.args(["-c", "1", "-W", "1", "-I", &nic.name, &stranger(k)]);
                    ping.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
                });
                let heard = text(heard);
                if heard.matches(&stranger(k)).count() > before { Ok(()) } else { Err(heard) }
            });
        }
    }

    /// What was asked for, strangers apart; first that everything was heard to the end.
    fn end(self, lab: &Lab) -> Vec<String> {
        self.hears_strangers(lab);
        let mut asked = Vec::new();
        for (mut child, heard) in self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
            let lines = text(&heard);
            let others = lines.lines().filter(|line| !line.contains("203.0.113."));
            asked.extend(others.map(str::to_owned));
        }
        asked
    }
}

fn text(heard: &NamedTempFile) -> String {
    std::fs::read_to_string(heard.path()).unwrap()
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
    let lab = Lab::up_alone(&cluster("0: 0 1 2\n1: 0 1\n2: 2\n", &rate), &["--shape"]);
    eventually("in sync", 60, || lab.in_sync());
    let one = rate_of(&lab, NodeId(0), NodeId(2), 0.8 * RATE);
    let two = rate_of(&lab, NodeId(0), NodeId(1), 1.8 * one);
    eprintln!("one NIC shared {one:.1} Mbit/s, two {two:.1}");
    assert!(one > 0.8 * RATE && one < 1.02 * RATE, "{one}");
    assert!(two >= 1.8 * one, "{two} is {:.2} times {one}", two / one);
}

/// What arrives of sixteen TCP flows, in Mbit/s. Of eight, all are on one of two NICs once in 128 runs.
fn rate_of(lab: &Lab, src: NodeId, dst: NodeId, wanted: f64) -> f64 {
    let pairs = [(src, dst)];
    let flows = Flows::start(lab, &pairs, 16);
    flows.best(2_000_000, Duration::from_secs(5), wanted * 1e6) / 1e6
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
