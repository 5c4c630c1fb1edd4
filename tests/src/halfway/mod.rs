//! The trial of broken rollouts: at each step of a rollout something breaks, and in the end every node has
//! the same plan, or it is said which node has which.
//!
//! Every request of the rollout passes a checkpoint (`checkpoint`), which stops it at a step. There the trial breaks
//! something (`fault`), lets the rollout go on, and mends it after a while. A row, that is one fault at one
//! step, is good if
//!
//! - the rollout ends, and the nodes come to rest;
//! - exit code 0 means that all nodes have the new plan, 1 and 4 that none has it, and with 5 the answer names
//!   the nodes that do not have it;
//! - where plans differ in the end, `status` names the nodes with the other plan;
//! - no numbered datagram of any pair is lost or arrives twice, except those of a node that is itself out of
//!   order, and those of others while they find a way round it;
//! - afterwards one rollout gives all nodes the new plan, and all pairs answer.

mod away;
mod bridge;
mod checkpoint;
mod end;
mod fault;
mod limits;
mod release;
mod rollout;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tresse_base::random::Random;
use tresse_plan::lock::Lock;

pub use self::bridge::bridge;
pub use self::checkpoint::Step;
use self::end::{End, Plans};
pub use self::fault::Fault;
use self::limits::{
    BEFORE, CONFIRM, EMULATED_CONFIRM, EMULATED_RATE_OF_ALL, FAILOVER, KNOWN, PATIENCE,
    RATE_OF_ALL, SLOWEST,
};
pub use self::release::old_release;
use self::rollout::{Answer, Rollout};
use crate::changes::{Fabric, Kind, bfd};
use crate::lab::Lab;
use crate::load::{self, Load, Miss};
use crate::pace;

/// Options of the trial.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed of all random choices.
    pub seed: u64,
    /// The rows to run: a step and a fault.
    pub rows: Vec<(Step, Fault)>,
    /// Also a node that comes back after two plans.
    pub away: bool,
    /// Whether this is the emulated machine.
    pub emulated: bool,
}

/// The rows that there are.
#[must_use]
pub fn rows() -> Vec<(Step, Fault)> {
    let all = Fault::ALL.into_iter().flat_map(|fault| Step::ALL.map(|step| (step, fault)));
    all.filter(|(step, fault)| fault.fits(*step)).collect()
}

/// Runs the rows on one kind of fabric, and prints a line for each on standard output. Returns what was wrong.
///
/// # Errors
/// The lab cannot be built, or does not recover: nothing more can be tried.
pub fn trial(kind: &'static Kind, options: &Options) -> Result<Vec<String>, String> {
    let mut fabric = Fabric::largest(kind);
    let mut lab = Lab::up(kind.name, fabric.plan(&Lock::default())?, &bfd(options.emulated))?;
    lab.settled()?;
    let mut all = Vec::new();
    for (number, &(step, fault)) in (0u64..).zip(&options.rows) {
        let mut random = Random::new(options.seed.wrapping_mul(0x0100_0000_01b3) ^ number);
        let (next, _) = fabric.next(0, &mut random);
        let (other, _) = fabric.next(fabric.changes() - 1, &mut random);
        let confirm = match options.emulated {
            true => EMULATED_CONFIRM,
            // A change takes longer on a busy machine.
            false => CONFIRM.mul_f64(pace::slowness().min(SLOWEST)),
        };
        let trial = Trial { step, fault, next, other, confirm, emulated: options.emulated };
        let began = Instant::now();
        let (words, wrong) = trial.run(&mut lab, &mut random)?;
        // Where nothing helped the plan before is still in force.
        if lab.now().plan.generation() == trial.next.plan(&lab.now().lock)?.plan.generation() {
            fabric = next;
        }
        let verdict = if wrong.is_empty() { "good".into() } else { wrong.join("; ") };
        let (step, fault, seconds) = (step.name(), fault.name(), began.elapsed().as_secs_f64());
        println!(
            "{:<10} {step:<15} {fault:<16} {words:<44} {seconds:>5.1} s  {verdict}",
            kind.name
        );
        if !wrong.is_empty() {
            all.push(format!("{}, {step}, {fault}: {verdict}", kind.name));
        }
    }
    for fault in away::FAULTS.into_iter().filter(|_| options.away) {
        let mut random = Random::new(options.seed);
        let began = Instant::now();
        let fabric = Fabric::largest(kind);
        lab.roll_out(fabric.plan(&lab.now().lock)?, &BTreeSet::new())?;
        lab.settled()?;
        let (words, wrong) = away::away(&mut lab, fabric, fault, &mut random)?;
        let verdict = if wrong.is_empty() { "good".into() } else { wrong.join("; ") };
        let (name, seconds) = (fault.name(), began.elapsed().as_secs_f64());
        println!(
            "{:<10} two-plans-later {name:<16} {words:<44} {seconds:>5.1} s  {verdict}",
            kind.name
        );
        if !wrong.is_empty() {
            all.push(format!("{}, two plans later, {name}: {verdict}", kind.name));
        }
    }
    Ok(all)
}

