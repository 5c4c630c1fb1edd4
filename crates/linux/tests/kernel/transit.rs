//! Labels end to end: two transit nodes between source and destination, over VLAN interfaces.
//! `ping` and `tcpdump` judge.

use libtest_mimic::Trial;
use tresse_base::id::NodeId;
use tresse_export::node_script;
use tresse_namespace::{Feature, eventually, trial};
use tresse_plan::Plan;
use tresse_reconcile::Saved;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use crate::chain::{Chain, Node, mac, seen};

pub fn trials() -> Vec<Trial> {
    const NEEDS: &[Feature] = &[Feature::Vlan, Feature::Mpls, Feature::Flower];
    vec![
        trial("vm_labels_are_popped_hop_by_hop", NEEDS, || popped_hop_by_hop(false)),
        trial("vm_labels_are_popped_hop_by_hop_ipv6", NEEDS, || popped_hop_by_hop(true)),
        trial("vm_k11_a_foreign_mac_is_dropped", NEEDS, a_foreign_mac_is_dropped),
        trial("vm_lost_label_routes_are_repaired", NEEDS, lost_label_routes_are_repaired),
        trial("vm_k01_lost_stacks_are_repaired", NEEDS, lost_stacks_are_repaired),
        trial("vm_withdrawn_transit_leaves_nothing", NEEDS, withdraw),
        trial("vm_a_script_makes_and_unmakes_transit", NEEDS, script),
    ]
}

fn popped_hop_by_hop(v6: bool) {
    let chain = Chain::installed(v6);
    // Each label was pushed with the packet's TTL, and the last one's is the packet's (K9).
    let once = if v6 { "hlim 63," } else { "ttl 63," };
    // (receiver, its NIC and VLAN, what arrives, what does not)
    for (node, nic, vid, arrives, gone) in [
        (2, 0, 10, &["label 100,", "label 200,", "[S], ttl 64"][..], "label 400"),
        (3, 0, 20, &["label 200,", "[S], ttl 64"], "label 100"),
        (4, 0, 30, &["echo request", once], "MPLS"),
        (3, 1, 30, &["label 300,", "label 400,", "[S], ttl 64"], "label 200"),
        (2, 1, 20, &["label 400,", "[S], ttl 64"], "label 300"),
        (1, 0, 10, &["echo reply", once], "MPLS"),
    ] {
        let (interface, filter) =
            (format!("eth{nic}.{vid}"), format!("ether dst {}", mac(node, nic)));
        let capture = chain.node(node).capture(&interface, &filter);
        assert!(chain.pings(), "node {node}");
        let text = seen(capture);
        for part in arrives {
            assert!(text.contains(part), "node {node} {interface}: {part} in {text}");
        }
        assert!(!text.contains(gone), "node {node} {interface}: {text}");
    }
}

fn a_foreign_mac_is_dropped() {
    let mut chain = Chain::installed(false);
    assert!(chain.pings());
    // The source sends from a MAC that no plan knows; what h1 sends on is the judge.
    chain.node(1).ip("link set eth0.10 address 02:00:00:00:09:09");
    chain.node_mut(1).converge();
    let forwarded = |chain: &Chain| {
        let capture = chain.node(3).capture("eth0.20", "mpls 200");
        chain.pings();
        !seen(capture).is_empty()
    };
    assert!(!forwarded(&chain));
    let filters = chain.node(2).command("tc -s filter show dev eth0.10 ingress").output().unwrap();
    let text = String::from_utf8_lossy(&filters.stdout).into_owned();
    let dropped = text.split("action drop").nth(1).unwrap_or_default();
    assert!(dropped.contains("pkt (dropped") && !dropped.contains("dropped 0"), "{text}");
    // Without the filter the kernel would forward it (K11).
    let delete = "tc filter del dev eth0.10 ingress pref 7801";
    assert!(chain.node(2).command(delete).status().unwrap().success());
    assert!(forwarded(&chain));
    let repaired = chain.node_mut(2).converge();
    let lines: Vec<_> = repaired.operations.iter().map(|p| p.operation.to_string()).collect();
    assert_eq!(lines, ["add filter labelled dev eth0.10 drop"]);
    assert!(!forwarded(&chain));
}

