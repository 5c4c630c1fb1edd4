//! `tresse copy` over nodes that route: what arrives, who is left out, what is left.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::Signal;
use tresse_lab::run;

use crate::collective::{Files, P_MESH, ended, signal_member, summary, wait_for_no_members};
use crate::lab::Lab;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_copy_gives_every_node_the_file", every_node),
    ("routed_copy_gives_every_node_a_directory_and_standard_input", directory_and_input),
    ("routed_copy_to_64_nodes", many),
    ("routed_copy_leaves_out_who_dies_on_the_way", dies),
    ("routed_copy_bypasses_who_is_slow_and_goes_on_with_it_later", slow),
    ("routed_copy_bypasses_who_sends_slowly", sends_slowly),
    ("routed_copy_leaves_out_who_cannot_be_reached_and_nobody_else", unreachable),
    ("routed_copy_leaves_nothing_on_a_full_or_closed_disk", disks),
    ("routed_copy_of_a_killed_operator_leaves_no_half_file", operator),
    ("routed_copy_by_members_that_somebody_else_starts", manual),
];

fn every_node() {
    let lab = Lab::up(P_MESH, &[]);
    let files = Files::new(&lab, 3_000_000);
    for stripes in ["1", "2"] {
        let lines = files.copy(&lab, &["--keep", "--stripes", stripes]).exits(0);
        assert_eq!(ended(&lines).count(), 9);
        let hash = &ended(&lines).next().unwrap()["hash"];
        assert_eq!(*hash, *blake3::hash(&files.bytes).to_hex().as_str());
        for line in ended(&lines) {
            assert_eq!((&line["hash"], &line["octets"]), (hash, &3_000_000.into()), "{line}");
        }
        assert_eq!(summary(&lines)["missed"].as_array().map(Vec::len), Some(0));
        let changed = |path: &Path| path.metadata().unwrap().modified().unwrap();
        for node in 1..9 {
            let own = files.of(&format!("n{node}"));
            files.whole(&format!("n{node}"));
            assert_eq!(changed(&own.join("source")), changed(&files.source()));
            fs::remove_file(own.join("source")).unwrap();
        }
    }
}

fn directory_and_input() {
    let lab = Lab::up(P_MESH, &[]);
    let files = Files::new(&lab, 10);
    let tree = files.directory.path().join("tree");
    fs::create_dir_all(tree.join("a/b")).unwrap();
    for i in 0..200 {
        fs::write(tree.join(format!("a/{i}")), vec![i as u8; i * 101]).unwrap();
    }
    fs::write(tree.join("a/b/large"), vec![3; 5_000_000]).unwrap();
    let at = files.directory.path().display();
    let source = format!("n4:{at}/tree");
    files.verb(&lab, &["copy", &source, &format!("{at}/{{node}}/")]).exits(0);
    for node in ["n0", "n3", "n8"] {
        let copy = files.of(node).join("tree");
        let same = Command::new("diff").arg("-r").arg(&tree).arg(copy).status().unwrap();
        assert!(same.success(), "{node}");
    }
    // A second time there is something: nothing is touched.
    let failed = files.verb(&lab, &["copy", &source, &format!("{at}/{{node}}/")]).exits(1);
    assert!(ended(&failed).any(|line| {
        line["error"].as_str().is_some_and(|words| words.contains("a directory that is not empty"))
    }));
    let target = format!("{at}/{{node}}/input");
    let bytes = vec![9; 3_000_001];
    let mut copy = files.start(&lab, &["copy", "-", &target], Stdio::piped());
    copy.child.stdin.take().unwrap().write_all(&bytes).unwrap();
    copy.exits(0);
    for node in lab.now.nodes() {
        assert!(fs::read(files.of(lab.now.node(node)).join("input")).unwrap() == bytes);
    }
}

