//! From an older release to this one: where both plan alike, both halves of a fabric take plans together, from the
//! client of either release; where not, the older one's plan is kept until this one's is rolled out.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tresse_base::random::Random;
use tresse_plan::lock::Lock;

use super::limits::RATE_OF_ALL;
use crate::changes::{Fabric, Kind};
use crate::lab::{Lab, files_of};
use crate::load::{self, Fault, Load, Miss};
use crate::program;

/// Replaces the daemons of an older release, whose programs are in a directory, by new ones under load. Prints a
/// line for each thing done, and returns what was wrong.
///
/// # Errors
/// The lab cannot be built, or the older `tresse` does not plan.
pub fn old_release(kind: &'static Kind, older: &Path, seed: u64) -> Result<Vec<String>, String> {
    let files = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = files.path().join("cluster.toml").display().to_string();
    let ours = Fabric::largest(kind).plan(&Lock::default())?;
    std::fs::write(&file, &ours.text).map_err(|e| e.to_string())?;
    let theirs = said_by(&older.join("tresse"), &["plan", &file, "--write-lock", "--json"])?;
    let theirs: Value = serde_json::from_str(&theirs).map_err(|e| format!("plan: {e}"))?;
    let generation = theirs["generation"].as_str().ok_or("plan: no generation")?;
    if ours.plan.generation() == generation {
        return together(kind, older, seed);
    }
    let lock = std::fs::read_to_string(files.path().join("tresse.lock"));
    let lock = Lock::parse(&lock.map_err(|e| format!("tresse.lock: {e}"))?);
    let lock = lock.map_err(|e| format!("tresse.lock: {e}"))?;
    upgrade(kind, older, seed, &Before { file, lock, generation: generation.into() })
}

/// What the older release has planned.
struct Before {
    /// The cluster file, with that release's lock beside it.
    file: String,
    lock: Lock,
    generation: String,
}

/// As an operator does it whose older release plans otherwise: a lab of that release, of which the
/// daemons are replaced one after the other and keep it, the new client is refused while half are left, with
/// nothing changed, and at last rolls out the plan of the same file.
fn upgrade(
    kind: &'static Kind,
    older: &Path,
    seed: u64,
    before: &Before,
) -> Result<Vec<String>, String> {
    let planned = Fabric::largest(kind).plan(&before.lock)?;
    let client = older.join("tresse");
    let daemon = older.join("tressed").display().to_string();
    let mut up = vec!["lab", "up", &before.file, "--name", kind.name, "--tressed", &daemon];
    // Labs of releases that do not know it start no daemon again.
    if said_by(&client, &["lab", "up", "--help"])?.contains("--no-restart") {
        up.push("--no-restart");
    }
    let mut lab = Lab::up_by(kind.name, planned, || said_by(&client, &up).map(drop))?;
    lab.has(&before.generation)?;
    let rollout = ["rollout", &before.file, "--launcher", "netns", "--lab", lab.name()];
    let mut nodes = lab.nodes();
    Random::new(seed).shuffle(&mut nodes);
    let half = nodes.len() / 2;
    let stations = lab.stations();
    let pairs = load::all_pairs(&stations);
    let period = Duration::from_secs(1) * pairs.len() as u32 / RATE_OF_ALL;
    let mut all = Vec::new();
    for (new, words) in [(0..half, "half"), (half..nodes.len(), "all")] {
        let load = Load::start(&pairs, period)?;
        let began = Instant::now();
        for node in &nodes[new] {
            lab.kill(node)?;
            lab.start(node)?;
        }
        let mut wrong = Vec::new();
        wrong.extend(lab.has(&before.generation).err());
        report(kind, words, "upgraded", began, &load, &mut wrong, &mut all);
        let began = Instant::now();
        let mut wrong = Vec::new();
        let what = if words == "half" {
            if said_by(&program::tresse(), &rollout).is_ok() {
                wrong.push("a plan that half of the nodes cannot make was taken".into());
            }
            wrong.extend(lab.has(&before.generation).err());
            "new client, refused"
        } else {
            let next = Fabric::largest(kind).plan(&before.lock)?;
            wrong.extend(lab.roll_out(next, &BTreeSet::new()).err());
            wrong.extend(lab.settled().err());
            "new client"
        };
        wrong.extend(lab.answers().err());
        report(kind, words, what, began, &load, &mut wrong, &mut all);
    }
    if !all.is_empty() {
        lab.show_logs();
    }
    Ok(all)
}

/// What a program says.
fn said_by(program: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    if output.status.success() { Ok(out) } else { Err(format!("{}: {out}{err}", output.status)) }
}

/// Both releases plan alike: the plan is changed to and fro with half and with all of the daemons new, once by each
/// client.
fn together(kind: &'static Kind, older: &Path, seed: u64) -> Result<Vec<String>, String> {
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
            let mut wrong = Vec::new();
            match said_by(&client, &args) {
                Ok(_) => {
                    lab.is_now(planned);
                    fabric = next;
                }
                Err(words) => wrong.push(words),
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
