//! Spares of a flat neighbourhood on any kernel: a spare takes the place of a node whose machine has failed, and others
//! lose nothing.

use tresse_base::id::NodeId;
use tresse_tests::program;

use crate::datagrams::Traffic;
use crate::lab::{Lab, RESTART, eventually};
use crate::routed::silent;
use crate::silent::whole;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_spare_takes_the_place_of_a_node", || takes_a_place("u0")),
    ("routed_spare_on_a_folded_uplink_takes_a_place", || takes_a_place("s3")),
];

fn takes_a_place(uplink: &str) {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 3 4\\n2: 1 3 5\\n3: 2 4 5\\n\", \
         uplink = \"{uplink}\", spares = [\"spare[0-1]\"] }}\n"
    );
    let options = [RESTART, "--engine", "packet", "--source", "tun", "--bfd-ms", "100"];
    let lab = Lab::up(&text, &options);
    eventually("in sync, all sessions up", 60, || whole(&lab));
    assert_eq!(silent(&lab), [], "spares too");
    let named = |name: &str| lab.now.plan.cluster().node_named(name).unwrap();
    let (failed, spare) = (named("n1"), named("spare0"));
    let others =
        |(a, b): &(NodeId, NodeId)| ![failed, spare].iter().any(|node| [a, b].contains(&node));
    let pairs: Vec<_> = lab.now.plan.pairs().filter(others).collect();
    let file = lab.cluster_file(&lab.now);
    let replace = |node: &str, spare: &str| {
        let to = ["--launcher", "netns", "--lab", lab.name()];
        program::output(&[&["replace", &file, node, spare], &to[..]].concat())
    };
    assert!(replace("n1", "spare0").is_err(), "n1 works");
    // A machine whose daemon answers and hears others is not replaced: it hears them until BFD says otherwise.
    let fails = |node: NodeId| {
        assert!(lab.verb(&["fail", &lab.now.plan.cluster().node(node).name]).1);
        eventually("it hears nobody", 30, || match lab.status(node)?.sessions_up {
            0 => Ok(()),
            up => Err(format!("{up} sessions are up")),
        });
    };
    fails(failed);
    let worked = || if lab.ping_briefly(&pairs).is_empty() { Ok(()) } else { Err("not yet") };
    eventually("others go round the failed node", 30, worked);

    let traffic = Traffic::start(&lab, &pairs);
    replace("n1", "spare0").unwrap();
    traffic.finish_without_faults(20, |_| false);
    assert!(
        std::fs::read_to_string(&file).unwrap().ends_with("name = \"spare0\"\nreplaces = \"n1\"\n")
    );
    let socket = |place: &str| lab.directory.socket(place).display().to_string();
    let is_n1 = || {
        let status = program::output(&["status", "--socket", &socket("spare0")])?;
        let is = status.starts_with("node n1,") && status.contains(", in sync\n");
        if is { Ok(()) } else { Err(status) }
    };
    is_n1().unwrap();
    // By the address that n1 has had, on the machine that is n1 now.
    let address = lab.address(failed).to_string();
    assert!(lab.run("spare0", "ip -br address show tresse0").contains(&address));
    let asked = |place: &str| lab.run(place, &format!("ping -c 3 -i 0.2 -W 1 {address}"));
    for place in ["n0", "n2", "n4", "n5", "spare1"] {
        assert!(asked(place).contains("3 received"), "{place}: {}", asked(place));
    }
    // A machine goes by its own name, and is n1 again.
    assert!(lab.verb(&["kill", "spare0"]).1);
    eventually("it is n1 after a start too", 60, is_n1);
    // The machine that was n1 is nobody.
    let heir = program::output(&["apply", &file, "--socket", &socket("n1")]);
    assert!(heir.is_err(), "{heir:?}");
    // A spare in service is none any more; the next one takes its place, though it does not answer.
    assert!(replace("n2", "spare0").is_err());
    if uplink != "u0" {
        // The failed machine is mended: both are what they were, with all their addresses.
        assert!(lab.verb(&["heal", "n1"]).1);
        std::fs::write(&file, &text).unwrap();
        let traffic = Traffic::start(&lab, &pairs);
        program::output(&["rollout", &file, "--launcher", "netns", "--lab", lab.name()]).unwrap();
        traffic.finish_without_faults(20, |_| false);
        let all = || match &silent(&lab)[..] {
            [] => Ok(()),
            pairs => Err(pairs.to_vec()),
        };
        eventually("all pairs answer", 30, all);
        return;
    }
    fails(spare);
    let next = ["replace", &file, "n1", "spare1", "--except", "spare0"];
    program::output(&[&next[..], &["--launcher", "netns", "--lab", lab.name()]].concat()).unwrap();
    assert!(asked("n0").contains("3 received"), "{}", asked("n0"));
}
