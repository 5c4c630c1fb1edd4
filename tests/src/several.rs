//! The trial of several failures: labs in which random sets of two to six parts fail, at once or one after the other, and
//! heal. In half of the rounds up to two parts are drained before. A seed and the number of a round determine all that.
//!
//! A round is good if every pair of nodes that whole cables still join answers within `HEALED` after the last failure,
//! and every pair within `HEALED` after all are healed. Who is joined is found by a search of the trial's own: over
//! cables that carry in both directions, through live nodes; where nodes do not route, over pairs of nodes that have a
//! whole planned path in each direction.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_control::Drain;
use tresse_lab::ping::{PingOptions, ping};
use tresse_plan::lock::Lock;
use tresse_slice::watch::Crossing;

use crate::fault::{Fault, PartKind};
use crate::joined::joined;
use crate::lab::{Lab, Planned};
use crate::pace::{self, Deadline};

/// How long repair may take on an idle machine, at BFD's 100 ms x 3.
const HEALED: Duration = Duration::from_secs(2);
/// The same in the emulated machine, at 1 s x 3: it stands still for seconds where others use its processors.
const EMULATED_HEALED: Duration = Duration::from_secs(30);
/// How long is waited for what takes longer, to say how long.
const PATIENCE: Duration = Duration::from_secs(30);
const LAB: &str = "several";

/// A kind of fabric, and what fails there.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in the table.
    pub name: &'static str,
    /// Its cluster file's `topology`.
    topology: &'static str,
    /// Its cluster file's `routing`.
    routing: &'static str,
    /// A cluster file of which it has the `[[link]]` tables; or nothing.
    links: &'static str,
    vlans: bool,
    sets: Sets,
}

impl Kind {
    /// Does it need a kernel with VLANs?
    #[must_use]
    pub const fn has_vlans(&self) -> bool {
        self.vlans
    }
}

/// The sets of failures.
#[derive(Debug, Clone, Copy)]
enum Sets {
    /// Two to six parts by chance.
    Random,
    /// One pair of switches after the other, dead at once.
    SwitchPairs,
}

/// The fabrics of the trial.
pub const KINDS: &[Kind] = &[
    random("ring-6", "kind = \"ring\", nodes = 6"),
    random("full-mesh-5", "kind = \"full-mesh\", nodes = 5"),
    random("direct-mesh-3x2", "kind = \"direct-mesh\", dims = [3, 2]"),
    random("direct-torus-3x3", "kind = \"direct-torus\", dims = [3, 3]"),
    random("direct-torus-4x4", "kind = \"direct-torus\", dims = [4, 4]"),
    random("pmesh-3x4", "kind = \"pmesh\", dims = [3, 4]"),
    random("pmesh-4x4", PMESH_4X4),
    Kind { sets: Sets::SwitchPairs, ..random("pmesh-4x4-switches", PMESH_4X4) },
    Kind { routing: "paths = 2", ..random("flat24", "kind = \"fnn\", wiring = FLAT24") },
    Kind { links: CABLED_7, ..random("cabled-7", "kind = \"explicit\"") },
    vlans("torus-3x3", "kind = \"torus\", dims = [3, 3]", DOR),
    vlans("mesh-3x3", "kind = \"mesh\", dims = [3, 3]", DOR),
    vlans("torus-4x4", "kind = \"torus\", dims = [4, 4]", DOR),
    vlans("mesh-4x4", "kind = \"mesh\", dims = [4, 4]", DOR),
    vlans("clique-8", "kind = \"clique\", ports = 14, nodes_per_switch = 1", TRANSIT),
    vlans("irregular-8-transit", IRREGULAR_8, TRANSIT),
    vlans("irregular-8-updown", IRREGULAR_8, UPDOWN),
    vlans("irregular-16-transit", IRREGULAR_16, TRANSIT),
    vlans("irregular-16-updown", IRREGULAR_16, UPDOWN),
];

/// 24 nodes of three NICs on six switches.
const FLAT24: &str = include_str!("../../configs/flat24.fnn");
/// Seven nodes cabled at random.
const CABLED_7: &str = include_str!("../../configs/cabled-7.toml");
const IRREGULAR_8: &str =
    "kind = \"irregular\", switches = 8, nodes_per_switch = 1, seed = 1, ports = 6";
const IRREGULAR_16: &str =
    "kind = \"irregular\", switches = 16, nodes_per_switch = 1, seed = 1, ports = 6";
