//! What hosts do to a daemon: kernel events that are lost, interfaces that change their names or are missing,
//! a full disk, state that cannot be read, files of another host. It names what is wrong, and what was good
//! stays in force.

pub mod daemon;
mod plans;
mod ports;

use nix::sys::signal::Signal;

use self::daemon::{N0, batch, routes, signal, start, stop, up};
use crate::lab::{Lab, eventually};
use crate::routed::{none, silent};
use crate::silent::whole;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_robust_lost_kernel_events_are_made_up_for", lost_events),
    ("routed_robust_a_nic_of_another_name_is_waited_for", renamed),
    ("routed_robust_a_nic_that_is_missing_at_start_is_waited_for", missing_at_start),
    ("routed_robust_an_operator_who_is_cut_off_gets_the_old_plan_back", plans::cut_off),
    ("routed_robust_a_full_disk_keeps_the_plan", plans::full_disk),
    ("routed_robust_state_that_cannot_be_read_is_left_alone", plans::unreadable_state),
    ("routed_robust_a_file_of_another_host_is_refused", plans::of_another_host),
    ("routed_robust_bfd_goes_on_whoever_has_its_ports", ports::taken),
];

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
