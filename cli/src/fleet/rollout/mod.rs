//! `tresse rollout`: one plan on all nodes, or on none.
//!
//! ```text
//! look -> validate -> apply, unconfirmed -> wait until nobody sends by the old plan -> confirm
//!   |        |           |                    |                                          |
//!   +--------+--> nothing was changed         +--> every node rolls back <---------------+
//! ```
//!
//! What is new is added everywhere before a source uses it, and what is old removed after: daemons tell
//! each other how far they are. A rollout that dies before it confirms is undone by the daemons' own timers.

mod after;
mod before;
mod change;
mod state;

use std::time::{Duration, Instant};

use clap::Args;
use tresse_control::ApplyRequest;

use self::state::{Line, Run};
use crate::duration::duration;
use crate::fail::{Code, Failure};
use crate::fleet::nodes::FleetArgs;
use crate::input::{self, ClusterArgs};

/// Arguments of `tresse rollout`.
#[derive(Debug, Args)]
pub struct Rollout {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Every node rolls back by itself unless all are done within this time: 60s, 5m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    confirm: Duration,
    /// Validate on every node, tell what each would do, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Leave out the guard that keeps the way to the nodes open.
    #[arg(long)]
    force: bool,
}

impl Rollout {
    /// Rolls out; exits with 0 where all nodes have the plan, with 5 where plans may differ at the end, and
    /// otherwise with all nodes at the plan of before.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let request = ApplyRequest {
            cluster: input::cluster_text(&self.cluster.file)?,
            lock: self.cluster.lock_text()?,
            dry_run: Some(true),
            confirm_seconds: None,
            force: Some(self.force),
            force_interfaces: None,
        };
        let names = self.fleet.nodes(plan.cluster())?;
        let partial = names.len() < plan.cluster().nodes.len();
        let line = |name: &String| (name.clone(), Line { node: name.clone(), ..Line::default() });
        let mut run = Run {
            lines: names.iter().map(line).collect(),
            fleet: self.fleet.fleet(names),
            generation: plan.generation().into(),
            partial,
        };
        let code = self.roll(&mut run, request)?;
        run.report(self.dry_run, code, json)?;
        Ok(code)
    }

    fn roll(&self, run: &mut Run, request: ApplyRequest) -> Result<Code, Failure> {
        let code = run.look();
        if code != Code::Fine {
            return Ok(run.stop(code));
        }
        let code = run.validate(&request);
        if code != Code::Fine || self.dry_run {
            return Ok(if self.dry_run { code } else { run.stop(code) });
        }
        let started = Instant::now();
        // The timers of the nodes end later than this one.
        let until = started + self.confirm.mul_f64(0.8);
        let request = ApplyRequest {
            dry_run: Some(false),
            confirm_seconds: Some(self.confirm.as_secs() as u32),
            ..request
        };
        if !run.apply(&request) || !run.settle(until) || !run.confirm() {
            return Ok(run.undo());
        }
        Ok(run.verify())
    }
}
