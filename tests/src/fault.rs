//! Injects faults into a lab: which switch or cable fails, how it fails, and whether the node that chose
//! the path over it loses its carrier.

use std::collections::BTreeSet;

use tresse_base::id::{NodeId, SwitchId};
use tresse_base::random::Random;
use tresse_lab::blueprint::port_name;
use tresse_lab::run;
use tresse_lab::state::Directory;
use tresse_plan::Plan;
use tresse_slice::watch::part::FabricPart;
use tresse_topology::Graph;
use tresse_topology::cluster::Node;
use tresse_topology::path::Crossing;

use crate::program::output;

/// The kind of part of the fabric that fails: a switch, or the cable of a NIC or between switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// A switch with all its cables.
    Switch,
    /// The cable of a NIC.
    Nic,
    /// A cable between two switches.
    Trunk,
    /// A node with all its cables.
    Node,
}

/// How a part of the fabric fails: with or without loss of carrier, in both directions or in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Both ends of its cables lose their carrier.
    Dead,
    /// It carries nothing, and all carriers stay.
    Silent,
    /// It carries nothing in one direction, and all carriers stay.
    OneWay,
}

/// A fault to inject into a lab: which switch or cable fails, how it fails, and which directed links
/// then carry no frame.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Name as `tresse lab fail` takes it.
    pub object: String,
    /// The kind of part.
    pub kind: PartKind,
    /// How it fails.
    pub how: How,
    /// Directed links that carry no frame any more.
    pub wires: BTreeSet<Crossing>,
    /// Place and interface where the frames of a one-way fault are dropped.
    last: Option<(String, String)>,
}

impl Fault {
    /// Returns the faults to try on a fabric: every switch dead, and one cable in `every` in each
    /// way.
    ///
    /// # Errors
    /// A part that has no name.
    pub fn all(plan: &Plan, every: usize) -> Result<Vec<Self>, String> {
        let cluster = plan.cluster();
        let graph = Graph::new(cluster);
        let mut all = Vec::new();
        let mut add = |object: String, kind, how, last: Option<_>, lost: Option<Crossing>| {
            let part = FabricPart::named(cluster, &object).map_err(|e| e.to_string())?;
            let wires = lost.map_or_else(|| part.wires().clone(), |lost| BTreeSet::from([lost]));
            all.push(Self { object, kind, how, wires, last });
            Ok::<_, String>(())
        };
        for switch in &cluster.switches {
            add(switch.name.clone(), PartKind::Switch, How::Dead, None, None)?;
        }
        let nics = cluster.nodes.iter().enumerate().flat_map(|(node, of)| {
            of.nics.iter().enumerate().map(move |(at, nic)| (NodeId::from(node), of, at, nic))
        });
        for (node, of, at, nic) in nics.step_by(every) {
            let object = format!("{}:{}", of.name, nic.name);
            add(object.clone(), PartKind::Nic, How::Dead, None, None)?;
            add(object.clone(), PartKind::Nic, How::Silent, None, None)?;
            let last = match nic.peer {
                Some(peer) => {
                    let far = cluster.node(peer.node);
                    (far.name.clone(), far.nics[peer.nic].name.clone())
                }
                None => (cluster.switch(nic.switch).name.clone(), port_name(nic.port)),
            };
            add(object, PartKind::Nic, How::OneWay, Some(last), Some(Crossing::In(node, at)))?;
        }
        for link in cluster.links.iter().step_by(every) {
            let name = |switch: SwitchId| cluster.switch(switch).name.clone();
            let object = format!("{}:{}", name(link.a.switch), link.a.port);
            add(object.clone(), PartKind::Trunk, How::Dead, None, None)?;
            add(object.clone(), PartKind::Trunk, How::Silent, None, None)?;
            let part = FabricPart::named(cluster, &object).map_err(|e| e.to_string())?;
            let from_a = part.wires().iter().find(
                |wire| matches!(wire, Crossing::Between(c) if graph.tail(*c) == link.a.switch.0),
            );
            let last = (name(link.a.switch), port_name(link.a.port));
            add(object, PartKind::Trunk, How::OneWay, Some(last), from_a.copied())?;
        }
        // What breaks again soon is readmitted late: the same part rests meanwhile.
        all.sort_by_key(|fault| fault.how);
        Ok(all)
    }

