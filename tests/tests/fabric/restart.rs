//! Daemons of a lab that die are started again, as systemd does on a node.

use std::process::Command;
use std::time::{Duration, Instant};

use tresse_tests::program;

use crate::lab::{Lab, RESTART, eventually};
use crate::routed::silent;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_daemons_that_die_are_started_again", started_again),
    ("routed_daemons_stay_dead_where_asked", stay_dead),
];

const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n";

fn started_again() {
    let lab = Lab::up(RING, &[RESTART]);
    let before = [lab.daemon("n1"), lab.daemon("n2")];
    let killed = Instant::now();
    let (text, good) = lab.verb(&["kill", "n1", "n2"]);
    assert!(good && text.lines().count() == 2, "{text}");
    assert!(text.contains(&before[0].to_string()) && text.contains("again in 5 s"), "{text}");
    // The kernel goes on forwarding.
    while killed.elapsed() < Duration::from_secs(4) {
        assert_eq!(silent(&lab), []);
    }
    for (node, before) in ["n1", "n2"].into_iter().zip(before) {
        eventually("another daemon", 20, || match running(&lab, node) {
            Some(pid) if pid != before.as_raw() => Ok(()),
            other => Err(format!("{node}: {other:?}")),
        });
        assert!(killed.elapsed() > Duration::from_secs(5));
    }
    eventually("all in sync", 30, || lab.in_sync());
    // One that hangs is no failure, and goes on.
    assert!(lab.verb(&["kill", "--signal", "stop", "n3"]).1);
    let hung = running(&lab, "n3");
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(running(&lab, "n3"), hung);
    assert!(lab.verb(&["kill", "--signal", "cont", "n3"]).1);
    eventually("all in sync", 30, || lab.in_sync());
    // Nor is one that was asked to end.
    assert!(lab.verb(&["kill", "--signal", "term", "n3"]).1);
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(running(&lab, "n3"), None);
    assert_eq!(code(&lab, &["kill", "n3"]), Some(1));
    assert_eq!(code(&lab, &["kill", "n9"]), Some(2));
    // What started them ends with the lab.
    let supervisor = format!("--name {} supervise", lab.name());
    let supervisors = || {
        let found = Command::new("pgrep").args(["-f", "--", &supervisor]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).lines().count()
    };
    assert_eq!(supervisors(), 1);
    drop(lab);
    assert_eq!(supervisors(), 0);
}

fn stay_dead() {
    let lab = Lab::up(RING, &[]);
    let (text, good) = lab.verb(&["kill", "n1"]);
    assert!(good && text.contains("nobody starts it again"), "{text}");
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(running(&lab, "n1"), None);
}

/// The process of a node's daemon, if there is one.
fn running(lab: &Lab, node: &str) -> Option<i32> {
    let config = lab.directory.config(node);
    program::daemon(&config.display().to_string()).map(nix::unistd::Pid::as_raw)
}

fn code(lab: &Lab, words: &[&str]) -> Option<i32> {
    program::run([&["lab", "--name", lab.name()], words].concat()).status.code()
}
