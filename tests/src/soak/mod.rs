//! The soak test, `make soak`: runs a lab (a whole cluster in network namespaces on one machine) under
//! constant UDP traffic, disturbs it in rounds, and checks after each round that it has recovered.
//!
//! The seed of the test and the number of a round determine which one of these disturbances the round
//! makes:
//!
//! - One or two parts of the fabric (switches, cables, NICs) fail and are healed.
//! - Daemons are killed with SIGKILL and started again.
//! - The nodes change to the plan of another strategy. Daemons may be killed meanwhile.
//! - A part is drained, so that no path uses it, and then fails.
//! - Up to four things go wrong at a time, overlap, and are put right in another order ([`mix`]).
//!
//! After each round every pair of nodes must be able to ping each other, and the kernel of every node must
//! hold what the plan wants, and as many objects of ours as before. No daemon may use clearly more memory or file descriptors than when it was
//! first measured, and no network namespace may have come or gone. No datagram of the traffic may have
//! arrived twice. Datagrams may be lost only in rounds where parts fail without a drain, and only from the
//! failure until all nodes have recovered.

mod drain;
mod health;
mod kind;
mod mix;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tresse_base::random::Random;
use tresse_lab::ping::{PingOptions, ping};
use tresse_plan::lock::Lock;

use self::health::{Growth, Usage, namespaces};
pub use self::kind::{KINDS, Kind};
use self::mix::Deed;
use crate::lab::Lab;
use crate::load::{self, Fault, Load, Miss};
use crate::pace::{self, Deadline};

/// Every pair sends so often.
const PERIOD: Duration = Duration::from_millis(100);
/// How soon all pairs answer again once all is put right, on an idle machine.
const HEALED: Duration = Duration::from_secs(2);
/// The same in the emulated machine, whose daemons watch their paths at a tenth of the rate.
const EMULATED_HEALED: Duration = Duration::from_secs(30);

/// Options of the soak test: how long it runs, the seed of its random choices, and the number of its
/// first round.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The fabric.
    pub kind: Kind,
    /// No round begins later than this.
    pub time: Duration,
    /// The seed of all rounds.
    pub seed: u64,
    /// The first round.
    pub round: u64,
}

/// What is done in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Break,
    Kill,
    Change,
    ChangeAndKill,
    Drain,
    Mix,
}

/// Runs the soak test until its time is over or a round fails, and prints a line for each round on
/// standard output.
///
/// # Errors
/// Why the first failed round failed, in words.
pub fn soak(options: Options) -> Result<(), String> {
    let Options { kind, time, seed, .. } = options;
    let before = namespaces();
    let routing = kind.routings[Random::new(seed).below(kind.routings.len())];
    let bfd = if pace::is_emulated() { "1000" } else { "100" };
    let how = ["--announce-seconds", "3", "--bfd-ms", bfd];
    let mut lab = Lab::up(kind.lab, kind.planned(routing, &Lock::default())?, &how)?;
    let small = lab.nodes().pop().ok_or("a fabric without nodes")?;
    let disk = mix::SmallDisk::of(&mut lab, &small)?;
    let load = Load::start(&load::all_pairs(&lab.stations()), PERIOD)?;
    let ours = namespaces();
    let growth = Growth::default();
    let held = BTreeMap::new();
    let mut soak = Soak { kind, routing, load, _disk: disk, lab, small, ours, growth, held };
    soak.judge(Instant::now(), &[])?;
    let end = Instant::now() + time;
    let mut number = options.round;
    while Instant::now() < end {
        let began = Instant::now();
        if let Err(words) = soak.round(seed, number) {
            soak.lab.show_logs();
            eprintln!("-- what was done, by seconds of the round");
            for (at, deed) in soak.lab.deeds() {
                eprintln!("{:>6.1} {deed}", load::since(began, at));
            }
            return Err(format!(
                "round {number}: {words}\nrepeat it with SOAK_SEED={seed} SOAK_ROUND={number} on {}",
                kind.name
            ));
        }
        number += 1;
    }
    drop(soak);
    let left: Vec<_> = namespaces().difference(&before).cloned().collect();
    if !left.is_empty() {
        return Err(format!("namespaces left behind: {left:?}"));
    }
    println!("{} rounds, every one judged good", number - options.round);
    Ok(())
}

