//! What the tests of `copy`, `scatter`, `gather` and `allgather` share, and those of the last three.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use tresse_lab::netns;
use tresse_tests::{pace, program};

use crate::lab::{Lab, eventually, soon};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_gather_and_scatter_are_each_others_inverse", gather_scatter),
    ("routed_allgather_gives_all_to_all", allgather),
    ("routed_copy_of_several_sources_at_once", several),
    ("routed_copy_of_several_sources_loses_those_alone_that_are_gone", some_gone),
    ("routed_copy_ends_without_a_member_that_stands_still", stands_still),
    ("routed_copy_ends_without_a_source_that_stands_still", source_stands_still),
    ("routed_gather_names_whose_file_is_missing", gather_misses),
    ("routed_scatter_and_allgather_to_some_nodes_give_them_the_same", to_some),
];

pub const P_MESH: &str = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n";

/// A directory for each node: the lab's share one file system.
pub struct Files {
    pub directory: TempDir,
    pub bytes: Vec<u8>,
}

/// A verb that runs.
pub struct Running {
    pub child: Child,
    line: String,
}

impl Running {
    /// Starts it.
    pub fn start(mut command: Command, input: Stdio) -> Self {
        let line = format!("{command:?}");
        let child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::inherit());
        Self { child: child.spawn().unwrap(), line }
    }

    /// Its lines, when it has ended with this code.
    pub fn exits(self, code: i32) -> Vec<Value> {
        self.exits_within(600, code)
    }

    /// The same, of one that takes at most so many seconds of an idle machine.
    pub fn exits_within(self, seconds: u64, code: i32) -> Vec<Value> {
        let line = self.line.clone();
        let (status, text) = self.ended_within(Duration::from_secs(seconds));
        assert_eq!(status.code(), Some(code), "{line}\n{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How it ended, and its standard output.
    pub fn ended_within(mut self, time: Duration) -> (ExitStatus, String) {
        let mut output = self.child.stdout.take().unwrap();
        let text = std::thread::spawn(move || {
            let mut text = Vec::new();
            output.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
        });
        let ended = pace::wait(time, Duration::from_millis(20), || {
            self.child.try_wait().unwrap().ok_or("it still runs")
        });
        if ended.is_err() {
            self.child.kill().unwrap();
        }
        let text = text.join().unwrap().unwrap();
        let status = ended.unwrap_or_else(|_| panic!("not within {time:?}: {}\n{text}", self.line));
        (status, text)
    }
}

/// What became of the nodes.
pub fn ended(lines: &[Value]) -> impl Iterator<Item = &Value> {
    lines.iter().filter(|line| line["state"] == "done" || line["state"] == "failed")
}

/// The last line.
pub fn summary(lines: &[Value]) -> &Value {
    lines.last().filter(|line| line.get("transfer_seconds").is_some()).unwrap()
}

impl Files {
    pub fn new(lab: &Lab, bytes: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for node in lab.now.nodes() {
            fs::create_dir(directory.path().join(lab.now.node(node))).unwrap();
        }
        let bytes: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 999) as u8).collect();
        fs::write(directory.path().join("source"), &bytes).unwrap();
        Self { directory, bytes }
    }

    pub fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    pub fn of(&self, node: &str) -> PathBuf {
        self.directory.path().join(node)
    }

    /// Has a node the file, and nothing else?
    pub fn whole(&self, node: &str) {
        assert!(fs::read(self.of(node).join("source")).unwrap() == self.bytes, "{node}");
        assert_eq!(fs::read_dir(self.of(node)).unwrap().count(), 1, "{node}");
    }

    /// The arguments that copy the file from the first node, and more.
    pub fn usual(&self, more: &[&str]) -> Vec<String> {
        let at = self.directory.path().display();
        let first = if self.of("n0").exists() { "n0" } else { "n00" };
        let words = ["copy".into(), format!("{first}:{at}/source"), format!("{at}/{{node}}/")];
        words.into_iter().chain(more.iter().map(|word| (*word).to_owned())).collect()
    }

    /// All arguments of a verb: with the cluster file behind its name.
    pub fn arguments(&self, lab: &Lab, words: &[String], launcher: &str) -> Vec<String> {
        let mut all = vec![words[0].clone(), lab.cluster_file(&lab.now)];
        all.extend(words[1..].iter().cloned());
        all.extend(["--json".into(), "--launcher".into(), launcher.into()]);
        if launcher == "netns" {
            all.extend(["--lab".into(), lab.name().into()]);
        }
        all
    }

    pub fn start(&self, lab: &Lab, words: &[impl AsRef<str>], input: Stdio) -> Running {
        let words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
        let mut command = Command::new(program::tresse());
        command.args(self.arguments(lab, &words, "netns"));
        Running::start(command, input)
    }

    pub fn verb(&self, lab: &Lab, words: &[&str]) -> Running {
        self.start(lab, words, Stdio::null())
    }

    pub fn copy(&self, lab: &Lab, more: &[&str]) -> Running {
        self.start(lab, &self.usual(more), Stdio::null())
    }

    /// Waits until a node has so much of the file, in per cent.
    pub fn wait_for_a_part(&self, node: &str, percent: u64) {
        let partial = self.of(node).join(".source.tresse/content");
        let enough = self.bytes.len() as u64 * percent / 100;
        soon(&format!("{percent} per cent of the file at {node}"), 60, || {
            let has = partial.metadata().map_or(0, |of| of.len());
            if has >= enough { Ok(()) } else { Err(has) }
        });
    }
}

