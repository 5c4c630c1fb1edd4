//! What operators do to the paths of a running fabric: draining, pinning, rolling out plans.

use std::time::Duration;

use tresse_base::id::NodeId;
use tresse_lab::blueprint::port_name;
use tresse_tests::load::{Fault, Miss};
use tresse_tests::program;
use tresse_topology::cluster::Port;

use crate::datagrams::Traffic;
use crate::lab::{Lab, Planned, eventually, file};
use crate::routed::silent;
use crate::suite::Tests;

pub const ROUTED: Tests = &[
    ("routed_a_drained_switch_carries_nothing_and_nothing_is_lost", || {
        drained(&format!("[fabric]\ntopology = {{ {FLAT} }}\n"), &["s1"], &["s1:"]);
    }),
    ("routed_drained_parts_that_leave_some_pairs_no_planned_path_carry_nothing", || {
        let text = format!("[fabric]\ntopology = {{ {SPARSE} }}\n[routing]\npaths = 2\n");
        drained(&text, &["n4:eth1", "s0"], &["s0:"]);
    }),
    ("routed_a_drained_switch_of_a_p_mesh_carries_nothing", || {
        drained("[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n", &["s4"], &["s4:"]);
    }),
    ("routed_rollouts_are_everywhere_or_nowhere", rolled_out_or_not),
    ("routed_growth_beyond_grow_to_takes_other_prefixes", renumbered),
];

pub const SWITCHED: Tests = &[
    ("a_drained_link_of_a_torus_carries_nothing", || {
        let text = file("kind = \"torus\", dims = [3, 3]", "dor", 2, "");
        // Both directions come in at one end or the other.
        drained(&text, &["s0-s1"], &["s0:s1", "s1:s0"]);
    }),
    ("a_rollout_between_strategies_loses_nothing", || rollout_loses_nothing(&["pdor"])),
    ("long_a_rollout_between_strategies_loses_nothing", || {
        rollout_loses_nothing(&["pdor", "stp", "dor"]);
    }),
    ("a_pinned_pair_goes_by_its_path_alone", pinned),
];

/// Four nodes with a NIC on each of three switches.
const FLAT: &str = "kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 2 3\\n2: 0 1 2 3\\n\"";

/// Six nodes with two NICs; some pairs have one switch in common.
const SPARSE: &str = "kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 4 5\\n2: 2 3 4 5\\n\"";

/// A verb for all nodes; its words and whether its exit code was 0.
fn everywhere(lab: &Lab, words: &[&str]) -> (String, bool) {
    let cluster = lab.cluster_file(&lab.now);
    let launcher = ["--launcher", "netns", "--lab", lab.name()];
    let all = [words, &[cluster.as_str()], &launcher].concat();
    let output = program::run(&all);
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
}

/// Frames that came in at a switch: `s0:s1` from another switch, `s0:` from all.
fn frames(lab: &Lab, ports: &[&str]) -> u64 {
    let cluster = lab.now.plan.cluster();
    let came = |port: &&str| -> u64 {
        let (switch, from) = port.split_once(':').unwrap();
        let named = |end: &Port| cluster.switch(end.switch).name.as_str();
        let ends = cluster.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let ports = ends.filter(|(near, far)| named(near) == switch && named(far) == from);
        let ports: Vec<String> = ports.map(|(near, _)| port_name(near.port)).collect();
        let links = lab.json(switch, "ip -j -s link show type veth");
        let wanted = links.iter().filter(|link| {
            from.is_empty() || ports.iter().any(|port| link["ifname"] == port.as_str())
        });
        wanted.map(|link| link["stats64"]["rx"]["packets"].as_u64().unwrap()).sum()
    };
    ports.iter().map(came).sum()
}

