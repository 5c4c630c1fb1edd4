//! `tresse cables`: compares the cables that the daemon sees at this node's NICs, by what it
//! receives there, with those of the cluster file.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_cluster::cables::{self, By, CableReport, HostInterface, OrderBy, Sign, Verdict};
use tresse_control::{HeardLine, LldpLine, NeighbourList, NicLine};
use tresse_topology::cluster::Cluster;

use super::answer::Formatted;
use super::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::input;
use crate::output::{self, plain};

/// A NIC that listened this long has heard every neighbour: they announce themselves several times in it.
const PATIENCE_MS: u64 = 5000;

/// Arguments of `tresse cables`, which compares the cables at this node's NICs with the cluster
/// file.
#[derive(Debug, Args)]
pub struct Cables {
    /// The cluster file.
    file: PathBuf,
    /// Which node of the file this machine is. Default: as in the daemon's plan, else found by its MAC addresses.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    #[command(flatten)]
    daemon: NodeArgs,
}

impl Cables {
    /// Asks the daemon, compares and prints; exits with 1 if a cable is swapped, missing or extra.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let cluster = input::read_cluster(&self.file)?;
        let list = self.daemon.connect()?.neighbours()?;
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
            return input::node_named(cluster, name, &self.file);
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
            let file = self.file.display();
            let message =
                format!("no node of {file} has a NIC of this machine: say which with --node");
            Failure::new(Code::BadFile, message)
        })
    }
}

fn interface(nic: &NicLine) -> HostInterface {
    // Announcements on a VLAN come from all nodes, so they say nothing about this cable.
    let heard = nic.heard.iter().filter(|line| line.vid.is_none()).filter_map(announcement);
    // LLDP frames to all stations cross switches, so they say nothing about this cable.
    let lldp = nic.lldp.iter().filter(|line| !line.flooded);
    HostInterface {
        name: nic.name.clone(),
        mac: nic.mac.as_ref().and_then(|mac| mac.parse().ok()),
        carrier: nic.carrier,
        patient: nic.listening_ms.is_some_and(|ms| ms >= PATIENCE_MS),
        signs: lldp.map(introduction).chain(heard).collect(),
    }
}

fn announcement(line: &HeardLine) -> Option<Sign> {
    Some(Sign::Announcement { mac: line.mac.parse().ok()?, foreign: line.foreign })
}

fn introduction(line: &LldpLine) -> Sign {
    Sign::Lldp {
        system: line.system.clone(),
        port: line.port.clone(),
        port_mac: line.port_mac.as_ref().and_then(|mac| mac.parse().ok()),
        description: line.description.clone(),
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
        let cells = [&name, &nic.expected.to_string(), &found, by, verdict(nic.verdict), &words];
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
        writeln!(out, "  {}", advice(by))?;
    }
    Ok(())
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "OK",
        Verdict::Swapped => "swapped",
        Verdict::Missing => "missing",
        Verdict::Extra => "extra",
        Verdict::Unknown => "unknown",
    }
}

const fn advice(by: OrderBy) -> &'static str {
    match by {
        OrderBy::Mac => {
            "the kernel found the NICs in another order: give them the names of the file by their \
             MACs (systemd.link, udev), or change the names in the file"
        }
        OrderBy::Cable => {
            "swap the cables; or, where the kernel found the NICs in another order than the file \
             says, change the names or MACs in the file, or name them by MAC (systemd.link, udev)"
        }
    }
}
