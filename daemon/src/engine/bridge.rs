//! From one plan to the next without losing a frame: additions before removals, across nodes.
//!
//! A node that changes plans receives on the VLANs of both. It sends to a peer on a VLAN of the new
//! plan once the peer's announcement was heard there, for only then does the peer receive there.
//! It lets the old plan go when every peer was heard and had the time to do the same, or when some
//! peer was silent for too long. Who misses a peer asks with a canary, which a node that has proven
//! the VLAN answers by announcing itself.

use std::collections::{BTreeMap, BTreeSet};

use tresse_fabric::reconcile::WantedRoute;
use tresse_fabric::units::Mac;
use tresse_fabric::wire::announce::Kind;

use super::canary::{Proof, TURN_MS};
use super::gate::Gate;
use super::{Effect, Engine, Prepared};

/// Who announced itself on which VLAN.
pub type Heard = BTreeSet<(u16, Mac)>;

/// How often a missing peer is asked for.
const ASK_MS: u64 = 1000;
/// How long after the last peer was heard the old plan is still received on: the longest that a
/// peer may still wait for its turn to prove a VLAN, and one turn more.
const LINGER_MS: u64 = 5 * TURN_MS;
/// How long a silent peer holds the old plan, once all VLANs are proven.
const PATIENCE_MS: u64 = 40_000;
/// Peers heard in one moment move in one transaction.
const GATHER_MS: u64 = 100;
/// Longest wait before a canary is answered.
const ANSWER_MS: u64 = 300;

/// How far a change of plans is.
#[derive(Debug, Default)]
pub struct Bridge {
    heard: Heard,
    /// Interfaces on which a peer is missing, and when to ask for it.
    asks: BTreeMap<String, u64>,
    /// Since when every VLAN is proven.
    proven_at: Option<u64>,
    /// Since when every peer was heard.
    heard_at: Option<u64>,
}

impl Bridge {
    /// Who was heard since the plan in force was committed.
    pub const fn heard(&self) -> &Heard {
        &self.heard
    }

    /// When the next question is due or the old plan may go.
    pub fn deadline(&self) -> Option<u64> {
        self.asks.values().copied().chain(self.end()).min()
    }

    fn end(&self) -> Option<u64> {
        let patience = self.proven_at? + PATIENCE_MS;
        Some(self.heard_at.map_or(patience, |at| patience.min(at + LINGER_MS)))
    }
}

impl Prepared {
    /// The VLANs on which the peer of a route was not heard.
    pub(super) fn unheard<'a>(
        &'a self,
        heard: &'a Heard,
        route: &'a WantedRoute,
    ) -> impl Iterator<Item = u16> + 'a {
        route.legs.iter().filter_map(move |leg| {
            let vid = self.interfaces.get(&leg.interface)?.vid;
            let peer = self.wanted.neighbours.get(&(leg.interface.clone(), leg.via))?.mac;
            (!heard.contains(&(vid, peer))).then_some(vid)
        })
    }
}

impl Engine {
    /// A peer announced itself while plans change.
    pub(super) fn heard_peer(&mut self, now: u64, vid: u16, peer: Mac) {
        if self.bridge.heard.insert((vid, peer)) {
            self.moving = true;
            let at = now + GATHER_MS;
            self.converge_at = Some(self.converge_at.map_or(at, |due| due.min(at)));
        }
    }

    /// Someone asks who is there.
    pub(super) fn answer_canary(&mut self, now: u64, name: &str, vid: u16) {
        let proven = self.canaries.get(&vid).is_some_and(|c| *c.proof() == Proof::Proven);
        if let Some(due) = self.refresh.get_mut(name).filter(|_| proven) {
            let spread = self.settings.sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            *due = (*due).min(now + ANSWER_MS * spread / u64::from(u32::MAX));
        }
    }

    /// Asks for peers that are missing, and lets the plan before go once nothing holds it.
    pub(super) fn cross_bridge(
        &mut self,
        now: u64,
        current: &Prepared,
        usable: &BTreeSet<&str>,
        out: &mut Vec<Effect>,
    ) {
        if !self.stored.bridging {
            return;
        }
        let gates = self.gates(current);
        let mut waits = false;
        let mut open = BTreeSet::new();
        for (name, interface) in &current.interfaces {
            let gate = gates.get(&interface.vid).copied().unwrap_or(Gate::Open);
            let usable = usable.contains(name.as_str());
            waits |= usable && gate == Gate::Unproven;
            if usable && gate == Gate::Open {
                open.insert(name.as_str());
            }
        }
        let missing: BTreeSet<&str> = current
            .wanted
            .routes
            .values()
            .filter(|route| current.unheard(&self.bridge.heard, route).next().is_some())
            .flat_map(|route| route.legs.iter().map(|leg| leg.interface.as_str()))
            .filter(|name| open.contains(name))
            .collect();
        self.bridge.asks.retain(|name, _| missing.contains(name.as_str()));
        for name in &missing {
            let due = self.bridge.asks.entry((*name).into()).or_insert(now + ASK_MS);
            if *due <= now {
                *due = now + ASK_MS;
                self.announce(current, name, Kind::Canary, out);
            }
        }
        let since = |kept: Option<u64>, holds: bool| holds.then(|| kept.unwrap_or(now));
        self.bridge.proven_at = since(self.bridge.proven_at, !waits);
        self.bridge.heard_at = since(self.bridge.heard_at, !waits && missing.is_empty());
        if self.bridge.end().is_some_and(|at| at <= now) {
            self.bridge = Bridge::default();
            self.stored.bridging = false;
            self.dirty = true;
            self.converge_at = Some(now);
            self.urgent = true;
            self.moving = true;
        }
    }
}
