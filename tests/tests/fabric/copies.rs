//! Copies of all kinds under random faults: they end, nobody has anything wrong under a final name, and the same once
//! more, without faults, gives everybody all.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tresse_base::random::Random;

use crate::collective::{Files, P_MESH, Running, ended, signal_member, wait_for_no_members};
use crate::lab::Lab;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_copies_with_random_faults_end_and_go_on", || rounds(2)),
    ("long_routed_copies_with_random_faults_end_and_go_on", || rounds(30)),
];

/// A run may take so long, with faults that are noticed after 20 s.
const MOST: Duration = Duration::from_secs(150);

/// What is copied to where: the words of the verb, and by node what it is to have in the end.
struct Case {
    words: Vec<String>,
    input: Option<Vec<u8>>,
    wanted: BTreeMap<String, Vec<(PathBuf, Vec<u8>)>>,
}

/// So many, or `COPY_ROUNDS`, from `COPY_SEED`.
fn rounds(usual: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (rounds, seed) = (number("COPY_ROUNDS").unwrap_or(usual), number("COPY_SEED").unwrap_or(1));
    let lab = Lab::up(P_MESH, &["--rate", "40M"]);
    for round in 0..rounds {
        let mut random = Random::new(seed + round);
        eprintln!("COPY_SEED={} COPY_ROUNDS=1", seed + round);
        let files = Files::new(&lab, 500_000 + random.below(5_000_000));
        let case = Case::new(&lab, &files, &mut random);
        let mut run = case.start(&lab, &files, &[]);
        let operator = random.below(5) == 0;
        let mut stopped = Vec::new();
        for _ in 0..=random.below(2) {
            std::thread::sleep(Duration::from_millis(random.below(1200) as u64));
            let node = format!("n{}", random.below(9));
            // That nothing is told any more is noticed late: not in all rounds.
            let stop = random.below(8) == 0;
            signal_member(&lab, &node, if stop { Signal::SIGSTOP } else { Signal::SIGKILL });
            eprintln!("{node} {}", if stop { "stands still" } else { "is killed" });
            stopped.extend(stop.then_some(node));
        }
        if operator {
            eprintln!("the operator is killed");
            run.child.kill().unwrap();
        }
        let lines = finished(run, operator);
        stopped.iter().for_each(|node| signal_member(&lab, node, Signal::SIGKILL));
        wait_for_no_members(&lab);
        case.judge(&lines);
        let missed = lines.last().and_then(|line| line["missed"].as_array().cloned());
        let missed: Vec<&str> = missed.iter().flatten().filter_map(Value::as_str).collect();
        let to = if missed.is_empty() { Vec::new() } else { vec!["--to".into(), missed.join(",")] };
        let run = case.start(&lab, &files, &to);
        let lines = finished(run, false);
        case.judge(&lines);
        case.all_is_there(&files, &lines);
    }
}

/// Its lines, when it has ended by itself.
fn finished(run: Running, killed: bool) -> Vec<Value> {
    let (status, text) = run.ended_within(MOST);
    assert!(killed || matches!(status.code(), Some(0 | 1)), "{status:?}");
    // The last one of a killed operator may be cut.
    text.lines().flat_map(serde_json::from_str).collect()
}

impl Case {
    fn new(lab: &Lab, files: &Files, random: &mut Random) -> Self {
        let at = files.directory.path().display();
        let names: Vec<String> = lab.now.nodes().map(|node| lab.now.node(node).into()).collect();
        let (first, all) = (0, 0..names.len());
        let own = |i: usize| vec![i as u8; files.bytes.len() / 3 + i];
        for i in all.clone() {
            fs::write(files.of(&names[i]).join("own"), own(i)).unwrap();
        }
        let mut wanted: BTreeMap<String, Vec<(PathBuf, Vec<u8>)>> = BTreeMap::new();
        let mut want = |i: usize, name: &str, bytes: &[u8]| {
            let path = files.of(&names[i]).join(name);
            wanted.entry(names[i].clone()).or_default().push((path, bytes.to_vec()));
        };
        let mut input = None;
        let mut words: Vec<String> = match random.below(6) {
            0 | 1 => {
                all.filter(|i| *i != first).for_each(|i| want(i, "copy", &files.bytes));
                vec!["copy".into(), format!("n0:{at}/source"), format!("{at}/{{node}}/copy")]
            }
            2 => {
                all.for_each(|i| want(i, "input", &files.bytes));
                input = Some(files.bytes.clone());
                vec!["copy".into(), "-".into(), format!("{at}/{{node}}/input")]
            }
            3 => {
                let sources = [0, 4, 5];
                for i in all {
                    let others = sources.into_iter().filter(|from| *from != i);
                    others.for_each(|from| want(i, &format!("of.n{from}"), &own(from)));
                }
                let sources = sources.map(|i| format!("n{i}:{at}/n{i}/own"));
                let target = format!("{at}/{{node}}/of.{{from}}");
                ["copy".into()].into_iter().chain(sources).chain([target]).collect()
            }
            4 => {
                all.for_each(|from| want(first, &format!("got.n{from}"), &own(from)));
                let (from, to) = (format!("{at}/{{node}}/own"), format!("n0:{at}/n0/got.{{from}}"));
                vec!["gather".into(), from, to]
            }
            _ => {
                for i in all.clone() {
                    all.clone().for_each(|from| want(i, &format!("all.n{from}"), &own(from)));
                }
                let (from, to) =
                    (format!("{at}/{{node}}/own"), format!("{at}/{{node}}/all.{{from}}"));
                vec!["allgather".into(), from, to]
            }
        };
        let shape = ["auto", "ring", "tree"][random.below(3)];
        let stripes = (1 + random.below(2)).to_string();
        // Straight to one node there is no ring.
        if words[0] != "gather" {
            words.extend(
                ["--shape", shape, "--stripes", &stripes, "--patience", "5"].map(String::from),
            );
        }
        eprintln!("{} bytes: {}", files.bytes.len(), words.join(" "));
        Self { words, input, wanted }
    }

    fn start(&self, lab: &Lab, files: &Files, more: &[String]) -> Running {
        let words: Vec<&String> = self.words.iter().chain(more).collect();
        let input = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut run = files.start(lab, &words, input);
        if let (Some(mut pipe), Some(bytes)) = (run.child.stdin.take(), self.input.clone()) {
            // An operator that is killed reads no more.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        run
    }

    /// What has a final name is right, and who is said to have all has it.
    fn judge(&self, lines: &[Value]) {
        for (node, wanted) in &self.wanted {
            let line = ended(lines).find(|line| line["node"] == **node);
            let done = line.is_some_and(|line| line["state"] == "done");
            for (path, bytes) in wanted {
                match fs::read(path) {
                    Ok(has) => assert!(has == *bytes, "{}: wrong", path.display()),
                    Err(error) => assert!(!done, "{}: {error}", path.display()),
                }
            }
        }
    }

    fn all_is_there(&self, files: &Files, lines: &[Value]) {
        for (path, bytes) in self.wanted.values().flatten() {
            let has = fs::read(path).unwrap_or_default();
            assert!(has == *bytes, "{}: {lines:#?}", path.display());
        }
        for node in self.wanted.keys() {
            for entry in fs::read_dir(files.of(node)).unwrap() {
                let name = entry.unwrap().file_name();
                assert!(!name.to_string_lossy().starts_with('.'), "{node}: {name:?} is left");
            }
        }
    }
}
