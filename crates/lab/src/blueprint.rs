//! Computes the blueprint of a lab from a plan, as plain data: every namespace, cable, interface
//! and VLAN membership.
//!
//! It depends on the plan only. It is stored with the lab, so that later commands (`tresse lab
//! fail`, `heal`) need no plan. The VLANs of the switches are computed by [`tresse_export`], which
//! also writes the configuration of real switches, so that the lab tests what operators get. Rules:
//! K3 (no default VLAN), K9 (MTU), K23 (distinct ifindexes).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;
use tresse_base::units::{Mac, Rate};
use tresse_export::{ExportOptions, PortConfig, SwitchConfig, switch_configs};
use tresse_plan::Plan;
use tresse_topology::cluster::{Nic, NicEnd, Node, Port};

/// The description of a whole lab (a cluster in network namespaces on one machine): its nodes,
/// switches and cables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blueprint {
    /// The plan's generation.
    pub generation: String,
    /// Nodes in plan order.
    pub nodes: Vec<LabNode>,
    /// Switches in plan order.
    pub switches: Vec<LabSwitch>,
    /// Cables: those between switches in plan order, then NICs in node order, those between nodes by
    /// their first end.
    pub cables: Vec<Cable>,
}

/// A node (computer) of a lab: its name and IP addresses, and on how many (NIC, VID) pairs it
/// announces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabNode {
    /// Its name in the plan.
    pub name: String,
    /// Its addresses, one per prefix.
    pub addresses: Vec<IpAddr>,
    /// (NIC, VID) pairs on which it announces itself.
    pub announces: usize,
}

/// A switch of a lab: its name, whether it filters VLANs, and its forwarding database (FDB). Its
/// ports and their VLANs are [`End`]s of cables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSwitch {
    /// Its name in the plan.
    pub name: String,
    /// Whether it has no VLAN filtering. Then the ports of one untagged VID form a bridge of their
    /// own.
    #[serde(default)]
    pub plain: bool,
    /// Ageing time of its forwarding database.
    pub fdb_age_seconds: u32,
    /// Static forwarding entries: (MAC, VID, port interface). Empty where stations announce.
    pub fdb: Vec<(Mac, u16, String)>,
}

/// A cable of a lab: a veth pair between two namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// One end; the node's end of a NIC cable.
    pub a: End,
    /// The other end: a switch port, but where a cable joins two nodes.
    pub b: End,
    /// Rate from the cluster file.
    pub rate: Rate,
}

/// One end of a lab's cable: namespace and interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Node or switch.
    pub place: String,
    /// Whether the place is a switch.
    pub switch: bool,
    /// Interface name there: the NIC's, or `p<port>`.
    pub interface: String,
    /// The bond of a link aggregation group that the interface belongs to: `lag` and the port of its first cable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond: Option<String>,
    /// Its ifindex, unique in the whole lab (K23).
    pub ifindex: u32,
    /// The NIC's MAC address.
    pub mac: Option<Mac>,
    /// Interface MTU.
    pub mtu: u32,
    /// Tagged VIDs of a port.
    pub tagged: BTreeSet<u16>,
    /// Untagged VID of a port (K3); on a plain switch the line of nodes that it is in.
    pub untagged: Option<u16>,
}

impl End {
    /// The bridge port of a switch: its bond, or the interface itself.
    #[must_use]
    pub fn bridge_port(&self) -> &str {
        self.bond.as_ref().unwrap_or(&self.interface)
    }
}

/// Error: no lab can be built from a plan, because a node and a switch have the same name.
#[derive(Debug, thiserror::Error)]
pub enum BlueprintError {
    /// A node and a switch share a name.
    #[error("a node and a switch are both called `{name}`: a lab needs different names")]
    SameName {
        /// The name.
        name: String,
    },
}

