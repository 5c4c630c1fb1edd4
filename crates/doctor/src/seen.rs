//! The input of the checks of `tresse doctor`: the plan and the state of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_control::{CounterLine, NeighbourList, Status};
use tresse_plan::Plan;
use tresse_topology::cluster::Nic;

use crate::host::Link;

/// The input of all checks of `tresse doctor`: the plan, this machine's node in it, and the state of
/// this machine and its daemon.
pub struct Seen<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// This machine in it.
    pub node: NodeId,
    /// Its interfaces, by name.
    pub links: BTreeMap<String, Link>,
    /// What the daemon says of itself, or why it does not answer.
    pub status: Result<Status, String>,
    /// The neighbours that the daemon hears, if it runs.
    pub neighbours: Option<NeighbourList>,
    /// The daemon's counters, if it runs, and [`BETWEEN`] later.
    pub counters: [Vec<CounterLine>; 2],
    /// Is nothing sent to other nodes?
    pub local: bool,
}

/// Between two readings of the counters: neighbours that are not heard send every second.
pub const BETWEEN: Duration = Duration::from_millis(1200);

impl Seen<'_> {
    pub(crate) fn nics(&self) -> &[Nic] {
        &self.plan.cluster().node(self.node).nics
    }

    /// The address families of this node in the plan; `true` is IPv4.
    pub(crate) fn families(&self) -> BTreeSet<bool> {
        self.plan.addresses().node[self.node.index()].iter().map(IpAddr::is_ipv4).collect()
    }
}

/// Returns the node of the plan that this machine is: as the daemon says, else the first one that has a NIC with a MAC
/// address of this machine.
#[must_use]
pub fn which(
    plan: &Plan,
    links: &BTreeMap<String, Link>,
    daemon: Option<&NeighbourList>,
) -> Option<NodeId> {
    let cluster = plan.cluster();
    let installed = daemon.and_then(|daemon| cluster.node_named(daemon.node.as_ref()?));
    if let Some(node) = installed {
        return Some(node);
    }
    let macs: BTreeSet<Mac> = links.values().filter_map(Link::mac).collect();
    let has = |node: &tresse_topology::cluster::Node| {
        node.nics.iter().any(|nic| !nic.mac_derived && macs.contains(&nic.mac))
    };
    cluster.nodes.iter().position(has).map(NodeId::from)
}
