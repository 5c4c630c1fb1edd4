//! Makes the table by which the `packet` engine (the daemon) forwards MPLS frames of other nodes,
//! and names the engine that forwards them, the kernel or `packet`.

use std::collections::BTreeSet;

use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

use super::engines::LabelEngine;
use super::forwarding::{Forwarding, ForwardingNic};
use super::gate::Gate;
use super::{Effect, Engine, Prepared};

impl Engine {
    /// The name of the engine that forwards for other nodes; `none` if there is nothing to forward.
    pub(super) fn label_engine(&self) -> &'static str {
        let current = self.stored.current.as_ref();
        let forwards = current.is_some_and(|current| !current.labels.is_empty());
        if forwards { self.settings.engines.labels.word() } else { "none" }
    }

    /// Gives the `packet` engine its table, if that has changed.
    pub(super) fn forward(
        &mut self,
        current: Option<&Prepared>,
        old: Option<&Prepared>,
        out: &mut Vec<Effect>,
    ) {
        let mut forwarding = Forwarding::default();
        if self.settings.engines.labels == LabelEngine::Packet {
            let plans = [current, old].into_iter().flatten();
            plans.for_each(|plan| self.add_forwarding(plan, &mut forwarding));
        }
        if forwarding.labels.is_empty() {
            forwarding.nics.clear();
        }
        if self.forwarding != forwarding {
            self.forwarding.clone_from(&forwarding);
            out.push(Effect::Forward(Box::new(forwarding)));
        }
    }

    /// Adds labels whose VLAN is open and NICs that exist; entries already present stay.
    fn add_forwarding(&self, plan: &Prepared, forwarding: &mut Forwarding) {
        let gates = self.gates(plan);
        let open = |vid| Gate::of(&gates, vid) == Gate::Open;
        let links = self.view.as_ref().map(|view| &view.observed.links);
        let there = |nic: &str, mac: Mac| {
            links.and_then(|links| links.get(nic)).is_some_and(|link| link.mac == Some(mac))
        };
        // From whom frames with labels may come by an interface; from nobody by one that they only leave by.
        let nobody = BTreeSet::new();
        let exits = plan.labels.iter().map(|(_, to)| (&to.interface, &nobody));
        for (interface, sources) in plan.label_sources.iter().chain(exits) {
            let Some(vlan) = plan.interfaces.get(interface) else { continue };
            let Some(&(mac, mtu)) = plan.wanted.nics.get(&vlan.parent) else { continue };
            if there(&vlan.parent, mac) {
                let new = || ForwardingNic { mac, mtu, neighbours: BTreeSet::new() };
                let nic = forwarding.nics.entry(vlan.parent.clone()).or_insert_with(new);
                nic.neighbours.extend(sources.iter().map(|source| (vlan.vid, *source)));
            }
        }
        for (label, to) in &plan.labels {
            let Some(vlan) = plan.interfaces.get(&to.interface) else { continue };
            let neighbour = plan.wanted.neighbours.get(&(to.interface.clone(), to.via));
            let Some(neighbour) = neighbour.filter(|_| open(vlan.vid)) else { continue };
            if forwarding.nics.contains_key(&vlan.parent) {
                let (nic, mac) = (vlan.parent.clone(), neighbour.mac);
                let exit = LabelExit { nic, vid: vlan.vid, mac };
                forwarding.labels.entry(*label).or_insert(exit);
            }
        }
    }
}
