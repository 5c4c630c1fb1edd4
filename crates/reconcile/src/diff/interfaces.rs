//! Finds out on which interfaces addresses, neighbours and nexthops can be installed, and why not
//! on the others (absent, down, without carrier, or refused).

use std::collections::{BTreeMap, HashMap};

use tresse_base::id::Vid;

use super::options::ReconcileOptions;
use super::steps::Steps;
use crate::{LinkKind, Object, Observed, ObservedLink, PendingReason, Refusal, Wanted, WantedLink};

/// What can be installed on an interface once the operations on links are done.
#[derive(Clone, Default)]
pub(super) struct Interface {
    /// Why no address or neighbour can be added, if so.
    pub hold: Option<PendingReason>,
    /// Why no nexthop can be added, if so: `hold`, or no carrier (K1).
    pub carry: Option<PendingReason>,
    /// Is it wanted down because its VID is fused (K5)? Then nothing of ours stays on it.
    pub fused: bool,
    /// Will the operations create it?
    pub new: bool,
}

impl Interface {
    fn blocked(reason: PendingReason) -> Self {
        Self { hold: Some(reason.clone()), carry: Some(reason), ..Self::default() }
    }

    fn observed(name: &str, link: &ObservedLink) -> Self {
        if !link.up {
            return Self::blocked(PendingReason::Down(name.into()));
        }
        let carry = (!link.carrier).then(|| PendingReason::NoCarrier(name.into()));
        Self { carry, ..Self::default() }
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self.hold, Some(PendingReason::Refused(_)))
    }
}

/// All interfaces by name.
pub(super) struct Interfaces<'a> {
    by_name: HashMap<&'a str, Interface>,
}

impl<'a> Interfaces<'a> {
    pub(super) fn new(
        wanted: &'a Wanted,
        observed: &'a Observed,
        options: &ReconcileOptions,
        steps: &mut Steps,
    ) -> Self {
        let mut by_name: HashMap<&str, Interface> = observed
            .links
            .iter()
            .map(|(name, link)| (name.as_str(), Interface::observed(name, link)))
            .collect();
        for (nic, (mac, mtu)) in &wanted.nics {
            let Some(link) = observed.links.get(nic) else {
                steps.wait(Object::Link(nic.clone()), PendingReason::Absent(nic.clone()));
                by_name.insert(nic, Interface::blocked(PendingReason::Absent(nic.clone())));
                continue;
            };
            let refused = steps.refused.len();
            if link.mac != Some(*mac) {
                let nic = nic.clone();
                steps.refused.push(Refusal::MacDiffers { nic, wanted: *mac, found: link.mac });
            }
            refuse_master(nic, link, options, steps);
            if link.mtu < *mtu {
                let (nic, needed, found) = (nic.clone(), *mtu, link.mtu);
                steps.refused.push(Refusal::MtuTooSmall { nic, needed, found });
            }
            if steps.refused.len() > refused {
                by_name.insert(nic, Interface::blocked(PendingReason::Refused(nic.clone())));
            }
        }
        let vlans = vlans(observed);
        for (name, link) in &wanted.links {
            let refusal = refusal(name, link, observed, &vlans);
            let refused = steps.refused.len();
            steps.refused.extend(refusal);
            if let Some(present) = observed.links.get(name) {
                refuse_master(name, present, options, steps);
            }
            let interface = if steps.refused.len() > refused {
                Interface::blocked(PendingReason::Refused(name.clone()))
            } else {
                link_state(name, link, observed.links.get(name), &by_name)
            };
            by_name.insert(name, interface);
        }
        Self { by_name }
    }

    /// The state of one interface.
    pub(super) fn find(&self, name: &str) -> Option<&Interface> {
        self.by_name.get(name)
    }

    /// Why no address or neighbour can be added to the interface, if so.
    pub(super) fn hold(&self, name: &str) -> Option<PendingReason> {
        self.find(name).map_or_else(|| Some(PendingReason::Absent(name.into())), |i| i.hold.clone())
    }

    /// Is it an interface of ours that is wanted down?
    pub(super) fn is_fused(&self, name: &str) -> bool {
        self.find(name).is_some_and(|i| i.fused)
    }
}

fn refuse_master(name: &str, link: &ObservedLink, options: &ReconcileOptions, steps: &mut Steps) {
    if let Some(master) = &link.master
        && !options.force_interfaces.contains(name)
    {
        let (interface, master) = (name.to_owned(), master.clone());
        steps.refused.push(Refusal::HasMaster { interface, master });
    }
}

/// Existing VLAN interfaces by parent and VID.
fn vlans(observed: &Observed) -> BTreeMap<(&str, Vid), &str> {
    observed
        .links
        .iter()
        .filter_map(|(name, link)| match &link.kind {
            Some(LinkKind::Vlan { parent, vid }) => Some(((parent.as_str(), *vid), name.as_str())),
            _ => None,
        })
        .collect()
}

fn refusal(
    name: &str,
    link: &WantedLink,
    observed: &Observed,
    vlans: &BTreeMap<(&str, Vid), &str>,
) -> Option<Refusal> {
    let name = name.to_owned();
    if let Some(present) = observed.links.get(&name) {
        if !present.is_ours() {
            return Some(Refusal::ForeignLink { name });
        }
        if present.kind.as_ref() != Some(&link.kind) {
            return Some(Refusal::KindDiffers { name });
        }
    } else if let LinkKind::Vlan { parent, vid } = &link.kind
        && let Some(holder) = vlans.get(&(parent.as_str(), *vid))
    {
        return Some(Refusal::VlanTaken { name, holder: (*holder).to_owned() });
    }
    None
}

fn link_state(
    name: &str,
    link: &WantedLink,
    present: Option<&ObservedLink>,
    by_name: &HashMap<&str, Interface>,
) -> Interface {
    let new = present.is_none();
    let mut state = match &link.kind {
        LinkKind::Dummy | LinkKind::Tun | LinkKind::Vxlan { .. } => Interface::default(),
        LinkKind::Vlan { parent, .. } => by_name
            .get(parent.as_str())
            .cloned()
            .unwrap_or_else(|| Interface::blocked(PendingReason::Absent(parent.clone()))),
    };
    let absent = matches!(state.hold, Some(PendingReason::Absent(_)));
    if state.is_refused() || absent {
        state.new = false;
        return state;
    }
    if !link.up {
        return Interface {
            fused: true,
            new,
            ..Interface::blocked(PendingReason::Down(name.into()))
        };
    }
    if state.carry.is_none()
        && link.kind != LinkKind::Dummy
        && present.is_some_and(|p| p.up && !p.carrier)
    {
        state.carry = Some(PendingReason::NoCarrier(name.into()));
    }
    Interface { new, ..state }
}
