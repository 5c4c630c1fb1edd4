//! `tresse drain`: moves this node's paths away from a part of the fabric (a switch, node, link,
//! port or NIC), and keeps them off it.

use std::path::PathBuf;

use clap::Args;
use tresse_control as control;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{self, Code, Failure};
use crate::fleet::{FleetArgs, everywhere};
use crate::input::ClusterArgs;
use crate::output::named;

/// Arguments of `tresse drain`, which keeps this node's paths off a part of the fabric.
#[derive(Debug, Args)]
pub struct Drain {
    #[command(flatten)]
    node: NodeArgs,
    /// A switch or node (s00, n03), a link (s00-s01, n03-s00), a port (s00:3) or a NIC (n03:eth1).
    object: String,
    /// Print what would move and which nodes would be left with one path, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Drain even if some nodes have no other path; paths to those go on using it.
    #[arg(long)]
    force: bool,
    /// Drain it on all nodes of this cluster file, or on none.
    #[arg(long, value_name = "FILE")]
    all: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Drain {
    /// Shows which destinations are left with one path, then drains.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let how = control::Drain { object: &self.object, dry_run: true, force: self.force };
        if let Some(file) = &self.all {
            let cluster = ClusterArgs { file: file.clone(), lock: None };
            return everywhere::drain(&self.fleet, &cluster, how, self.dry_run, json);
        }
        let mut client = self.node.connect()?;
        let mut steered = client.drain(&how)?;
        if !self.dry_run {
            if !steered.single.is_empty() && !json {
                let single = named(&steered.single_nodes, &steered.single);
                fail::say(&format!(
                    "left with one path, so that one more failure cuts them off: {single}"
                ));
            }
            if !steered.cut.is_empty() && !self.force {
                let cut = named(&steered.cut_nodes, &steered.cut);
                let object = &self.object;
                let message = format!(
                    "{object}: no other path leads to {cut}; nothing was drained\n  help: --all \
                     also asks the others, which may send on to these nodes; --force drains it \
                     anyway, and they go on using it"
                );
                return Err(Failure::new(Code::Fault, message));
            }
            steered = client.drain(&control::Drain { dry_run: false, ..how })?;
        }
        let verb = if self.dry_run { "would be drained" } else { "drained" };
        let cut = self.dry_run && !self.force && !steered.cut.is_empty();
        let done = format!("{} {verb}", self.object);
        let code = answer::steered(&steered, &done, self.dry_run, json)?;
        Ok(if cut { Code::Fault } else { code })
    }
}