fn lost_label_routes_are_repaired() {
    let mut chain = Chain::installed(false);
    assert!(chain.pings());
    chain.node(2).ip("-f mpls route del 100");
    assert!(!chain.pings());
    assert_eq!(chain.node_mut(2).converge().operations.len(), 1);
    assert!(chain.pings());
    // A cable is pulled and plugged in again: h1 has nothing to do.
    chain.node(3).ip("link set eth0 down");
    eventually("h1 loses carrier", || !chain.node(2).look().links["eth1.20"].carrier);
    assert!(chain.node_mut(2).converge().operations.is_empty());
    chain.node(3).ip("link set eth0 up");
    eventually("h1 has carrier", || chain.node(2).look().links["eth1.20"].carrier);
    assert!(chain.node_mut(2).converge().operations.is_empty());
    eventually("h2 is in sync", || chain.node_mut(3).converge().in_sync());
    assert!(chain.pings());
}

fn lost_stacks_are_repaired() {
    let mut chain = Chain::installed(false);
    assert!(chain.pings());
    // The source's cable: the kernel deletes its nexthops and routes (K1).
    chain.node(2).ip("link set eth0 down");
    eventually("the stack is gone", || chain.node(1).look().nexthops.is_empty());
    let waiting = chain.node_mut(1).converge();
    assert!(!waiting.pending.is_empty() && waiting.operations.is_empty(), "{waiting:#?}");
    chain.node(2).ip("link set eth0 up");
    for n in 1..=2 {
        eventually("it is in sync", || chain.node_mut(n).converge().in_sync());
    }
    assert!(chain.pings());
}

fn withdraw() {
    let mut chain = Chain::cabled(false);
    foreign_labels(chain.node(2));
    let before: Vec<_> = chain.nodes.iter().map(Node::look).collect();
    chain.install();
    assert!(chain.pings());
    for (node, before) in chain.nodes.iter_mut().zip(&before) {
        let wanted = std::mem::take(&mut node.wanted);
        node.converge();
        assert!(node.converge().in_sync(), "{}", node.netns);
        assert_eq!(node.saved, Saved::default());
        node.wanted = wanted;
        assert_eq!(node.look(), *before, "{}", node.netns);
    }
}

/// A label route of somebody else's, and the limit that it needs.
fn foreign_labels(node: &Node) {
    let limit = "sysctl -q net.mpls.platform_labels=50";
    assert!(node.command(limit).status().unwrap().success());
    node.ip("-f mpls route add 16 via inet 192.0.2.7 dev eth0 proto static");
}

fn script() {
    let kind = TopologyShape::Torus { dims: vec![3] };
    let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Stp, 1)).unwrap();
    let mut chain = Chain::cabled(false);
    foreign_labels(chain.node(2));
    let before: Vec<_> = chain.nodes.iter().take(2).map(Node::look).collect();
    // One end and the transit node beside it by scripts, the others by the daemon.
    let scripted = 1..=2;
    for n in 3..=4 {
        chain.node_mut(n).install();
    }
    let directory = tempfile::tempdir().unwrap();
    let run = |node: &Node, verb: &str| {
        let mut slice = tresse_slice::Slice::of(&plan, NodeId(0));
        slice.wanted = node.wanted.clone();
        let path = directory.path().join(&node.netns);
        std::fs::write(&path, node_script(&plan, &slice)).unwrap();
        let mut command = node.command("sh -e");
        command.arg(&path).arg(verb).env("state", path.with_extension("state"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{verb} {}: {said}", node.netns);
    };
    for n in scripted.clone().chain([2]) {
        run(chain.node(n), "up");
    }
    assert!(chain.pings());
    for n in scripted {
        let node = chain.node(n);
        eventually("it is what the daemon would make", || node.planned().in_sync());
        run(node, "undo");
        assert_eq!(node.look(), before[usize::from(n) - 1], "{}", node.netns);
    }
}
