//! The VLANs of the plan in force. Proves by a canary (a test announcement) that each VLAN has no
//! loop, takes a VLAN that loops out of use (it is then fused), and sends the announcements that
//! keep the switches' forwarding databases filled (K5, K17).

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::Vid;
use tresse_base::units::Mac;
use tresse_control::Alert;
use tresse_frame::announce::{Announcement, AnnouncementKind};
use tresse_reconcile::ObservedLink;

use super::canary::{Action, Canary, Proof, ReceivedAnnouncement};
use super::gate::Gate;
use super::refresh::Refresh;
use super::schedule::Cause;
use super::{Effect, Engine, PlannedInterface, Prepared, Unsaved, publish};

/// Announcements are sent at multiples of this time, or of a hundredth of their period if that is
/// less.
const GRID_MS: u64 = 1000;

impl Engine {
    /// How far each VLAN of a plan may be used. Untagged interfaces are open.
    pub(super) fn gates(&self, prepared: &Prepared) -> BTreeMap<Vid, Gate> {
        let gate = |vid: Vid, digest: &str| {
            if self.stored.fused.contains_key(&vid) {
                Gate::Fused
            } else if !self.settings.canary
                || self.stored.proven.get(&vid).is_some_and(|d| d == digest)
            {
                Gate::Open
            } else {
                Gate::Unproven
            }
        };
        prepared.vlans().iter().map(|(vid, (_, i))| (*vid, gate(*vid, &i.digest))).collect()
    }

    /// Creates and removes canaries so that they match the plan in force.
    pub(super) fn sync_vlans(&mut self) {
        self.resteer();
        let Some(current) = self.stored.current.clone() else {
            self.canaries.clear();
            self.refresh.clear();
            return;
        };
        let gates = self.gates(&current);
        let vlans = current.vlans();
        self.canaries.retain(|vid, _| vlans.contains_key(vid));
        for (vid, (_, interface)) in vlans {
            let proof = match gates.get(&vid) {
                Some(Gate::Fused) => {
                    Proof::Fused { why: self.stored.fused.get(&vid).cloned().unwrap_or_default() }
                }
                Some(Gate::Unproven) => Proof::Waiting { since: None },
                _ => Proof::Proven,
            };
            let stale = self.canaries.get(&vid).is_none_or(|canary| {
                (canary.proof() == &Proof::Proven) != (proof == Proof::Proven)
            });
            if stale {
                self.canaries.insert(vid, Canary::new(interface.rank, proof));
            }
        }
        let used = |vid: &Vid| {
            let plans = [&self.stored.current, &self.stored.previous];
            plans.into_iter().flatten().any(|p| p.interfaces.values().any(|i| i.vid == Some(*vid)))
        };
        let proven: BTreeMap<_, _> = self
            .stored
            .proven
            .iter()
            .filter(|(v, _)| used(v))
            .map(|(v, d)| (*v, d.clone()))
            .collect();
        self.stored.proven = proven;
    }

    /// Does everything about VLANs that is due because of the time or a new observation.
    pub(super) fn vlans(&mut self, now: u64, out: &mut Vec<Effect>) {
        let Some(current) = self.stored.current.clone() else {
            self.listen(BTreeSet::new(), out);
            self.forward(None, None, out);
            self.watch(None, out);
            return;
        };
        let old = self.held_plan();
        let all = spoken(&current, old.as_deref());
        let usable: BTreeSet<String> =
            all.map(|(name, _)| name.clone()).filter(|name| self.usable(name)).collect();
        let mut by_vid: BTreeMap<Vid, &str> = BTreeMap::new();
        for (name, interface) in &current.interfaces {
            if let Some(vid) = interface.vid.filter(|_| usable.contains(name)) {
                by_vid.entry(vid).or_insert(name);
            }
        }
        let mut due = Vec::new();
        for (vid, canary) in &mut self.canaries {
            let interface = by_vid.get(vid).copied();
            canary.usable(now, interface.is_some());
            if let (Some(action), Some(name)) = (canary.tick(now), interface) {
                due.push((*vid, name, action));
            }
        }
        for (vid, name, action) in due {
            match action {
                Action::Send => self.announce(&current, name, AnnouncementKind::Canary, out),
                Action::Proven => self.proven(now, &current, vid, out),
                Action::Fuse(why) => self.fuse(now, &current, vid, why, out),
            }
        }
        self.advance_transition(now, &current, &usable, out);
        self.refresh(now, &current, old.as_deref(), &usable, out);
        let present = spoken(&current, old.as_deref()).filter_map(|(name, _)| {
            let link = self.view.as_ref()?.observed.links.get(name)?;
            (link.up && self.is_planned(name, link)).then(|| (name.clone(), link.index))
        });
        self.listen(present.collect(), out);
        self.forward(Some(&current), old.as_deref(), out);
        self.watch(Some(&current), out);
    }

