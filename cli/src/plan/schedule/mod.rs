//! `tresse schedule`: plans in which phase and by which NICs the messages of a pattern are sent, so that no NIC is used twice
//! at a time (flat-neighborhood-network-compiler, abstract and section 2).

mod pattern;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_base::wiring::Wiring;
use tresse_design::header;
use tresse_design::schedule::{Apart, Schedule as Phases, Sent, busiest};
use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, Nic, TopologyShape};

use self::pattern::Pattern;
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, count, plain};

/// Arguments of `tresse schedule`.
#[derive(Debug, Args)]
pub struct Schedule {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Which nodes send to which: all-to-all, rows or columns (each node to all others in its row or column), or
    /// permutation:FILE with lines FROM TO.
    #[arg(long, value_name = "PATTERN", default_value = "all-to-all")]
    pattern: Pattern,
    /// Nodes of a row; default: the square root of their number. Node 0 and those after it are the first row.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    row: Option<u32>,
    /// Write a C header with the schedule and with the table of NIC tuples.
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
}

#[derive(Serialize)]
struct Answer<'a> {
    format: u32,
    pattern: String,
    nodes: usize,
    messages: usize,
    /// No schedule has fewer phases.
    bound: usize,
    /// So many phases the paths of the plan would need: as many as the busiest NIC has messages.
    by_plan: usize,
    phases: Vec<Vec<Message<'a>>>,
}

/// A message, and the NICs that send and receive it.
#[derive(Serialize)]
struct Message<'a> {
    from: &'a str,
    to: &'a str,
    switch: &'a str,
    from_nic: &'a str,
    to_nic: &'a str,
}

impl Schedule {
    /// Computes the schedule and prints or writes it.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let cluster = plan.cluster();
        let TopologyShape::Fnn { wiring, spares, .. } = &cluster.kind else {
            let message =
                "schedules are for flat neighbourhoods: `topology = { kind = \"fnn\", .. }`";
            return Err(Failure::new(Code::BadFile, message));
        };
        // Spares wait, and are no part of a pattern that names no nodes.
        let nodes = if spares.is_empty() { cluster.nodes.len() } else { wiring.pcs() };
        let wiring = &wired(cluster);
        let messages = self.pattern.messages(cluster, nodes, self.row)?;
        let name = |node: u32| cluster.node(NodeId(node)).name.as_str();
        let schedule = Phases::of(wiring, cluster.nodes.len(), &messages).map_err(|apart| {
            let Apart { from, to } = apart;
            let spare = [from, to].into_iter().find(|node| cluster.is_behind_uplink(NodeId(*node)));
            let spare = spare.map_or_else(String::new, |node| {
                format!("{} is on the uplink switch alone, as spares are; ", name(node))
            });
            let message = format!(
                "`{}` and `{}` share no switch, so no single phase carries a message between them\n  \
                 help: {spare}leave the pair out with --pattern permutation:FILE, or ask `tresse design` for a wiring that \
                 joins them",
                name(from),
                name(to)
            );
            Failure::new(Code::Fault, message)
        })?;
        if let Some(file) = &self.header {
            let names: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
            let pattern = self.pattern.to_string();
            let text = header::text(&names, wiring, &schedule, &pattern).ok_or_else(|| {
                let message = "a node has so many NICs that a tuple of them has more than 64 bits";
                Failure::new(Code::Fault, message)
            })?;
            input::replace(file, text)?;
        }
        let by_plan = messages.iter().filter_map(|(from, to)| planned(&plan, *from, *to));
        let by_plan = busiest(by_plan);
        let mut out = output::stdout();
        if json {
            let phases = schedule.phases.iter();
            let phases = phases.map(|phase| phase.iter().map(|of| message(cluster, *of)).collect());
            let answer = Answer {
                format: 1,
                pattern: self.pattern.to_string(),
                nodes: cluster.nodes.len(),
                messages: messages.len(),
                bound: schedule.bound,
                by_plan,
                phases: phases.collect(),
            };
            output::json_line(&mut out, &answer)?;
        } else {
            text(&mut out, cluster, &schedule, messages.len(), by_plan)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

/// The first path of the plan for a message.
fn planned(plan: &Plan, from: u32, to: u32) -> Option<Sent> {
    let segment = plan.paths(NodeId(from), NodeId(to)).first()?.segments[0];
    let switch = plan.cluster().node(NodeId(from)).nics[segment.nic].switch.0;
    Some(Sent { from, to, switch })
}

/// The nodes on each switch, as they are cabled: spares in the places of others too, and none of the spares beside.
fn wired(cluster: &Cluster) -> Wiring {
    let is_on = |switch: usize, node: usize| {
        let id = NodeId::from(node);
        let on = |nic: &Nic| nic.switch.index() == switch;
        !cluster.is_behind_uplink(id) && cluster.node(id).nics.iter().any(on)
    };
    let members =
        |switch| (0..cluster.nodes.len() as u32).filter(move |n| is_on(switch, *n as usize));
    Wiring {
        switches: (0..cluster.switches.len()).map(|switch| members(switch).collect()).collect(),
    }
}

fn message(cluster: &Cluster, sent: Sent) -> Message<'_> {
    let nic = |node: u32| {
        let nics = &cluster.node(NodeId(node)).nics;
        let nic = nics.iter().find(|nic| nic.switch.0 == sent.switch);
        nic.map_or("", |nic| nic.name.as_str())
    };
    Message {
        from: &cluster.node(NodeId(sent.from)).name,
        to: &cluster.node(NodeId(sent.to)).name,
        switch: &cluster.switches[sent.switch as usize].name,
        from_nic: nic(sent.from),
        to_nic: nic(sent.to),
    }
}

fn text(
    out: &mut impl Write,
    cluster: &Cluster,
    schedule: &Phases,
    messages: usize,
    by_plan: usize,
) -> std::io::Result<()> {
    let (phases, bound) = (schedule.phases.len(), schedule.bound);
    writeln!(
        out,
        "{} in {}; no schedule has fewer than {bound}; the paths of the plan need {by_plan}",
        count(messages, "message"),
        count(phases, "phase")
    )?;
    for (number, phase) in schedule.phases.iter().enumerate() {
        writeln!(out, "phase {number}: {}", count(phase.len(), "message"))?;
        for sent in phase {
            let Message { from, to, switch, from_nic, to_nic } = message(cluster, *sent);
            writeln!(
                out,
                "  {} {} -> {} {}  through {}",
                plain(from),
                plain(from_nic),
                plain(to),
                plain(to_nic),
                plain(switch)
            )?;
        }
    }
    Ok(())
}
