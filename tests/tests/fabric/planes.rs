//! Two planes: switches that no cable joins, and nodes with a NIC on each. All answer, whatever single cable fails, and two
//! nodes on one plane each reach each other through a node that is on both.

use tresse_base::id::NodeId;

use crate::lab::{Lab, eventually};
use crate::routed::none;
use crate::suite::Tests;

pub const SWITCHED: Tests = &[
    ("two_planes_outlive_a_cable", || outlive(&["red0-red1", "blue1-blue2", "n0:eth0", "n1:eth1"])),
    ("long_two_planes_outlive_every_cable", || outlive(&[])),
];

/// Without one of these parts; without each cable where there are none.
fn outlive(parts: &[&str]) {
    let lab = Lab::up(include_str!("../../../configs/two-rails.toml"), &["--bfd-ms", "1000"]);
    eventually("in sync", 60, || lab.in_sync());
    let plan = &lab.now.plan;
    let all: Vec<(NodeId, NodeId)> = plan.pairs().collect();
    eventually("all answer", 60, || none(lab.ping_briefly(&all)));
    // Both NICs of a pair of nodes on both planes carry its flows.
    let weights = lab.json("n0", "ip -j nexthop show proto 78");
    assert!(
        weights.iter().any(|hop| hop["group"].as_array().is_some_and(|group| group.len() == 2))
    );
    let cluster = plan.cluster();
    let between = cluster.links.iter().map(|link| {
        let [a, b] = [link.a, link.b].map(|end| cluster.switch(end.switch).name.as_str());
        format!("{a}-{b}")
    });
    let several = cluster.nodes.iter().filter(|node| node.nics.len() > 1);
    let nics =
        several.flat_map(|node| node.nics.iter().map(|nic| format!("{}:{}", node.name, nic.name)));
    let every: Vec<String> = between.chain(nics).collect();
    let parts = match parts {
        [] => every,
        _ => parts.iter().map(ToString::to_string).collect(),
    };
    for part in parts {
        assert!(lab.verb(&["fail", &part]).1, "{part}");
        eventually(&format!("all answer without {part}"), 60, || none(lab.ping_briefly(&all)));
        assert!(lab.verb(&["heal", &part]).1);
        eventually("in sync again", 60, || lab.in_sync());
    }
}
