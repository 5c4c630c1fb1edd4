//! `tresse trace`: prints the paths of one pair of nodes with every switch and port, and why the
//! planner chose them; and what several failures leave of them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_health::left::{self, Left, Reached};
use tresse_plan::{Plan, Trace as Traced, TracedPath, TracedSegment};

use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::input;
use crate::installed::InstalledArgs;
use crate::output;

/// Arguments of `tresse trace`, which prints the paths of one pair of nodes port by port.
#[derive(Debug, Args)]
#[command(override_usage = "tresse trace [OPTIONS] [FILE] <FROM> <TO>")]
pub struct Trace {
    /// The cluster file (default: that of the plan in force here, else /etc/tresse/cluster.toml), the node that sends, the node that receives.
    #[arg(value_names = ["[FILE] FROM", "TO"], num_args = 2..=3, required = true)]
    names: Vec<String>,
    /// The lock. Default: `tresse.lock` beside the cluster file, if there is one.
    #[arg(long)]
    lock: Option<PathBuf>,
    /// Also say how it is reached without these parts: s3,n04:eth1.
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    without: Vec<String>,
    #[command(flatten)]
    daemon: NodeArgs,
}

/// The paths, and how the destination is reached without some parts.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    trace: &'a Traced,
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<Without<'a>>,
}

/// How a node is reached without some parts of the fabric.
#[derive(Serialize)]
struct Without<'a> {
    parts: &'a [String],
    /// By the planned path of this rank.
    rank: Option<u32>,
    /// By these nodes, with both ends, where no planned path is whole.
    path: Option<Vec<String>>,
    /// Why not at all: `no-cable` if no whole cables join the nodes, else `no-path`.
    reason: Option<&'static str>,
}

impl<'a> Without<'a> {
    fn of(plan: &Plan, (from, to): (NodeId, NodeId), parts: &'a [String]) -> Result<Self, Failure> {
        let left = Left::new(plan);
        let named: Result<Vec<_>, _> = parts.iter().map(|name| left.parts.named(name)).collect();
        let named = named.map_err(|e| Failure::new(Code::Usage, format!("--without: {e}")))?;
        let broken = left::crossings(&named);
        let (mut rank, mut path, mut reason) = (None, None, None);
        match left.reached(from, to, &broken) {
            Reached::Planned(by) => rank = Some(by),
            Reached::Round(nodes) => {
                let name = |node: &NodeId| plan.cluster().node(*node).name.clone();
                path = Some(nodes.iter().map(name).collect());
            }
            Reached::Not if left.joined(from, &broken).contains(&to) => reason = Some("no-path"),
            Reached::Not => reason = Some("no-cable"),
        }
        Ok(Self { parts, rank, path, reason })
    }

    fn text(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, "\nwithout {}: ", self.parts.join(", "))?;
        match (self.rank, &self.path, self.reason) {
            (Some(rank), ..) => writeln!(out, "by the path of rank {rank}"),
            (_, Some(path), _) => writeln!(out, "round, by {}", path.join(" ")),
            (.., Some("no-path")) => {
                writeln!(out, "cut off: cables join them, but no path of the plan is whole")
            }
            _ => writeln!(out, "cut off: no whole cables join them"),
        }
    }
}

impl Trace {
    /// Computes the plan and prints the paths; exits with 1 if none is left.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let (file, pair) = self.names.split_at(self.names.len() - 2);
        let file = file.first().map(PathBuf::from);
        let plan = InstalledArgs::of(file, self.lock.clone(), self.daemon.clone()).plan()?;
        let named = |name: &str| input::node_named(plan.cluster(), name);
        let (from, to) = (named(&pair[0])?, named(&pair[1])?);
        if from == to {
            let name = &plan.cluster().node(from).name;
            let message = format!("`{name}` needs no path to itself: name two nodes");
            return Err(Failure::new(Code::Usage, message));
        }
        let trace = plan.trace(from, to);
        let without = (!self.without.is_empty())
            .then(|| Without::of(&plan, (from, to), &self.without))
            .transpose()?;
        let cut = without.as_ref().is_some_and(|without| without.reason.is_some());
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Answer { trace: &trace, without })?;
        } else {
            text(&mut out, &trace)?;
            without.iter().try_for_each(|without| without.text(&mut out))?;
        }
        out.flush()?;
        Ok(if cut { Code::Fault } else { Code::Fine })
    }
}

fn text(out: &mut impl Write, trace: &Traced) -> std::io::Result<()> {
    let joined =
        |a: &[std::net::IpAddr]| a.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    writeln!(
        out,
        "{} ({}) -> {} ({}), mtu {}, generation {}",
        trace.src,
        joined(&trace.src_addresses),
        trace.dst,
        joined(&trace.dst_addresses),
        trace.mtu,
        trace.generation
    )?;
    let sum = trace.paths.iter().map(|path| path.weight).sum();
    for path in &trace.paths {
        path_text(out, path, sum)?;
    }
    writeln!(out, "\nwhy the primary is this one")?;
    trace.why.iter().try_for_each(|why| writeln!(out, "  {why}"))
}

fn path_text(out: &mut impl Write, path: &TracedPath, sum: u32) -> std::io::Result<()> {
    let rank = match (path.rank, path.weight) {
        (0, 1) if sum == 1 => "primary".into(),
        (0, weight) => format!("primary, {weight} of {sum} parts of the flows"),
        (rank, 0) => format!("backup {rank}"),
        (rank, weight) => format!("sibling {rank}, {weight} of {sum} parts of the flows"),
    };
    let minimal = if path.minimal { "minimal" } else { "not minimal" };
    let s = if path.hops == 1 { "" } else { "s" };
    writeln!(out, "\n{rank}: {} hop{s}, {minimal}, mtu {}", path.hops, path.mtu)?;
    for segment in &path.segments {
        segment_text(out, segment)?;
    }
    match path.disjoint {
        None => Ok(()),
        Some(true) => writeln!(out, "  disjoint from the primary"),
        Some(false) => writeln!(out, "  shares with the primary: {}", path.shared.join(", ")),
    }
}

fn segment_text(out: &mut impl Write, segment: &TracedSegment) -> std::io::Result<()> {
    match segment.vlan {
        Some(vid) => {
            let role = segment.role.map_or_else(String::new, |r| format!("{r:?}").to_lowercase());
            let tree = segment.tree.as_deref().unwrap_or_default();
            let labels: Vec<_> = segment.labels.iter().map(|label| label.0.to_string()).collect();
            let labels = match labels.len() {
                0 => String::new(),
                n => format!(", label{} {}", if n == 1 { "" } else { "s" }, labels.join("/")),
            };
            writeln!(out, "  VLAN {vid}, tree {tree} ({role}){labels}")?;
        }
        None => writeln!(out, "  untagged")?,
    }
    writeln!(
        out,
        "  {} {} {} (interface {})",
        segment.from, segment.nic, segment.mac, segment.interface
    )?;
    for switch in &segment.switches {
        writeln!(out, "    {} port {} -> {}", switch.name, switch.in_port, switch.out_port)?;
    }
    writeln!(out, "  {} {} {}", segment.to, segment.to_nic, segment.to_mac)
}
