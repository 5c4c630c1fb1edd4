//! `tresse reflect suggest`: proposes reflectors (nodes that send a frame out of the NIC that it
//! came in by) for the traffic that links and nodes carry now.
//!
//! The measured traffic becomes the demand of the cluster, and the cluster is planned again for it
//! with `reflect = true`. The proposal lists the detours of this plan. With the proposed text
//! added, the cluster file gives exactly this plan.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use tresse_base::id::{NodeId, SwitchId};
use tresse_plan::{Estimate, MeasuredLoads, Plan};
use tresse_routing::reflect::Detour;
use tresse_topology::cluster::{Cluster, ReflectMode, Strategy, Traffic};
use tresse_verify as verify;

use super::sample::Samples;
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, count};

/// Arguments of `tresse reflect suggest`, which proposes reflectors (nodes that relay frames), and
/// the text that adds them to the cluster file, from the measured traffic.
#[derive(Debug, Args)]
pub struct Suggest {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    samples: Samples,
    /// Paths per pair, the primary included. Default: as in the cluster file, at least 3.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=64))]
    paths: Option<u32>,
    /// A link counts as busy if it carries at least this share of its rate.
    #[arg(long, default_value_t = 0.5, value_parser = share)]
    busy: f64,
}

/// The proposal.
#[derive(Debug, Serialize)]
struct Proposal {
    format: u32,
    /// Seconds between the two samples.
    seconds: f64,
    /// The links that count as busy, the busiest first.
    busy: Vec<Busy>,
    /// Detours by pair of switches.
    pairs: Vec<Pair>,
    /// Ideal throughput of this demand without detours, with them, and the optimum.
    direct: f64,
    achieved: f64,
    optimum: Option<f64>,
    /// Text for the cluster file; empty where nothing is gained.
    text: String,
}

/// A link and its load over its rate.
#[derive(Debug, Serialize)]
struct Busy {
    from: String,
    to: String,
    load: f64,
}

/// A pair of switches and the detours for it.
#[derive(Debug, Serialize)]
struct Pair {
    from: String,
    to: String,
    /// Weight of the direct path, in the unit of the weights of the detours.
    direct: u32,
    detours: Vec<Reflector>,
}

/// A detour.
#[derive(Debug, Serialize)]
struct Reflector {
    node: String,
    nic: String,
    switch: String,
    weight: u32,
    /// Measured load over rate, for the busiest link of the detour.
    link_load: f64,
    /// The same for the reflector: the larger one of sent and received.
    node_load: f64,
}

impl Suggest {
    /// Measures, plans and prints the proposal.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let (measured, seconds) = self.samples.measure()?;
        known(&plan, &measured)?;
        let estimate = plan.estimate(&measured);
        let proposal = self.proposal(&plan, &estimate, seconds)?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &proposal)?;
        } else {
            text(&mut out, &proposal)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }

    fn proposal(
        &self,
        plan: &Plan,
        estimate: &Estimate,
        seconds: f64,
    ) -> Result<Proposal, Failure> {
        let name = |s: u32| plan.cluster().switches[s as usize].name.clone();
        let loads = (0u32..).zip(estimate.links.iter().copied());
        let mut busy: Vec<Busy> = loads
            .filter(|(_, load)| *load >= self.busy)
            .map(|(c, load)| {
                let (from, to) = (name(plan.graph().tail(c)), name(plan.graph().head(c)));
                Busy { from, to, load }
            })
            .collect();
        busy.sort_by(|a, b| b.load.total_cmp(&a.load));
        let (direct, achieved, optimum, text) = (0.0, 0.0, None, String::new());
        let pairs = Vec::new();
        let mut proposal =
            Proposal { format: 1, seconds, busy, pairs, direct, achieved, optimum, text };
        if proposal.busy.is_empty() || estimate.demand.is_empty() {
            return Ok(proposal);
        }
        let cluster = self.reflecting(plan.cluster(), &estimate.demand);
        let text = pasted(&cluster, plan.cluster());
        let lock = self.cluster.read_lock()?;
        let new = input::build(cluster, &lock, &self.cluster.file)?;
        if let Some(found) = verify::Reflect::of(&new) {
            (proposal.direct, proposal.achieved) = (found.direct, found.achieved);
            proposal.optimum = found.optimum;
        }
        let splits = new.detours().by_pair.iter();
        proposal.pairs = splits
            .map(|(&(s, d, _), split)| Pair {
                from: name(s.0),
                to: name(d.0),
                direct: split.direct,
                detours: split
                    .detours
                    .iter()
                    .map(|detour| reflector(&new, estimate, (s, d), detour))
                    .collect(),
            })
            .collect();
        if !proposal.pairs.is_empty() {
            proposal.text = text;
        }
        Ok(proposal)
    }

    /// The cluster with this demand and with reflectors.
    fn reflecting(&self, cluster: &Cluster, demand: &[Traffic]) -> Cluster {
        let mut cluster = Cluster { demand: demand.to_vec(), ..cluster.clone() };
        cluster.routing.reflect = ReflectMode::Demand;
        cluster.routing.paths = self.paths.unwrap_or(cluster.routing.paths.max(3)).clamp(1, 64);
        if cluster.routing.strategy == Strategy::Stp {
            cluster.routing.strategy = Strategy::Minimal;
        }
        cluster
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1".into())
}