    /// Returns the faults of nodes: each loses all its cables.
    ///
    /// # Errors
    /// A node that has no name.
    pub fn of_nodes(plan: &Plan) -> Result<Vec<Self>, String> {
        let cluster = plan.cluster();
        let fault = |node: &Node| {
            let (object, last) = (node.name.clone(), None);
            let part = FabricPart::named(cluster, &object).map_err(|e| e.to_string())?;
            let (kind, how, wires) = (PartKind::Node, How::Dead, part.wires().clone());
            Ok(Self { object, kind, how, wires, last })
        };
        cluster.nodes.iter().map(fault).collect()
    }

    /// Draws faults of `count` different parts, among them nodes; fewer where there are not so many.
    ///
    /// # Errors
    /// A part that has no name.
    pub fn drawn(plan: &Plan, count: usize, random: &mut Random) -> Result<Vec<Self>, String> {
        let mut all = Self::all(plan, 1)?;
        all.extend(Self::of_nodes(plan)?);
        let mut drawn: Vec<Self> = Vec::new();
        random.shuffle(&mut all);
        for fault in all {
            if drawn.len() == count {
                break;
            }
            // A part fails once; of a cable that is dead nothing is lost one way.
            let apart = |other: &Self| match (fault.how, other.how) {
                (How::OneWay, How::OneWay) => other.object != fault.object,
                _ => other.wires.is_disjoint(&fault.wires),
            };
            if drawn.iter().all(apart) {
                drawn.push(fault);
            }
        }
        Ok(drawn)
    }

    /// Describes the fault for people.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} {:?}", self.object, self.how)
    }

    /// Returns whether a path that crosses `wires` loses its frames.
    #[must_use]
    pub fn hits(&self, wires: &[Crossing]) -> bool {
        wires.iter().any(|wire| self.wires.contains(wire))
    }

    /// Returns whether the node that chooses the path over the first failed link loses its carrier
    /// there. `routed`: each node on the path chooses; else the source does.
    #[must_use]
    pub fn is_seen(&self, wires: &[Crossing], routed: bool) -> bool {
        let Some(at) = wires.iter().position(|wire| self.wires.contains(wire)) else {
            return false;
        };
        let mut sends = wires[..=at].iter().filter_map(|wire| match wire {
            Crossing::Out(node, nic) => Some((*node, *nic)),
            _ => None,
        });
        let sender = if routed { sends.next_back() } else { sends.next() };
        // A cable's ends both lose it: one that sends or one that receives over what fails.
        sender.is_some_and(|(node, nic)| {
            self.how == How::Dead && self.wires.contains(&Crossing::Out(node, nic))
        })
    }

    /// Injects the fault into the lab called `lab`, or heals it.
    ///
    /// # Errors
    /// `tresse lab` or `tc`, in words.
    pub fn bring(&self, lab: &str, directory: &Directory, fails: bool) -> Result<(), String> {
        let verb = if fails { "fail" } else { "heal" };
        let Some((place, interface)) = &self.last else {
            let mut words = vec!["lab", "--name", lab, verb, &self.object];
            words.extend((self.how == How::Silent && fails).then_some("--silent"));
            return output(&words).map(drop);
        };
        // What is longer than its bucket a tbf drops: all of it.
        let line = match fails {
            true => format!("qdisc add dev {interface} root tbf rate 8bit burst 1b limit 1b\n"),
            false => format!("qdisc del dev {interface} root\n"),
        };
        run::batch(Some(&directory.netns(place)), "tc", &line).map_err(|e| e.to_string())
    }
}
