//! Measures targets by the agents of their nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use tresse_base::id::NodeId;
use tresse_plan::Plan;

use crate::agents::{AgentError, Agents};
use crate::rounds::{Numbered, rounds};
use crate::talk::{Answer, Job, NicState};
use crate::targets::{End, Kind, Target, Targets};

/// The first TCP port of receivers; each target has its own.
const PORT: u16 = 47_100;
/// Ports of receivers.
const PORTS: usize = 800;
/// How long a node may take beside what its job takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// A NIC that carries more than this share of its rate is in use.
const IN_USE: f64 = 0.01;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Seconds of each load; 0: nothing is loaded, only loss, round trip and packet size are measured.
    pub seconds: u32,
    /// Echo requests for each target.
    pub requests: u32,
}

/// What was measured of a target. What was not is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// Echo requests sent and answered.
    pub asked: Option<(u32, u32)>,
    /// Mean round trip in milliseconds.
    pub round_trip_ms: Option<f64>,
    /// The largest packet, in bytes; `Some(None)`: none.
    pub largest: Option<Option<u32>>,
    /// Throughput from `a` to `b` and back, in bit/s.
    pub throughput: [Option<f64>; 2],
    /// What could not be done, and why.
    pub errors: Vec<String>,
    /// The NICs of `a` and `b` before and after.
    pub nics: [Option<(NicState, NicState)>; 2],
}

impl Measured {
    /// Notes once what a node could not do.
    fn fail(&mut self, plan: &Plan, node: NodeId, error: &AgentError) {
        let words = format!("{}: {error}", plan.cluster().node(node).name);
        if !self.errors.contains(&words) {
            self.errors.push(words);
        }
    }

    /// Takes what a node answered that was asked for loss or packet size.
    pub(crate) fn hear(&mut self, answer: Answer) {
        match answer {
            Answer::Echo { sent, received, mean_ms } => {
                (self.asked, self.round_trip_ms) = (Some((sent, received)), mean_ms);
            }
            Answer::Largest { bytes } => self.largest = Some(bytes),
            other => self.errors.push(unexpected(&other).to_string()),
        }
    }
}

/// The NICs that carry something now, each with the share of its rate, by looking twice within a second.
///
/// # Errors
/// Those of a node that does not answer, with its name.
pub fn busy(plan: &Plan, agents: &Agents) -> Result<Vec<(String, f64)>, (String, AgentError)> {
    let before = look(plan, agents)?;
    std::thread::sleep(Duration::from_secs(1));
    let after = look(plan, agents)?;
    let mut busy = Vec::new();
    for ((node, nic), state) in &after {
        let of = plan.cluster().node(*node);
        let bytes = before.get(&(*node, *nic)).map_or(0, |b| state.bytes.saturating_sub(b.bytes));
        let share = bytes as f64 * 8.0 / of.nics[*nic].rate.0 as f64;
        if share > IN_USE {
            busy.push((format!("{}:{}", of.name, of.nics[*nic].name), share));
        }
    }
    Ok(busy)
}

type Nics = BTreeMap<(NodeId, usize), NicState>;

fn look(plan: &Plan, agents: &Agents) -> Result<Nics, (String, AgentError)> {
    let names = |node: NodeId| plan.cluster().node(node).nics.iter().map(|nic| nic.name.clone());
    let jobs: Vec<(NodeId, Job)> =
        agents.nodes().map(|node| (node, Job::Look { nics: names(node).collect() })).collect();
    let mut nics = Nics::new();
    for ((node, _), answer) in jobs.iter().zip(agents.ask_all(&jobs, PATIENCE)) {
        let name = || plan.cluster().node(*node).name.clone();
        match answer.map_err(|error| (name(), error))? {
            Answer::Nics { nics: states } => {
                let found = states.into_iter().enumerate();
                nics.extend(found.map(|(nic, state)| ((*node, nic), state)));
            }
            other => return Err((name(), unexpected(&other))),
        }
    }
    Ok(nics)
}

fn unexpected(answer: &Answer) -> AgentError {
    AgentError::Failed(format!("an answer to something else: {answer:?}"))
}