/// While every pair talks some parts are drained, the last of them is seen to carry nothing, and all are used again.
fn drained(text: &str, objects: &[&str], ports: &[&str]) {
    let (object, before) = objects.split_last().unwrap();
    // Without failure detection nobody goes round what the plan does not answer.
    let bfd: &[&str] = if before.is_empty() { &[] } else { &["--bfd-ms", "1000"] };
    let lab = Lab::up(text, bfd);
    eventually("in sync", 90, || lab.in_sync());
    eventually("all sessions up", 90, || {
        let mut status = lab.now.nodes().map(|node| lab.status(node).unwrap());
        status.find(|of| of.sessions_up < of.sessions).map_or(Ok(()), |of| Err(of.node))
    });
    assert_eq!(silent(&lab), []);
    let in_a_while = || {
        let before = frames(&lab, ports);
        // A rate: frames are counted over a fixed time, as only that shows that none come.
        std::thread::sleep(Duration::from_secs(2));
        frames(&lab, ports) - before
    };
    // Each node says that it is there now and then.
    let idle = in_a_while();
    // Sessions go on watching what is drained.
    let watched = if bfd.is_empty() { 0 } else { idle };
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    let traffic = Traffic::start(&lab, &pairs);
    let mut usual = 0;
    eventually(&format!("{object} carries frames"), 10, || {
        usual = in_a_while().saturating_sub(idle);
        if usual > idle.max(16) { Ok(()) } else { Err(usual) }
    });
    for object in objects {
        let (reported, fine) = everywhere(&lab, &["drain", object, "--all"]);
        assert!(fine, "{reported}");
    }
    eventually(&format!("{object} carries nothing"), 10, || {
        let crossed = in_a_while().saturating_sub(watched);
        let few = (2 * pairs.len() as u64).min(idle + usual / 8 + 1);
        if crossed < few { Ok(()) } else { Err((crossed, idle, usual)) }
    });
    for node in lab.now.nodes() {
        assert_eq!(lab.status(node).unwrap().drained, objects);
    }
    let (reported, fine) = everywhere(&lab, &["undrain", object, "--dry-run", "--all"]);
    assert!(fine && reported.contains("would move") && reported.contains(" -> "), "{reported}");
    assert!(lab.now.nodes().all(|node| lab.status(node).unwrap().drained == objects));
    for object in [object].into_iter().chain(before) {
        let (reported, fine) = everywhere(&lab, &["undrain", object, "--all"]);
        assert!(fine, "{reported}");
    }
    eventually(&format!("{object} carries frames again"), 10, || {
        let crossed = in_a_while();
        if crossed > idle + usual / 2 { Ok(()) } else { Err((crossed, idle, usual)) }
    });
    traffic.finish_without_faults(50, overtaken);
    eventually("in sync again", 60, || lab.in_sync());
}

/// A pair that moves to a shorter path may overtake itself.
fn overtaken(miss: &Miss) -> bool {
    miss.fault == Fault::Overtaken
}

