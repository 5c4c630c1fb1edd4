//! SIGKILL at every step of a change, then a restart: the change is whole or not there, and nothing
//! foreign is touched. The daemon kills itself after as many kernel operations and state writes as
//! `TRESSED_DIE_AT` says (development builds only).

use std::collections::BTreeSet;

use tresse_control::ClientError;

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{eventually, ours, same, sh, snapshot};
use crate::rig::{FLAT, Rig, TWO_NICS};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("killed_at_any_step_of_an_apply_all_or_nothing_is_there", || {
            apply_is_all_or_nothing(TWO_NICS, 3 * SLOW);
        }),
        ("flat_killed_at_any_step_of_an_apply_all_or_nothing_is_there", || {
            apply_is_all_or_nothing(FLAT, QUICK);
        }),
        ("flat_killed_at_any_step_of_a_withdraw_the_rest_follows", || {
            withdraw_goes_on(FLAT, QUICK)
        }),
        ("long_killed_at_any_step_of_a_withdraw_the_rest_follows", || {
            withdraw_goes_on(TWO_NICS, SLOW)
        }),
        ("flat_killed_at_any_step_of_a_change_of_plans_one_of_them_is_there", || {
            one_of_two_plans(FLAT, "", QUICK, 8);
        }),
        ("long_killed_at_any_step_of_a_change_of_plans_one_of_them_is_there", || {
            one_of_two_plans(TWO_NICS, "\n[vlans]\nrange = \"7-9\"\n", SLOW, 10);
        }),
    ]
}

/// More than any change here has.
const MOST_STEPS: u32 = 400;
/// The first steps, then one of so many; every one with `TRESSE_EVERY_STEP` in the environment.
const DENSE: u32 = 3;
/// Without VLANs nothing is emulated.
const QUICK: usize = 2;
const SLOW: usize = 5;

fn steps(stride: usize) -> impl Iterator<Item = u32> {
    let every = std::env::var_os("TRESSE_EVERY_STEP").is_some();
    (1..DENSE).chain((DENSE..MOST_STEPS).step_by(if every { 1 } else { stride }))
}

fn quick() -> Setup {
    Setup { canary: false, ..Setup::idle() }
}

/// A fabric whose first node holds things that are not ours.
fn rig(cluster: &str) -> Rig {
    let rig = Rig::new(cluster);
    sh(
        &rig.node(0),
        "ip addr add 192.0.2.2/24 dev eth0
         ip nexthop add id 77 via 192.0.2.1 dev eth0
         ip route add 198.51.100.0/24 nhid 77
         echo 2 >/proc/sys/net/ipv4/fib_multipath_hash_policy",
    );
    rig
}

/// Did the daemon die before the change was done?
fn died<T>(answer: Result<T, ClientError>, daemon: &mut Daemon) -> bool {
    match answer {
        Ok(_) => false,
        Err(ClientError::Protocol { .. } | ClientError::Unreachable { .. }) => {
            assert!(!daemon.end().success());
            true
        }
        Err(other) => panic!("{other}"),
    }
}

fn apply_is_all_or_nothing(cluster: &str, stride: usize) {
    let rig = rig(cluster);
    let before = snapshot(&rig.node(0));
    let whole = whole(&rig, cluster);
    same("withdraw", &before, &snapshot(&rig.node(0)));
    for step in steps(stride) {
        // A host that never had a plan: after a withdrawal the configured one would not be used.
        let _ = std::fs::remove_dir_all(rig.home(0).join("state"));
        let setup = Setup { die_at: Some(step), ..quick() };
        let mut daemon = Daemon::start(&rig, 0, &setup);
        let answer = daemon.client().apply(&request(cluster));
        let died = died(answer, &mut daemon);
        drop(daemon);
        // With a configured file the daemon goes on, without one it takes back what was done.
        let configured = step % 2 == 0;
        let mut daemon = Daemon::start(&rig, 0, &Setup { configured, ..quick() });
        let state = settled(&mut daemon);
        if state {
            same(&format!("killed after step {step}"), &whole, &ours(&rig.node(0)));
            daemon.client().withdraw(false).unwrap();
        } else {
            assert!(!configured, "step {step}: the configured plan is not there");
        }
        same(&format!("killed after step {step}"), &before, &snapshot(&rig.node(0)));
        if !died {
            assert!(step > 20, "only {step} steps");
            return;
        }
    }
    panic!("an apply of more than {MOST_STEPS} steps");
}