/// Measures all targets, in the order of [`Targets::all`]. `show` is told what comes next, in words.
///
/// # Errors
/// Those of a node that does not answer, with its name. What a node cannot do stands in [`Measured::errors`].
pub fn measure(
    plan: &Plan,
    agents: &Agents,
    targets: &Targets,
    options: Options,
    mut show: impl FnMut(&str),
) -> Result<Vec<Measured>, (String, AgentError)> {
    let before = look(plan, agents)?;
    let all: Vec<Numbered<'_>> = targets.all().enumerate().collect();
    let mut measured = vec![Measured::default(); all.len()];
    let (alone, together): (Vec<_>, Vec<_>) =
        all.iter().partition(|(_, target)| target.kind != Kind::Together);
    let rounds = rounds(&alone);
    for (n, round) in rounds.iter().enumerate() {
        show(&format!("round {} of {}: {} at once", n + 1, rounds.len(), round.len()));
        light(plan, agents, round, options, &mut measured);
        if options.seconds > 0 {
            load(plan, agents, round, options, false, &mut measured);
            let both = round.iter().copied().filter(|(_, target)| target.kind != Kind::Through);
            load(plan, agents, &both.collect::<Vec<_>>(), options, true, &mut measured);
        }
    }
    if options.seconds > 0 && !together.is_empty() {
        show(&format!("{} pairs at once", together.len()));
        load(plan, agents, &together, options, false, &mut measured);
    }
    let after = look(plan, agents)?;
    let nic = |end: &End| {
        let key = (end.node, end.nic);
        Some((before.get(&key)?.clone(), after.get(&key)?.clone()))
    };
    for (of, (_, target)) in measured.iter_mut().zip(&all) {
        of.nics = [nic(&target.a), nic(&target.b)];
    }
    Ok(measured)
}

/// Loss, round trip and packet size.
fn light(
    plan: &Plan,
    agents: &Agents,
    round: &[Numbered<'_>],
    options: Options,
    measured: &mut [Measured],
) {
    let echo = |(_, target): &Numbered<'_>| {
        let (from, to) = (target.a.address, target.b.address);
        (target.a.node, Job::Echo { from, to, count: options.requests })
    };
    let largest = |(_, target): &Numbered<'_>| {
        let (from, to) = (target.a.address, target.b.address);
        (target.a.node, Job::Largest { from, to, most: target.mtu })
    };
    for jobs in [round.iter().map(echo).collect::<Vec<_>>(), round.iter().map(largest).collect()] {
        for ((at, target), answer) in round.iter().zip(agents.ask_all(&jobs, PATIENCE)) {
            match answer {
                Ok(answer) => measured[*at].hear(answer),
                Err(error) => measured[*at].fail(plan, target.a.node, &error),
            }
        }
    }
}

/// Throughput of these targets at once, from `a` to `b` or `back`. Those that did not answer are left out.
fn load(
    plan: &Plan,
    agents: &Agents,
    round: &[Numbered<'_>],
    options: Options,
    back: bool,
    measured: &mut [Measured],
) {
    let ends = |target: &Target| match back {
        false => (target.a.clone(), target.b.clone()),
        true => (target.b.clone(), target.a.clone()),
    };
    let answers = |(at, _): &&Numbered<'_>| !matches!(measured[*at].asked, Some((_, 0)));
    let round: Vec<Numbered<'_>> = round.iter().filter(answers).copied().collect();
    let port = |at: usize| PORT + (at % PORTS) as u16;
    let serve = |&(at, target): &Numbered<'_>| {
        let (_, to) = ends(target);
        (to.node, Job::Serve { at: to.address, port: port(at) })
    };
    let servers: Vec<_> = round.iter().map(serve).collect();
    let (mut jobs, mut sending) = (Vec::new(), Vec::new());
    for ((at, target), ready) in round.into_iter().zip(agents.ask_all(&servers, PATIENCE)) {
        if let Err(error) = ready {
            measured[at].fail(plan, ends(target).1.node, &error);
            continue;
        }
        let (from, to) = ends(target);
        let (seconds, to) = (options.seconds, to.address);
        jobs.push((from.node, Job::Send { from: from.address, to, port: port(at), seconds }));
        sending.push(at);
    }
    let patience = PATIENCE + Duration::from_secs(options.seconds.into());
    let answers = agents.ask_all(&jobs, patience);
    for ((at, (node, _)), answer) in sending.into_iter().zip(&jobs).zip(answers) {
        match answer {
            Ok(Answer::Sent { bits_per_second, .. }) => {
                measured[at].throughput[usize::from(back)] = Some(bits_per_second);
            }
            Ok(other) => measured[at].fail(plan, *node, &unexpected(&other)),
            Err(error) => measured[at].fail(plan, *node, &error),
        }
    }
}