/// A node that cannot take a plan keeps it from all.
fn rolled_out_or_not() {
    let mut lab = Lab::up(&format!("[fabric]\ntopology = {{ {FLAT} }}\n"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let before = lab.now.plan.generation().to_owned();
    let next = format!("{}[routing]\npaths = 1\n", lab.now.text);
    let next = Planned::new(&next, &lab.now.lock);
    assert_ne!(next.plan.generation(), before);
    let generations = |lab: &Lab| -> Vec<String> {
        lab.now.nodes().map(|node| lab.status(node).unwrap().generation.unwrap()).collect()
    };
    let text = lab.cluster_file(&next);
    let rollout = |more: &[&str]| {
        let launcher = ["--json", "--launcher", "netns", "--lab", lab.name()];
        let output = program::run([&["rollout", &text], &launcher[..], more].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (json, output.status.code().unwrap())
    };
    let (reported, code) = rollout(&["--dry-run"]);
    assert_eq!((reported["done"].as_bool(), code), (Some(false), 0), "{reported}");
    assert_eq!(generations(&lab), vec![before.clone(); 4]);

    // One that waits for a confirm is not asked to take another plan.
    let last = NodeId(3);
    lab.client(last).apply(&lab.request(&next, Some(60))).unwrap();
    let (reported, code) = rollout(&[]);
    assert_eq!(code, 1, "{reported}");
    assert!(reported["nodes"][3]["error"].as_str().unwrap().contains("waits for its confirm"));
    lab.client(last).rollback().unwrap();
    assert_eq!(generations(&lab), vec![before.clone(); 4]);

    // A NIC that belongs to a bridge.
    let node = lab.now.node(last).to_owned();
    lab.run(&node, "ip link add br9 type bridge");
    lab.run(&node, "ip link set eth2 master br9");
    let (reported, code) = rollout(&[]);
    assert_eq!(code, 1, "{reported}");
    let errors = |reported: &serde_json::Value| -> Vec<bool> {
        reported["nodes"].as_array().unwrap().iter().map(|n| n["error"].is_string()).collect()
    };
    assert_eq!(errors(&reported), [false, false, false, true], "{reported}");
    assert_eq!(generations(&lab), vec![before.clone(); 4]);
    lab.run(&node, "ip link set eth2 nomaster");
    lab.run(&node, "ip link del br9");
    eventually("in sync", 60, || lab.in_sync());

    // A disk that takes nothing is found when the others have installed it.
    let state = lab.directory.node(&node).join("state");
    let away = state.with_extension("away");
    std::fs::rename(&state, &away).unwrap();
    std::fs::write(&state, "").unwrap();
    let (reported, code) = rollout(&[]);
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(&away, &state).unwrap();
    assert_eq!(code, 1, "{reported}");
    assert_eq!(errors(&reported), [false, false, false, true], "{reported}");
    eventually("the old plan everywhere", 30, || {
        let found = generations(&lab);
        if found == vec![before.clone(); 4] { Ok(()) } else { Err(found) }
    });
    eventually("in sync", 60, || lab.in_sync());

    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    let traffic = Traffic::start(&lab, &pairs);
    // One is left out, and goes on by the old plan until it gets the new one.
    let (reported, code) = rollout(&["--except", &node]);
    assert_eq!((reported["done"].as_bool(), code), (Some(true), 0), "{reported}");
    assert_eq!(generations(&lab)[3], before);
    let (reported, code) = rollout(&[]);
    assert_eq!((reported["done"].as_bool(), code), (Some(true), 0), "{reported}");
    traffic.finish_without_faults(1, overtaken);
    assert_eq!(generations(&lab), vec![next.plan.generation().to_owned(); 4]);
    lab.now = next;
    eventually("in sync", 60, || lab.in_sync());
    assert_eq!(silent(&lab), []);
}

/// More room for growth gives nodes of a P-Mesh addresses that others had: refused with the remedy, which holds. The lab asks the
/// addresses that nodes have then.
fn renumbered() {
    let text = |grow_to: u32, more: &str| {
        let kind = format!("kind = \"pmesh\", dims = [3, 3], grow_to = [{grow_to}, {grow_to}]");
        format!("[fabric]\ntopology = {{ {kind} }}\n{more}")
    };
    let lab = Lab::up(&text(3, ""), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let rollout = |text: &str| {
        let file = lab.cluster_file(&Planned::new(text, &lab.now.lock));
        let launcher = ["--launcher", "netns", "--lab", lab.name()];
        program::run([&["rollout", &file], &launcher[..]].concat())
    };
    let refused = rollout(&text(9, ""));
    let words = String::from_utf8_lossy(&refused.stdout);
    assert_eq!(refused.status.code(), Some(1), "{words}");
    let remedy = "give `[addressing] nodes` and `nics` prefixes apart from those in force";
    assert!(words.contains("would reach another node") && words.contains(remedy), "{words}");
    let all = |lab: &Lab| {
        let (words, ok) = lab.verb(&["ping", "--fast"]);
        if ok { Ok(()) } else { Err(words) }
    };
    all(&lab).unwrap();
    let apart = "[addressing]\nnodes = \"10.79.0.0/16\"\nnics = \"10.80.0.0/16\"\n";
    let done = rollout(&text(9, apart));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    eventually("all pairs answer by the new addresses", 60, || all(&lab));
    assert!(lab.run("n4", "ip -br address show tresse0").contains("10.79.0."));
}

/// Switches first get the VLANs of both plans, as `export --keep` writes them.
fn rollout_loses_nothing(strategies: &[&str]) {
    let mut lab = Lab::up(&file("kind = \"torus\", dims = [3, 3]", "dor", 2, ""), &[]);
    let pairs: Vec<_> = lab.now.plan.pairs().step_by(5).collect();
    for strategy in strategies {
        let next = lab.now.next(strategy);
        lab.keep(&next.plan);
        let traffic = Traffic::start(&lab, &pairs);
        let text = lab.cluster_file(&next);
        let launcher = ["--launcher", "netns", "--lab", lab.name()];
        program::output(&[&["rollout", &text], &launcher[..]].concat()).unwrap();
        traffic.finish_without_faults(50, overtaken);
        let old = std::mem::replace(&mut lab.now, next);
        lab.settle(&old.plan);
        eventually("in sync", 60, || lab.in_sync());
    }
}

/// The switches' counters say by which VLAN a pair goes.
fn pinned() {
    let lab = Lab::up(&file("kind = \"torus\", dims = [3, 3]", "dor", 2, ""), &[]);
    eventually("in sync", 90, || lab.in_sync());
    let (a, b) = lab.now.plan.pairs().next().unwrap();
    let to = lab.now.node(b).to_owned();
    let way = |lab: &Lab| {
        let words = format!("ip -j route get {}", lab.address(b));
        lab.json(lab.now.node(a), &words)[0]["dev"].as_str().unwrap().to_owned()
    };
    let (primary, second) = (&lab.now.plan.paths(a, b)[0], &lab.now.plan.paths(a, b)[1]);
    let interface = |path: &tresse_topology::path::Path| {
        lab.now.plan.interface(a, path.segments[0].nic, path.segments[0].tree)
    };
    assert_eq!(way(&lab), interface(primary));
    let socket = lab.directory.socket(lab.now.node(a)).display().to_string();
    program::output(&["pin", &to, "1", "--socket", &socket]).unwrap();
    assert_eq!(way(&lab), interface(second));
    assert_eq!(lab.ping(&[(a, b), (b, a)]), []);
    // Weights: the members of the kernel's group.
    program::output(&["weight", &to, "0:1", "1:3", "--socket", &socket]).unwrap();
    let words = format!("ip -j route show {} metric 7800", lab.address(b));
    let hops = &lab.json(lab.now.node(a), &words)[0]["nexthops"];
    let hops = hops.as_array().unwrap().iter();
    let shares: std::collections::BTreeMap<String, u64> = hops
        .map(|hop| (hop["dev"].as_str().unwrap().to_owned(), hop["weight"].as_u64().unwrap()))
        .collect();
    assert_eq!(shares, [(interface(primary), 1), (interface(second), 3)].into());
    assert_eq!(lab.ping(&[(a, b), (b, a)]), []);
    program::output(&["unpin", &to, "--socket", &socket]).unwrap();
    assert_eq!(way(&lab), interface(primary));
    assert_eq!(lab.ping(&[(a, b), (b, a)]), []);
}
