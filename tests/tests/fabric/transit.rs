//! Paths through in-transit nodes, by the kernel's label routes and by the packet engine: judged by
//! `ping`, by the switches' counters and by `tcpdump`'s own reading of the label stacks.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tresse_base::id::NodeId;
use tresse_lab::blueprint::port_name;
use tresse_topology::path::{Path, Segment};

use super::lab::{Lab, eventually, file};

pub const TESTS: &[(&str, fn())] = &[
    ("transit_on_an_irregular_fabric_by_both_engines", irregular),
    ("transit_on_a_torus_by_the_packet_engine", torus),
    ("transit_without_labels_in_any_kernel", torus_without_kernel_labels),
    ("k1_without_its_daemon_a_source_goes_by_paths_without_labels", daemon_gone),
];

fn irregular() {
    let topology = "kind = \"irregular\", switches = 16, ports = 5, nodes_per_switch = 1, seed = 1";
    let lab = Lab::up(&file(topology, "transit", 1, ""), &["--engine", "mixed"]);
    all_pairs_answer(&lab);
    engines_are(&lab, "mixed");
    label_stacks_are_the_planned_ones(&lab);
}

fn torus() {
    let topology = "kind = \"torus\", dims = [4, 4], nodes_per_switch = 1";
    let lab = Lab::up(&file(topology, "transit", 1, ""), &["--engine", "packet"]);
    all_pairs_answer(&lab);
    engines_are(&lab, "packet");
    label_stacks_are_the_planned_ones(&lab);
}

/// Sources push through their TUN interfaces, all others by raw sockets.
fn torus_without_kernel_labels() {
    let topology = "kind = \"torus\", dims = [4, 4], nodes_per_switch = 1";
    let flags = ["--engine", "packet", "--source", "tun"];
    let lab = Lab::up(&file(topology, "transit", 1, ""), &flags);
    all_pairs_answer(&lab);
    engines_are(&lab, "packet");
    for (node, pushes) in sources(&lab) {
        let source = if pushes { "tun" } else { "none" };
        assert_eq!(lab.status(node).unwrap().source, source, "{}", lab.now.node(node));
    }
    label_stacks_are_the_planned_ones(&lab);
}

/// Every node, and whether a path of it begins with labels.
fn sources(lab: &Lab) -> Vec<(NodeId, bool)> {
    let plan = &lab.now.plan;
    let pushes = |src: NodeId| {
        let pairs = plan.pairs().filter(|(s, _)| *s == src);
        pairs.flat_map(|(s, d)| plan.paths(s, d)).any(|path| path.segments.len() > 1)
    };
    lab.now.nodes().map(|node| (node, pushes(node))).collect()
}

/// The TUN interface ends with its daemon; the kernel goes on by the second route where that has no
/// labels.
fn daemon_gone() {
    let topology = "kind = \"torus\", dims = [4, 4], nodes_per_switch = 1";
    let flags = ["--engine", "packet", "--source", "tun"];
    let lab = Lab::up(&file(topology, "transit", 3, ""), &flags);
    eventually("in sync", 60, || lab.in_sync());
    let plan = &lab.now.plan;
    let labelled = |path: &Path| path.segments.len() > 1;
    let served = plan.pairs().find(|(s, d)| {
        let paths = plan.paths(*s, *d);
        labelled(&paths[0]) && paths.iter().any(|path| !labelled(path))
    });
    let pair = served.expect("a pair with a second path without labels");
    let name = lab.now.node(pair.0);
    let to = lab.address(pair.1);
    let way = || lab.run(name, &format!("ip route get {to}"));
    assert!(way().contains("tresse-push"), "{}", way());
    assert_eq!(lab.ping(&[pair]), []);
    kill(lab.daemon(name), Signal::SIGKILL).unwrap();
    eventually("the kernel falls back", 10, || match way() {
        way if way.contains("tresse-push") => Err(way),
        _ => Ok(()),
    });
    assert_eq!(lab.ping(&[pair]), [], "{}", way());
}

