//! `tresse cables`: compares the cables that the daemon sees at this node's NICs, by what it
//! receives there, with those of the cluster file.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::Args;
use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_cluster::cables::{self, By, CableReport, HostInterface};
use tresse_control::NeighbourList;
use tresse_mapping::host::interface;
use tresse_topology::cluster::Cluster;

use super::answer::Formatted;
use crate::fail::{Code, Failure};
use crate::input;
use crate::installed::InstalledArgs;
use crate::output::{self, plain};

/// Arguments of `tresse cables`, which compares the cables at this node's NICs with the cluster
/// file.
#[derive(Debug, Args)]
pub struct Cables {
    #[command(flatten)]
    cluster: InstalledArgs,
    /// Which node of the file this machine is. Default: as in the daemon's plan, else found by its MAC addresses.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
}

impl Cables {
    /// Asks the daemon, compares and prints; exits with 1 if a cable is swapped, missing or extra.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let cluster = self.cluster.cluster()?;
        let list = self.cluster.daemon.connect()?.neighbours()?;
        let node = self.which(&cluster, &list)?;
        let interfaces: Vec<HostInterface> = list.nics.iter().map(interface).collect();
        let report = cables::compare(&cluster, node, &interfaces);
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Formatted::new(&report))?;
        } else {
            text(&mut out, &report)?;
        }
        out.flush()?;
        Ok(if report.fine { Code::Fine } else { Code::Fault })
    }

    /// Which node of the cluster file the daemon's machine is.
    fn which(&self, cluster: &Cluster, list: &NeighbourList) -> Result<NodeId, Failure> {
        if let Some(name) = &self.node {
            return input::node_named(cluster, name);
        }
        if let Some(node) = list.node.as_ref().and_then(|name| cluster.node_named(name)) {
            return Ok(node);
        }
        let macs: BTreeSet<Mac> =
            list.nics.iter().filter_map(|nic| nic.mac.as_ref()?.parse().ok()).collect();
        let has = |node: &tresse_topology::cluster::Node| {
            node.nics.iter().any(|nic| macs.contains(&nic.mac))
        };
        cluster.nodes.iter().position(has).map(NodeId::from).ok_or_else(|| {
            let message = "no node of the plan has a NIC of this machine: say which with --node";
            Failure::new(Code::BadFile, message)
        })
    }
}

fn text(out: &mut impl Write, report: &CableReport) -> io::Result<()> {
    writeln!(out, "node {}", report.node)?;
    let mut table = output::table(["NIC", "EXPECTED", "FOUND", "BY", "VERDICT", ""]);
    for nic in &report.nics {
        let name = match &nic.interface {
            Some(interface) if *interface != nic.nic => format!("{} ({interface})", nic.nic),
            _ => nic.nic.clone(),
        };
        let by = match nic.by {
            Some(By::Lldp) => "LLDP",
            Some(By::Announcements) => "announcements",
            None => "-",
        };
        let mut words = nic.message.clone();
        if !nic.silent.is_empty() {
            words = format!("not heard: {}", nic.silent.join(", "));
        }
        let found = nic.found.as_ref().map_or_else(|| "-".into(), ToString::to_string);
        let cells = [&name, &nic.expected.to_string(), &found, by, nic.verdict.word(), &words];
        table.add_row(cells.map(|cell: &str| plain(cell).into_owned()));
    }
    writeln!(out, "{table}")?;
    for extra in &report.extra {
        writeln!(out, "extra at {}: {}", plain(&extra.interface), plain(&extra.message))?;
    }
    let order: Vec<String> = report
        .order
        .iter()
        .map(|named| format!("{} = the file's {}", plain(&named.interface), named.nic))
        .collect();
    if let Some(by) = report.order_by {
        writeln!(out, "NIC order found: {}", order.join(", "))?;
        writeln!(out, "  {}", by.advice())?;
    }
    Ok(())
}