/// Its own file for each node, of another size and content.
fn own(lab: &Lab, files: &Files) -> Vec<(String, Vec<u8>)> {
    let content = |i: usize| vec![i as u8; 400_000 + i];
    let names = lab.now.nodes().map(|node| lab.now.node(node).to_owned()).enumerate();
    let all: Vec<(String, Vec<u8>)> = names.map(|(i, name)| (name, content(i))).collect();
    for (node, content) in &all {
        fs::write(files.of(node).join("own"), content).unwrap();
    }
    all
}

fn gather_scatter() {
    let lab = Lab::up(P_MESH, &["--rate", "100M"]);
    let files = Files::new(&lab, 1_000_003);
    let at = files.directory.path().display();
    let all = own(&lab, &files);
    let lines = files
        .verb(&lab, &["gather", &format!("{at}/{{node}}/own"), &format!("n4:{at}/got.{{from}}")]);
    let lines = lines.exits(0);
    let hub = ended(&lines).find(|line| line["node"] == "n4").unwrap();
    assert_eq!(hub["parts"].as_array().map(Vec::len), Some(9), "{hub}");
    for (node, content) in &all {
        assert!(fs::read(files.directory.path().join(format!("got.{node}"))).unwrap() == *content);
    }
    let scatter = ["scatter", &format!("n4:{at}/got.{{node}}"), &format!("{at}/{{node}}/back")];
    files.verb(&lab, &scatter).exits(0);
    for (node, content) in &all {
        assert!(fs::read(files.of(node).join("back")).unwrap() == *content);
    }
    // One file in equal pieces, in the order of the nodes.
    let scatter = ["scatter", &format!("n4:{at}/source"), &format!("{at}/{{node}}/piece")];
    files.verb(&lab, &scatter).exits(0);
    let pieces: Vec<Vec<u8>> =
        all.iter().map(|(node, _)| fs::read(files.of(node).join("piece")).unwrap()).collect();
    assert!(pieces.iter().all(|piece| piece.len().abs_diff(1_000_003 / 9) <= 1));
    assert!(pieces.concat() == files.bytes);
    for (node, _) in &all {
        assert_eq!(fs::read_dir(files.of(node)).unwrap().count(), 3, "{node}");
    }
}

