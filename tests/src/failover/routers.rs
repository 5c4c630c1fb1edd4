//! Runs FRR (a routing suite) in a lab in place of Tresse's daemons, for comparison: on the same nodes
//! and cables, routes come from OSPF with BFD, or from OpenFabric.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use tresse_base::id::NodeId;
use tresse_control::Client;
use tresse_lab::state::Directory;
use tresse_lab::{netns, run};
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

use crate::frr::Frr;
use crate::program;

/// The routing protocol that FRR runs in the place of Tresse: OSPF or OpenFabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OSPF at its default timers, with BFD on every interface.
    Ospf,
    /// OpenFabric (`fabricd`) at its defaults.
    OpenFabric,
}

/// An address of each NIC, and what it reaches: by node and NIC.
type Nics = Vec<Vec<Ipv4Addr>>;

/// The running FRR daemons of all nodes of a lab.
pub struct Routers {
    protocol: Protocol,
    nodes: Vec<Frr>,
    nics: Nics,
}

impl Routers {
    /// Takes a lab's nodes from our daemons, which withdraw all that is theirs, and gives them to FRR's.
    ///
    /// # Errors
    /// What did not start, in words.
    pub fn start(
        plan: &Plan,
        directory: &Directory,
        protocol: Protocol,
        interval_ms: u16,
    ) -> Result<Self, String> {
        let mut routers = Self { protocol, nodes: Vec::new(), nics: nics(plan) };
        for (at, node) in plan.cluster().nodes.iter().enumerate() {
            let mut client =
                Client::connect(directory.socket(&node.name)).map_err(|e| e.to_string())?;
            client.withdraw(true).map_err(|e| e.to_string())?;
            // It keeps BFD's ports.
            if let Some(daemon) = program::daemon(&format!("/failover/{}/tressed.toml", node.name))
            {
                kill(daemon, Signal::SIGTERM).map_err(|e| e.to_string())?;
            }
            let own = address(NodeId::from(at));
            let mut lines = format!("addr add {own}/32 dev lo\n");
            for (nic, address) in node.nics.iter().zip(&routers.nics[at]) {
                let _ = writeln!(lines, "addr add {address}/24 dev {}", nic.name);
            }
            let place = directory.netns(&node.name);
            run::batch(Some(&place), "ip", &lines).map_err(|e| e.to_string())?;
            let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
            netns::inside(&place, forward)
                .map_err(|e| e.to_string())?
                .map_err(|e| e.to_string())?;
        }
        let (second, config) = match protocol {
            Protocol::Ospf => ("ospfd", ospf as fn(&Plan, NodeId) -> String),
            Protocol::OpenFabric => ("fabricd", open_fabric as fn(&Plan, NodeId) -> String),
        };
        for (at, node) in plan.cluster().nodes.iter().enumerate() {
            let mut frr = Frr::new(&directory.netns(&node.name))?;
            frr.start("zebra", "")?;
            if protocol == Protocol::Ospf {
                let profile = format!(
                    "bfd\n profile lab\n  detect-multiplier 3\n  receive-interval {interval_ms}\n  \
                     transmit-interval {interval_ms}\n exit\nexit\n"
                );
                frr.start("bfdd", &profile)?;
            }
            // `fabricd` takes nothing for interfaces from its file: it does not know them yet then.
            frr.start(second, "")?;
            frr.configure(second, &config(plan, NodeId::from(at)))?;
            routers.nodes.push(frr);
        }
        Ok(routers)
    }

