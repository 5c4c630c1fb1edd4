//! A node that comes back after two plans: it was away while the others changed plans twice.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tresse_base::random::Random;

use super::checkpoint::{Checkpoint, Step};
use super::end::others;
use super::fault::Fault;
use super::limits::{FAILOVER, RATE_OF_ALL};
use crate::changes::Fabric;
use crate::lab::{Lab, files_of};
use crate::load::{self, Load, Miss};
use crate::{pace, program};

/// How soon it has to be said that a node has another plan.
const SAID: Duration = Duration::from_secs(15);

/// The faults by which a node may be away.
pub const FAULTS: [Fault; 2] = [Fault::Killed, Fault::Rebooted];

/// Runs the row of one fault. Returns what happened in words, and what was wrong.
pub fn away(
    lab: &mut Lab,
    fabric: Fabric,
    fault: Fault,
    random: &mut Random,
) -> Result<(String, Vec<String>), String> {
    let (second, _) = fabric.next(fabric.changes() - 1, random);
    // Not fewer paths: a plan without backups has none round the node that is away.
    let third = std::iter::repeat_with(|| fabric.next(fabric.changes() - 1, random).0)
        .take(64)
        .find(|third| *third != second)
        .ok_or("there is no third plan")?;
    let nodes = lab.nodes();
    let node = nodes[random.below(nodes.len())].clone();
    let stations = lab.stations();
    let pairs = load::all_pairs(&stations);
    let load = Load::start(&pairs, Duration::from_secs(1) * pairs.len() as u32 / RATE_OF_ALL)?;
    let began = Instant::now();
    let mut wrong = Vec::new();
    let checkpoint = {
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        Checkpoint::open(&directory.path().join("checkpoint"), Step::Begun, &nodes, &[])?
    };
    let mut windows = vec![Instant::now()];
    fault.strike(lab, &node, &checkpoint)?;
    let lock = second.plan(&lab.now().lock)?.lock;
    for planned in [second.plan(&lab.now().lock)?, third.plan(&lock)?] {
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let file = files_of(&planned, files.path())?;
        let args =
            ["rollout", &file, "--launcher", "netns", "--lab", lab.name(), "--except", &node];
        wrong.extend(program::last_line(&args).err());
    }
    windows.push(Instant::now());
    fault.mend(lab, &node)?;
    windows.push(Instant::now());
    wrong.extend(said(lab, &node).err());
    let (sent, mut misses) = load.account();
    if fault == Fault::Killed {
        // Its kernel is whole, and the others go on receiving from it.
        wrong.extend(lab.answers().err());
    }
    let recovered = lab.roll_out(third.plan(&lock)?, &BTreeSet::new());
    wrong.extend(recovered.err());
    wrong.extend(lab.settled().err());
    let (more, later) = load.account();
    misses.extend(later);
    drop(load);
    let of_others = |miss: &&Miss| miss.pair.0 != node && miss.pair.1 != node;
    let near = |miss: &&Miss| {
        windows.iter().any(|at| {
            miss.sent_by + Duration::from_millis(100) > *at
                && miss.sent < *at + FAILOVER.mul_f64(pace::slowness())
        })
    };
    let bad: Vec<&Miss> = misses
        .iter()
        .filter(|miss| miss.fault != load::Fault::Overtaken)
        .filter(|miss| fault == Fault::Killed || of_others(miss) && !near(miss))
        .collect();
    if !bad.is_empty() {
        wrong.push(load::describe(began, &bad));
    }
    wrong.extend(lab.answers().err());
    if !wrong.is_empty() {
        lab.show_logs();
    }
    let lost = misses.iter().filter(|miss| miss.fault == load::Fault::Lost).count();
    Ok((format!("{node}: {lost} of {} lost", sent + more), wrong))
}

/// Waits until another node names this one, and this one another.
fn said(lab: &Lab, node: &str) -> Result<(), String> {
    pace::wait(SAID, Duration::from_millis(200), || {
        let mut by = BTreeSet::new();
        for name in lab.nodes() {
            let status = lab.client(&name)?.status().map_err(|e| format!("{name}: {e}"))?;
            let waits = status.waits.iter().filter_map(|wait| wait.node.clone());
            let named: Vec<String> = others(&status).into_iter().chain(waits).collect();
            if name == node && !named.is_empty() || named.iter().any(|it| it == node) {
                by.insert(name);
            }
        }
        let all = by.contains(node) && by.len() > 1;
        if all { Ok(()) } else { Err(format!("only {by:?} say that {node} has another plan")) }
    })
}