/// One row.
struct Trial {
    step: Step,
    fault: Fault,
    next: Fabric,
    /// The plan of a second operator.
    other: Fabric,
    confirm: Duration,
    emulated: bool,
}

impl Trial {
    const fn confirm(&self) -> Duration {
        self.confirm
    }

    fn patience(&self) -> Duration {
        self.confirm() + PATIENCE.mul_f64(pace::slowness())
    }

    /// Returns what happened in words, and what was wrong.
    fn run(&self, lab: &mut Lab, random: &mut Random) -> Result<(String, Vec<String>), String> {
        let planned = || self.next.plan(&lab.now().lock);
        let (next, again) = (planned()?, planned()?);
        let plans =
            Plans { old: lab.now().plan.generation().into(), new: next.plan.generation().into() };
        let mut nodes = lab.nodes();
        random.shuffle(&mut nodes);
        let late = nodes.split_off(nodes.len() / 2);
        // The victim is of the first or the second half.
        let node = if random.below(2) == 0 { nodes[0].clone() } else { late[0].clone() };
        lab.prepare(&next, &BTreeSet::new())?;
        let stations = lab.stations();
        let pairs = load::all_pairs(&stations);
        let rate = if self.emulated { EMULATED_RATE_OF_ALL } else { RATE_OF_ALL };
        let load = Load::start(&pairs, Duration::from_secs(1) * pairs.len() as u32 / rate)?;
        std::thread::sleep(BEFORE);
        let began = Instant::now();
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let file = crate::lab::files_of(&next, files.path())?;
        let mut windows = Vec::new();
        let (answer, mut wrong) = self.broken(lab, &file, &node, &late, &mut windows)?;
        let ended = began.elapsed();
        let end = End::of(lab, self.patience());
        let mut words = format!("{node}: {}", code(answer.as_ref()));
        match &end {
            Ok(end) => {
                words += &format!(", {}", end.words(&plans));
                wrong.extend(end.wrong(self.step, self.fault, &plans, answer.as_ref()));
            }
            Err(why) => wrong.push(why.clone()),
        }
        words += &format!(" after {:.1} s", ended.as_secs_f64());
        // One rollout mends all.
        let recovered = lab.roll_out(again, &BTreeSet::new());
        if let Err(why) = &recovered {
            wrong.push(format!("the next rollout: {why}"));
        }
        wrong.extend(lab.settled().err());
        let (sent, misses) = load.account();
        drop(load);
        let misled = self.fault.misleads(lab, &node);
        let excused = |miss: &&Miss| {
            let by = self.fault.breaks_node();
            let own = miss.pair.0 == node || miss.pair.1 == node;
            miss.fault == load::Fault::Overtaken
                || misled.as_ref() == Some(&miss.pair.1)
                || by
                    && miss.fault == load::Fault::Lost
                    && (own
                        || windows.iter().any(|at: &Instant| {
                            miss.sent_by + Duration::from_millis(100) > *at
                                && miss.sent < *at + FAILOVER.mul_f64(pace::slowness())
                        }))
        };
        let bad: Vec<&Miss> = misses.iter().filter(|miss| !excused(miss)).collect();
        let lost = misses.iter().filter(|miss| miss.fault == load::Fault::Lost).count();
        words += &format!(", {lost} of {sent} lost");
        if !bad.is_empty() {
            wrong.push(load::describe(began, &bad));
        }
        wrong.extend(lab.answers().err());
        if !wrong.is_empty() {
            if let Some(answer) = &answer {
                eprintln!("-- the rollout said\n{}{}", answer.json, answer.said);
            }
            eprintln!("-- what was done, by seconds");
            for (at, deed) in lab.deeds() {
                eprintln!("{:>6.1} {deed}", load::since(began, at));
            }
            lab.show_logs();
            lab.settled()?;
        }
        lab.deeds();
        Ok((words, wrong))
    }

