//! `tresse status`: shows which plan this node has, and whether everything in it works.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tresse_control::{GatewayLine, StateLine, Status as Answer};

use super::answer::{code_of, write_operations, write_pending};
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::fleet::{FleetArgs, health};
use crate::installed::InstalledArgs;
use crate::output::{self, plain};

/// Arguments of `tresse status`, which shows this node's plan and whether all of it works.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    node: NodeArgs,
    /// Ask all nodes of this cluster file, and name the parts at fault. Default: that of the plan in
    /// force here, else /etc/tresse/cluster.toml.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    all: Option<Option<PathBuf>>,
    /// Of --all: how many seconds a node may take for an answer, the login there included.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600), requires = "all")]
    patience: u64,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Status {
    /// Asks the daemon and prints; exits with 1 on drift, a fault or another node's other plan, with 5 if something is pending.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        if let Some(file) = &self.all {
            let plan = InstalledArgs::of(file.clone(), None, self.node.clone()).plan()?;
            let patience = Duration::from_secs(self.patience);
            return health::all(&self.fleet, &plan, patience, json);
        }
        let status = self.node.connect()?.status()?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &status)?;
        } else {
            text(&mut out, &status)?;
        }
        out.flush()?;
        let sound = status.in_sync
            && status.drift.is_empty()
            && status.fused.is_empty()
            && status.broken.is_empty()
            && status.cut.is_empty()
            && status.others.is_empty()
            && status.foreign.is_empty()
            && status.states.iter().all(|line| line.up || line.kind != "link")
            && status.fault.is_none();
        Ok(if sound { code_of(&status.pending) } else { Code::Fault })
    }
}

/// Since when something is up or down, and how often that has changed today.
fn since(line: &StateLine) -> String {
    let since = match line.since {
        Some(since) => format!("since {}", output::time(since)),
        None => "for longer than events reach back".into(),
    };
    match line.today {
        0 | 1 => since,
        times => format!("{since}, {times} changes today"),
    }
}

fn text(out: &mut impl Write, status: &Answer) -> std::io::Result<()> {
    match (&status.node, &status.generation) {
        (Some(node), Some(generation)) => {
            let sync = if status.in_sync { "in sync" } else { "NOT in sync" };
            writeln!(out, "node {node}, generation {generation}, {sync}")?;
        }
        _ if status.withdrawn => writeln!(
            out,
            "withdrawn, also over restarts: tresse apply FILE installs a plan, tresse reload the \
             configured one"
        )?,
        _ => writeln!(out, "no plan: tresse apply FILE installs one")?,
    }
    writeln!(
        out,
        "tressed {}, {}, forwarding engine {}",
        status.version, status.activity, status.engine
    )?;
    match status.source.as_str() {
        "tun" => writeln!(
            out,
            "labels are pushed by tressed through tresse-push (this kernel cannot, or `source` says \
             so): paths through transit nodes need the daemon"
        )?,
        "kernel" => writeln!(out, "labels are pushed by the kernel")?,
        _ => {}
    }
    match status.authentication.as_str() {
        "none" => writeln!(out, "packets between nodes: not signed")?,
        "optional" => writeln!(out, "packets between nodes: those without a tag are TAKEN TOO")?,
        "required" => writeln!(out, "packets between nodes: signed, others are not taken")?,
        // An older daemon.
        _ => {}
    }
    if let Some(seconds) = status.confirm_seconds {
        writeln!(out, "rolls back in {seconds} s unless `tresse confirm` comes")?;
    }
    if let Some(previous) = &status.previous {
        writeln!(out, "previous generation {previous} (tresse rollback)")?;
    }
    if let Some(fault) = &status.fault {
        writeln!(out, "FAULT: {}", plain(fault))?;
    }
    for line in status.states.iter().filter(|line| line.kind == "link" && !line.up) {
        let (nic, why, since) = (plain(&line.object), plain(&line.why), since(line));
        writeln!(out, "LINK {nic} is down, {since}: {why}")?;
    }
    for line in status.states.iter().filter(|line| line.up && line.today > 0) {
        let (kind, name, since) = (plain(&line.kind), plain(&line.object), since(line));
        writeln!(out, "{kind} {name} is up, {since}")?;
    }
    for line in &status.foreign {
        let (nic, mac) = (plain(&line.nic), plain(&line.mac));
        writeln!(
            out,
            "ANOTHER FABRIC is heard at {nic}, from {mac}, {} s ago: its cable is not where the plan has it, or two \
             fabrics share a switch; `tresse cables` compares",
            line.age_ms / 1000
        )?;
    }
    for fused in &status.fused {
        let links = fused.links.join(" ");
        let why = plain(&fused.why);
        writeln!(out, "FUSED VLAN {}: {why}; look at {links}", fused.vid)?;
    }
    if !status.drift.is_empty() {
        writeln!(out, "drift:")?;
        write_operations(out, &status.drift)?;
    }
    for wait in &status.waits {
        writeln!(out, "changing: {wait}")?;
    }
    for other in &status.others {
        let (node, age) = (plain(&other.node), other.age_ms / 1000);
        writeln!(
            out,
            "{node} sends by ANOTHER plan, heard {age} s ago: pairs with it may not work; `tresse rollout FILE` gives \
             all nodes one plan"
        )?;
    }
    write_pending(out, &status.pending)?;
    if !status.unproven.is_empty() {
        let vids: Vec<_> = status.unproven.iter().map(ToString::to_string).collect();
        writeln!(out, "VLANs not proven yet: {}", vids.join(" "))?;
    }
    if status.sessions > 0 {
        writeln!(out, "BFD: {} of {} sessions up", status.sessions_up, status.sessions)?;
    }
    if !status.drained.is_empty() {
        writeln!(out, "drained: {}", status.drained.join(" "))?;
    }
    for pair in &status.pinned {
        writeln!(out, "pinned: {pair}")?;
    }
    for pair in &status.weighted {
        writeln!(out, "weighted: {pair}")?;
    }
    for path in &status.broken {
        let dated = status.states.iter().find(|line| line.kind == "path" && line.object == *path);
        let since = dated.map_or_else(String::new, |line| format!(", {}", since(line)));
        writeln!(out, "BROKEN path to {path}{since}: not used")?;
    }
    if !status.backup.is_empty() {
        let nodes = output::named(&status.backup_nodes, &status.backup);
        writeln!(out, "on their backup path: {nodes}")?;
    }
    if !status.cut.is_empty() {
        writeln!(out, "NO PATH WORKS to {}", output::hostlist(&status.cut))?;
    }
    for gateways in status.gateways.chunk_by(|a, b| a.dst == b.dst) {
        let name = |line: &GatewayLine| {
            let words = [
                (line.used, " (used)"),
                (!line.reached, " (NOT reached)"),
                (line.shut, " (NO WAY OUT)"),
            ];
            let words = words.into_iter().filter(|(is, _)| *is).map(|(_, words)| words);
            format!("{}{}", plain(&line.node), words.collect::<String>())
        };
        let names: Vec<String> = gateways.iter().map(name).collect();
        writeln!(out, "gateways to {}: {}", plain(&gateways[0].dst), names.join(", "))?;
    }
    if !status.unprotected.is_empty() {
        let nodes = output::named(&status.unprotected_nodes, &status.unprotected);
        writeln!(out, "without a backup now: {nodes}")?;
    }
    Ok(())
}