const DOR: &str = "strategy = \"dor\", paths = 2";
const TRANSIT: &str = "strategy = \"transit\", lossless = true, paths = 2";
const UPDOWN: &str = "strategy = \"updown\", lossless = true, paths = 2";
const PMESH_4X4: &str = "kind = \"pmesh\", dims = [4, 4]";

const fn random(name: &'static str, topology: &'static str) -> Kind {
    Kind { name, topology, routing: "", links: "", vlans: false, sets: Sets::Random }
}

const fn vlans(name: &'static str, topology: &'static str, routing: &'static str) -> Kind {
    Kind { routing, vlans: true, ..random(name, topology) }
}

/// The result of the rounds of one kind.
#[derive(Debug, Default)]
pub struct Row {
    /// How long it took until all joined pairs answered, and until all did, ascending.
    pub took: [Vec<Duration>; 2],
    /// What was wrong in rounds that were not good.
    pub wrong: Vec<String>,
}

/// Runs rounds of one kind, and prints a line for each on standard output.
///
/// # Errors
/// The lab cannot be built, or a part cannot be made to fail: nothing more can be tried.
pub fn trial(kind: &Kind, rounds: u64, seed: u64, first: u64) -> Result<Row, String> {
    let Kind { name, topology, routing, links, sets, .. } = *kind;
    let topology = topology.replace("FLAT24", &format!("{FLAT24:?}"));
    let fabric = format!("name = \"several\", topology = {{ {topology} }}");
    let links = links.find("[[link]]").map_or("", |at| &links[at..]);
    let text = format!("fabric = {{ {fabric} }}\nrouting = {{ {routing} }}\n{links}");
    let bfd = if pace::is_emulated() { "1000" } else { "100" };
    let lab = Lab::up(LAB, Planned::new(&text, &Lock::default())?, &["--bfd-ms", bfd])?;
    lab.settled()?;
    lab.watched()?;
    let mut row = Row::default();
    for round in first..first + rounds {
        let mut random = Random::new(seed.wrapping_mul(0x0100_0000_01b3) ^ round);
        let (faults, apart) = match sets {
            Sets::Random => {
                let count = 2 + random.below(5);
                let faults = Fault::drawn(&lab.now().plan, count, &mut random)?;
                (faults, [0, 0, 500, 2000][random.below(4)])
            }
            Sets::SwitchPairs => (switches(&lab, round as usize)?, 0),
        };
        let apart = Duration::from_millis(apart);
        let drained = match sets {
            Sets::Random => drained(&lab, &mut random),
            Sets::SwitchPairs => Vec::new(),
        };
        let words = drained.iter().map(|object| format!("{object} drained"));
        let words: Vec<String> = words.chain(faults.iter().map(Fault::words)).collect();
        let words = format!("{} ({} ms apart)", words.join(", "), apart.as_millis());
        drain(&lab, &drained, true)?;
        for (at, fault) in faults.iter().enumerate() {
            std::thread::sleep(if at > 0 { apart } else { Duration::ZERO });
            fault.bring(lab.name(), lab.directory(), true)?;
        }
        let lost = faults.iter().flat_map(|fault| fault.wires.iter().copied()).collect();
        let mut wrong = Vec::new();
        let mut judge = |after: &str, lost: &BTreeSet<Crossing>| -> Result<Duration, String> {
            let Answered { took, silent, late } = answers(&lab, lost)?;
            if late || !silent.is_empty() {
                wrong.push(format!("{:.1} s after {after} {silent:?}", took.as_secs_f64()));
            }
            Ok(took)
        };
        let failed = judge("the last failure", &lost)?;
        drain(&lab, &drained, false)?;
        judge("the drains", &lost)?;
        for fault in &faults {
            fault.bring(lab.name(), lab.directory(), false)?;
        }
        let times = [failed, judge("the heal", &BTreeSet::new())?];
        for (row, took) in row.took.iter_mut().zip(&times) {
            row.push(*took);
        }
        let verdict = if wrong.is_empty() { "good".to_owned() } else { wrong.join("; ") };
        let ms = times.map(|took| took.as_millis());
        println!("{name} round {round:<3} {:>5} {:>5} ms  {words}: {verdict}", ms[0], ms[1]);
        if !wrong.is_empty() {
            row.wrong.push(format!("round {round}, {words}: {}", wrong.join("; ")));
            lab.show_logs();
        }
    }
    row.took.iter_mut().for_each(|took| took.sort_unstable());
    Ok(row)
}

