//! `tresse paths`: prints every path of every pair of nodes, one per line; or those of this node with their state.

use std::io::Write;

use clap::Args;
use tresse_base::id::NodeId;
use tresse_control::{PathLine, SegmentLine};
use tresse_plan::{PathView, SegmentView};
use tresse_verify::SharedParts;

use crate::fail::{Code, Failure};
use crate::input;
use crate::installed::InstalledArgs;
use crate::node::answer::Formatted;
use crate::output::{self, plain};

/// Arguments of `tresse paths`, which prints every path of every pair of nodes, what those of a pair share, or those of this
/// node as they are now.
#[derive(Debug, Args)]
pub struct Paths {
    #[command(flatten)]
    cluster: InstalledArgs,
    /// Only paths from this node.
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
    /// Only paths to this node.
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    /// Only pairs without a backup of their own, and which switches, links or NICs all their paths need.
    #[arg(long, conflicts_with = "live")]
    shared: bool,
    /// Ask this node's daemon for the paths from here, each with its state: active, standby, pending, broken, fused or
    /// drained.
    #[arg(long, conflicts_with_all = ["file", "lock", "from"])]
    live: bool,
}

impl Paths {
    /// Computes the plan and lists its paths; or lists those of the daemon, and exits with 1 if one is broken or fused.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        if self.live {
            return self.live(json);
        }
        let plan = self.cluster.plan()?;
        let named = |name: &Option<String>| {
            let node = |name| input::node_named(plan.cluster(), name);
            name.as_deref().map(node).transpose()
        };
        let (from, to) = (named(&self.from)?, named(&self.to)?);
        if let (Some(name), true) = (&self.from, from == to) {
            let message = format!("`{name}` needs no path to itself: name two nodes");
            return Err(Failure::new(Code::Usage, message));
        }
        let mut out = output::stdout();
        let wanted =
            |s: NodeId, d: NodeId| from.is_none_or(|f| f == s) && to.is_none_or(|t| t == d);
        let pairs = plan.pairs().filter(|(s, d)| wanted(*s, *d));
        if self.shared {
            let parts = SharedParts::of(&plan).map_err(|e| Failure::new(Code::Usage, e))?;
            for pair in pairs.filter_map(|(s, d)| parts.of_pair(s, d)) {
                if json {
                    output::json_line(&mut out, &Formatted::new(&pair))?;
                } else {
                    writeln!(out, "{pair}")?;
                }
            }
            out.flush()?;
            return Ok(Code::Fine);
        }
        for (s, d) in pairs {
            for path in plan.paths(s, d) {
                let view = plan.path_view(&path);
                if json {
                    output::json_line(&mut out, &view)?;
                } else {
                    writeln!(out, "{}", line(&stateless(view)))?;
                }
            }
        }
        out.flush()?;
        Ok(Code::Fine)
    }

    fn live(&self, json: bool) -> Result<Code, Failure> {
        let list = self.cluster.daemon.connect()?.paths(self.to.as_deref())?;
        let mut out = output::stdout();
        for path in &list.paths {
            if json {
                output::json_line(&mut out, &Formatted::new(path))?;
            } else {
                writeln!(out, "{:<8} {}", path.state, plain(&line(path)))?;
            }
        }
        out.flush()?;
        let unsound = |path: &PathLine| matches!(path.state.as_str(), "broken" | "fused");
        Ok(if list.paths.iter().any(unsound) { Code::Fault } else { Code::Fine })
    }
}

/// A path of a plan, of which no daemon says in what state it is.
fn stateless(view: PathView) -> PathLine {
    let segment = |segment: SegmentView| SegmentLine {
        from: segment.from,
        nic: segment.nic,
        vlan: segment.vlan.map(|vid| vid.0),
        switches: segment.switches,
        to: segment.to,
        to_nic: segment.to_nic,
    };
    PathLine {
        src: view.src,
        dst: view.dst,
        rank: view.rank,
        weight: view.weight,
        minimal: view.minimal,
        hops: view.hops,
        segments: view.segments.into_iter().map(segment).collect(),
        state: String::new(),
    }
}

/// Formats one path on one line: source and destination, path rank (0 is the primary), hops, and
/// per segment NIC, VLAN and switches, as in `n00 -> n11  rank 0  3 hops  eth0 vlan 104: s00 s03
/// s07 s11`.
fn line(path: &PathLine) -> String {
    let mut text = format!("{} -> {}  rank {}", path.src, path.dst, path.rank);
    if path.weight > 1 || (path.rank > 0 && path.weight > 0) {
        text.push_str(&format!("  weight {}", path.weight));
    }
    text.push_str(&format!("  {} hops", path.hops));
    if !path.minimal {
        text.push_str(" (not minimal)");
    }
    for segment in &path.segments {
        let vlan = segment.vlan.map_or_else(|| "untagged".into(), |v| format!("vlan {v}"));
        let end = segment.vlan.is_none().then_some(&segment.to);
        let names: Vec<&str> = segment.switches.iter().chain(end).map(String::as_str).collect();
        text.push_str(&format!("  {} {vlan}: {}", segment.nic, names.join(" ")));
    }
    text
}