fn withdraw_goes_on(cluster: &str, stride: usize) {
    let rig = rig(cluster);
    let before = snapshot(&rig.node(0));
    for step in steps(stride) {
        let mut daemon = Daemon::start(&rig, 0, &quick());
        daemon.client().apply(&request(cluster)).unwrap();
        daemon.kill();
        let mut daemon = Daemon::start(&rig, 0, &Setup { die_at: Some(step), ..quick() });
        let answer = daemon.client().withdraw(false);
        let died = died(answer, &mut daemon);
        drop(daemon);
        let mut daemon = Daemon::start(&rig, 0, &quick());
        if settled(&mut daemon) {
            assert!(step <= 1, "step {step}: the withdrawal was forgotten");
            daemon.client().withdraw(false).unwrap();
        }
        same(&format!("killed after step {step}"), &before, &snapshot(&rig.node(0)));
        if !died {
            assert!(step > 10, "only {step} steps");
            return;
        }
    }
    panic!("a withdrawal of more than {MOST_STEPS} steps");
}

/// Other node addresses, and `more` that is other, such as VIDs. Without VLANs a change has fewer steps: it
/// has to have more than `fewest`.
fn one_of_two_plans(cluster: &str, more: &str, stride: usize, fewest: u32) {
    let rig = rig(cluster);
    let other = cluster.replace("10.77.", "10.76.") + more;
    let before = snapshot(&rig.node(0));
    let second = whole(&rig, &other);
    let mut daemon = Daemon::start(&rig, 0, &quick());
    daemon.client().apply(&request(cluster)).unwrap();
    let first = ours(&rig.node(0));
    for step in steps(stride) {
        drop(daemon);
        daemon = Daemon::start(&rig, 0, &Setup { die_at: Some(step), ..quick() });
        let answer = daemon.client().apply(&request(&other));
        let died = died(answer, &mut daemon);
        drop(daemon);
        daemon = Daemon::start(&rig, 0, &quick());
        assert!(settled(&mut daemon));
        let now = ours(&rig.node(0));
        if now == second {
            daemon.client().apply(&request(cluster)).unwrap();
        }
        same(&format!("killed after step {step}"), &first, &ours(&rig.node(0)));
        if !died {
            assert!(now == second && step > fewest, "only {step} steps");
            daemon.client().withdraw(false).unwrap();
            same("withdraw", &before, &snapshot(&rig.node(0)));
            return;
        }
    }
    panic!("a change of more than {MOST_STEPS} steps");
}

/// What a plan puts there; withdrawn again.
fn whole(rig: &Rig, cluster: &str) -> BTreeSet<String> {
    let mut daemon = Daemon::start(rig, 0, &quick());
    daemon.client().apply(&request(cluster)).unwrap();
    let whole = ours(&rig.node(0));
    daemon.client().withdraw(false).unwrap();
    whole
}

/// Waits until the daemon has nothing left to do; is there a plan then?
fn settled(daemon: &mut Daemon) -> bool {
    let mut client = daemon.client();
    eventually("in sync after a crash", || {
        let status = client.status().map_err(|e| e.to_string())?;
        let done = status.in_sync && status.activity == "idle" && status.fault.is_none();
        if done { Ok(status.generation.is_some()) } else { Err(format!("{status:?}")) }
    })
}
