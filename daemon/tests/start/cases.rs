//! How `tressed` starts, and what it exits with.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use libtest_mimic::Trial;
use tempfile::TempDir;
use tresse_control::{ApplyRequest, Client};
use tresse_namespace::{eventually, trial};

/// Two switches with a node each; its NICs are nowhere.
const CLUSTER: &str = r#"[fabric]
name = "start"
topology = { kind = "mesh", dims = [2] }
[routing]
strategy = "dor"
[vlans]
range = "100-109"
[addressing]
nodes = "10.77.0.0/24"
nics = "10.78.0.0/24"
"#;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_state_directory_serves_one_daemon_at_a_time", &[], one_at_a_time),
        trial("a_state_directory_that_keeps_nothing_is_refused_at_start", &[], unusable),
        trial("a_plan_may_come_later_than_the_daemon", &[], later),
        trial("once_exits_with_5_where_a_nic_is_absent", &[], absent),
        trial("once_installs_nothing_after_a_withdrawal", &[], withdrawn),
    ]
}

/// A directory with `NAME.toml` for each daemon, one `state` for all.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, name: &str, more: &str) -> Command {
        let config = self.path().join(format!("{name}.toml"));
        let (socket, state) = (self.path().join(name), self.path().join("state"));
        let state = if more.contains("state_dir") {
            String::new()
        } else {
            format!("state_dir = {state:?}\n")
        };
        fs::write(&config, format!("node = \"n0\"\nsocket = {socket:?}\n{state}{more}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tressed"));
        command.arg("--config").arg(config).stdin(Stdio::null());
        command
    }

    fn once(&self, more: &str) -> Output {
        self.command("once", more).arg("--once").output().unwrap()
    }

    fn daemon(&self, name: &str, more: &str) -> Running {
        let log = fs::File::create(self.path().join("log")).unwrap();
        let running = Running(self.command(name, more).stderr(log).spawn().unwrap());
        eventually("the daemon listens", || Client::connect(self.path().join(name)).is_ok());
        running
    }

    fn clustered(&self) -> String {
        let file = self.path().join("cluster.toml");
        fs::write(&file, CLUSTER).unwrap();
        format!("cluster = {file:?}\n")
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // SIGKILL: the lock must not outlive it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn refused(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "`{word}`: {said}");
    }
}

fn one_at_a_time() {
    let home = Home::new();
    let first = home.daemon("first", "");
    let pid = format!("(pid {})", first.0.id());
    let state = home.path().join("state");
    let words = [state.to_str().unwrap(), pid.as_str(), "state_dir"];
    refused(&home.command("second", "").output().unwrap(), 1, &words);
    refused(&home.once(""), 1, &words);
    assert!(Client::connect(home.path().join("first")).unwrap().status().is_ok());
    drop(first);
    drop(home.daemon("second", ""));
    drop(home.daemon("second", ""));
}

fn unusable() {
    let home = Home::new();
    refused(&home.once("state_dir = \"/proc/tresse\"\n"), 1, &["/proc/tresse", "state_dir"]);
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    refused(&home.once(&format!("state_dir = {file:?}\n")), 1, &[file.to_str().unwrap()]);
}

/// As after the package is installed: the configuration names a cluster file that is not there.
fn later() {
    let home = Home::new();
    let file = home.path().join("cluster.toml");
    let configured = format!("cluster = {file:?}\n");
    refused(&home.once(&configured), 3, &[file.to_str().unwrap()]);
    let daemon = home.daemon("daemon", &configured);
    let client = || Client::connect(home.path().join("daemon")).unwrap();
    assert_eq!(client().status().unwrap().generation, None);
    assert_eq!(client().plan().unwrap().cluster, None);
    let request = ApplyRequest { cluster: CLUSTER.into(), ..ApplyRequest::default() };
    let generation = client().apply(&request).unwrap().generation;
    assert!(generation.is_some());
    drop(daemon);
    // As after a reboot.
    let _daemon = home.daemon("daemon", &configured);
    let plan = client().plan().unwrap();
    assert_eq!((plan.generation, plan.cluster.as_deref()), (generation, Some(CLUSTER)));
}

fn absent() {
    let home = Home::new();
    refused(&home.once(""), 0, &[]);
    let words = ["partly installed", "): interface eth0 is absent"];
    let output = home.once(&(home.clustered() + "canary = false\n"));
    refused(&output, 5, &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("interface eth0 is absent").count(), 1, "{said}");
}

fn withdrawn() {
    let home = Home::new();
    let more = home.clustered() + "canary = false\n";
    let daemon = home.daemon("first", &more);
    let mut client = Client::connect(home.path().join("first")).unwrap();
    eventually("installed", || client.status().unwrap().generation.is_some());
    client.withdraw(false).unwrap();
    drop(daemon);
    let output = home.once(&more);
    refused(&output, 0, &["withdrawn", "tresse apply"]);
    let observed = tresse_linux::kernel::observe([]).unwrap();
    assert!(observed.links.values().all(|link| !link.is_ours()), "{:?}", observed.links);
}
