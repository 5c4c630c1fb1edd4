//! K5: a loop in a switch's configuration, before and after a VLAN was proven.

use tresse_base::id::{NodeId, TreeId};
use tresse_lab::blueprint::port_name;
use tresse_plan::Plan;
use tresse_topology::cluster::Link;

use super::lab::{Lab, eventually, file};

pub const TESTS: &[(&str, fn())] = &[
    ("k5_looped_vlan_is_fused_before_it_carries_traffic", loop_before_the_proof),
    ("k5_loop_made_later_fuses_the_vlan_and_paths_move", loop_after_the_proof),
];

/// A cable that closes a loop in a tree.
fn chord(plan: &Plan, tree: TreeId) -> Link {
    let links = plan.tree(tree).links(plan.graph());
    let cluster = plan.cluster();
    let outside = (0..cluster.links.len()).find(|k| !links.iter().any(|l| l.index() == *k));
    cluster.links[outside.expect("a ring has one cable more than a tree")]
}

/// What nodes have sent on a VLAN.
fn sent_by_nodes(lab: &Lab, vid: u16) -> u64 {
    let nodes: Vec<&str> = lab.now.nodes().map(|n| lab.now.node(n)).collect();
    let of_port = |switch: &str| -> u64 {
        let ports = lab.json(switch, "bridge -j -s vlan show");
        let node_ports: Vec<String> = lab
            .now
            .plan
            .cluster()
            .nodes
            .iter()
            .flat_map(|n| &n.nics)
            .filter(|n| lab.now.plan.cluster().switch(n.switch).name == switch)
            .map(|n| format!("p{}", n.port))
            .collect();
        ports
            .iter()
            .filter(|p| node_ports.iter().any(|n| p["ifname"] == n.as_str()))
            .flat_map(|p| p["vlans"].as_array().unwrap())
            .filter(|v| v["vlan"] == vid)
            .map(|v| v["rx_packets"].as_u64().unwrap_or(0))
            .sum()
    };
    assert!(!nodes.is_empty());
    lab.now.plan.cluster().switches.iter().map(|s| of_port(&s.name)).sum()
}

fn everybody_fused(lab: &Lab, vid: u16) -> Result<(), String> {
    for node in lab.now.nodes() {
        let status = lab.status(node)?;
        let Some(line) = status.fused.iter().find(|f| f.vid == vid) else {
            return Err(format!("{status:?}"));
        };
        assert!(line.links.iter().any(|l| l.starts_with("s0-") || l.ends_with("-s0")), "{line:?}");
        assert_eq!(status.fused.len(), 1, "{status:?}");
        // The kernel has it too.
        if !(status.in_sync && status.activity == "idle") {
            return Err(format!("{status:?}"));
        }
    }
    Ok(())
}

/// After the loop is gone every node is re-armed, and the VLAN carries traffic again.
fn repaired(lab: &Lab, vid: u16) {
    for node in lab.now.nodes() {
        lab.client(node).unfuse(vid).unwrap();
    }
    eventually("the VLAN is proven again", 60, || lab.in_sync());
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    lab.reset_counters();
    assert_eq!(lab.ping(&pairs), []);
    lab.expect_counted(&pairs);
}

/// Makes a loop of a cable, one that leaves the switches room for other VLANs: what circles without end
/// would fill every cable, and whether a ping gets a place beside it would be luck.
fn close(lab: &Lab, vid: u16, chord: Link) {
    for port in [chord.a, chord.b] {
        let switch = &lab.now.plan.cluster().switch(port.switch).name;
        let name = port_name(port.port);
        lab.run(
            switch,
            &format!(
                "tc filter add dev {name} ingress protocol 802.1Q flower vlan_id {vid} \
                 action police rate 200kbit burst 4k conform-exceed drop/pass"
            ),
        );
        lab.member("add", port, vid);
    }
}

/// These pairs answer while a VLAN is fused, and nothing is sent on that.
fn at_work(lab: &Lab, vid: u16, chord: Link, pairs: &[(NodeId, NodeId)]) {
    let sent = sent_by_nodes(lab, vid);
    eventually("the other VLANs are at work beside the loop", 30, || {
        let silent = lab.ping(pairs);
        if silent.is_empty() { Ok(()) } else { Err(silent) }
    });
    assert_eq!(sent_by_nodes(lab, vid), sent, "a fused VLAN carries nothing");
    for port in [chord.a, chord.b] {
        lab.member("del", port, vid);
    }
}

fn loop_before_the_proof() {
    let text = file("kind = \"torus\", dims = [4]", "stp", 1, "");
    let mut lab = Lab::up(&text, &[]);
    let next = lab.now.next("dor");
    let fresh = (0..next.plan.specs().len())
        .map(TreeId::from)
        .find(|t| lab.now.plan.tree_of(next.plan.vid(*t)).is_none())
        .expect("two trees where one was");
    let (vid, chord) = (next.plan.vid(fresh).0, chord(&next.plan, fresh));
    lab.keep(&next.plan);
    close(&lab, vid, chord);
    for node in lab.now.nodes() {
        lab.apply(node, &next);
    }
    lab.now = next;
    eventually("every node has fused the VLAN", 60, || everybody_fused(&lab, vid));
    let sent = sent_by_nodes(&lab, vid);
    let nodes = lab.now.nodes().count() as u64;
    assert!(sent <= 2 * nodes, "{sent} frames were sent into the loop");

    // Nothing more, whatever the nodes want to send, and the other VLANs are at work.
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    let on = |a, b| lab.now.plan.vid(lab.now.plan.primary(a, b)[0].tree).0;
    let open = |&(a, b): &(_, _)| on(a, b) != vid && on(b, a) != vid;
    let (open, closed): (Vec<_>, Vec<_>) = pairs.iter().partition(|pair| open(pair));
    assert!(!open.is_empty() && !closed.is_empty());
    lab.ping(&closed);
    assert_eq!(sent_by_nodes(&lab, vid), sent, "a fused VLAN carries nothing");
    at_work(&lab, vid, chord, &open);
    repaired(&lab, vid);
}

fn loop_after_the_proof() {
    let text = file("kind = \"torus\", dims = [4]", "dor", 2, "");
    let lab = Lab::up(&text, &["--announce-seconds", "3"]);
    let tree = TreeId::from(0);
    let (vid, chord) = (lab.now.plan.vid(tree).0, chord(&lab.now.plan, tree));
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    assert_eq!(lab.ping(&pairs), []);
    close(&lab, vid, chord);
    eventually("every node has fused the VLAN", 60, || everybody_fused(&lab, vid));
    // All go by the other VLAN, their backup.
    at_work(&lab, vid, chord, &pairs);
    repaired(&lab, vid);
}
