//! Carries out the change from one plan to the next: records the announcements of peers, asks
//! silent peers by canaries, and decides when this node moves to the new plan and removes the old
//! one. The state is in `transition`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tresse_base::id::Vid;
use tresse_base::units::Mac;
use tresse_control::Alert;
use tresse_frame::announce::AnnouncementKind;

use super::gate::Gate;
use super::schedule::Cause;
use super::transition::{BETWEEN, LINGER_MS, Senders, Sides, Talk, Transition, is_among};
use super::{Effect, Engine, Prepared, Unsaved, publish};

/// Interval of canaries for a missing peer on one VLAN, counted over all nodes.
const ASK_MS: u64 = 1000;
/// Limit of the answers to a canary, which makes every node on the VLAN announce itself to every
/// other: at most one such frame per node and millisecond.
const ANSWERS_PER_MS: u64 = 1;
/// Factor by which the first canary for a missing peer comes sooner than the next ones: where plans
/// change everywhere at once, the first one to ask has the answers of all nodes, for all nodes.
const SOON: u64 = 4;
/// Factor by which canaries are rarer for a peer that is known not to have moved yet.
const SELDOM: u64 = 10;
/// Peers heard within this time move in one transaction.
const GATHER_MS: u64 = 100;
/// Longest delay of the answer to a canary.
const ANSWER_MS: u64 = 300;

impl Engine {
    /// The old plan, as long as frames are still received by it.
    pub(super) fn held_plan(&self) -> Option<Arc<Prepared>> {
        self.stored.previous.clone().filter(|_| self.stored.in_transition)
    }

    /// Ends the change: the old plan is removed.
    pub(super) fn end_transition(&mut self) {
        if std::mem::take(&mut self.stored.discard) {
            self.stored.previous = None;
        }
        self.stored.in_transition = false;
        self.stored.moved = false;
        self.stored.returning = false;
        self.transition = Transition::default();
    }

    /// Makes the plan before the current one. The plan that is left is held as in any change of plans: others
    /// may send by it for a while, or may not receive by the plan before yet. One that was installed without
    /// the guard of the management connection is removed at once: it may be what cuts the operator off.
    pub(super) fn go_back(&mut self) {
        let unconfirmed = self.stored.unconfirmed.take().is_some();
        let left = self.stored.current.take();
        let before = self.stored.previous.take().filter(|_| !self.stored.discard);
        self.end_transition();
        let both = left.is_some() && before.is_some();
        let holds = both && self.settings.canary && !self.stored.force;
        self.stored.current = before;
        self.stored.previous = left.filter(|_| holds || !unconfirmed);
        self.stored.in_transition = holds;
        self.stored.returning = holds;
        self.stored.discard = holds && unconfirmed;
        // Others have to know at once that this node is on its way back.
        self.refresh.values_mut().for_each(|refresh| refresh.due = self.now);
    }

    /// Digest of the plan that this node sends by, for its announcements.
    pub(super) fn sends_by(&self, current: &Prepared) -> [u8; 8] {
        match self.held_plan() {
            // Nobody may remove either plan for this node now.
            Some(_) if self.stored.returning && self.transition.announced_at.is_none() => BETWEEN,
            Some(old) if self.transition.announced_at.is_none() => old.digest(),
            _ => current.digest(),
        }
    }

    /// Records the announcement of a peer while plans change. Returns whether it said something
    /// new.
    pub(super) fn heard_peer(
        &mut self,
        now: u64,
        interface: &str,
        peer: Mac,
        plan: [u8; 8],
    ) -> bool {
        let before = self.transition.peers.insert(peer, (plan, now));
        let heard = &mut self.transition.heard;
        let first = match heard.get_mut(interface) {
            Some(senders) => senders.insert(peer),
            None => heard.insert(interface.into(), BTreeSet::from([peer])).is_none(),
        };
        if first && !self.stored.moved {
            self.schedule.request(now + GATHER_MS, Cause::Target);
        }
        first || before.is_none_or(|(by, _)| by != plan)
    }