fn allgather() {
    let lab = Lab::up(P_MESH, &["--rate", "100M"]);
    let files = Files::new(&lab, 10);
    let at = files.directory.path().display();
    let all = own(&lab, &files);
    let words =
        ["allgather", &format!("{at}/{{node}}/own"), &format!("{at}/{{node}}/all.{{from}}")];
    let lines = files.verb(&lab, &words).exits(0);
    assert_eq!(ended(&lines).count(), 9);
    for (node, (from, content)) in all.iter().flat_map(|to| all.iter().map(move |of| (&to.0, of))) {
        let got = fs::read(files.of(node).join(format!("all.{from}"))).unwrap();
        assert!(got == *content, "{from} at {node}");
    }
    for (node, _) in &all {
        assert_eq!(fs::read_dir(files.of(node)).unwrap().count(), 10, "{node}");
    }
}

fn several() {
    let lab = Lab::up(P_MESH, &["--rate", "100M"]);
    let files = Files::new(&lab, 10);
    let at = files.directory.path().display();
    let all = own(&lab, &files);
    let mut words = vec!["copy".to_owned()];
    words.extend([0, 4, 5].map(|i| format!("n{i}:{at}/n{i}/own")));
    words.push(format!("{at}/{{node}}/of.{{from}}"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    files.verb(&lab, &words).exits(0);
    for (to, _) in &all {
        for from in [0, 4, 5].map(|i| format!("n{i}")).iter().filter(|from| *from != to) {
            let content = &all.iter().find(|(node, _)| node == from).unwrap().1;
            assert!(fs::read(files.of(to).join(format!("of.{from}"))).unwrap() == *content);
        }
    }
}

fn some_gone() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 10);
    let at = files.directory.path().display();
    let all = own(&lab, &files);
    // One has nothing from the first.
    fs::remove_file(files.of("n3").join("own")).unwrap();
    let words =
        ["allgather", &format!("{at}/{{node}}/own"), &format!("{at}/{{node}}/all.{{from}}")];
    let lines = files.verb(&lab, &words).exits(1);
    assert!(ended(&lines).all(|line| line["error"].is_string()), "{lines:?}");
    for (from, content) in all.iter().filter(|(from, _)| from != "n3") {
        assert!(fs::read(files.of("n8").join(format!("all.{from}"))).unwrap() == *content);
    }
    // One goes on the way.
    for node in ["n0", "n5"] {
        fs::write(files.of(node).join("large"), vec![7; 4_000_000]).unwrap();
    }
    let (n0, n5) = (format!("n0:{at}/n0/large"), format!("n5:{at}/n5/large"));
    let running = files.verb(&lab, &["copy", &n0, &n5, &format!("{at}/{{node}}/of.{{from}}")]);
    let came = files.of("n1").join(".of.n0.tresse/content");
    soon("a part of n0's file at n1", 60, || {
        let has = came.metadata().map_or(0, |of| of.len());
        if has >= 400_000 { Ok(()) } else { Err(has) }
    });
    signal_member(&lab, "n5", Signal::SIGKILL);
    running.exits(1);
    for (node, _) in all.iter().filter(|(node, _)| !["n0", "n5"].contains(&node.as_str())) {
        assert_eq!(fs::read(files.of(node).join("of.n0")).unwrap().len(), 4_000_000, "{node}");
        assert!(!files.of(node).join("of.n5").exists());
    }
}

/// To the member of a node.
pub fn signal_member(lab: &Lab, node: &str, signal: Signal) {
    members(lab, node).for_each(|pid| kill(Pid::from_raw(pid), signal).unwrap());
}

/// The processes of a node's member.
fn members(lab: &Lab, node: &str) -> impl Iterator<Item = i32> {
    netns::processes(&lab.directory.netns(node)).into_iter().filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("ring-member"))
    })
}

