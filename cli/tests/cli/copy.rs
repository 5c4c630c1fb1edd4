//! `tresse copy`, `scatter`, `gather` and `allgather`: the ring they would take, and what they refuse. What they do
//! needs a lab.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::run::{has, tresse, tresse_with};

const TORUS: &str = "configs/torus16.toml";

#[test]
fn the_ring_crosses_each_link_between_switches_once() {
    let ring = tresse(["copy", TORUS, "--ring", "--json"]).exits(0).object();
    has(&ring, "nodes rings crossings shared shape times latency crossover_octets");
    assert_eq!(ring["nodes"].as_array().map(Vec::len), Some(16));
    assert_eq!((&ring["crossings"], &ring["shared"]), (&16.into(), &0.into()), "{ring}");
    // X / L of a gigabyte.
    assert_eq!(ring["times"][0]["link_seconds"], 8.0);
    let two = ["copy", TORUS, "n07:/x", "--to", "n01,n02", "--ring", "--json"];
    assert_eq!(tresse(two).exits(0).object()["nodes"][0], "n07");
    let without = ["copy", TORUS, "--ring", "--except", "n05,n[08-09]", "--json"];
    let ring = tresse(without).exits(0).object();
    assert_eq!(ring["nodes"].as_array().map(Vec::len), Some(13));
}

#[test]
fn nodes_with_several_nics_have_several_rings() {
    for (file, rings) in [("configs/pmesh-4x4.toml", 2), ("configs/direct-torus-4x4.toml", 4)] {
        let ring = tresse(["copy", file, "--ring", "--json"]).exits(0).object();
        assert_eq!(ring["rings"].as_array().map(Vec::len), Some(rings), "{ring}");
        assert_eq!(ring["shared"], 0, "{ring}");
        let one = ["copy", file, "--ring", "--json", "--stripes", "1"];
        assert_eq!(tresse(one).exits(0).object()["rings"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_thousand_nodes_fill_each_link_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (cluster, pairs) = (file("cluster.toml"), file("pairs"));
    let text = "[fabric]\ntopology = { kind = \"torus\", dims = [10, 10, 10] }\n\
                [routing]\nstrategy = \"dor\"\npaths = 1\n";
    std::fs::write(&cluster, text).unwrap();
    let ring = tresse(["copy", &cluster, "--ring", "--json"]).exits(0).object();
    assert_eq!((&ring["crossings"], &ring["shared"]), (&1000.into(), &0.into()));
    let nodes: Vec<&str> =
        ring["nodes"].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect();
    let next = nodes.iter().cycle().skip(1);
    let stages: Vec<String> = nodes.iter().zip(next).map(|(a, b)| format!("{a} {b}\n")).collect();
    std::fs::write(&pairs, stages.concat()).unwrap();
    // All stages at the full rate of their links, at once.
    let traffic = format!("permutation:{pairs}");
    let simulated = ["simulate", &cluster, "--traffic", &traffic, "--cycles", "20000", "--json"];
    let lines = tresse(simulated).exits(0).lines();
    assert_eq!(lines.last().unwrap()["saturation"], 1.0, "{lines:?}");
}

#[test]
fn little_goes_down_a_tree_and_much_around() {
    let shape = |size: &str| {
        let ring = tresse(["copy", TORUS, "--ring", "--json", "--size", size]).exits(0).object();
        (ring["shape"].clone(), ring["crossover_octets"].as_u64().unwrap())
    };
    let (small, crossover) = shape("0");
    assert_eq!(small, "tree");
    assert_ne!(shape(&(crossover - 1000).to_string()).0, "ring");
    assert_eq!(shape(&(crossover + 1000).to_string()).0, "ring");
}

#[test]
fn input_that_cannot_be_read_is_not_empty() {
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(TORUS);
    for (input, words) in [("<&-", "is closed"), ("0>/dev/null", "is open for writing only")] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!(r#"exec "$0" copy "$1" - /x {input}"#)]);
        shell.args([Path::new(env!("CARGO_BIN_EXE_tresse")), &cluster]);
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{input}: {said}");
        assert!(said.contains(&format!("standard input: {words}")), "{input}: {said}");
    }
}

#[test]
fn what_is_to_be_copied_is_named_in_full() {
    for (args, words) in [
        (&["copy", TORUS, "n00"][..], "expected a node and an absolute path"),
        (&["copy", TORUS, "n00:data"], "expected an absolute path"),
        (&["copy", TORUS, "n00:/"], "expected an absolute path"),
        (&["copy", TORUS, "n99:/data"], "no node `n99`"),
        (&["copy", TORUS, "n00:/data", "--except", "n00"], "the source is left out"),
        (&["copy", TORUS, "n00:/data", "--to", "n98"], "--to: there is no node `n98`"),
        (&["copy", TORUS, "n00:/data", "--to", "n01,"], "a name is missing"),
        (&["copy", TORUS], "NODE:PATH"),
        (&["copy", TORUS, "-"], "-: standard input alone"),
        (&["copy", TORUS, "-", "/x/"], "-: standard input alone"),
        (&["copy", TORUS, "n00:/a/x", "n01:/b/x", "/c/"], "put {from} in the target"),
        (&["copy", TORUS, "n00:/a", "x"], "expected an absolute path"),
        (&["copy", TORUS, "n00:/a", "--launcher", "manual"], "--listen"),
        (&["copy", TORUS, "n00:/a", "--stripes", "0"], "--stripes"),
        (&["scatter", TORUS, "/a", "/b"], "expected a node and an absolute path"),
        (&["scatter", TORUS, "n00:/a/", "/b"], "expected an absolute path"),
        (&["gather", TORUS, "/a", "/b"], "expected a node and an absolute path"),
        (&["gather", TORUS, "/a", "n00:/b"], "put {from} in it"),
        (&["allgather", TORUS, "/a", "/b"], "put {from} in it"),
    ] {
        let ran = tresse(args);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
        assert_ne!(ran.code, 0, "{args:?}");
    }
}

#[test]
fn a_node_without_tresse_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let ssh = directory.path().join("ssh");
    // As a shell on the other side says it.
    std::fs::write(&ssh, "#!/bin/sh\necho 'sh: 1: tresse: not found' >&2\nexit 127\n").unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    let ran = tresse_with(["copy", TORUS, "n00:/etc/hostname"], &[("PATH", &path)]).exits(1);
    assert!(ran.stderr.contains("n00: there is no `tresse` on it"), "{}", ran.stderr);
}