    /// Schedules the answer to a canary, unless this node just announced itself. With `answers` the
    /// replies of others also serve this node's own question. An interface with a scheduled
    /// announcement is usable.
    pub(super) fn answer_canary(&mut self, now: u64, name: &str, answers: bool) {
        if let Some(due) = self.transition.asks.get_mut(name) {
            *due = (*due).max(now + self.transition.every);
        }
        let wait = self.spread(ANSWER_MS);
        if let Some(refresh) = self.refresh.get_mut(name).filter(|_| answers) {
            refresh.due = refresh.due.min((now + wait).max(refresh.last + ASK_MS));
        }
    }

    /// Sends canaries for missing peers, announces that this node has moved, and removes the old
    /// plan once no peer needs it.
    pub(super) fn advance_transition(
        &mut self,
        now: u64,
        current: &Prepared,
        usable: &BTreeSet<String>,
        out: &mut Vec<Effect>,
    ) {
        let Some(old) = self.held_plan() else { return };
        self.transition.returns = self.stored.returning;
        self.transition.began.get_or_insert(now);
        let gates = self.gates(current);
        if unproven(current, &gates, |name| usable.contains(name)).next().is_some() {
            self.transition.proven_at = None;
        } else {
            self.transition.proven_at.get_or_insert(now);
        }
        let sides = self.sides(&old);
        self.transition.sides.clone_from(&sides);
        let Some(sides) = sides else { return };
        let usable_now = |name: &str| usable.contains(name);
        let missing = unheard(&sides.new_peers, &gates, &self.transition.heard, usable_now);
        let holders = sides.holders(&self.transition);

        // Asks for missing peers; once all else is done, for peers that still need the old plan.
        let answers = u64::from(current.nodes) * gates.len().max(1) as u64;
        self.transition.every = ASK_MS.max(answers / ANSWERS_PER_MS);
        let every = self.transition.every;
        let seldom = if self.stored.returning { every } else { SELDOM * every };
        let on = |(_, name, _): &Talk| name.clone();
        // By interface: when the first canary is sent, and how long after it the next ones.
        let asked: BTreeMap<String, (u64, u64)> = if self.transition.announced_at.is_some() {
            let holding = sides.old_peers.iter().filter(|(_, _, mac)| holders.contains(mac));
            holding.map(|talk| (on(talk), (seldom, seldom))).collect()
        } else {
            // Who is missing may have the old plan alone: while it is heard there, it is not silent.
            let absent: BTreeSet<Mac> = missing.iter().map(|(_, mac)| *mac).collect();
            let old = sides.old_peers.iter().filter(|(_, _, mac)| absent.contains(mac));
            let old = old.map(|talk| (on(talk), (seldom, seldom)));
            let new = missing.iter().map(|(name, _)| ((*name).to_owned(), (every / SOON, every)));
            old.chain(new).collect()
        };
        self.transition.asks.retain(|name, _| asked.contains_key(name));
        for (name, (first, every)) in asked.iter().filter(|(name, _)| usable.contains(*name)) {
            let (first, every) = (*first, *every);
            let next = now + every + self.spread(every / 2);
            let first = now + first + self.spread(first / 2);
            let due = self.transition.asks.entry(name.clone()).or_insert(first);
            if *due <= now {
                *due = next;
                self.announce(current, name, AnnouncementKind::Canary, out);
            }
        }

        let cut_off = self.cut_off(current, &old);
        let patience: Vec<Option<u64>> = if self.stored.moved && holders.is_empty() {
            Vec::new()
        } else if self.stored.moved {
            let heard = sides.reachable(&cut_off, usable_now);
            let until = |peer: &Mac| self.transition.patience(*peer, !heard.contains(peer));
            holders.iter().map(until).collect()
        } else {
            let until = |(name, peer): &(&str, Mac)| {
                self.transition.patience(*peer, is_among(&cut_off, name, *peer))
            };
            missing.iter().map(until).collect()
        };
        self.transition.cut_off = cut_off;
        let waits = patience.iter().any(|until| until.is_none_or(|until| until > now));
        self.transition.silent_at =
            patience.into_iter().flatten().filter(|until| *until > now).min();
        let still =
            self.job.is_none() && self.schedule.due().is_none() && self.unsaved < Unsaved::Journal;
        if !self.stored.moved {
            if self.transition.proven_at.is_some() && !waits && still {
                // Stored first: after a crash it is still true.
                self.stored.moved = true;
                self.transition.moved_at = Some(now);
                let words = "sends by this plan; the one before is kept until all nodes do";
                publish(out, Alert::Info, "moved", &current.generation, words);
                self.look_again(now);
            }
        } else if self.transition.announced_at.is_none() {
            if still {
                self.transition.announced_at = Some(now);
                // The node that moves last has heard already that all its peers moved, and no later
                // announcement would lead on.
                self.transition.all_at = (!waits).then_some(now);
                self.refresh.values_mut().for_each(|refresh| refresh.due = now);
            }
        } else if waits {
            self.transition.all_at = None;
        } else if *self.transition.all_at.get_or_insert(now) + LINGER_MS / 2 <= now
            && !self.transition.by_new_gateways
        {
            self.transition.by_new_gateways = true;
            if old.wanted.behind.keys().any(|prefix| prefix.len == 0) {
                self.look_again(now);
            }
        } else if *self.transition.all_at.get_or_insert(now) + LINGER_MS <= now {
            self.end_transition();
            // What those who were given up said last is not news.
            self.elsewhere.forget(old.digest());
            // Of paths that only the old plan had nothing need be known any more.
            let watches = &current.watches;
            self.stored.broken.retain(|nexthop| watches.path_of(nexthop).is_some());
            let words = "the plan before is removed";
            publish(out, Alert::Info, "settled", &current.generation, words);
            self.look_again(now);
        }
        self.report_waits(now, out);
    }

