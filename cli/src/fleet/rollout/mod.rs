//! `tresse rollout`: installs one plan on all nodes, or on none.
//!
//! ```text
//! look -> validate -> apply, unconfirmed -> wait until no node sends by the old plan -> confirm
//!   |        |           |                    |                                          |
//!   +--------+--> nothing was changed         +--> every node rolls back <---------------+
//! ```
//!
//! The first step, `look`, asks every node for its status. Nodes add the kernel objects (interfaces, routes) of the new
//! plan before a source node sends by it, and remove those of the old plan after that: the daemons report to each other
//! how far they are. If this process dies before it confirms, the daemons' own timers roll every node back.

mod after;
mod before;
mod change;
mod insist;
mod progress;
mod state;

use std::time::{Duration, Instant};

use clap::Args;
use tresse_control::ApplyRequest;
use tresse_plan::Plan;

use self::insist::Limit;
use self::progress::Progress;
use self::state::{NodeState, Run, Seconds};
use crate::duration::duration;
use crate::fail::{self, Code, Failure};
use crate::fleet::nodes::FleetArgs;
use crate::input::{self, ClusterArgs};

/// Arguments of `tresse rollout`, which installs one plan on all nodes, or on none.
#[derive(Debug, Args)]
pub struct Rollout {
    /// The cluster file and its lock.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The nodes.
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// Every node rolls back by itself unless all nodes are done within this time: 60s, 5m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    confirm: Duration,
    /// Validate the plan on every node, print what each would do, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Install also what would cut the connections by which the nodes are managed, and go on although a node is not heard
    /// where the plan has it.
    #[arg(long)]
    pub force: bool,
}

/// The default of `--confirm`.
const CONFIRM: Duration = Duration::from_secs(300);

impl Rollout {
    /// A rollout with defaults.
    pub const fn new(cluster: ClusterArgs, fleet: FleetArgs) -> Self {
        Self { cluster, fleet, confirm: CONFIRM, dry_run: false, force: false }
    }

    /// Rolls out. Exits with 0 if all nodes have the plan, and with 5 if their plans may differ now. With any other code
    /// all nodes have the plan that they had before.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let cluster = input::cluster_text(&self.cluster.file)?;
        self.install(&self.cluster.plan()?, cluster, self.cluster.lock_text()?, json)
    }

    /// Rolls out a plan by the texts that it was made of.
    pub fn install(
        &self,
        plan: &Plan,
        cluster: String,
        lock: Option<String>,
        json: bool,
    ) -> Result<Code, Failure> {
        let request = ApplyRequest {
            cluster,
            lock,
            dry_run: Some(true),
            confirm_seconds: None,
            force: Some(self.force),
            force_interfaces: None,
        };
        let names = self.fleet.nodes(plan.cluster())?;
        let partial = names.len() < plan.cluster().nodes.len();
        let line = |name: &String| {
            (name.clone(), NodeState { node: name.clone(), ..NodeState::default() })
        };
        let nics = plan.cluster().nodes.iter().map(|node| {
            let nics = node.nics.iter().map(|nic| nic.name.clone());
            (node.name.clone(), nics.collect())
        });
        let mut run = Run {
            nics: nics.collect(),
            lines: names.iter().map(line).collect(),
            fleet: self.fleet.fleet(names, Some(plan.cluster())),
            generation: plan.generation().into(),
            partial,
            progress: Progress::default(),
            seconds: Seconds::default(),
        };
        let code = self.roll(&mut run, request)?;
        run.report(self.dry_run, code, json)?;
        Ok(code)
    }

    fn roll(&self, run: &mut Run, request: ApplyRequest) -> Result<Code, Failure> {
        let code = run.timed(Run::look, |s| &mut s.look);
        if code != Code::Fine {
            return Ok(run.stop(code));
        }
        let code = run.timed(|run| run.validate(&request), |s| &mut s.validate);
        if code != Code::Fine || self.dry_run {
            return Ok(if self.dry_run { code } else { run.stop(code) });
        }
        let seconds = self.confirm.as_secs();
        fail::say(&format!(
            "installing: until it is confirmed, every node goes back by itself after {seconds} s, also if this ends"
        ));
        let started = Instant::now();
        // This limit ends before the timers of the nodes do.
        let until = started + self.confirm.mul_f64(0.8);
        let limit = Limit::after(self.confirm.mul_f64(0.95));
        let request = ApplyRequest {
            dry_run: Some(false),
            confirm_seconds: Some(self.confirm.as_secs() as u32),
            ..request
        };
        if !run.timed(|run| run.apply(&request), |s| &mut s.apply)
            || !run.timed(|run| run.settle(until, self.force), |s| &mut s.settle)
            || !run.timed(|run| run.confirm(limit), |s| &mut s.confirm)
        {
            return Ok(run.undo());
        }
        Ok(run.timed(Run::verify, |s| &mut s.verify))
    }
}