/// Each pair answers, and its frames cross exactly the links and VLANs of the plan, segment by segment.
fn all_pairs_answer(lab: &Lab) {
    eventually("in sync", 60, || lab.in_sync());
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    lab.reset_counters();
    assert_eq!(lab.ping(&pairs), []);
    lab.expect_counted(&pairs);
}

fn engines_are(lab: &Lab, engine: &str) {
    for node in lab.now.nodes() {
        let forwards = !lab.now.plan.transits()[node.index()].labels.is_empty();
        let want = match engine {
            _ if !forwards => "none",
            "mixed" if node.index() % 2 == 1 => "packet",
            "mixed" => "kernel",
            all => all,
        };
        assert_eq!(lab.status(node).unwrap().engine, want, "{}", lab.now.node(node));
    }
}

/// For the pairs with the most nodes in transit: what `tcpdump` sees at each sender of a segment.
fn label_stacks_are_the_planned_ones(lab: &Lab) {
    let plan = &lab.now.plan;
    let mut pairs: Vec<(NodeId, NodeId)> = plan.pairs().collect();
    pairs.sort_by_key(|(s, d)| std::cmp::Reverse(plan.primary(*s, *d).len()));
    let transit = pairs.into_iter().take(4).filter(|(s, d)| plan.primary(*s, *d).len() > 1);
    let mut seen = 0;
    for (src, dst) in transit {
        let segments = plan.primary(src, dst);
        let labels = plan.labels(&segments);
        for (at, segment) in segments.iter().enumerate() {
            let stack: Vec<u32> = labels[at..].iter().map(|label| label.0).collect();
            sees(lab, (src, dst), segment, &stack);
            seen += 1;
        }
    }
    assert!(seen > 1, "no pair has a node in transit");
}

/// One echo request from `src` to `dst` comes from the segment's sender with this VID and label stack.
fn sees(lab: &Lab, (src, dst): (NodeId, NodeId), segment: &Segment, stack: &[u32]) {
    let plan = &lab.now.plan;
    let (nic, vid) = (plan.sender(segment), plan.vid(segment.tree));
    // At the switch: what the packet engine sends past the queues, `tcpdump` beside it cannot see.
    let mut child = lab.inside(&plan.cluster().switch(nic.switch).name, || {
        Command::new("tcpdump")
            .args(["-i", &port_name(nic.port), "-Q", "in", "-e", "-nn", "-l", "-U", "-v"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut words = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(words.any(|line| line.unwrap().contains("listening on")));
    let (from, to) = (lab.address(src), lab.address(dst));
    let request = format!("{from} > {to}: ICMP echo request");
    let output = BufReader::new(child.stdout.take().unwrap());
    let (send, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        output.lines().map_while(Result::ok).try_for_each(|line| send.send(line + "\n"))
    });
    assert_eq!(lab.ping(&[(src, dst)]), []);
    let mut text = String::new();
    eventually("tcpdump shows the echo request", 10, || {
        text.extend(lines.try_iter());
        if text.contains(&request) { Ok(()) } else { Err(text.clone()) }
    });
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    child.wait().unwrap();
    reader.join().unwrap().unwrap();
    text.extend(lines.try_iter());
    let frames: Vec<String> = frames(&text);
    let frame = frames.iter().find(|f| f.contains(&request));
    let frame = frame.unwrap_or_else(|| panic!("no `{request}` in:\n{text}"));
    assert!(frame.contains(&format!("vlan {vid}, ")), "{frame}");
    assert_eq!(labels(frame), stack, "{frame}");
}

/// One text per frame: lines that are indented go on with the frame before.
fn frames(text: &str) -> Vec<String> {
    let mut frames: Vec<String> = Vec::new();
    for line in text.lines() {
        match frames.last_mut() {
            Some(frame) if line.starts_with(char::is_whitespace) => {
                frame.push(' ');
                frame.push_str(line.trim());
            }
            _ => frames.push(line.into()),
        }
    }
    frames
}

/// `MPLS (label 17, tc 0, ttl 63) (label 16, tc 0, [S], ttl 64)`.
fn labels(frame: &str) -> Vec<u32> {
    let parts = frame.split("(label ").skip(1);
    parts.map(|part| part.split(',').next().unwrap().parse().unwrap()).collect()
}