    /// The peers that are not heard whatever plan they have, by interface: failure detection knows of
    /// every path of the two plans that begins with them that it is broken.
    fn cut_off(&self, current: &Prepared, old: &Prepared) -> Senders {
        let broken = &self.stored.broken;
        let (mut silent, mut heard) = (Senders::new(), Senders::new());
        if broken.is_empty() {
            return silent;
        }
        for plan in [current, old] {
            for nexthop in plan.watches.paths().iter().flat_map(|watch| &watch.nexthops) {
                let peer = plan.peer(&nexthop.interface, nexthop.via);
                let Some((_, interface, mac)) = peer else { continue };
                let of = if broken.contains(nexthop) { &mut silent } else { &mut heard };
                of.entry(interface.to_owned()).or_default().insert(mac);
            }
        }
        for (interface, senders) in &mut silent {
            senders.retain(|mac| !is_among(&heard, interface, *mac));
        }
        silent
    }

    /// The peers of the plan before and of the plan in force.
    pub(super) fn sides(&self, old: &Arc<Prepared>) -> Option<Arc<Sides>> {
        let current = self.stored.current.as_ref()?;
        let known = self.transition.sides.clone().filter(|sides| sides.are(old, current));
        Some(known.unwrap_or_else(|| Arc::new(Sides::new(old.clone(), current.clone()))))
    }

    fn look_again(&mut self, now: u64) {
        self.unsaved = Unsaved::Journal;
        self.schedule.request(now, Cause::Urgent);
    }
}

/// The VLANs of a plan that are not proven yet and have a usable interface.
pub(super) fn unproven<'a>(
    plan: &'a Prepared,
    gates: &'a BTreeMap<Vid, Gate>,
    usable: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Vid> + 'a {
    let vids = plan.interfaces.iter().filter(move |(name, _)| usable(name));
    vids.filter_map(|(_, interface)| interface.vid)
        .filter(|vid| Gate::of(gates, Some(*vid)) == Gate::Unproven)
}

/// The interface and MAC address of each peer on an open VLAN that was not heard there.
pub(super) fn unheard<'a>(
    peers: &'a BTreeSet<Talk>,
    gates: &BTreeMap<Vid, Gate>,
    heard: &Senders,
    usable: impl Fn(&str) -> bool,
) -> BTreeSet<(&'a str, Mac)> {
    let unheard = peers.iter().filter(|(vid, name, mac)| {
        usable(name) && Gate::of(gates, *vid) == Gate::Open && !is_among(heard, name, *mac)
    });
    unheard.map(|(_, name, mac)| (name.as_str(), *mac)).collect()
}
