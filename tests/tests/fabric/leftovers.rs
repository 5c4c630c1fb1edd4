//! Nothing of a lab stays behind, whenever it is interrupted.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tresse_base::random::Random;
use tresse_tests::program;

use super::lab::{eventually, file};

pub const TESTS: &[(&str, fn())] = &[
    ("interrupted_up_leaves_nothing", || interrupted_up_leaves_nothing(5, 3)),
    ("long_interrupted_up_leaves_nothing", || interrupted_up_leaves_nothing(7, 12)),
    ("down_removes_what_a_killed_up_left", || killed_up_is_removed_by_down(6, 2)),
    ("long_down_removes_what_a_killed_up_left", || killed_up_is_removed_by_down(8, 12)),
];

/// Names of labs: one for each test, as tests run at once.
const INTERRUPTED: &str = "cut-short";
const KILLED: &str = "killed-up";

/// `lab up` of a ring, sent a signal after a while. Did that cut it short? Else the lab is up, and the
/// exit code says so: the signal may come when all is done.
fn cut(name: &str, signal: &str, after: Duration) -> bool {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("cluster.toml");
    std::fs::write(&path, file("kind = \"torus\", dims = [4]", "dor", 1, "")).unwrap();
    let mut up = Command::new(program::tresse())
        .args(["lab", "up", &path.display().to_string(), "--name", name])
        .args(["--tressed", &program::tressed().display().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + after;
    while Instant::now() < end && up.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    if up.try_wait().unwrap().is_none() {
        let pid = up.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
    !up.wait().unwrap().success()
}

fn rest(lab: &str) -> Vec<String> {
    let names = |directory: &str| -> Vec<String> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|e| e.file_name().into_string().ok());
        names.filter(|name| name.contains(lab)).collect()
    };
    let mut rest = names("/run/netns");
    rest.extend(names("/run/tresse-lab"));
    let daemons = Command::new("pgrep").args(["-f", lab]).output().unwrap();
    rest.extend(String::from_utf8_lossy(&daemons.stdout).lines().map(|pid| format!("pid {pid}")));
    rest
}

fn down(lab: &str) -> bool {
    program::run(["lab", "down", "--name", lab]).status.success()
}

fn interrupted_up_leaves_nothing(seed: u64, times: usize) {
    let mut random = Random::new(seed);
    let mut interrupted = 0;
    for _ in 0..times {
        if cut(INTERRUPTED, "-INT", Duration::from_millis(random.below(5000) as u64)) {
            interrupted += 1;
        } else {
            assert!(down(INTERRUPTED));
        }
        eventually("nothing is left", 10, || {
            if rest(INTERRUPTED).is_empty() { Ok(()) } else { Err(rest(INTERRUPTED)) }
        });
    }
    assert!(interrupted > 0);
}

fn killed_up_is_removed_by_down(seed: u64, times: usize) {
    let mut random = Random::new(seed);
    for _ in 0..times {
        cut(KILLED, "-KILL", Duration::from_millis(200 + random.below(4000) as u64));
        // Killed before it made anything there is no lab.
        let known =
            std::path::Path::new("/run/tresse-lab").join(KILLED).join("state.json").exists();
        assert_eq!(down(KILLED), known);
        if known {
            // What `lab up` was just starting when it was killed ends by itself.
            eventually("nothing is left", 10, || {
                if rest(KILLED).is_empty() { Ok(()) } else { Err(rest(KILLED)) }
            });
        }
    }
}