/// Refuses counters of another cluster, which would look like those of an idle one.
fn known(plan: &Plan, measured: &MeasuredLoads) -> Result<(), Failure> {
    let cluster = plan.cluster();
    let switches = cluster.switches.iter().map(|s| s.name.as_str());
    let names: BTreeSet<&str> =
        cluster.nodes.iter().map(|n| n.name.as_str()).chain(switches).collect();
    let all = measured.bps.keys().flat_map(|(from, to)| [from, to]);
    match all.into_iter().find(|name| !names.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Failure::new(
            Code::BadFile,
            format!(
                "the counters name `{name}`, which is not a node or switch of the cluster file"
            ),
        )),
    }
}

fn reflector(
    plan: &Plan,
    estimate: &Estimate,
    (s, d): (SwitchId, SwitchId),
    detour: &Detour,
) -> Reflector {
    let node = plan.cluster().node(detour.node);
    let nic = &node.nics[detour.nic];
    let mut channels = Vec::new();
    plan.tree(detour.there).walk(plan.graph(), s, nic.switch, &mut channels);
    plan.tree(detour.on).walk(plan.graph(), nic.switch, d, &mut channels);
    let [sent, received] = estimate.nodes[detour.node.index()];
    Reflector {
        node: node.name.clone(),
        nic: nic.name.clone(),
        switch: plan.cluster().switch(nic.switch).name.clone(),
        weight: detour.weight,
        link_load: channels.iter().map(|c| estimate.links[*c as usize]).fold(0.0, f64::max),
        node_load: sent.max(received),
    }
}

/// The tables and keys to put into the cluster file.
fn pasted(cluster: &Cluster, before: &Cluster) -> String {
    let mut text = String::from("[routing]\n");
    if cluster.routing.strategy != before.routing.strategy {
        text.push_str("strategy = \"minimal\"\n");
    }
    let _ = writeln!(text, "paths = {}\nreflect = true", cluster.routing.paths);
    for Traffic { from, to, weight } in &cluster.demand {
        for from in lists(cluster, from) {
            for to in lists(cluster, to) {
                let _ = write!(
                    text,
                    "\n[[demand]]\nfrom = \"{from}\"\nto = \"{to}\"\nweight = {weight}\n"
                );
            }
        }
    }
    text
}

fn lists(cluster: &Cluster, nodes: &[NodeId]) -> Vec<String> {
    let names: Vec<&str> = nodes.iter().map(|id| cluster.node(*id).name.as_str()).collect();
    tresse_base::hostlist::collapse(&names)
}

/// How many busy links are listed.
const LISTED: usize = 8;

fn text(out: &mut impl Write, p: &Proposal) -> std::io::Result<()> {
    writeln!(out, "# measured over {:.1} s", p.seconds)?;
    if p.busy.is_empty() {
        return writeln!(out, "# no link is busy: there is nothing to relieve");
    }
    for busy in p.busy.iter().take(LISTED) {
        writeln!(out, "# {} -> {} carries {:.2} of its rate", busy.from, busy.to, busy.load)?;
    }
    if p.busy.len() > LISTED {
        writeln!(out, "# and {} more", count(p.busy.len() - LISTED, "busy link"))?;
    }
    if p.pairs.is_empty() {
        return writeln!(
            out,
            "# no detour through a node helps with these paths and the counters given"
        );
    }
    for pair in &p.pairs {
        let sum: u32 = pair.direct + pair.detours.iter().map(|d| d.weight).sum::<u32>();
        writeln!(out, "# {} -> {}: {} of {sum} parts directly", pair.from, pair.to, pair.direct)?;
        for d in &pair.detours {
            writeln!(
                out,
                "#   {} through {} on {} ({}; its links at most {:.2} busy, its NICs {:.2})",
                d.weight, d.node, d.switch, d.nic, d.link_load, d.node_load
            )?;
        }
    }
    let optimum = p.optimum.map_or_else(String::new, |o| format!(", optimum {o:.3}"));
    writeln!(
        out,
        "# this demand gets {:.3} of a node link now, {:.3} with these{optimum}",
        p.direct, p.achieved
    )?;
    writeln!(
        out,
        "# For the cluster file: these keys in its [routing], these [[demand]] tables for its own:"
    )?;
    write!(out, "{}", p.text)
}