    /// Handles a received announcement. Returns whether there is something to do before the next
    /// deadline.
    pub(super) fn frame(
        &mut self,
        now: u64,
        name: &str,
        source: Mac,
        announcement: &Announcement,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(current) = self.stored.current.clone() else { return false };
        let old = self.held_plan();
        let mut plans = [Some(&current), old.as_ref()].into_iter().flatten();
        let Some((plan, interface)) =
            plans.find_map(|plan| Some((plan, plan.interfaces.get(name)?)))
        else {
            return false;
        };
        self.count("announcements_received_total");
        if announcement.fabric != current.fabric || announcement.node.0 >= current.nodes {
            self.count("announcements_foreign_total");
            return false;
        }
        let own_mac = mac_of(plan, name) == Some(source);
        if !own_mac {
            let period = self.period(interface);
            self.elsewhere.hear(now, source, announcement.plan, period);
        }
        if announcement.vid != interface.vid {
            // A switch moves frames between VLANs. This is counted; the VLANs' own proofs decide.
            self.count("announcements_wrong_vlan_total");
            return false;
        }
        let heard = ReceivedAnnouncement {
            interface: name,
            node: announcement.node.0,
            sequence: announcement.sequence,
            own_mac,
        };
        let vid = interface.vid;
        let news = self.stored.in_transition
            && !own_mac
            && self.heard_peer(now, name, source, announcement.plan);
        if announcement.kind == AnnouncementKind::Canary && !own_mac {
            self.answer_canary(now, name, interface.announces);
        }
        let canary = vid.and_then(|vid| Some((vid, self.canaries.get_mut(&vid)?)));
        let action = canary.and_then(|(vid, canary)| Some((vid, canary.receive(now, heard)?)));
        if let Some((vid, Action::Fuse(why))) = action {
            self.fuse(now, &current, vid, why, out);
            return true;
        }
        news
    }

    /// Is the interface planned, up and with carrier, according to the last observation?
    pub(super) fn usable(&self, name: &str) -> bool {
        let link = self.view.as_ref().and_then(|view| view.observed.links.get(name));
        link.is_some_and(|link| self.is_planned(name, link) && link.up && link.carrier)
    }

    /// Is this interface ours, or an untagged NIC of the plan?
    fn is_planned(&self, name: &str, link: &ObservedLink) -> bool {
        let plans = [&self.stored.current, &self.stored.previous];
        let nic = |plan: &Prepared| {
            plan.interfaces.get(name).is_some_and(|interface| interface.vid.is_none())
                && link.mac == mac_of(plan, name)
        };
        link.is_ours() || plans.into_iter().flatten().any(|plan| nic(plan))
    }

    fn proven(&mut self, now: u64, current: &Prepared, vid: Vid, out: &mut Vec<Effect>) {
        let Some((_, interface)) = current.vlans().remove(&vid) else { return };
        self.stored.proven.insert(vid, interface.digest.clone());
        self.unsaved = Unsaved::Journal;
        self.schedule.request(now, Cause::Urgent);
        publish(
            out,
            Alert::Info,
            "proven",
            &vid.to_string(),
            "one copy of the canary and no second: carries traffic",
        );
    }

