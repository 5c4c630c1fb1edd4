//! What hosts do to a daemon: kernel events that are lost, interfaces that change their names or are missing,
//! a full disk, state that cannot be read, files of another host. It names what is wrong, and what was good
//! stays in force.

mod plans;

use std::collections::BTreeSet;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use tresse_base::id::NodeId;
use tresse_lab::run;
use tresse_tests::program;

use crate::Tests;
use crate::lab::{Lab, eventually};
use crate::routed::{none, silent};
use crate::silent::whole;

pub const TESTS: Tests = &[
    ("routed_robust_lost_kernel_events_are_made_up_for", lost_events),
    ("routed_robust_a_nic_of_another_name_is_waited_for", renamed),
    ("routed_robust_a_nic_that_is_missing_at_start_is_waited_for", missing_at_start),
    ("routed_robust_an_operator_who_is_cut_off_gets_the_old_plan_back", plans::cut_off),
    ("routed_robust_a_full_disk_keeps_the_plan", plans::full_disk),
    ("routed_robust_state_that_cannot_be_read_is_left_alone", plans::unreadable_state),
    ("routed_robust_a_file_of_another_host_is_refused", plans::of_another_host),
];

const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n";
const N0: NodeId = NodeId(0);

fn up() -> Lab {
    let lab = Lab::up(RING, &["--bfd-ms", "300"]);
    eventually("in sync, all sessions up", 60, || whole(&lab));
    assert_eq!(silent(&lab), []);
    lab
}

fn config(lab: &Lab) -> String {
    lab.directory.node("n0").join("tressed.toml").display().to_string()
}

fn signal(lab: &Lab, signal: Signal) {
    kill(lab.daemon("n0"), signal).unwrap();
}

/// Ends n0's daemon, and waits until it is gone.
fn stop(lab: &Lab, by: Signal) {
    signal(lab, by);
    let socket = lab.directory.socket("n0");
    let gone = || match tresse_control::Client::connect(&socket) {
        Ok(_) => Err("it still answers"),
        Err(_) => Ok(()),
    };
    eventually("n0's daemon has ended", 10, gone);
}

/// Starts it again; ended with the lab.
fn start(lab: &Lab) -> Child {
    let log = lab.directory.node("n0").join("log");
    let log = std::fs::File::options().append(true).open(log).unwrap();
    let mut command = Command::new(program::tressed());
    command.arg("--config").arg(config(lab)).stdout(log.try_clone().unwrap()).stderr(log);
    lab.inside("n0", || command.spawn().unwrap())
}

fn log(lab: &Lab) -> String {
    std::fs::read_to_string(lab.directory.node("n0").join("log")).unwrap()
}

fn batch(lab: &Lab, lines: &str) {
    run::batch(Some(&lab.directory.netns("n0")), "ip", lines).unwrap();
}

/// Ours, by their protocol.
fn routes(lab: &Lab) -> BTreeSet<String> {
    let all = lab.run("n0", "ip -4 -N route show table all proto 78");
    all.lines().map(str::to_owned).collect()
}

/// More events than the kernel keeps for a daemon that does not read, and a route of ours among them.
fn lost_events() {
    let lab = up();
    let before = routes(&lab);
    signal(&lab, Signal::SIGSTOP);
    let many = |verb: &str| -> String {
        let route =
            |k: u32| format!("route {verb} blackhole 10.200.{}.{}/32 table 999\n", k >> 8, k & 255);
        (0..60_000).map(route).collect()
    };
    batch(&lab, &many("add"));
    batch(&lab, &many("del"));
    let mut main = before.iter().filter(|line| !line.contains(" table "));
    let words: Vec<&str> = main.next().unwrap().split_whitespace().collect();
    let metric = words.iter().position(|word| *word == "metric").unwrap();
    batch(&lab, &format!("route del {} metric {}\n", words[0], words[metric + 1]));
    signal(&lab, Signal::SIGCONT);
    let overruns = || {
        let counters = lab.client(N0).counters().map_err(|e| e.to_string())?.counters;
        let lost = counters.iter().find(|c| c.name == "kernel_overruns_total").map(|c| c.value);
        if lost > Some(0) { Ok(()) } else { Err(format!("{lost:?}")) }
    };
    eventually("it knows that events were lost", 30, overruns);
    eventually("in sync, all sessions up", 30, || whole(&lab));
    assert_eq!(routes(&lab), before);
}

/// Says which NIC it lacks and gets on with the others; takes it back when it has its name again.
fn lacks_eth1(lab: &Lab) {
    let waits = || {
        let pending = lab.status(N0)?.pending;
        let named = pending.iter().any(|line| format!("{line:?}").contains("eth1"));
        if named { Ok(()) } else { Err(format!("{pending:?}")) }
    };
    eventually("eth1 is waited for", 30, waits);
    eventually("all answer without it", 30, || none(silent(lab)));
    batch(lab, "link set odd down\nlink set odd name eth1\nlink set eth1 up\n");
    eventually("in sync again, all sessions up", 60, || whole(lab));
    assert_eq!(silent(lab), []);
}

fn renamed() {
    let lab = up();
    let before = routes(&lab);
    batch(&lab, "link set eth1 down\nlink set eth1 name odd\nlink set odd up\n");
    lacks_eth1(&lab);
    assert_eq!(routes(&lab), before);
}

fn missing_at_start() {
    let lab = up();
    stop(&lab, Signal::SIGTERM);
    batch(&lab, "link set eth1 down\nlink set eth1 name odd\nlink set odd up\n");
    let mut child = start(&lab);
    eventually("it answers", 10, || {
        tresse_control::Client::connect(lab.directory.socket("n0")).map(drop)
    });
    lacks_eth1(&lab);
    drop(lab);
    child.wait().unwrap();
}