struct Soak {
    kind: Kind,
    /// The routing in force.
    routing: &'static str,
    // Before the lab, whose namespaces its sockets are in.
    load: Load,
    // Before the lab, in whose directory it is.
    _disk: mix::SmallDisk,
    lab: Lab,
    /// The node whose state is on a small disk.
    small: String,
    ours: BTreeSet<String>,
    growth: Growth,
    /// How many objects each node held when this was first seen: by node and routing.
    held: BTreeMap<(String, &'static str), Vec<(String, usize)>>,
}

impl Soak {
    fn round(&mut self, seed: u64, number: u64) -> Result<(), String> {
        let began = Instant::now();
        self.lab.deeds();
        let mut random = Random::new(seed.wrapping_mul(0x0100_0000_01b3) ^ number);
        let act = match random.below(10) {
            0 => Act::Break,
            1 => Act::Kill,
            2 => Act::Change,
            3 => Act::ChangeAndKill,
            4 => Act::Drain,
            _ => Act::Mix,
        };
        let mut windows = Vec::new();
        let what = match act {
            Act::Break => self.break_and_heal(&mut random, &mut windows)?,
            Act::Kill => self.kill_and_start(&mut random)?,
            Act::Change => self.change(&mut random, false)?,
            Act::ChangeAndKill => self.change(&mut random, true)?,
            Act::Drain => self.lab.drain_and_break(&mut random)?,
            Act::Mix => self.mix(&mut random, &mut windows)?,
        };
        let verdict = self.judge(began, &windows).map_err(|e| format!("{what}: {e}"))?;
        let seconds = began.elapsed().as_secs_f64();
        println!("round {number:<4} {seconds:>5.1} s  {what}: {verdict}");
        Ok(())
    }

    /// One or two things, with or without carrier loss.
    fn break_and_heal(
        &self,
        random: &mut Random,
        windows: &mut Vec<(Instant, Instant)>,
    ) -> Result<String, String> {
        let mut objects = self.lab.breakable();
        random.shuffle(&mut objects);
        objects.truncate(1 + random.below(2));
        let silent = random.below(2) == 0;
        let began = Instant::now();
        for object in &objects {
            let mut args = vec!["fail", object];
            args.extend(silent.then_some("--silent"));
            self.lab.verb(&args)?;
        }
        std::thread::sleep(Duration::from_millis(500 + random.below(4000) as u64));
        random.shuffle(&mut objects);
        for object in &objects {
            self.lab.verb(&["heal", object])?;
        }
        let what = format!("{}{}", objects.join(" and "), if silent { " silently" } else { "" });
        let healed = |e: String| format!("{what} failed and healed: {e}");
        self.lab.answers().map_err(healed)?;
        self.lab.settled().map_err(healed)?;
        windows.push((began, Instant::now()));
        Ok(format!("{what} failed and healed"))
    }

    /// Up to four things at a time.
    fn mix(
        &mut self,
        random: &mut Random,
        windows: &mut Vec<(Instant, Instant)>,
    ) -> Result<String, String> {
        let mut deeds = Deed::drawn(&self.lab, &self.small, random)?;
        let words: Vec<String> = deeds.iter().map(Deed::words).collect();
        let what = format!("{} and put right", words.join(", "));
        let wrong = |e: String| format!("{what}: {e}");
        let began = Instant::now();
        for deed in &deeds {
            deed.begin(&mut self.lab).map_err(wrong)?;
            std::thread::sleep(Duration::from_millis(random.below(800) as u64));
        }
        std::thread::sleep(Duration::from_millis(random.below(4000) as u64));
        let loses = deeds.iter().any(Deed::loses);
        random.shuffle(&mut deeds);
        for deed in &deeds {
            deed.end(&mut self.lab).map_err(wrong)?;
            std::thread::sleep(Duration::from_millis(random.below(400) as u64));
        }
        let took = self.healed().map_err(wrong)?;
        self.lab.settled().map_err(wrong)?;
        if loses {
            windows.push((began, Instant::now()));
        }
        Ok(format!("{what}, all answer after {:.1} s", took.as_secs_f64()))
    }

