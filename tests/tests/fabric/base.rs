//! K3: untagged frames have a tree or no way at all.

use tresse_topology::cluster::Port;

use super::lab::{Lab, file};
use super::probe::{Copies, Probe};

pub const TESTS: &[(&str, fn())] = &[
    ("k3_untagged_broadcast_reaches_every_node_once", with_base),
    ("k3_without_a_base_vlan_nothing_untagged_passes", without_base),
];

fn with_base() {
    let text = file("kind = \"torus\", dims = [3, 3]", "dor", 1, "base = 1");
    let lab = Lab::up(&text, &["--no-daemon"]);
    let nodes: Vec<_> = lab.now.nodes().collect();
    let frames: Vec<_> = nodes.iter().map(|n| (*n, 0)).collect();
    let copies = Probe::new(&lab).round(&frames, 1.0);
    let others = |from| nodes.iter().filter(move |to| **to != from);
    let want: Copies =
        nodes.iter().flat_map(|from| others(*from).map(|to| ((*from, 0, *to), 1))).collect();
    assert_eq!(copies, want);
}

fn without_base() {
    let lab = Lab::up(&file("kind = \"torus\", dims = [3, 3]", "dor", 1, ""), &["--no-daemon"]);
    let frames: Vec<_> = lab.now.nodes().map(|n| (n, 0)).collect();
    let copies = Probe::new(&lab).round(&frames, 1.0);
    assert_eq!(copies, Copies::new());
    let cluster = lab.now.plan.cluster();
    let ends = cluster.links.iter().flat_map(|l| [l.a, l.b]);
    for Port { switch, port } in ends {
        let switch = &cluster.switch(switch).name;
        let vlans = lab.json(switch, &format!("bridge -j -s vlan show dev p{port}"));
        for vlan in vlans.iter().flat_map(|p| p["vlans"].as_array().unwrap()) {
            assert!(vlan.get("flags").is_none(), "{switch} port {port}: {vlan}");
            assert_eq!(vlan["tx_packets"], 0, "{switch} port {port}: {vlan}");
        }
    }
}
