//! A ring whose nodes have the names of their hosts.

use crate::lab::{Lab, eventually};
use crate::routed::silent;
use crate::suite::Tests;

pub const TESTS: Tests =
    &[("routed_a_ring_of_hosts_by_name_survives_each_cable", survives_each_cable)];

/// In the order of the ring: spark3, ceph-a, n0, spark1. The names that the kind would generate say nothing.
const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n\
    [[node]]\nname = \"n0\"\nplace = 2\n\
    [[node]]\nname = \"spark3\"\nplace = 0\n\
    [[node]]\nname = \"spark1\"\nplace = 3\n\
    [[node]]\nname = \"ceph-a\"\nplace = 1\n";

fn survives_each_cable() {
    let lab = Lab::up(RING, &["--bfd-ms", "300"]);
    let names: Vec<&str> = lab.now.nodes().map(|node| lab.now.node(node)).collect();
    assert_eq!(names, ["spark3", "ceph-a", "n0", "spark1"]);
    let answer = || match silent(&lab) {
        silent if silent.is_empty() => Ok(()),
        silent => Err(format!("{silent:?}")),
    };
    eventually("all answer", 30, answer);
    for at in 0..names.len() {
        let cable = format!("{}-{}", names[at], names[(at + 1) % names.len()]);
        let (text, good) = lab.verb(&["fail", &cable]);
        assert!(good, "{cable}: {text}");
        eventually(&format!("all answer without {cable}"), 30, answer);
        lab.verb(&["heal"]);
        eventually("all answer again", 30, answer);
    }
}
