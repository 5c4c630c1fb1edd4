//! The trial of changes of plan: labs of many kinds of fabrics, each under numbered datagrams of all
//! pairs of nodes, get one new plan after the other by `tresse rollout`. A seed and the number of a round
//! determine the change.
//!
//! A round is good if the rollout succeeds, if it has ended and every node is settled within
//! `SETTLED` (judged on the machine itself; in the emulated machine the time is only reported), if no
//! datagram is lost or arrives twice, if none overtakes another of a pair whose paths stay the same, and
//! if all pairs answer afterwards. Where the emulated machine is so slow that failure detection moves pairs to
//! other paths meanwhile, order is not judged: it is promised on one path.

mod fabric;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tresse_base::random::Random;
use tresse_plan::lock::Lock;

pub use self::fabric::{Fabric, KINDS, Kind};
use crate::cabling::Moved;
use crate::lab::{Lab, Planned};
use crate::load::{Fault, Load, Miss, all_pairs, describe};
use crate::pace;

/// The longest time that a change of plan may take on an idle machine.
const SETTLED: Duration = Duration::from_secs(5);
/// Datagrams of one pair in a second, and of all pairs together: more would keep two processors busy
/// by themselves.
const RATE: u32 = 1000;
const RATE_OF_ALL: u32 = 72_000;
/// The same in the emulated machine.
const EMULATED_RATE_OF_ALL: u32 = 300;
/// Milliseconds between BFD packets: what `tressed` does by itself, and rarer in the emulated machine.
const BFD_MS: &str = "300";
const EMULATED_BFD_MS: &str = "1000";
/// How long traffic flows before and after a change.
const AROUND: Duration = Duration::from_millis(300);

/// Options of the trial: how many rounds, the seed of all random choices, and the first round.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Number of rounds of each kind; 0: one for each change that the kind allows.
    pub rounds: u64,
    /// The seed.
    pub seed: u64,
    /// The first round.
    pub round: u64,
    /// Whether this is the emulated machine, whose times are not judged.
    pub emulated: bool,
}

/// The result of the rounds of one kind.
#[derive(Debug, Default)]
pub struct Row {
    /// The times of the changes, ascending.
    pub took: Vec<Duration>,
    /// Number of datagrams.
    pub sent: u64,
    /// What was wrong in rounds that were not good.
    pub wrong: Vec<String>,
}

/// Runs the trial with one kind of fabric, and prints a line for each round on standard output.
///
/// # Errors
/// The lab cannot be built, or no plan can be made: nothing more can be tried.
pub fn trial(kind: &'static Kind, options: Options) -> Result<Row, String> {
    let mut fabric = Fabric::largest(kind);
    let mut lab = Lab::up("changes", fabric.plan(&Lock::default())?, &bfd(options.emulated))?;
    lab.settled()?;
    let mut row = Row::default();
    // A run that begins with a later round goes through the same states.
    let rounds = if options.rounds == 0 { fabric.changes() } else { options.rounds };
    for round in 0..options.round + rounds {
        let mut random = Random::new(options.seed.wrapping_mul(0x0100_0000_01b3) ^ round);
        let (next, words) = fabric.next(round, &mut random);
        fabric = next;
        if round < options.round {
            continue;
        }
        let planned = next.plan(&lab.now().lock)?;
        let (took, sent, wrong) = change(&mut lab, planned, kind.moves_cables(), options.emulated)?;
        let verdict = wrong.as_deref().unwrap_or("good");
        let seconds = took.as_secs_f64();
        println!(
            "{} round {round:<3} {seconds:>5.1} s  {words}: {sent} datagrams, {verdict}",
            kind.name
        );
        row.took.push(took);
        row.sent += sent;
        if let Some(wrong) = wrong {
            row.wrong.push(format!("round {round}, {words}: {wrong}"));
            lab.show_logs();
            // The next round begins from where this one should have ended.
            lab.settled()?;
        }
    }
    row.took.sort_unstable();
    Ok(row)
}

/// The options of `tresse lab up` for failures to be detected as on real nodes.
#[must_use]
pub const fn bfd(emulated: bool) -> [&'static str; 2] {
    ["--bfd-ms", if emulated { EMULATED_BFD_MS } else { BFD_MS }]
}

/// Changes the plan of a lab under traffic. Returns how long it took, the number of datagrams, and what
/// was wrong.
fn change(
    lab: &mut Lab,
    next: Planned,
    recabled: bool,
    emulated: bool,
) -> Result<(Duration, u64, Option<String>), String> {
    let before = paths(lab.now());
    let after = paths(&next);
    let names = next.nodes();
    let path_events = emulated.then(|| lab.path_events(&names));
    let stations: Vec<_> =
        lab.stations().into_iter().filter(|at| names.contains(&at.name)).collect();
    let pairs = all_pairs(&stations);
    let all = if emulated { EMULATED_RATE_OF_ALL } else { RATE_OF_ALL };
    let load =
        Load::start(&pairs, Duration::from_secs(1) / (all / pairs.len() as u32).clamp(1, RATE))?;
    std::thread::sleep(AROUND);
    let (_, early) = load.account();
    let mut wrong = Vec::new();
    if !early.is_empty() {
        let early: Vec<&Miss> = early.iter().collect();
        wrong.push(format!("before the change: {}", describe(Instant::now(), &early)));
    }
    let moved = if recabled { Moved::to(lab, &next)? } else { Moved::default() };
    if moved.cut {
        // Not by the change of plan.
        let _ = load.account();
    }
    let began = Instant::now();
    let slowness = pace::slowness();
    let rolled_out = lab.roll_out(next, &moved.ports);
    let took = *rolled_out.as_ref().unwrap_or(&began.elapsed());
    let undrained = moved.finish(lab);
    std::thread::sleep(AROUND);
    let (sent, misses) = load.account();
    drop(load);
    let moved_by_failures = path_events.is_some_and(|before| before != lab.path_events(&names));
    let stays = |miss: &Miss| !moved_by_failures && before.get(&miss.pair) == after.get(&miss.pair);
    let bad = misses.iter().filter(|miss| miss.fault != Fault::Overtaken || stays(miss));
    let bad: Vec<&Miss> = bad.collect();
    wrong.extend(rolled_out.err());
    wrong.extend(undrained.err());
    if !emulated && took > SETTLED.mul_f64(slowness) {
        wrong.push(format!("took {:.1} s", took.as_secs_f64()));
    }
    if !bad.is_empty() {
        wrong.push(describe(began, &bad));
    }
    wrong.extend(lab.answers().err());
    Ok((took, sent, (!wrong.is_empty()).then(|| wrong.join("; "))))
}

/// The paths of all pairs that carry traffic, in words.
fn paths(planned: &Planned) -> BTreeMap<(String, String), Vec<String>> {
    let mut all: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (from, to) in planned.plan.pairs() {
        for path in planned.plan.carriers(from, to) {
            let path = planned.plan.path_view(&path);
            let words = format!("{} {:?}", path.weight, path.segments);
            all.entry((path.src, path.dst)).or_default().push(words);
        }
    }
    all
}