    fn fuse(&mut self, now: u64, current: &Prepared, vid: Vid, why: String, out: &mut Vec<Effect>) {
        let links = current.links(vid).join(" ");
        let message = format!("VLAN {vid} is fused: {why}; look at {links}");
        publish(out, Alert::Critical, "fused", &vid.to_string(), &message);
        self.count("fused_total");
        self.stored.proven.remove(&vid);
        self.stored.fused.insert(vid, why);
        self.unsaved = Unsaved::Journal;
        self.schedule.request(now, Cause::Urgent);
    }

    fn refresh(
        &mut self,
        now: u64,
        current: &Prepared,
        old: Option<&Prepared>,
        usable: &BTreeSet<String>,
        out: &mut Vec<Effect>,
    ) {
        let mut gates = old.map(|old| self.gates(old)).unwrap_or_default();
        gates.append(&mut self.gates(current));
        let speaks: BTreeMap<&String, &PlannedInterface> = spoken(current, old)
            .filter(|(name, i)| {
                let open = Gate::of(&gates, i.vid) == Gate::Open;
                i.announces && usable.contains(*name) && open
            })
            .collect();
        self.refresh.retain(|name, _| speaks.contains_key(name));
        for (name, interface) in speaks {
            if self.refresh.get(name).is_some_and(|refresh| refresh.due > now) {
                continue;
            }
            // The first one is a canary, so that every node soon knows its neighbours on cables.
            let asks = interface.vid.is_none() && !self.refresh.contains_key(name);
            let kind = if asks { AnnouncementKind::Canary } else { AnnouncementKind::Refresh };
            self.announce(current, name, kind, out);
            let period = self.period(interface);
            let due = now + period - self.spread(period / 5);
            // Rounded, so that one wake-up serves all interfaces that are due at about that time.
            let due = due - due % (period / 100).clamp(1, GRID_MS);
            self.refresh.insert(name.clone(), Refresh { last: now, due });
        }
    }

    /// How often a node announces itself on an interface, in milliseconds.
    fn period(&self, interface: &PlannedInterface) -> u64 {
        let third = u64::from(interface.fdb_age_seconds) * 1000 / 3;
        self.settings.announce_ms.unwrap_or(third).max(100)
    }

    /// A number below `limit` that differs between nodes and from one announcement to the next.
    pub(super) fn spread(&self, limit: u64) -> u64 {
        let hash = self.settings.sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        limit * hash / u64::from(u32::MAX)
    }

    pub(super) fn announce(
        &mut self,
        current: &Prepared,
        name: &str,
        kind: AnnouncementKind,
        out: &mut Vec<Effect>,
    ) {
        let old = self.held_plan();
        let mut plans = [Some(current), old.as_deref()].into_iter().flatten();
        let Some((vid, source)) =
            plans.find_map(|plan| Some((plan.interfaces.get(name)?.vid, mac_of(plan, name)?)))
        else {
            return;
        };
        self.settings.sequence += 1;
        self.count("announcements_sent_total");
        out.push(Effect::Announce {
            interface: name.into(),
            source,
            announcement: Announcement {
                kind,
                vid,
                node: current.id,
                fabric: current.fabric,
                sequence: self.settings.sequence,
                plan: self.sends_by(current),
            },
        });
    }

    fn listen(&mut self, interfaces: BTreeSet<(String, u32)>, out: &mut Vec<Effect>) {
        if self.listening != interfaces {
            self.listening.clone_from(&interfaces);
            // Sockets first: an announcement sent in the same step may come back.
            let at =
                out.iter().position(|e| matches!(e, Effect::Announce { .. })).unwrap_or(out.len());
            out.insert(at, Effect::Listen(interfaces));
        }
    }
}

/// The VLAN interfaces of the plan in force, and those of the old plan that are not in it.
fn spoken<'a>(
    current: &'a Prepared,
    old: Option<&'a Prepared>,
) -> impl Iterator<Item = (&'a String, &'a PlannedInterface)> {
    let old = old.into_iter().flat_map(|old| &old.interfaces);
    let gone = old.filter(|(name, _)| !current.interfaces.contains_key(*name));
    current.interfaces.iter().chain(gone)
}

pub(super) fn mac_of(plan: &Prepared, name: &str) -> Option<Mac> {
    let parent = &plan.interfaces.get(name)?.parent;
    plan.wanted.nics.get(parent).map(|(mac, _)| *mac)
}