    /// The rollout with the fault. `windows`: when a node or its cables went out of order, and back.
    fn broken(
        &self,
        lab: &mut Lab,
        file: &str,
        node: &str,
        late: &[String],
        windows: &mut Vec<Instant>,
    ) -> Result<(Option<Answer>, Vec<String>), String> {
        let confirm = self.confirm();
        let mut wrong = Vec::new();
        let mut rollout = Rollout::start(lab, file, self.step, late, confirm)?;
        if !rollout.reached(self.patience()) {
            wrong.push(format!("the rollout never came to the step {}", self.step.name()));
        }
        windows.push(Instant::now());
        lab.note(format!("{} at {}", self.fault.name(), self.step.name()));
        self.fault.strike(lab, node, &rollout.checkpoint)?;
        match self.fault {
            // A daemon gathers what changes in its kernel; the answer tells what it knows when it is asked last.
            Fault::ForeignRoute | Fault::NicMissing => {
                std::thread::sleep(KNOWN.mul_f64(pace::slowness().min(SLOWEST)));
            }
            Fault::OperatorKilled => rollout.gone(self.patience()),
            Fault::SecondOperator => {
                let (answer, more) = self.second(lab, None)?;
                lab.note(format!("the second operator: {}", code(answer.as_ref())));
                wrong.extend(more);
            }
            Fault::OperatorLate => {
                rollout.signal(Signal::SIGSTOP);
                std::thread::sleep(confirm + Duration::from_secs(2));
                let (_, more) = self.second(lab, Some(&mut rollout))?;
                wrong.extend(more);
            }
            _ => {}
        }
        rollout.checkpoint.release();
        if let Some(lasts) = self.fault.lasts(confirm) {
            std::thread::sleep(lasts);
            windows.push(Instant::now());
            lab.note(format!("{} is over", self.fault.name()));
            self.fault.mend(lab, node)?;
            windows.push(Instant::now());
        }
        let answer = rollout.answer(self.patience())?;
        lab.note(format!("the rollout: {}", code(Some(&answer))));
        if self.fault.lasts(confirm).is_none() {
            windows.push(Instant::now());
            self.fault.mend(lab, node)?;
        }
        let killed = answer.code.is_none();
        Ok(((!killed).then_some(answer), wrong))
    }

    /// A second operator rolls out another plan. With `first`, the first operator goes on when the second one
    /// is about to confirm, and then the second one is gone: nobody has confirmed the second plan.
    fn second(
        &self,
        lab: &Lab,
        first: Option<&mut Rollout>,
    ) -> Result<(Option<Answer>, Vec<String>), String> {
        let planned = self.other.plan(&lab.now().lock)?;
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let file = crate::lab::files_of(&planned, files.path())?;
        let confirm = self.confirm();
        let mut wrong = Vec::new();
        let mut second = Rollout::start(lab, &file, Step::Settled, &[], confirm)?;
        let reached = second.reached(self.patience());
        if let Some(first) = first {
            if !reached {
                wrong.push("the second operator does not come to confirm".into());
            }
            first.checkpoint.release();
            first.signal(Signal::SIGCONT);
            first.wait(self.patience());
            for node in lab.nodes() {
                let status = lab.client(&node)?.status().map_err(|e| e.to_string())?;
                let second = status.generation.as_deref() == Some(planned.plan.generation());
                if second && status.confirm_seconds.is_none() {
                    wrong.push(format!("{node}: one operator confirmed the plan of another"));
                }
            }
            second.gone(self.patience());
        }
        second.checkpoint.release();
        let answer = second.answer(self.patience())?;
        Ok((Some(answer), wrong))
    }
}

fn code(answer: Option<&Answer>) -> String {
    match answer.and_then(|answer| answer.code) {
        Some(code) => format!("exit {code}"),
        None => "killed".into(),
    }
}
