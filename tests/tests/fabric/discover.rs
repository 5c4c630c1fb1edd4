//! `tresse discover` beside the cables of a lab that it does not know.

use std::collections::BTreeSet;

use tresse_base::units::Mac;
use tresse_tests::program;
use tresse_topology::cluster::{Cluster, Nic};

use crate::lab::Lab;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_discover_recognises_a_torus_without_switches", || {
        discovers("kind = \"direct-torus\", dims = [4, 3]", "direct-torus");
    }),
    ("routed_discover_tells_silent_switches_apart", || {
        discovers("kind = \"pmesh\", dims = [3, 3]", "explicit");
    }),
];

/// Daemons without a plan find out who is where.
fn discovers(topology: &str, kind: &str) {
    let lab = Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), &[]);
    for node in lab.now.nodes() {
        lab.client(node).withdraw(true).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("draft.toml");
    let path = file.display().to_string();
    let nodes: Vec<&str> = lab.now.nodes().map(|node| lab.now.node(node)).collect();
    let words =
        [&["discover", "--launcher", "netns", "--lab", lab.name(), "-o", &path], &nodes[..]]
            .concat();
    program::output(&words).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let found =
        tresse_cluster::parse(&text, "draft.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(text.contains(&format!("kind = \"{kind}\"")), "{text}");
    assert_eq!(joined(&found), joined(lab.now.plan.cluster()), "{text}");
    // A second one does not write over it.
    assert!(!program::run(&words).status.success());
    // Cables between nodes make a file that can be rolled out as it is.
    if found.switches.is_empty() {
        let words = ["rollout", &path, "--launcher", "netns", "--lab", lab.name()];
        assert!(program::run(words).status.success(), "{text}");
    }
}

/// The MACs that each cable or switch joins.
fn joined(cluster: &Cluster) -> BTreeSet<BTreeSet<Mac>> {
    let nics = || cluster.nodes.iter().flat_map(|node| &node.nics);
    let on = |own: &Nic| -> BTreeSet<Mac> {
        match own.peer {
            Some(peer) => [own.mac, cluster.node(peer.node).nics[peer.nic].mac].into(),
            None => nics().filter(|nic| nic.switch == own.switch).map(|nic| nic.mac).collect(),
        }
    };
    nics().map(on).collect()
}
