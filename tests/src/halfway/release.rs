//! A fabric of which half runs an older release: both halves take plans together, from the client of either
//! release.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tresse_base::random::Random;
use tresse_plan::lock::Lock;

use super::limits::RATE_OF_ALL;
use crate::changes::{Fabric, Kind};
use crate::lab::{Lab, files_of};
use crate::load::{self, Fault, Load, Miss};
use crate::program;

/// Builds a lab of daemons of the older release, which is in a directory, replaces them by new ones one after the
/// other, and changes the plan to and fro at each stage, once by each client. Prints a line for each change, and
/// returns what was wrong.
///
/// # Errors
/// The lab cannot be built.
pub fn old_release(kind: &'static Kind, older: &Path, seed: u64) -> Result<Vec<String>, String> {
    let mut random = Random::new(seed);
    let mut fabric = Fabric::largest(kind);
    let old = older.join("tressed");
    let mut lab = Lab::up_of(kind.name, fabric.plan(&Lock::default())?, &old, &[])?;
    lab.settled()?;
    let mut nodes = lab.nodes();
    random.shuffle(&mut nodes);
    let half = nodes.len() / 2;
    let mut all = Vec::new();
    let stations = lab.stations();
    let pairs = load::all_pairs(&stations);
    let period = Duration::from_secs(1) * pairs.len() as u32 / RATE_OF_ALL;
    for (new, words) in [(0..half, "half"), (half..nodes.len(), "all")] {
        let load = Load::start(&pairs, period)?;
        let began = Instant::now();
        // What a daemon of the older release has stored is read by a new one.
        for node in &nodes[new] {
            lab.kill(node)?;
            lab.start(node)?;
        }
        let mut wrong = Vec::new();
        wrong.extend(lab.settled().err());
        report(kind, words, "upgraded", began, &load, &mut wrong, &mut all);
        for (client, name) in
            [(program::tresse(), "new client"), (older.join("tresse"), "old client")]
        {
            let (next, change) = fabric.next(0, &mut random);
            let planned = next.plan(&lab.now().lock)?;
            let files = tempfile::tempdir().map_err(|e| e.to_string())?;
            let file = files_of(&planned, files.path())?;
            let began = Instant::now();
            let args = ["rollout", &file, "--launcher", "netns", "--lab", lab.name()];
            let output = Command::new(&client).args(args).stdin(Stdio::null()).output();
            let output = output.map_err(|e| format!("{}: {e}", client.display()))?;
            let mut wrong = Vec::new();
            if output.status.success() {
                lab.is_now(planned);
                fabric = next;
            } else {
                let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (out, err) = (said(&output.stdout), said(&output.stderr));
                wrong.push(format!("{}: {out}{err}", output.status));
            }
            wrong.extend(lab.settled().err());
            wrong.extend(lab.answers().err());
            let what = format!("{change}, {name}");
            report(kind, words, &what, began, &load, &mut wrong, &mut all);
        }
    }
    if !all.is_empty() {
        lab.show_logs();
    }
    Ok(all)
}

fn report(
    kind: &Kind,
    new: &str,
    what: &str,
    began: Instant,
    load: &Load,
    wrong: &mut Vec<String>,
    all: &mut Vec<String>,
) {
    let took = began.elapsed().as_secs_f64();
    let (sent, misses) = load.account();
    let bad: Vec<&Miss> = misses.iter().filter(|miss| miss.fault != Fault::Overtaken).collect();
    if !bad.is_empty() {
        wrong.push(load::describe(began, &bad));
    }
    let verdict = if wrong.is_empty() { "good".into() } else { wrong.join("; ") };
    println!(
        "{:<10} {new:<5} new  {what:<30} {took:>5.1} s, {sent} datagrams  {verdict}",
        kind.name
    );
    if !wrong.is_empty() {
        all.push(format!("{}, {new} new, {what}: {verdict}", kind.name));
    }
}