    /// What the frames of every ordered pair cross now; without the pairs for which a node on the way has several
    /// next hops (OpenFabric's default).
    ///
    /// # Errors
    /// A pair without a route, or with a longer one than planned.
    pub fn paths(
        &self,
        plan: &Plan,
        directory: &Directory,
    ) -> Result<BTreeMap<(NodeId, NodeId), Vec<Crossing>>, String> {
        let nodes = (0..plan.cluster().nodes.len()).map(NodeId::from);
        let tables: Result<Vec<_>, _> = nodes.map(|node| table(plan, directory, node)).collect();
        let tables = tables?;
        let owner = |wanted: Ipv4Addr| {
            let all = self.nics.iter().enumerate().flat_map(|(node, nics)| {
                nics.iter().enumerate().map(move |(nic, own)| (NodeId::from(node), nic, *own))
            });
            all.into_iter().find(|(.., own)| *own == wanted).map(|(node, nic, _)| (node, nic))
        };
        let mut paths = BTreeMap::new();
        'pairs: for (from, to) in plan.pairs() {
            let (mut at, mut wires) = (from, Vec::new());
            while at != to {
                let hop = tables[at.index()].get(&address(to));
                if hop == Some(&None) {
                    continue 'pairs;
                }
                let next = hop.copied().flatten();
                let next = next.and_then(|(nic, via)| owner(via).map(|next| (nic, next)));
                let Some((nic, (next, into))) = next.filter(|_| wires.len() < 64) else {
                    return Err(format!("{from:?} has no route to {to:?}"));
                };
                wires.extend([Crossing::Out(at, nic), Crossing::In(next, into)]);
                at = next;
            }
            if wires.len() > 2 * plan.primary(from, to).len() {
                return Err(format!("{from:?} takes a longer way to {to:?}"));
            }
            paths.insert((from, to), wires);
        }
        Ok(paths)
    }

    /// Checks that every BFD session that the cables call for is up.
    ///
    /// # Errors
    /// The node that lacks one.
    pub fn watched(&self) -> Result<(), String> {
        if self.protocol != Protocol::Ospf {
            return Ok(());
        }
        for (at, frr) in self.nodes.iter().enumerate() {
            let up = frr.sessions()?.iter().filter(|(_, state)| state == "up").count();
            let wanted = self.neighbours(NodeId::from(at));
            if up != wanted {
                return Err(format!("node {at}: {up} of {wanted} BFD sessions are up"));
            }
        }
        Ok(())
    }

    /// NICs of others in the subnets of a node's.
    fn neighbours(&self, node: NodeId) -> usize {
        let subnet = |address: &Ipv4Addr| address.octets()[2];
        let others = self.nics.iter().enumerate().filter(|(at, _)| *at != node.index());
        let others: Vec<u8> = others.flat_map(|(_, nics)| nics.iter().map(subnet)).collect();
        let own = self.nics[node.index()].iter().map(subnet);
        own.map(|own| others.iter().filter(|other| **other == own).count()).sum()
    }
}

/// Returns the address that a node of the lab has while FRR routes: 10.100.255.1 for the first node, and
/// so on.
#[must_use]
pub fn address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::new(10, 100, 255, node.index() as u8 + 1)
}

/// A /24 for each switch, or for each cable between nodes.
fn nics(plan: &Plan) -> Nics {
    let cluster = plan.cluster();
    let mut cables: Vec<[(NodeId, usize); 2]> = Vec::new();
    let mut subnet = |node: usize, nic: usize| {
        let own = (NodeId::from(node), nic);
        match cluster.nodes[node].nics[nic].peer {
            None => cluster.nodes[node].nics[nic].switch.index(),
            Some(peer) => {
                let cable = [own, (peer.node, peer.nic)];
                let known = cables.iter().position(|known| known.contains(&own));
                known.unwrap_or_else(|| {
                    cables.push(cable);
                    cables.len() - 1
                })
            }
        }
    };
    (0..cluster.nodes.len())
        .map(|node| {
            let all = 0..cluster.nodes[node].nics.len();
            all.map(|nic| Ipv4Addr::new(10, 100, subnet(node, nic) as u8, node as u8 + 1)).collect()
        })
        .collect()
}

/// The routes of a node to others' addresses: NIC and gateway, nothing where there are several.
fn table(
    plan: &Plan,
    directory: &Directory,
    node: NodeId,
) -> Result<BTreeMap<Ipv4Addr, Option<(usize, Ipv4Addr)>>, String> {
    let of = plan.cluster().node(node);
    let found = run::read(&directory.netns(&of.name), "ip", &["-j", "-4", "route", "show"], "");
    let found = found.map_err(|e| e.to_string())?;
    let routes: Vec<Value> = serde_json::from_slice(&found).map_err(|e| e.to_string())?;
    let entry = |route: &Value| {
        let address = |key: &str| route[key].as_str().and_then(|text| text.parse().ok());
        if route["nexthops"].is_array() {
            return Some((address("dst")?, None));
        }
        let nic = of.nics.iter().position(|nic| route["dev"] == nic.name.as_str())?;
        Some((address("dst")?, Some((nic, address("gateway")?))))
    };
    Ok(routes.iter().filter_map(entry).collect())
}

fn ospf(plan: &Plan, node: NodeId) -> String {
    let mut config = String::new();
    for nic in &plan.cluster().node(node).nics {
        let kind = if nic.peer.is_some() { " ip ospf network point-to-point\n" } else { "" };
        let _ = write!(
            config,
            "interface {}\n ip ospf area 0\n{kind} ip ospf bfd\n ip ospf bfd profile lab\nexit\n",
            nic.name
        );
    }
    let id = address(node);
    config
        + "interface lo\n ip ospf area 0\n ip ospf passive\nexit\n"
        + &format!("router ospf\n ospf router-id {id}\n maximum-paths 1\nexit\n")
}

fn open_fabric(plan: &Plan, node: NodeId) -> String {
    let id = node.index() + 1;
    let mut config = format!("router openfabric lab\n net 49.0000.0000.{id:04x}.00\nexit\n");
    for nic in &plan.cluster().node(node).nics {
        let _ = write!(config, "interface {}\n ip router openfabric lab\nexit\n", nic.name);
    }
    config + "interface lo\n ip router openfabric lab\n openfabric passive\nexit\n"
}