fn many() {
    let file = "[fabric]\ntopology = { kind = \"pmesh\", dims = [8, 8] }\n";
    let lab = Lab::up(file, &["--rate", "100M"]);
    let files = Files::new(&lab, 8_000_000);
    let copy = files.start(&lab, &files.usual(&[]), Stdio::null());
    files.wait_for_a_part("n30", 30);
    signal_member(&lab, "n30", Signal::SIGKILL);
    let lines = copy.exits(1);
    for line in ended(&lines) {
        let node = line["node"].as_str().unwrap();
        assert_eq!(line["error"].is_null(), node != "n30", "{line}");
        if !["n00", "n30"].contains(&node) {
            files.whole(node);
        }
    }
}

fn dies() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 4_000_000);
    let copy = files.start(&lab, &files.usual(&[]), Stdio::null());
    files.wait_for_a_part("n4", 30);
    signal_member(&lab, "n4", Signal::SIGKILL);
    let lines = copy.exits(1);
    assert_eq!(summary(&lines)["missed"], serde_json::json!(["n4"]));
    for line in ended(&lines) {
        let node = line["node"].as_str().unwrap();
        assert_eq!(line["error"].is_null(), node != "n4", "{line}");
        match node {
            "n0" => {}
            "n4" => assert!(!files.of(node).join("source").exists()),
            _ => files.whole(node),
        }
    }
    // It goes on from what it had.
    files.copy(&lab, &["--to", "n4"]).exits(0);
    files.whole("n4");
}

/// The rate of all cables of a node, in the direction to it or from it.
fn rate(lab: &Lab, node: &str, to: bool, rate: &str) {
    let record = lab.directory.load().unwrap();
    for cable in record.blueprint.cables.iter().filter(|cable| cable.a.place == node) {
        let end = if to { &cable.b } else { &cable.a };
        let line = format!(
            "qdisc change dev {} root tbf rate {rate} burst 16k limit 64k\n",
            end.interface
        );
        run::batch(Some(&lab.directory.netns(&end.place)), "tc", &line).unwrap();
    }
}

fn unreachable() {
    let lab = Lab::up(P_MESH, &[]);
    let files = Files::new(&lab, 1_000_000);
    let refuses = ["n3", "n4", "n7", "n8"];
    for node in refuses {
        lab.run(node, "iptables -A INPUT -p tcp --syn -j REJECT --reject-with tcp-reset");
    }
    for shape in ["ring", "rings", "tree"] {
        let lines = files.copy(&lab, &["--shape", shape]).exits(1);
        assert_eq!(summary(&lines)["missed"], serde_json::json!(refuses), "{shape} {lines:#?}");
    }
    refuses.iter().for_each(|node| drop(lab.run(node, "iptables -F")));
    // Others send what this one cannot.
    lab.run("n1", "iptables -A OUTPUT -p tcp --syn -j REJECT --reject-with tcp-reset");
    for shape in ["ring", "rings", "tree"] {
        files.copy(&lab, &["--shape", shape]).exits(0);
        (1..9).for_each(|node| files.whole(&format!("n{node}")));
    }
}

fn slow() {
    let lab = Lab::up(P_MESH, &["--rate", "40M"]);
    let files = Files::new(&lab, 40_000_000);
    rate(&lab, "n4", true, "3mbit");
    // Behind it all would take 107 s.
    let lines = files.copy(&lab, &["--stripes", "1", "--patience", "1"]).exits_within(60, 1);
    assert_eq!(summary(&lines)["missed"], serde_json::json!(["n4"]), "{lines:?}");
    let line = ended(&lines).find(|line| line["node"] == "n4").unwrap();
    let kept = line["kept"].as_u64().unwrap();
    assert!(line["error"] == "it is too slow" && kept > 0, "{line}");
    assert!(!files.of("n4").join("source").exists());
    for node in [1, 2, 3, 5, 6, 7, 8] {
        files.whole(&format!("n{node}"));
    }
    rate(&lab, "n4", true, "40mbit");
    let lines = files.copy(&lab, &["--to", "n4"]).exits(0);
    files.whole("n4");
    let first = lines.iter().find(|line| line["state"] == "running" && line["node"] == "n4");
    let first = first.map_or(kept, |line| line["octets"].as_u64().unwrap());
    assert!(first >= kept, "it began anew: {first} of {kept}");
}

