//! `tresse wait`: returns once this node's part of the plan is in the kernel and other nodes answer over the fabric, so that
//! services can be ordered after it.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tresse_base::hostlist;
use tresse_base::id::NodeId;
use tresse_control::FORMAT;
use tresse_doctor as doctor;
use tresse_plan::Plan;

use crate::fail::{Code, Failure};
use crate::input;
use crate::installed::InstalledArgs;
use crate::output;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);
/// So many nodes are asked at once.
const ASKED: usize = 64;
/// The smallest packet that every node answers: an echo request without data.
const LEAST: u32 = 64;

/// Arguments of `tresse wait`.
#[derive(Debug, Args)]
pub struct Wait {
    #[command(flatten)]
    cluster: InstalledArgs,
    /// Until so many other nodes answer, or all if there are fewer; 0: until the plan is in the kernel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    peers: usize,
    /// Until all other nodes answer.
    #[arg(long, conflicts_with = "peers")]
    all: bool,
    /// Give up after so many seconds; 0: look once.
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    timeout: f64,
    /// Which node of the file this machine is. Default: as in the daemon's plan, else found by its MAC addresses.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    format: u32,
    /// Does this node have the plan, and the kernel all of it?
    in_sync: bool,
    /// How many nodes have answered, of how many that must.
    answered: usize,
    wanted: usize,
    /// Those that have not.
    silent: Vec<&'a str>,
}

impl Wait {
    /// Waits; exits with 1 if the time is over.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let Some(patience) = Duration::try_from_secs_f64(self.timeout).ok() else {
            return Err(Failure::new(Code::Usage, "--timeout needs a number of seconds"));
        };
        let began = Instant::now();
        while !self.cluster.exists() && began.elapsed() < patience {
            std::thread::sleep(PAUSE);
        }
        let mut here = Here::of(self)?;
        loop {
            let in_sync = here.look(self)?;
            let others = here.plan.cluster().nodes.len() - 1;
            let wanted = if self.all { others } else { self.peers.min(others) };
            let before = others.saturating_sub(here.silent.len());
            if in_sync && before < wanted {
                ask(&here.plan, &mut here.silent, wanted - before);
            }
            let answered = others.saturating_sub(here.silent.len());
            let is_done = in_sync && answered >= wanted;
            if is_done || began.elapsed() >= patience {
                let name = |node: &NodeId| here.plan.cluster().node(*node).name.as_str();
                let silent = here.silent.iter().map(name).collect();
                let answer = Answer { format: FORMAT, in_sync, answered, wanted, silent };
                return say(&answer, is_done, json);
            }
            std::thread::sleep(PAUSE.min(patience.saturating_sub(began.elapsed())));
        }
    }
}

/// What is known of the plan, and of who has answered.
struct Here {
    plan: Plan,
    /// Which node this is, if an option says so.
    node: Option<NodeId>,
    /// The generation that the daemon had in force at the last look.
    generation: Option<String>,
    /// Nodes that have not answered yet; this one too until it is known which it is.
    silent: Vec<NodeId>,
}

impl Here {
    fn of(wait: &Wait) -> Result<Self, Failure> {
        let plan = wait.cluster.plan()?;
        let node = match &wait.node {
            Some(name) => Some(input::node_named(plan.cluster(), name)?),
            None => None,
        };
        let silent = (0..plan.cluster().nodes.len()).map(NodeId::from).collect();
        Ok(Self { plan, node, generation: None, silent })
    }

    /// Asks the daemon whether this node's part of the plan is in the kernel, and plans anew if the plan in force is
    /// another than before.
    fn look(&mut self, wait: &Wait) -> Result<bool, Failure> {
        let Ok(mut daemon) = wait.cluster.daemon.connect() else { return Ok(false) };
        let Ok(status) = daemon.status() else { return Ok(false) };
        if status.generation != self.generation {
            if self.generation.is_some() && !wait.cluster.is_named() {
                *self = Self::of(wait)?;
            }
            self.generation = status.generation;
        }
        let neighbours = daemon.neighbours().ok();
        let links = || doctor::links().unwrap_or_default();
        let me = self.node.or_else(|| doctor::which(&self.plan, &links(), neighbours.as_ref()));
        self.silent.retain(|peer| Some(*peer) != me);
        let is_this = match &self.generation {
            Some(in_force) => !wait.cluster.is_named() || in_force == self.plan.generation(),
            None => false,
        };
        Ok(status.in_sync && is_this && me.is_some())
    }
}

/// Asks nodes that have not answered yet until so many more do, or none is left, and leaves in the list who does not.
fn ask(plan: &Plan, silent: &mut Vec<NodeId>, more: usize) {
    let answers = |node: &NodeId| {
        let addresses = &plan.addresses().node[node.index()];
        addresses.first().is_some_and(|to| doctor::answers(*to, LEAST))
    };
    let (mut heard, mut still) = (0, Vec::new());
    for some in silent.chunks(ASKED) {
        if heard >= more {
            still.extend_from_slice(some);
            continue;
        }
        let replied: Vec<bool> = std::thread::scope(|scope| {
            let asked: Vec<_> = some.iter().map(|node| scope.spawn(|| answers(node))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap_or(false)).collect()
        });
        heard += replied.iter().filter(|replied| **replied).count();
        still.extend(some.iter().zip(&replied).filter(|(_, replied)| !**replied).map(|(n, _)| *n));
    }
    *silent = still;
}

fn say(answer: &Answer<'_>, is_done: bool, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, answer)?;
    } else if is_done {
        let answered = output::count(answer.answered, "other node");
        writeln!(out, "in sync; {answered} answered")?;
    }
    out.flush()?;
    if is_done {
        return Ok(Code::Fine);
    }
    let Answer { answered, wanted, silent, .. } = answer;
    let message = match answer.in_sync {
        false => {
            "this node's plan is not in the kernel: `tresse status`, `systemctl status tressed`"
                .to_owned()
        }
        true => format!(
            "{answered} of {wanted} other nodes have answered, and not {}: `tresse failures`",
            hostlist::collapse(silent).join(", ")
        ),
    };
    Err(Failure::new(Code::Fault, message))
}