/// The parts that are kept free in a round: none in half of the rounds, else one or two.
fn drained(lab: &Lab, random: &mut Random) -> Vec<String> {
    let cluster = lab.now().plan.cluster();
    let switches = cluster.switches.iter().map(|switch| switch.name.clone());
    // A cable between two nodes is one part, though both its NICs name it.
    let others = cluster.direct_cables().map(|(_, end)| (end.node, end.nic));
    let others: BTreeSet<(NodeId, usize)> = others.collect();
    let nics = cluster.nodes.iter().enumerate().flat_map(|(at, node)| {
        let own = (0..node.nics.len()).filter(|nic| !others.contains(&(NodeId::from(at), *nic)));
        own.map(|nic| format!("{}:{}", node.name, node.nics[nic].name)).collect::<Vec<_>>()
    });
    let parts: Vec<String> = switches.chain(nics).collect();
    let count = [0, 0, 1, 2][random.below(4)];
    random.some(&parts, count)
}

/// Has every node keep these parts free, or use them again.
fn drain(lab: &Lab, parts: &[String], free: bool) -> Result<(), String> {
    for object in parts {
        for node in lab.nodes() {
            let mut client = lab.client(&node)?;
            let steered = match free {
                true => client.drain(&Drain { object, dry_run: false, force: true }),
                false => client.undrain(object, false),
            };
            steered.map_err(|e| format!("{node}: {object}: {e}"))?;
        }
    }
    Ok(())
}

/// The pair of switches of a round: all pairs in turn.
fn switches(lab: &Lab, round: usize) -> Result<Vec<Fault>, String> {
    let mut all = Fault::all(&lab.now().plan, 1)?;
    all.retain(|fault| fault.kind == PartKind::Switch);
    let pairs: Vec<(usize, usize)> =
        (0..all.len()).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let (a, b) = pairs[round % pairs.len()];
    Ok(vec![all[a].clone(), all[b].clone()])
}

/// What became of the pairs that are joined.
struct Answered {
    /// How long it took until all of them answered.
    took: Duration,
    /// Those that did not at last.
    silent: Vec<(String, String)>,
    /// Whether that was longer than is good.
    late: bool,
}

/// Shows what a node knows of failures.
fn known(lab: &Lab, node: &str) {
    match lab.client(node).map(|mut client| (client.failures(), client.status())) {
        Ok((failures, status)) => {
            let status = status.map(|of| (of.broken, of.backup, of.cut, of.pending, of.activity));
            eprintln!("  {node} knows {failures:?} {status:?}");
        }
        Err(words) => eprintln!("  {node}: {words}"),
    }
}

/// Asks all pairs that are joined without what is lost, until all answer.
fn answers(lab: &Lab, lost: &BTreeSet<Crossing>) -> Result<Answered, String> {
    let name = |node: NodeId| lab.now().plan.cluster().node(node).name.clone();
    let joined: BTreeSet<_> =
        joined(&lab.now().plan, lost).into_iter().map(|(a, b)| (name(a), name(b))).collect();
    let record = lab.directory().load_up().map_err(|e| e.to_string())?;
    let (wait, healed) = match pace::is_emulated() {
        true => (Duration::from_secs(2), EMULATED_HEALED),
        false => (Duration::from_millis(300), HEALED),
    };
    let options = PingOptions { fast: true, wait, ..PingOptions::default() };
    let (began, mut limit) = (Instant::now(), Deadline::after(healed));
    let mut asked_why = false;
    loop {
        let (asked, late) = (began.elapsed(), limit.is_over());
        let report = ping(lab.directory(), &record, &options).map_err(|e| e.to_string())?;
        let silent: Vec<_> =
            report.failed.into_iter().filter(|pair| joined.contains(pair)).collect();
        if asked > healed / 2 && !silent.is_empty() {
            // What takes long is worth a look.
            eprintln!(
                "  after {} ms {} pairs are silent: {:?}",
                asked.as_millis(),
                silent.len(),
                &silent[..silent.len().min(6)]
            );
            if asked > healed && !std::mem::replace(&mut asked_why, true) {
                let ends = silent.iter().flat_map(|(a, b)| [a, b]).collect::<BTreeSet<_>>();
                ends.into_iter().take(4).for_each(|node| known(lab, node));
            }
        }
        if silent.is_empty() || asked > healed + PATIENCE {
            return Ok(Answered { took: asked, silent, late });
        }
    }
}
