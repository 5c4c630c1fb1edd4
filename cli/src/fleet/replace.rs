//! `tresse replace`: a spare of a flat neighbourhood takes the place of a node whose machine has failed, with its name,
//! addresses and paths, through the uplink (flat-neighborhood-network-compiler, section 1).

use clap::Args;
use tresse_control::{Client, Status};
use tresse_plan::{Comparison, Plan};
use tresse_topology::cluster::{Cluster, Nic};

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
        if !self.rollout.dry_run {
            input::replaceable(&args.file)?;
            input::replaceable(&args.lock_path())?;
        }
        if !self.rollout.force {
            self.look(&old, &new)?;
        }
        self.say_before(&old, &new);
        let code = self.rollout.install(&new, whole, Some(lock.clone()), json)?;
        if code == Code::Fine && !self.rollout.dry_run {
            input::replace(&args.file, text)?;
            input::replace(&args.lock_path(), lock)?;
            self.say_after(old.cluster(), &before)?;
        }
        Ok(code)
    }

    /// Asks all: does the failed node answer, and do the others have the plan that the file and its lock give?
    fn look(&self, old: &Plan, new: &Plan) -> Result<(), Failure> {
        let fleet = &self.rollout.fleet;
        let mut failed = fleet.fleet(vec![self.node.clone()], Some(old.cluster()));
        let hears = |status: &Status| status.sessions == 0 || status.sessions_up > 0;
        let answers = failed.each(|_| true, Client::status);
        if answers.iter().any(|(_, status)| status.as_ref().is_ok_and(hears)) {
            let words = format!(
                "{0} answers: is it the one that has failed?\n  help: --force replaces {0} nevertheless",
                self.node
            );
            return Err(Failure::new(Code::Fault, words));
        }
        let mut others = fleet.fleet(fleet.nodes(new.cluster())?, Some(new.cluster()));
        for (node, status) in others.each(|_| true, Client::status) {
            let plan = status.ok().and_then(|status| status.generation);
            let Some(plan) = plan.filter(|plan| plan != old.generation()) else { continue };
            let words = format!(
                "{node} has plan {plan}, and {} with its lock is plan {}\n  help: find the lock of the plan in force, or \
                 roll out what the file says first; --force goes on",
                self.rollout.cluster.file.display(),
                old.generation()
            );
            return Err(Failure::new(Code::Fault, words));
        }
        Ok(())
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

    fn say_after(&self, old: &Cluster, before: &str) -> Result<(), Failure> {
        let file = &self.rollout.cluster.file;
        let Some(node) = old.node_named(&self.node) else { return Ok(()) };
        match &old.node(node).machine {
            Some(other) => fail::say(&format!("{other} is a spare again")),
            None => fail::say(&format!(
                "the machine that was {} has no place: run `tresse withdraw` there before it is cabled again",
                self.node
            )),
        }
        let whole = tresse_cluster::mended(before, &self.node).unwrap_or_default();
        let whole = input::parse(&input::with_wiring(whole, file)?, file)?;
        let nics = whole.node_named(&self.node).map(|node| whole.node(node).nics.iter());
        let port = |nic: &Nic| format!("{}:{}", whole.switch(nic.switch).name, nic.port);
        let ports: Vec<String> = nics.into_iter().flatten().map(port).collect();
        fail::say(&format!(
            "to be whole again: move the cables of {0} at {1} to NICs of {2}, give these to {0} as its `nics`, take {2} \
             out of `spares` (those behind it there move up one port, unless their `nics` say which) and its [[node]] \
             away, and roll out",
            self.node,
            ports.join(" "),
            self.spare
        ));
        Ok(())
    }
}
