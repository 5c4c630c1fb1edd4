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
//!
//! After each round every pair of nodes must be able to ping each other, and the kernel of every node must
//! hold what the plan wants. No daemon may use clearly more memory or file descriptors than when it was
//! first measured, and no network namespace may have come or gone. No datagram of the traffic may have
//! arrived twice. Datagrams may be lost only in rounds where parts fail without a drain, and only from the
//! failure until all nodes have recovered.

mod drain;
mod health;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tresse_base::random::Random;
use tresse_plan::lock::Lock;

use self::health::{Growth, Usage, namespaces};
use crate::lab::{Lab, Planned};
use crate::load::{self, Fault, Load, Miss};

/// Every pair sends so often.
const PERIOD: Duration = Duration::from_millis(100);
const STRATEGIES: [&str; 3] = ["dor", "pdor", "stp"];

/// Options of the soak test: how long it runs, the seed of its random choices, and the number of its
/// first round.
#[derive(Debug, Clone, Copy)]
pub struct Options {
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
}

/// Runs the soak test until its time is over or a round fails, and prints a line for each round on
/// standard output.
///
/// # Errors
/// Why the first failed round failed, in words.
pub fn soak(options: Options) -> Result<(), String> {
    let Options { time, seed, .. } = options;
    let before = namespaces();
    let strategy = STRATEGIES[Random::new(seed).below(STRATEGIES.len())];
    let lab = Lab::up("soak", planned(strategy, &Lock::default())?, &["--announce-seconds", "3"])?;
    let load = Load::start(&load::all_pairs(&lab.stations()), PERIOD)?;
    let ours = namespaces();
    let mut soak = Soak { strategy, lab, load, ours, growth: Growth::default() };
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
                "round {number}: {words}\nrepeat it with SOAK_SEED={seed} SOAK_ROUND={number}"
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
    /// The strategy in force.
    strategy: &'static str,
    // Before the lab, whose namespaces its sockets are in.
    load: Load,
    lab: Lab,
    ours: BTreeSet<String>,
    growth: Growth,
}

impl Soak {
    fn round(&mut self, seed: u64, number: u64) -> Result<(), String> {
        let began = Instant::now();
        self.lab.deeds();
        let mut random = Random::new(seed.wrapping_mul(0x0100_0000_01b3) ^ number);
        let acts = [Act::Break, Act::Kill, Act::Change, Act::ChangeAndKill, Act::Drain];
        let act = acts[random.below(acts.len())];
        let mut windows = Vec::new();
        let what = match act {
            Act::Break => self.break_and_heal(&mut random, &mut windows)?,
            Act::Kill => self.kill_and_start(&mut random)?,
            Act::Change => self.change(&mut random, false)?,
            Act::ChangeAndKill => self.change(&mut random, true)?,
            Act::Drain => self.lab.drain_and_break(&mut random)?,
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
        let others: Vec<_> = STRATEGIES.into_iter().filter(|s| *s != self.strategy).collect();
        let old = self.strategy;
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
        let next = planned(new, &self.lab.now().lock)?;
        self.strategy = new;
        let result = self.lab.change(next, random, between);
        let mut what = format!("{old} to {new}");
        if !killed.is_empty() {
            what += &format!(" with kill -9 of {}", killed.join(" and "));
        }
        result.map_err(|e| format!("{what}: {e}"))?;
        Ok(what)
    }

    /// `windows`: when datagrams may have been lost.
    fn judge(&mut self, began: Instant, windows: &[(Instant, Instant)]) -> Result<String, String> {
        self.lab.settled()?;
        let pairs = self.lab.answers()?;
        let nodes = self.lab.nodes();
        nodes.iter().try_for_each(|node| self.lab.status(node))?;
        let (sent, misses) = self.load.account();
        let excused = |miss: &&Miss| {
            miss.fault == Fault::Lost
                && windows.iter().any(|(from, to)| (*from..=*to).contains(&miss.sent))
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
            self.growth.judge(pid, self.strategy, usage).map_err(|e| format!("{node}: {e}"))?;
            (most, descriptors) = (most.max(usage.kib), descriptors.max(usage.descriptors));
        }
        Ok(format!(
            "{pairs} pairs answer, {sent} sent, {} lost while broken; daemons at most {most} KiB, \
             {descriptors} descriptors",
            lost.len()
        ))
    }
}

fn planned(strategy: &str, lock: &Lock) -> Result<Planned, String> {
    let text = format!(
        "[fabric]\nname = \"soak\"\n\
         topology = {{ kind = \"torus\", dims = [3, 2], nics_per_node = 2 }}\n\
         [routing]\nstrategy = \"{strategy}\"\npaths = 2\n\
         [vlans]\nrange = \"100-199\"\n\
         [addressing]\nnodes = \"10.77.0.0/16\"\nnics = \"10.78.0.0/16\"\n"
    );
    Planned::new(&text, lock)
}