impl Blueprint {
    /// Returns the lab of a plan. `static_fdb` computes the forwarding entries of every switch, for
    /// nodes that do not announce themselves. O(pairs x paths + trees x (nodes + switches)).
    ///
    /// # Errors
    /// [`BlueprintError`] on a name that is a node's and a switch's.
    pub fn of(plan: &Plan, static_fdb: bool) -> Result<Self, BlueprintError> {
        let cluster = plan.cluster();
        let clash = cluster.nodes.iter().find(|n| cluster.switch_named(&n.name).is_some());
        if let Some(node) = clash {
            return Err(BlueprintError::SameName { name: node.name.clone() });
        }
        let nodes = cluster
            .nodes
            .iter()
            .enumerate()
            .map(|(k, _)| LabNode {
                name: cluster.machine(k.into()).to_owned(),
                addresses: plan.addresses().node[k].clone(),
                announces: plan.uses(NodeId::from(k)).values().filter(|a| **a).count(),
            })
            .collect();
        let configs = switch_configs(plan, ExportOptions { cyclic: false, static_fdb });
        let switches = configs.iter().map(|config| {
            let fdb = config.fdb.iter().map(|entry| {
                let port = config.interface(entry.port, port_name, bond_name);
                (entry.mac, entry.vid.0, port)
            });
            LabSwitch {
                name: config.name.clone(),
                plain: plan.cluster().is_untagged(),
                fdb_age_seconds: config.fdb_age_seconds,
                fdb: fdb.collect(),
            }
        });
        let switches = switches.collect();
        let cables = cables(plan, &configs);
        Ok(Self { generation: plan.generation().into(), nodes, switches, cables })
    }

    /// The names of all nodes, in order.
    #[must_use]
    pub fn node_names(&self) -> Vec<&str> {
        self.nodes.iter().map(|n| n.name.as_str()).collect()
    }

    /// Every place: nodes, then switches.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let nodes = self.nodes.iter().map(|n| n.name.as_str());
        nodes.chain(self.switches.iter().map(|s| s.name.as_str()))
    }

    /// The interfaces of one place, with the other end of each cable.
    pub fn ends<'a>(&'a self, place: &'a str) -> impl Iterator<Item = (&'a End, &'a End)> {
        let both = self.cables.iter().flat_map(|c| [(&c.a, &c.b), (&c.b, &c.a)]);
        both.filter(move |(end, _)| end.place == place)
    }

    /// Returns whether this place is a switch.
    #[must_use]
    pub fn is_switch(&self, place: &str) -> bool {
        self.switches.iter().any(|s| s.name == place)
    }

    /// Returns whether switches carry VLANs.
    #[must_use]
    pub fn needs_vlans(&self) -> bool {
        self.switches.iter().any(|switch| !switch.plain)
    }
}

/// Returns the interface name of a switch port in a lab: `p` and the port's number.
#[must_use]
pub fn port_name(port: u32) -> String {
    format!("p{port}")
}

/// The interface name of a link aggregation group in a lab.
fn bond_name(port: u32) -> String {
    format!("lag{port}")
}

/// What a switch port has, as operators get it.
#[derive(Default)]
struct Membership {
    tagged: BTreeSet<u16>,
    untagged: Option<u16>,
    bond: Option<String>,
}

/// That of every switch port.
type Memberships = BTreeMap<Port, Membership>;

fn memberships(configs: &[SwitchConfig]) -> Memberships {
    let of_switch = |config: &SwitchConfig| {
        let switch = config.switch;
        let of_port = move |port: &PortConfig, number| {
            let membership = Membership {
                tagged: port.tagged.iter().map(|vid| vid.0).collect(),
                untagged: port.untagged.map(|vid| vid.0),
                bond: (!port.group.is_empty()).then(|| bond_name(port.port)),
            };
            (Port { switch, port: number }, membership)
        };
        let numbers = |port: &PortConfig| port.numbers().into_iter();
        let ports = config.ports.iter();
        ports.flat_map(|p| numbers(p).map(move |n| of_port(p, n))).collect::<Vec<_>>()
    };
    configs.iter().flat_map(of_switch).collect()
}

