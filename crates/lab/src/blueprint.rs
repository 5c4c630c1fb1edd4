//! What a lab is made of: every namespace, cable, interface and VLAN membership, as plain data.
//!
//! Pure: from a plan to a [`Blueprint`]. It is stored with the lab, so that no later verb plans
//! again. Rules: kernel-traps K3 (no default VLAN), K9 (MTU), K14 (a used VID is sent or received
//! on), K23 (distinct ifindexes).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_fabric::cluster::Port;
use tresse_fabric::id::{NodeId, SwitchId, TreeId, Vid};
use tresse_fabric::plan::Plan;
use tresse_fabric::units::{Mac, Rate};
use tresse_fabric::vlan::Role;

/// A whole lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blueprint {
    /// The plan's generation.
    pub generation: String,
    /// Nodes in plan order.
    pub nodes: Vec<LabNode>,
    /// Switches in plan order.
    pub switches: Vec<LabSwitch>,
    /// Cables: switch-to-switch links in plan order, then NICs in node order.
    pub cables: Vec<Cable>,
}

/// A node's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabNode {
    /// Its name in the plan.
    pub name: String,
    /// Its addresses, one per prefix.
    pub addresses: Vec<IpAddr>,
    /// (NIC, VID) pairs on which it announces itself.
    pub announces: usize,
}

/// A switch's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSwitch {
    /// Its name in the plan.
    pub name: String,
    /// Ageing time of its forwarding database.
    pub fdb_age_seconds: u32,
    /// Static forwarding entries: (MAC, VID, port interface). Empty where stations announce.
    pub fdb: Vec<(Mac, u16, String)>,
}

/// One cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// One end; the node's end of a NIC cable.
    pub a: End,
    /// The other end; always a switch port.
    pub b: End,
    /// Rate from the cluster file.
    pub rate: Rate,
}

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Node or switch.
    pub place: String,
    /// Is the place a switch?
    pub switch: bool,
    /// Interface name there: the NIC's, or `p<port>`.
    pub interface: String,
    /// Its ifindex, unique in the whole lab (K23).
    pub ifindex: u32,
    /// The NIC's MAC address.
    pub mac: Option<Mac>,
    /// Interface MTU.
    pub mtu: u32,
    /// Tagged VIDs of a port.
    pub tagged: BTreeSet<u16>,
    /// Untagged VID of a port (K3).
    pub untagged: Option<u16>,
}

/// Why a plan cannot be a lab.
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
    /// The lab of a plan. `static_fdb` computes the forwarding entries of every switch, for nodes
    /// that do not announce themselves. O(pairs x paths + trees x (nodes + switches)).
    ///
    /// # Errors
    /// [`BlueprintError`] on a name that is a node's and a switch's.
    pub fn of(plan: &Plan, static_fdb: bool) -> Result<Self, BlueprintError> {
        let cluster = plan.cluster();
        let clash = cluster.nodes.iter().find(|n| cluster.switch_named(&n.name).is_some());
        if let Some(node) = clash {
            return Err(BlueprintError::SameName { name: node.name.clone() });
        }
        let uses: Vec<BTreeMap<(usize, TreeId), bool>> =
            (0..cluster.nodes.len()).map(|n| plan.uses(NodeId::from(n))).collect();
        let nodes = cluster
            .nodes
            .iter()
            .enumerate()
            .map(|(k, node)| LabNode {
                name: node.name.clone(),
                addresses: plan.addresses().node[k].clone(),
                announces: uses[k].values().filter(|announces| **announces).count(),
            })
            .collect();
        let mut switches: Vec<LabSwitch> = cluster
            .switches
            .iter()
            .map(|s| LabSwitch {
                name: s.name.clone(),
                fdb_age_seconds: s.fdb_age_seconds,
                fdb: Vec::new(),
            })
            .collect();
        if static_fdb {
            for (switch, fdb) in switches.iter_mut().zip(forwarding(plan, &uses)) {
                switch.fdb = fdb;
            }
        }
        let cables = cables(plan, &uses);
        Ok(Self { generation: plan.generation().into(), nodes, switches, cables })
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

    /// Is this place a switch?
    #[must_use]
    pub fn is_switch(&self, place: &str) -> bool {
        self.switches.iter().any(|s| s.name == place)
    }

    /// Does any cable end in a switch, so that VLANs are needed?
    #[must_use]
    pub fn needs_vlans(&self) -> bool {
        !self.switches.is_empty()
    }
}

