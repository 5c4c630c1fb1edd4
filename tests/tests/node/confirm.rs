//! Plans that nobody confirmed, and files that cannot be used.

use tresse_control::ApplyRequest;

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{answers, eventually, ours, restored};
use crate::rig::{FLAT, Rig, TWO_NICS};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("long_an_unconfirmed_apply_rolls_back_by_itself", || rolls_back_by_itself(TWO_NICS, 20)),
        ("flat_an_unconfirmed_apply_rolls_back_by_itself", || rolls_back_by_itself(FLAT, 8)),
        ("flat_an_unconfirmed_apply_rolls_back_after_a_crash", || rolls_back_after_a_crash(FLAT)),
        ("long_an_unconfirmed_apply_rolls_back_after_a_crash", || {
            rolls_back_after_a_crash(TWO_NICS);
        }),
        ("flat_a_first_apply_unconfirmed_leaves_nothing", || first_apply(FLAT, 8)),
        ("long_a_first_apply_unconfirmed_leaves_nothing", || first_apply(TWO_NICS, 20)),
        ("flat_sighup_with_a_bad_file_keeps_the_plan", || bad_file(FLAT)),
        ("long_sighup_with_a_bad_file_keeps_the_plan", || bad_file(TWO_NICS)),
    ]
}

/// Other node addresses by the same cables.
fn other(cluster: &str) -> String {
    cluster.replace("10.77.", "10.76.")
}

fn within(cluster: &str, seconds: u32) -> ApplyRequest {
    ApplyRequest { confirm_seconds: Some(seconds), ..request(&other(cluster)) }
}

/// `seconds`: long enough to look at what was applied.
fn rolls_back_by_itself(cluster: &str, seconds: u32) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = ours(&rig.node(0));
    let applied = daemons[0].client().apply(&within(cluster, seconds)).unwrap();
    assert_eq!(applied.confirm_seconds, Some(seconds));
    let second = ours(&rig.node(0));
    assert_ne!(before, second);
    restored("rolled back in time", &rig.node(0), &before);
    daemons[0].in_sync();
    answers(&rig.node(0), "10.77.0.2");
    // Confirmed in time, it stays.
    daemons[0].client().apply(&within(cluster, 3)).unwrap();
    daemons[0].client().confirm().unwrap();
    // Nothing may happen when the 3 s are over: there is no condition to wait for.
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert_eq!(ours(&rig.node(0)), second);
    assert_eq!(daemons[0].client().status().unwrap().confirm_seconds, None);
    // Back by hand.
    daemons[0].client().rollback().unwrap();
    restored("rolled back by hand", &rig.node(0), &before);
}

fn rolls_back_after_a_crash(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = ours(&rig.node(0));
    let mut daemon = daemons.remove(0);
    let generation = daemon.in_sync().generation;
    daemon.client().apply(&within(cluster, 3600)).unwrap();
    assert_ne!(before, ours(&rig.node(0)));
    daemon.kill();
    let mut daemon = Daemon::start(&rig, 0, &Setup::default());
    restored("rolled back at the next start", &rig.node(0), &before);
    let status = daemon.in_sync();
    assert_eq!((status.generation, status.confirm_seconds), (generation, None));
    answers(&rig.node(0), "10.77.0.2");
}

fn first_apply(cluster: &str, seconds: u32) {
    let rig = Rig::new(cluster);
    let mut daemon = Daemon::start(&rig, 0, &Setup::idle());
    let before = ours(&rig.node(0));
    daemon.client().apply(&within(cluster, seconds)).unwrap();
    assert_ne!(before, ours(&rig.node(0)));
    restored("nothing is left", &rig.node(0), &before);
    eventually("no plan", || {
        let status = daemon.client().status().unwrap();
        let none = status.generation.is_none() && status.in_sync;
        if none { Ok(()) } else { Err(format!("{status:?}")) }
    });
}

fn bad_file(cluster: &str) {
    let rig = Rig::new(cluster);
    let mut daemons = Daemon::all(&rig, 2);
    let before = ours(&rig.node(0));
    let generation = daemons[0].in_sync().generation;
    std::fs::write(rig.cluster_file(), cluster.replace("paths = 2", "pahts = 2")).unwrap();
    daemons[0].signal("HUP");
    eventually("the daemon complains", || {
        let log = daemons[0].log();
        if log.contains("reload failed") { Ok(()) } else { Err(log) }
    });
    assert_eq!(daemons[0].in_sync().generation, generation);
    assert_eq!(ours(&rig.node(0)), before);
    // Nor does a restart with that file.
    daemons.remove(0).kill();
    let mut daemon = Daemon::start(&rig, 0, &Setup::default());
    assert_eq!(daemon.in_sync().generation, generation);
    assert_eq!(ours(&rig.node(0)), before);
    std::fs::write(rig.cluster_file(), other(cluster)).unwrap();
    daemon.signal("HUP");
    eventually("the new plan is in force", || {
        let status = daemon.client().status().unwrap();
        if status.generation == generation { Err(format!("{status:?}")) } else { Ok(()) }
    });
    daemon.in_sync();
    assert_ne!(ours(&rig.node(0)), before);
}