fn cables(plan: &Plan, configs: &[SwitchConfig]) -> Vec<Cable> {
    let cluster = plan.cluster();
    let mut of_port = memberships(configs);
    let mut ifindex = FIRST_IFINDEX;
    let mut next = move || {
        ifindex += 1;
        ifindex
    };
    let mut port_end = |port: Port, ifindex| {
        let switch = cluster.switch(port.switch);
        let Membership { tagged, untagged, bond } = of_port.remove(&port).unwrap_or_default();
        End {
            place: switch.name.clone(),
            switch: true,
            interface: port_name(port.port),
            bond,
            ifindex,
            mac: None,
            mtu: switch.max_frame.saturating_sub(22).clamp(68, 65_000),
            tagged,
            untagged,
        }
    };
    let mut cables = Vec::new();
    for (_, cable) in cluster.cables() {
        let (a, b) = (port_end(cable.a, next()), port_end(cable.b, next()));
        cables.push(Cable { a, b, rate: cable.rate });
    }
    let nic_end = |node: &Node, nic: &Nic, ifindex| End {
        place: node.machine.as_ref().unwrap_or(&node.name).clone(),
        switch: false,
        interface: nic.name.clone(),
        bond: None,
        ifindex,
        mac: Some(nic.mac),
        mtu: nic.mtu,
        tagged: BTreeSet::new(),
        untagged: None,
    };
    for (k, node) in cluster.nodes.iter().enumerate() {
        for (i, nic) in node.nics.iter().enumerate() {
            let own = NicEnd { node: k.into(), nic: i };
            if nic.peer.is_some_and(|peer| peer < own) {
                continue;
            }
            let a = nic_end(node, nic, next());
            let b = match nic.peer {
                Some(peer) => {
                    let far = cluster.node(peer.node);
                    nic_end(far, &far.nics[peer.nic], next())
                }
                None => port_end(Port { switch: nic.switch, port: nic.port }, next()),
            };
            cables.push(Cable { a, b, rate: nic.rate });
        }
    }
    cables
}

const FIRST_IFINDEX: u32 = 1000;

#[cfg(test)]
mod tests {
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;

    fn torus() -> Blueprint {
        let kind = TopologyShape::Torus { dims: vec![4, 4] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Dor, 1)).unwrap();
        Blueprint::of(&plan, true).unwrap()
    }

    #[test]
    fn every_vlan_is_tagged_at_both_ends_of_its_fifteen_links() {
        let blueprint = torus();
        let trunks: Vec<_> = blueprint.cables.iter().filter(|c| c.a.switch).collect();
        assert!(trunks.iter().all(|c| c.a.tagged == c.b.tagged));
        for vid in 2..10 {
            assert_eq!(trunks.iter().filter(|c| c.a.tagged.contains(&vid)).count(), 15);
        }
        assert!(blueprint.cables.iter().all(|c| c.a.untagged.is_none() && c.b.untagged.is_none()));
    }

    #[test]
    fn k23_ifindexes_differ_in_the_whole_lab() {
        let blueprint = torus();
        let all: BTreeSet<u32> =
            blueprint.cables.iter().flat_map(|c| [c.a.ifindex, c.b.ifindex]).collect();
        assert_eq!(all.len(), 2 * 48);
    }

    #[test]
    fn static_entries_lead_to_ports_that_carry_the_vlan() {
        let blueprint = torus();
        for switch in &blueprint.switches {
            assert!(!switch.fdb.is_empty());
            for (_, vid, port) in &switch.fdb {
                let (end, _) =
                    blueprint.ends(&switch.name).find(|(e, _)| e.interface == *port).unwrap();
                assert!(end.tagged.contains(vid), "{} {port} VLAN {vid}", switch.name);
            }
        }
    }
}