/// The interface name of a switch port.
#[must_use]
pub fn port_name(port: u32) -> String {
    format!("p{port}")
}

/// (tagged VIDs, untagged VID) of every switch port.
type Memberships = BTreeMap<Port, (BTreeSet<u16>, Option<u16>)>;

fn memberships(plan: &Plan, uses: &[BTreeMap<(usize, TreeId), bool>]) -> Memberships {
    let cluster = plan.cluster();
    let mut of_port = Memberships::new();
    for (k, spec) in plan.specs().iter().enumerate() {
        let tree = TreeId::from(k);
        let Vid(vid) = plan.vid(tree);
        for link in plan.tree(tree).links(plan.graph()) {
            let link = cluster.link(link);
            for port in [link.a, link.b] {
                let entry = of_port.entry(port).or_default();
                if spec.role == Role::Base {
                    entry.1 = Some(vid);
                } else {
                    entry.0.insert(vid);
                }
            }
        }
    }
    let base = plan.specs().iter().position(|s| s.role == Role::Base);
    for (node, uses) in cluster.nodes.iter().zip(uses) {
        for (index, nic) in node.nics.iter().enumerate() {
            let entry = of_port.entry(Port { switch: nic.switch, port: nic.port }).or_default();
            let trees = uses.keys().filter(|(n, _)| *n == index).map(|(_, tree)| *tree);
            entry.0.extend(trees.map(|tree| plan.vid(tree).0));
            entry.1 = base.map(|tree| plan.vid(TreeId::from(tree)).0);
        }
    }
    of_port
}

fn cables(plan: &Plan, uses: &[BTreeMap<(usize, TreeId), bool>]) -> Vec<Cable> {
    let cluster = plan.cluster();
    let mut of_port = memberships(plan, uses);
    let mut ifindex = FIRST_IFINDEX;
    let mut next = move || {
        ifindex += 1;
        ifindex
    };
    let mut port_end = |port: Port, ifindex| {
        let switch = cluster.switch(port.switch);
        let (tagged, untagged) = of_port.remove(&port).unwrap_or_default();
        End {
            place: switch.name.clone(),
            switch: true,
            interface: port_name(port.port),
            ifindex,
            mac: None,
            mtu: switch.max_frame.saturating_sub(22).clamp(68, 65_000),
            tagged,
            untagged,
        }
    };
    let mut cables = Vec::new();
    for link in &cluster.links {
        let (a, b) = (port_end(link.a, next()), port_end(link.b, next()));
        cables.push(Cable { a, b, rate: link.rate });
    }
    for node in &cluster.nodes {
        for nic in &node.nics {
            let a = End {
                place: node.name.clone(),
                switch: false,
                interface: nic.name.clone(),
                ifindex: next(),
                mac: Some(nic.mac),
                mtu: nic.mtu,
                tagged: BTreeSet::new(),
                untagged: None,
            };
            let b = port_end(Port { switch: nic.switch, port: nic.port }, next());
            cables.push(Cable { a, b, rate: nic.rate });
        }
    }
    cables
}

/// Static forwarding entries per switch: for each NIC and VID it receives on, the port towards it.
fn forwarding(
    plan: &Plan,
    uses: &[BTreeMap<(usize, TreeId), bool>],
) -> Vec<Vec<(Mac, u16, String)>> {
    let cluster = plan.cluster();
    let mut entries = vec![Vec::new(); cluster.switches.len()];
    let mut channels = Vec::new();
    for (node, uses) in cluster.nodes.iter().zip(uses) {
        for (&(index, tree), _) in uses.iter().filter(|(_, receives)| **receives) {
            let nic = &node.nics[index];
            let vid = plan.vid(tree).0;
            entries[nic.switch.index()].push((nic.mac, vid, port_name(nic.port)));
            for switch in (0..cluster.switches.len()).map(SwitchId::from) {
                if switch == nic.switch {
                    continue;
                }
                channels.clear();
                plan.tree(tree).walk(plan.graph(), switch, nic.switch, &mut channels);
                let link = cluster.link(plan.graph().link(channels[0]));
                let port = if link.a.switch == switch { link.a } else { link.b };
                entries[switch.index()].push((nic.mac, vid, port_name(port.port)));
            }
        }
    }
    entries
}

const FIRST_IFINDEX: u32 = 1000;

#[cfg(test)]
mod tests {
    use tresse_fabric::cluster::{Cluster, Kind, Strategy};

    use super::*;

    fn torus() -> Blueprint {
        let kind = Kind::Torus { dims: vec![4, 4] };
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