fn sends_slowly() {
    let lab = Lab::up(P_MESH, &["--rate", "40M"]);
    let files = Files::new(&lab, 40_000_000);
    rate(&lab, "n4", false, "3mbit");
    let lines = files.copy(&lab, &["--stripes", "1"]).exits_within(60, 0);
    assert_eq!(ended(&lines).count(), 9);
    (1..9).for_each(|node| files.whole(&format!("n{node}")));
}

fn disks() {
    let lab = Lab::up(P_MESH, &["--rate", "100M"]);
    let files = Files::new(&lab, 3_000_000);
    let small = |node: &str, flags, options| {
        let (tmpfs, at) = (Some("tmpfs"), files.of(node));
        mount(tmpfs, &at, tmpfs, flags, Some(options)).unwrap();
    };
    small("n2", MsFlags::empty(), "size=1m");
    small("n5", MsFlags::MS_RDONLY, "size=1m");
    let lines = files.copy(&lab, &[]).exits(1);
    let names = |node: &str| fs::read_dir(files.of(node)).unwrap().count();
    let left = (names("n2"), names("n5"));
    for node in ["n2", "n5"] {
        umount2(&files.of(node), MntFlags::MNT_DETACH).unwrap();
    }
    assert_eq!(left, (0, 0));
    assert_eq!(summary(&lines)["missed"].as_array().map(Vec::len), Some(2), "{lines:?}");
    for line in ended(&lines) {
        let node = line["node"].as_str().unwrap();
        let words = line["error"].as_str().unwrap_or_default();
        match node {
            "n0" => {}
            "n2" | "n5" if line["kept"] != 0 => panic!("{line}"),
            "n2" => assert!(words.contains("n2/source: No space left on device"), "{line}"),
            "n5" => assert!(words.contains("n5/source: Read-only file system"), "{line}"),
            _ => files.whole(node),
        }
    }
}

fn operator() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 4_000_000);
    let mut copy = files.start(&lab, &files.usual(&[]), Stdio::null());
    files.wait_for_a_part("n8", 30);
    copy.child.kill().unwrap();
    copy.child.wait().unwrap();
    wait_for_no_members(&lab);
    for node in 1..9 {
        assert!(!files.of(&format!("n{node}")).join("source").exists());
    }
    // Whoever does the same again goes on, and nothing else is left then.
    files.copy(&lab, &[]).exits(0);
    for node in 1..9 {
        files.whole(&format!("n{node}"));
        assert_eq!(fs::read_dir(files.of(&format!("n{node}"))).unwrap().count(), 1);
    }
}

fn manual() {
    let lab = Lab::up(P_MESH, &[]);
    let files = Files::new(&lab, 1_000_000);
    let source = lab.now.node(0.into());
    // The operator is on a node, as this host is in no fabric.
    let listen = format!("{}:7899", lab.address(0.into()));
    let usual = files.usual(&["--to", "n1,n4", "--listen", &listen]);
    let words = lab.command(source, &files.arguments(&lab, &usual, "manual"));
    let mut copy = { words }.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = copy.stderr.take().unwrap();
    let mut members = Vec::new();
    use std::io::BufRead as _;
    for line in std::io::BufReader::new(said).lines().take(3) {
        let line = line.unwrap();
        let (node, line) = line.strip_prefix("on ").unwrap().split_once(": ").unwrap();
        let line: Vec<&str> = line.split(' ').collect();
        let (token, program) = line[0].split_once('=').unwrap();
        assert_eq!((token, line[1]), ("TRESSE_TOKEN", "tresse"));
        let arguments: Vec<String> = line[2..].iter().map(|word| (*word).into()).collect();
        let mut member = lab.command(node, &arguments);
        members.push(member.env(token, program).spawn().unwrap());
    }
    assert!(copy.wait().unwrap().success());
    assert!(members.into_iter().all(|mut member| member.wait().unwrap().success()));
    files.whole("n1");
    files.whole("n4");
}
