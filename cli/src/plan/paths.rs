//! `tresse paths`: prints every path of every pair of nodes, one per line.

use std::io::Write;

use clap::Args;
use tresse_base::id::NodeId;
use tresse_plan::PathView;

use crate::fail::{Code, Failure};
use crate::input::{self, InstalledArgs};
use crate::output;

/// Arguments of `tresse paths`, which prints every path of every pair of nodes.
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
}

impl Paths {
    /// Computes the plan and lists its paths.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let files = self.cluster.files();
        let plan = files.plan()?;
        let named = |name: &Option<String>| {
            let node = |name| input::node_named(plan.cluster(), name, &files.file);
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
        for (s, d) in plan.pairs().filter(|(s, d)| wanted(*s, *d)) {
            for path in plan.paths(s, d) {
                let view = plan.path_view(&path);
                if json {
                    output::json_line(&mut out, &view)?;
                } else {
                    writeln!(out, "{}", line(&view))?;
                }
            }
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

/// Formats one path on one line: source and destination, path rank (0 is the primary), hops, and
/// per segment NIC, VLAN and switches, as in `n00 -> n11  rank 0  3 hops  eth0 vlan 104: s00 s03
/// s07 s11`.
pub fn line(path: &PathView) -> String {
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
        let mut names = segment.switches.clone();
        names.extend(segment.vlan.is_none().then(|| segment.to.clone()));
        let names = names.join(" ");
        text.push_str(&format!("  {} {vlan}: {names}", segment.nic));
    }
    text
}
