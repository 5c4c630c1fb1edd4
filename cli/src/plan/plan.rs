//! `tresse plan`: prints the whole plan of a cluster file, one node's part of it, or what changes
//! against an older cluster file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tresse_plan::Comparison;
use tresse_plan::lock::Lock;
use tresse_topology::cluster::Port;

use crate::fail::{self, Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output;

/// Arguments of `tresse plan`, which prints the plan of a cluster file.
#[derive(Debug, Args)]
pub struct Plan {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Print only what this node installs.
    #[arg(long, value_name = "NAME", conflicts_with = "against")]
    node: Option<String>,
    /// Compare with this older cluster file: count the pairs whose primary path changes.
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
    /// Write the lock, so that VLAN IDs and addresses stay the same as the cluster grows.
    #[arg(long)]
    write_lock: bool,
}

impl Plan {
    /// Computes the plan and prints it.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let cluster = input::read_cluster(&self.cluster.file)?;
        let fresh = self.write_lock && !self.cluster.lock_path().exists();
        let lock = if fresh { Lock::default() } else { self.cluster.read_lock()? };
        let against = self.against.as_deref();
        let change = input::build_after(cluster, lock, &self.cluster.file, against)?;
        let (plan, path) = (change.plan, self.cluster.lock_path());
        if plan.renumbered() > 0 {
            let nodes = plan.renumbered();
            fail::say(&format!("{nodes} nodes get another address than {} has", path.display()));
        }
        if self.write_lock {
            input::refuse_foreign_lock(&change.lock, plan.cluster(), &path)?;
            input::replace(&path, plan.lock(&change.lock).emit())?;
        } else if let (Some(old), false) = (against, change.held) {
            input::warn_unlocked(old, &path);
        }
        let mut out = output::stdout();
        if let Some(old) = change.old {
            self.compare(&mut out, &Comparison::of(&old, &plan), json)?;
        } else if let Some(name) = &self.node {
            let node = input::node_named(plan.cluster(), name)?;
            let slice = tresse_slice::Slice::of(&plan, node).folded();
            if json {
                output::json_line(&mut out, &slice)?;
            } else {
                out.write_all(tresse_slice::text(&slice).as_bytes())?;
            }
        } else if json {
            output::json_line(&mut out, &plan.view())?;
        } else {
            plan_text(&mut out, &plan)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }

    fn compare(
        &self,
        out: &mut impl Write,
        change: &Comparison,
        json: bool,
    ) -> Result<(), Failure> {
        if json {
            output::json_line(out, change)?;
            return Ok(());
        }
        writeln!(out, "generation {} -> {}", change.old_generation, change.new_generation)?;
        writeln!(
            out,
            "{} of {} common pairs touched, {} pairs added, {} removed",
            change.touched_pairs, change.common_pairs, change.added_pairs, change.removed_pairs
        )?;
        if change.moved_cables > 0 {
            writeln!(out, "{} NICs move to another port or switch", change.moved_cables)?;
        }
        for (words, of) in [("new", &change.fresh_behind), ("gone", &change.dropped_behind)] {
            of.iter().try_for_each(|of| writeln!(out, "{words}: {of}"))?;
        }
        writeln!(
            out,
            "{} VLANs kept, {} fresh, {} dropped",
            change.kept_vlans,
            change.fresh_vlans.len(),
            change.dropped_vlans.len()
        )?;
        Ok(())
    }
}

fn plan_text(out: &mut impl Write, plan: &tresse_plan::Plan) -> Result<(), Failure> {
    let cluster = plan.cluster();
    writeln!(
        out,
        "fabric {}: {} nodes, {} switches, {} links, generation {}",
        cluster.name,
        cluster.nodes.len(),
        cluster.switches.len(),
        cluster.cables().count() + cluster.direct_cables().count(),
        plan.generation()
    )?;
    if !plan.cluster().is_untagged() {
        let mut table = output::table(["VID", "ROLE", "TREE"]);
        for (t, spec) in plan.specs().iter().enumerate() {
            let role = format!("{:?}", spec.role).to_lowercase();
            table.add_row([plan.vid(t.into()).to_string(), role, spec.name.clone()]);
        }
        writeln!(out, "{table}")?;
    }
    let lines = plan.lines();
    if !lines.is_empty() {
        let mut table = output::table(["VID", "LINE", "SWITCH", "PORTS"]);
        for line in lines {
            let ports = format!("{}-{}", line.ports.start(), line.ports.end());
            let switch = cluster.switch(line.switch).name.clone();
            table.add_row([line.vid.to_string(), line.name, switch, ports]);
        }
        writeln!(out, "{table}")?;
    }
    if cluster.uplink().is_some() {
        let mut table = output::table(["UPLINK", "CABLED TO"]);
        let end = |port: Port| format!("{}:{}", cluster.switch(port.switch).name, port.port);
        cluster.links.iter().for_each(|link| {
            table.add_row([end(link.a), end(link.b)]);
        });
        writeln!(out, "{table}")?;
    }
    let mut table = output::table(["NODE", "ADDRESS", "NIC", "MAC", "CABLED TO"]);
    for (k, node) in cluster.nodes.iter().enumerate() {
        let own: Vec<_> = plan.addresses().node[k].iter().map(ToString::to_string).collect();
        for nic in &node.nics {
            let port = match nic.peer.map(|end| (cluster.node(end.node), end.nic)) {
                Some((peer, far)) => format!("{} {}", peer.name, peer.nics[far].name),
                None => format!("{}:{}", cluster.switch(nic.switch).name, nic.port),
            };
            let row = [&node.name, &own.join(" "), &nic.name, &nic.mac.to_string(), &port];
            table.add_row(row);
        }
    }
    writeln!(out, "{table}")?;
    Ok(())
}
