//! `tresse replace`: a spare of a flat neighbourhood takes the place of a node whose machine has failed, with its name,
//! addresses and paths, through the uplink (flat-neighborhood-network-compiler, section 1).

use clap::Args;
use tresse_plan::{Comparison, Plan};
use tresse_topology::cluster::Cluster;

use super::Rollout;
use crate::fail::{self, Code, Failure};
use crate::input;

/// Arguments of `tresse replace`: those of a rollout, the node, and the spare.
#[derive(Debug, Args)]
pub struct Replace {
    #[command(flatten)]
    rollout: Rollout,
    /// The node whose machine has failed.
    node: String,
    /// The spare that takes its place.
    spare: String,
}

impl Replace {
    /// Rolls out the plan in which the spare is the node, and writes it into the cluster file and its lock once the nodes
    /// have it. Exits as a rollout does.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let args = &self.rollout.cluster;
        let before = input::read_text(&args.file)?;
        let old = input::parse(&input::with_wiring(before.clone(), &args.file)?, &args.file)?;
        if let Some(node) = old.nodes.iter().find(|node| node.machine.as_ref() == Some(&self.spare))
        {
            let words = format!("{} has taken the place of {} already", self.spare, node.name);
            return Err(Failure::new(Code::Usage, words));
        }
        let old = input::build(old, &args.read_lock()?, &args.file)?;
        let text = tresse_cluster::replaced(&before, &self.node, &self.spare).ok_or_else(|| {
            let words = format!(
                "{}: cannot add an entry to its nodes: list them as [[node]], in TOML",
                args.file.display()
            );
            Failure::new(Code::BadFile, words)
        })?;
        let whole = input::with_wiring(text.clone(), &args.file)?;
        // All others keep the addresses that they have, whether a lock says so or not.
        let lock = old.lock(&args.read_lock()?);
        let new = input::build(input::parse(&whole, &args.file)?, &lock, &args.file)?;
        let lock = new.lock(&lock).emit();
        self.say_before(&old, &new);
        let code = self.rollout.install(&new, whole, Some(lock.clone()), json)?;
        if !self.rollout.dry_run && matches!(code, Code::Fine | Code::Partly) {
            input::replace(&args.file, text)?;
            input::replace(&args.lock_path(), lock)?;
            self.say_after(old.cluster());
        }
        Ok(code)
    }

    fn say_before(&self, old: &Plan, new: &Plan) {
        let Some(node) = new.cluster().node_named(&self.node) else { return };
        let nics = new.cluster().node(node).nics.iter();
        let ports =
            nics.map(|nic| format!("{}:{}", new.cluster().switch(nic.switch).name, nic.port));
        let Comparison { touched_pairs, common_pairs, .. } = Comparison::of(old, new);
        fail::say(&format!(
            "{} is the machine {} now, at {}, with the addresses of {}; {touched_pairs} of \
             {common_pairs} pairs get another path",
            self.node,
            self.spare,
            ports.collect::<Vec<_>>().join(" "),
            self.node
        ));
    }

    fn say_after(&self, old: &Cluster) {
        let Some(node) = old.node_named(&self.node) else { return };
        // A spare has no cables but its own.
        let nics = old.node(node).nics.iter().filter(|_| old.node(node).machine.is_none());
        let ports = nics.map(|nic| format!(" {}:{}", old.switch(nic.switch).name, nic.port));
        let ports: Vec<String> = ports.collect();
        let at = if ports.is_empty() { "" } else { " at" };
        fail::say(&format!(
            "the machine that was {0} has no place: run `tresse withdraw` there before it is cabled again\n\
             to be whole again: move the cables of {0}{at}{1} to NICs of {2}, give these to {0} as its `nics`, take {2} \
             out of `spares` and its [[node]] away, and roll out",
            self.node,
            ports.concat(),
            self.spare
        ));
    }
}
