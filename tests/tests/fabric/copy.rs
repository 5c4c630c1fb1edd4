//! `tresse copy` over nodes that route.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use tresse_lab::netns;
use tresse_tests::program;

use crate::Tests;
use crate::lab::{Lab, NAME};

pub const TESTS: Tests = &[
    ("routed_copy_gives_every_node_the_file", every_node),
    ("routed_copy_leaves_out_who_dies_on_the_way", dies),
    ("routed_copy_of_a_killed_operator_leaves_nothing", operator),
];

const P_MESH: &str = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n";

/// A directory for each node: the lab's share one file system.
struct Files {
    directory: TempDir,
    octets: Vec<u8>,
}

impl Files {
    fn new(lab: &Lab, octets: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for node in lab.now.nodes() {
            fs::create_dir(directory.path().join(lab.now.node(node))).unwrap();
        }
        let octets: Vec<u8> = (0..octets).map(|i| (i * 7 + i / 999) as u8).collect();
        fs::write(directory.path().join("source"), &octets).unwrap();
        Self { directory, octets }
    }

    fn of(&self, node: &str) -> PathBuf {
        self.directory.path().join(node)
    }

    fn copy(&self, lab: &Lab) -> Child {
        let at = self.directory.path().display();
        let mut command = Command::new(program::tresse());
        let file = lab.cluster_file(&lab.now);
        command.args(["copy", &file, &format!("n0:{at}/source"), &format!("{at}/{{node}}/")]);
        command.args(["--launcher", "netns", "--lab", NAME, "--keep", "--json"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }

    /// Waits until a node has a third.
    fn wait_for_a_third(&self, node: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let has = |path: &Path| path.metadata().map_or(0, |of| of.len());
        loop {
            let all = fs::read_dir(self.of(node)).unwrap().map(|entry| has(&entry.unwrap().path()));
            if all.sum::<u64>() * 3 > self.octets.len() as u64 {
                return;
            }
            assert!(Instant::now() < deadline, "nothing comes");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn lines(copy: Child, code: i32) -> Vec<Value> {
    let output = copy.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn every_node() {
    let lab = Lab::up(P_MESH, &[]);
    let files = Files::new(&lab, 3_000_000);
    let lines = lines(files.copy(&lab), 0);
    assert_eq!(lines.len(), 9);
    let whole = |line: &Value| line["hash"] == lines[0]["hash"] && line["octets"] == 3_000_000;
    assert!(lines.iter().all(whole), "{lines:?}");
    let changed = |path: &Path| path.metadata().unwrap().modified().unwrap();
    for node in 1..9 {
        let own = files.of(&format!("n{node}"));
        assert_eq!(fs::read_dir(&own).unwrap().count(), 1);
        assert!(fs::read(own.join("source")).unwrap() == files.octets);
        let seconds = changed(&own.join("source")).duration_since(std::time::UNIX_EPOCH).unwrap();
        let source = changed(&files.of("source")).duration_since(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(seconds.as_secs(), source.as_secs());
    }
}

fn dies() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 4_000_000);
    let copy = files.copy(&lab);
    files.wait_for_a_third("n4");
    let members = netns::processes(&lab.directory.netns("n4")).into_iter().filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("ring-member"))
    });
    members.for_each(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap());
    let lines = lines(copy, 1);
    for line in &lines {
        let node = line["node"].as_str().unwrap();
        assert_eq!(line["error"].is_null(), node != "n4", "{line}");
        let file = files.of(node).join("source");
        match node {
            "n0" => {}
            "n4" => assert!(!file.exists()),
            _ => assert!(fs::read(file).unwrap() == files.octets),
        }
    }
}

fn operator() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 4_000_000);
    let mut copy = files.copy(&lab);
    files.wait_for_a_third("n8");
    copy.kill().unwrap();
    copy.wait().unwrap();
    let left =
        || (1..9).any(|node| fs::read_dir(files.of(&format!("n{node}"))).unwrap().count() > 0);
    let deadline = Instant::now() + Duration::from_secs(20);
    while left() {
        assert!(Instant::now() < deadline, "something is left");
        std::thread::sleep(Duration::from_millis(50));
    }
}