/// All members end by themselves when there is nobody to tell them anything.
pub fn wait_for_no_members(lab: &Lab) {
    eventually("no member is left", 20, || {
        let nodes = lab.now.nodes().map(|node| lab.now.node(node));
        let left: Vec<&str> = nodes.filter(|node| members(lab, node).next().is_some()).collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

fn stands_still() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 4_000_000);
    let copy = files.copy(&lab, &[]);
    files.wait_for_a_part("n4", 30);
    signal_member(&lab, "n4", Signal::SIGSTOP);
    let lines = copy.exits_within(60, 1);
    assert_eq!(summary(&lines)["missed"], serde_json::json!(["n4"]));
    assert!(!files.of("n4").join("source").exists());
    for node in [1, 2, 3, 5, 6, 7, 8] {
        files.whole(&format!("n{node}"));
    }
}

fn source_stands_still() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 30_000_000);
    let copy = files.copy(&lab, &["--patience", "1"]);
    // It has long said that it has all itself.
    files.wait_for_a_part("n8", 10);
    signal_member(&lab, "n0", Signal::SIGSTOP);
    let lines = copy.exits_within(60, 1);
    let error = |node: &str| {
        let line = ended(&lines).find(|line| line["node"] == node).unwrap();
        line["error"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(error("n0"), "it does not report any more");
    assert_eq!(summary(&lines)["missed"].as_array().map(Vec::len), Some(8));
    (1..9).for_each(|n| {
        assert_eq!(error(&format!("n{n}")), "it lacks the file of n0, which is gone")
    });
    files.copy(&lab, &["--to", "n[1-8]"]).exits(0);
    (1..9).for_each(|node| files.whole(&format!("n{node}")));
}

fn gather_misses() {
    let lab = Lab::up(P_MESH, &["--rate", "20M"]);
    let files = Files::new(&lab, 10);
    let at = files.directory.path().display();
    for node in lab.now.nodes() {
        fs::write(files.of(lab.now.node(node)).join("own"), vec![7; 2_000_000]).unwrap();
    }
    let words = ["gather", &format!("{at}/{{node}}/own"), &format!("n0:{at}/got.{{from}}")];
    let gather = files.verb(&lab, &words);
    soon("parts of n3 and n8", 20, || {
        let part = |node: &str| files.directory.path().join(format!(".got.{node}.tresse/content"));
        let missing: Vec<_> =
            ["n3", "n8"].into_iter().filter(|node| !part(node).exists()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    });
    ["n3", "n8"].iter().for_each(|node| signal_member(&lab, node, Signal::SIGKILL));
    let lines = gather.exits(1);
    assert_eq!(summary(&lines)["missed"], serde_json::json!(["n3", "n8"]), "{lines:#?}");
    let hub = ended(&lines).find(|line| line["node"] == "n0").unwrap();
    assert_eq!(hub["error"], "it lacks the files of n3, n8, which are gone");
    files.verb(&lab, &[&words[..], &["--to", "n3,n8"]].concat()).exits(0);
    for node in lab.now.nodes() {
        let got = files.directory.path().join(format!("got.{}", lab.now.node(node)));
        assert!(fs::read(got).unwrap() == vec![7; 2_000_000]);
    }
}

fn to_some() {
    let lab = Lab::up(P_MESH, &[]);
    let files = Files::new(&lab, 900_001);
    let at = files.directory.path().display();
    let all = own(&lab, &files);
    let scatter = ["scatter", &format!("n0:{at}/source"), &format!("{at}/{{node}}/piece")];
    files.verb(&lab, &scatter).exits(0);
    let piece = |node: &str| fs::read(files.of(node).join("piece")).unwrap();
    let was: Vec<Vec<u8>> = all.iter().map(|(node, _)| piece(node)).collect();
    fs::remove_file(files.of("n4").join("piece")).unwrap();
    files.verb(&lab, &[&scatter[..], &["--to", "n4,n5"]].concat()).exits(0);
    let is: Vec<Vec<u8>> = all.iter().map(|(node, _)| piece(node)).collect();
    assert!(was == is);
    let words =
        ["allgather", &format!("{at}/{{node}}/own"), &format!("{at}/{{node}}/all.{{from}}")];
    files.verb(&lab, &[&words[..], &["--to", "n4"]].concat()).exits(0);
    for (from, content) in &all {
        assert!(fs::read(files.of("n4").join(format!("all.{from}"))).unwrap() == *content);
        assert!(!files.of("n2").join(format!("all.{from}")).exists());
    }
}