    /// Waits until all pairs answer; how long that took. It may not take too long.
    fn healed(&self) -> Result<Duration, String> {
        let healed = if pace::is_emulated() { EMULATED_HEALED } else { HEALED };
        let wait = if pace::is_emulated() { 2_000 } else { 300 };
        let record = self.lab.directory().load_up().map_err(|e| e.to_string())?;
        let wait = Duration::from_millis(wait);
        let options = PingOptions { fast: true, wait, ..PingOptions::default() };
        let (began, mut limit) = (Instant::now(), Deadline::after(healed));
        loop {
            let (asked, late) = (began.elapsed(), limit.is_over());
            let report =
                ping(self.lab.directory(), &record, &options).map_err(|e| e.to_string())?;
            if report.failed.is_empty() && !late {
                return Ok(asked);
            }
            if late {
                let (silent, some) = (report.failed.len(), report.failed.iter().take(6));
                let some: Vec<_> = some.collect();
                return Err(format!("after {asked:.1?} {silent} pairs are silent: {some:?}"));
            }
        }
    }

    /// All nodes but the first may die, so that one daemon lives through the whole soak.
    fn kill_and_start(&mut self, random: &mut Random) -> Result<String, String> {
        let mut nodes = self.lab.nodes();
        nodes.remove(0);
        random.shuffle(&mut nodes);
        nodes.truncate(1 + random.below(3));
        for node in &nodes {
            self.lab.kill(node)?;
        }
        std::thread::sleep(Duration::from_millis(random.below(2000) as u64));
        for node in &nodes {
            self.lab.start(node)?;
        }
        Ok(format!("kill -9 of {}", nodes.join(" and ")))
    }

    fn change(&mut self, random: &mut Random, kill: bool) -> Result<String, String> {
        let all = self.kind.routings.iter().copied();
        let others: Vec<_> = all.filter(|routing| *routing != self.routing).collect();
        let old = self.routing;
        let new = others[random.below(others.len())];
        let mut killed = Vec::new();
        let between = |lab: &mut Lab, random: &mut Random| {
            if kill && killed.len() < 2 && random.below(2) == 0 {
                let nodes = lab.nodes();
                let node = &nodes[1 + random.below(nodes.len() - 1)];
                lab.kill(node)?;
                lab.start(node)?;
                killed.push(node.clone());
            }
            Ok(())
        };
        let next = self.kind.planned(new, &self.lab.now().lock)?;
        self.routing = new;
        let result = self.lab.change(next, random, between);
        let mut what = format!("{old} to {new}").replace('\n', ", ");
        if !killed.is_empty() {
            what += &format!(" with kill -9 of {}", killed.join(" and "));
        }
        result.map_err(|e| format!("{what}: {e}"))?;
        Ok(what)
    }

    /// `windows`: when datagrams may have been lost.
    fn judge(&mut self, began: Instant, windows: &[(Instant, Instant)]) -> Result<String, String> {
        self.lab.settled()?;
        self.lab.watched()?;
        let pairs = self.lab.answers()?;
        let nodes = self.lab.nodes();
        nodes.iter().try_for_each(|node| self.lab.status(node))?;
        let (sent, misses) = self.load.account();
        let excused = |miss: &&Miss| {
            miss.fault == Fault::Lost
                && windows.iter().any(|(from, to)| miss.sent_by >= *from && miss.sent <= *to)
        };
        // A path that changes may be shorter than the one before.
        let misses = misses.iter().filter(|miss| miss.fault != Fault::Overtaken);
        let (lost, bad): (Vec<_>, Vec<_>) = misses.partition(excused);
        if !bad.is_empty() {
            return Err(load::describe(began, &bad));
        }
        let now = namespaces();
        if now != self.ours {
            let changed: Vec<_> = now.symmetric_difference(&self.ours).collect();
            return Err(format!("namespaces came or went: {changed:?}"));
        }
        let (mut most, mut descriptors) = (0, 0);
        for node in &nodes {
            let pid = self.lab.daemon(node)?;
            let usage = Usage::of(pid)?;
            let routing = self.routing.replace('\n', ", ");
            let lazily = self.lab.interfaces(node);
            let judged = self.growth.judge(pid, &routing, usage, lazily);
            judged.map_err(|e| format!("{node}: {e}"))?;
            (most, descriptors) = (most.max(usage.kib), descriptors.max(usage.descriptors));
            let held = mix::objects(&self.lab, node)?;
            let key = (node.clone(), self.routing);
            let first = self.held.entry(key).or_insert_with(|| held.clone());
            if *first != held {
                return Err(format!("{node} held {first:?} at first, and now {held:?}"));
            }
        }
        Ok(format!(
            "{pairs} pairs answer, {sent} sent, {} lost while broken; daemons at most {most} KiB, \
             {descriptors} descriptors",
            lost.len()
        ))
    }
}
