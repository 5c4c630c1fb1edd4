//! Fabrics whose nodes route, on any kernel: slices by iproute2, failures by the kernel alone.

use tresse_fabric::id::NodeId;
use tresse_lab::ping::{PingOptions, ping};

use crate::Tests;
use crate::lab::{Lab, eventually};

pub const TESTS: Tests = &[
    ("routed_p_mesh_4x4_outlives_every_switch", || outlives("kind = \"pmesh\", dims = [4, 4]")),
    ("routed_p_mesh_3x3x3_outlives_every_switch", || {
        outlives("kind = \"pmesh\", dims = [3, 3, 3]")
    }),
    ("routed_direct_torus_4x4_outlives_every_cable", || {
        outlives("kind = \"direct-torus\", dims = [4, 4]");
    }),
    ("routed_ring_of_8_outlives_every_cable", || outlives("kind = \"ring\", nodes = 8")),
    ("routed_full_mesh_of_4_outlives_every_cable", || outlives("kind = \"full-mesh\", nodes = 4")),
    ("routed_hops_are_those_of_the_plan", hops_are_those_of_the_plan),
    ("routed_nic_addresses_answer_from_everywhere", nic_addresses_answer_from_everywhere),
    ("routed_k7_only_fabric_interfaces_forward", k7_only_fabric_interfaces_forward),
    ("routed_by_the_daemon_every_pair_answers", by_the_daemon),
];

fn up(topology: &str) -> Lab {
    Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), &["--no-daemon"])
}

/// Every pair that does not answer.
fn silent(lab: &Lab) -> Vec<(String, String)> {
    let options = PingOptions { fast: true, ..PingOptions::default() };
    let record = lab.directory.load_up().unwrap();
    ping(&lab.directory, &record, &options).unwrap().failed
}

/// All pairs answer, and still do after each single failure of a switch or cable in turn.
fn outlives(topology: &str) {
    let lab = up(topology);
    assert_eq!(silent(&lab), []);
    let cluster = lab.now.plan.cluster();
    let switches = cluster.switches.iter().map(|switch| switch.name.clone());
    let cables = cluster.direct_cables().map(|(end, _)| {
        let node = cluster.node(end.node);
        format!("{}:{}", node.name, node.nics[end.nic].name)
    });
    for object in switches.chain(cables) {
        assert!(lab.verb(&["fail", &object]).1);
        assert_eq!(silent(&lab), [], "without {object}");
        assert!(lab.verb(&["heal", &object]).1);
    }
    assert_eq!(silent(&lab), [], "all healed");
}

/// With a `tressed` per node; what `check` says of its backups is what a lost cable leaves.
fn by_the_daemon() {
    for (topology, cables) in [
        ("kind = \"ring\", nodes = 3", &["n0:eth0", "n0:eth1", "n1:eth1"][..]),
        ("kind = \"pmesh\", dims = [3, 3]", &[]),
    ] {
        let lab = Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), &[]);
        eventually("in sync", 30, || lab.in_sync());
        assert_eq!(silent(&lab), []);
        for cable in cables {
            assert!(lab.verb(&["fail", cable]).1);
            let answer = || match silent(&lab) {
                silent if silent.is_empty() => Ok(()),
                silent => Err(silent),
            };
            eventually("all pairs answer without a cable", 10, answer);
            assert!(lab.verb(&["heal", cable]).1);
            eventually("in sync again", 30, || lab.in_sync());
        }
        assert_eq!(silent(&lab), [], "all healed");
    }
}

/// A packet of as many hops to live as the plan says arrives, one of fewer does not: what `traceroute`
/// counts.
fn hops_are_those_of_the_plan() {
    for topology in [
        "kind = \"pmesh\", dims = [4, 4]",
        "kind = \"pmesh\", dims = [3, 3, 3]",
        "kind = \"direct-torus\", dims = [4, 4]",
        "kind = \"ring\", nodes = 8",
    ] {
        let lab = up(topology);
        for (src, dst) in lab.now.plan.pairs() {
            let hops = lab.now.plan.primary(src, dst).len();
            let answers = |hops: usize| answers(&lab, src, &format!("-t {hops}"), lab.address(dst));
            assert!(answers(hops), "{src:?} to {dst:?} in {hops} hops");
            assert!(hops == 1 || !answers(hops - 1), "{src:?} to {dst:?} in fewer than {hops}");
        }
    }
}

fn answers(lab: &Lab, from: NodeId, options: &str, to: std::net::IpAddr) -> bool {
    let words = format!("-n -q -c 1 -W 2 {options} {to}");
    let netns = lab.directory.netns(lab.now.node(from));
    let words: Vec<&str> = words.split_whitespace().collect();
    tresse_lab::run::read(&netns, "ping", &words, "").is_ok()
}

fn nic_addresses_answer_from_everywhere() {
    for topology in ["kind = \"pmesh\", dims = [3, 4]", "kind = \"direct-mesh\", dims = [3, 2]"] {
        let lab = up(topology);
        for (src, dst) in lab.now.plan.pairs() {
            for &to in lab.now.plan.addresses().nic[dst.index()].iter().flatten() {
                assert!(answers(&lab, src, "", to), "{src:?} to {to}");
            }
        }
    }
}

/// K7: forwarding by interface, never for the whole namespace.
fn k7_only_fabric_interfaces_forward() {
    let lab = up("kind = \"ring\", nodes = 3");
    for node in lab.now.nodes() {
        let read = |key: &str| {
            let file = format!("cat /proc/sys/net/ipv4/{key}");
            lab.run(lab.now.node(node), &file).trim().to_owned()
        };
        assert_eq!(read("ip_forward"), "0");
        assert_eq!(
            (read("conf/eth0/forwarding"), read("conf/eth1/forwarding")),
            ("1".into(), "1".into())
        );
        assert_eq!(
            (read("conf/lo/forwarding"), read("conf/all/forwarding")),
            ("0".into(), "0".into())
        );
    }
}
