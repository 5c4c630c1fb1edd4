//! Proves that a VLAN has no loop: one numbered announcement, called the canary, must arrive
//! exactly once (K5, K17). If a second copy arrives, the VLAN is fused, that is, taken out of use.
//! There is one state machine per VID.
//!
//! ```text
//! waiting --rank x 3 s--> sent --200 ms--> proven
//!    \------one copy----> seen --200 ms--> proven        any state --second copy--> fused
//! ```
//!
//! The rank of a node is its place among the nodes that may send the canary. No socket and no
//! clock: the caller passes in the time and the received announcements. Every announcement has a
//! sequence number of its sender, so an ordinary announcement proves as much as a canary.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Milliseconds to wait for a second copy of an announcement after it was sent or first received.
/// If the VLAN has a loop, the second copy arrives within this time.
pub const QUIET_MS: u64 = 200;
/// Milliseconds between the sending times of two nodes that may send the canary of a VLAN, the
/// announcement that tests it for a loop. The node of rank r waits r times this long, and sends
/// only if it has received no announcement meanwhile.
pub const TURN_MS: u64 = 3000;
/// Milliseconds for which announcements on a VLAN are ignored after an operator has enabled the
/// VLAN again. The queues of switches may still hold copies that the former loop has made.
pub const DRAIN_MS: u64 = 2000;
/// Sequence numbers remembered per sender and interface.
const REMEMBERED: usize = 4;

/// How far the proof that one VLAN has no loop has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// Nothing was sent or seen.
    Waiting {
        /// Time since which the VLAN could be heard; `None` if it cannot.
        since: Option<u64>,
    },
    /// Our canary is under way, or one copy of another node's announcement was seen.
    Proving {
        /// Time of that.
        at: u64,
    },
    /// Carries traffic.
    Proven,
    /// The VLAN has a loop and is out of use until an operator enables it again.
    Fused {
        /// What was seen.
        why: String,
    },
}

/// What [`Canary`], the loop test of one VLAN, asks its caller to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send one canary.
    Send,
    /// Use the VLAN for traffic.
    Proven,
    /// Stop using the VLAN.
    Fuse(String),
}

/// A received announcement, reduced to the fields that the test for a loop needs.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedAnnouncement<'a> {
    /// The interface it arrived on.
    pub interface: &'a str,
    /// Index of the sender.
    pub node: u32,
    /// Sequence number of the announcement.
    pub sequence: u64,
    /// Is its source the MAC address of the NIC on which it arrived?
    pub own_mac: bool,
}

/// State machine that tests one VLAN for a loop: an announcement on it must arrive exactly once. A
/// canary is an announcement that is sent for this test.
#[derive(Debug, Clone)]
pub struct Canary {
    rank: u32,
    proof: Proof,
    /// Until this time nothing is sent, and what arrives is ignored.
    deaf_until: u64,
    heard: BTreeMap<(String, u32), [u64; REMEMBERED]>,
}

impl Canary {
    /// A machine in a given state.
    #[must_use]
    pub const fn new(rank: u32, proof: Proof) -> Self {
        Self { rank, proof, deaf_until: 0, heard: BTreeMap::new() }
    }

    /// Ignores announcements for a while, because the VLAN was just taken into use again.
    pub const fn drain(&mut self, now: u64) {
        self.deaf_until = now + DRAIN_MS;
    }

    /// The present state.
    #[must_use]
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Reports whether an interface of the VLAN has carrier.
    pub fn usable(&mut self, now: u64, usable: bool) {
        match (&mut self.proof, usable) {
            (Proof::Waiting { since: since @ None }, true) => *since = Some(now),
            (Proof::Waiting { since }, false) => *since = None,
            (Proof::Proving { .. }, false) => self.proof = Proof::Waiting { since: None },
            _ => {}
        }
    }

    /// Reports that time has passed.
    pub fn tick(&mut self, now: u64) -> Option<Action> {
        if self.deadline()? > now {
            return None;
        }
        match self.proof {
            Proof::Waiting { .. } => {
                self.proof = Proof::Proving { at: now };
                Some(Action::Send)
            }
            Proof::Proving { .. } => {
                self.proof = Proof::Proven;
                Some(Action::Proven)
            }
            _ => None,
        }
    }

    /// Reports that an announcement arrived.
    pub fn receive(&mut self, now: u64, heard: ReceivedAnnouncement<'_>) -> Option<Action> {
        if matches!(self.proof, Proof::Fused { .. }) || now < self.deaf_until {
            return None;
        }
        let ReceivedAnnouncement { interface, node, sequence, own_mac } = heard;
        if own_mac {
            return Some(self.fuse(format!(
                "announcement {sequence} of this NIC came back on {interface}: the VLAN has a loop"
            )));
        }
        let last = self.heard.entry((interface.into(), node)).or_insert([0; REMEMBERED]);
        if last.contains(&sequence) {
            return Some(self.fuse(format!(
                "announcement {sequence} of node {node} arrived twice on {interface}: the VLAN \
                 has a loop"
            )));
        }
        last.rotate_right(1);
        last[0] = sequence;
        if matches!(self.proof, Proof::Waiting { .. }) {
            self.proof = Proof::Proving { at: now };
        }
        None
    }

    /// When [`Canary::tick`] will have something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        match self.proof {
            Proof::Waiting { since } => {
                Some(since?.max(self.deaf_until) + TURN_MS * u64::from(self.rank))
            }
            Proof::Proving { at } => Some(at + QUIET_MS),
            Proof::Proven | Proof::Fused { .. } => None,
        }
    }

    fn fuse(&mut self, why: String) -> Action {
        self.proof = Proof::Fused { why: why.clone() };
        self.heard.clear();
        Action::Fuse(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(node: u32, sequence: u64) -> ReceivedAnnouncement<'static> {
        ReceivedAnnouncement { interface: "eth0.100", node, sequence, own_mac: false }
    }

    fn waiting(rank: u32) -> Canary {
        let mut canary = Canary::new(rank, Proof::Waiting { since: None });
        canary.usable(1000, true);
        canary
    }

    #[test]
    fn the_lowest_node_sends_at_once_and_is_done_after_the_quiet_time() {
        let mut canary = waiting(0);
        assert_eq!(canary.tick(1000), Some(Action::Send));
        assert_eq!(canary.tick(1199), None);
        assert_eq!(canary.tick(1200), Some(Action::Proven));
        assert_eq!(canary.deadline(), None);
    }

    #[test]
    fn others_wait_and_take_over_after_their_turn() {
        let mut canary = waiting(2);
        assert_eq!(canary.tick(6999), None);
        assert_eq!(canary.tick(7000), Some(Action::Send));
    }

    #[test]
    fn one_copy_proves_and_a_second_fuses_at_any_time() {
        let mut canary = waiting(2);
        assert_eq!(canary.receive(1500, heard(0, 7)), None);
        assert_eq!(canary.tick(1700), Some(Action::Proven));
        assert_eq!(canary.receive(9000, heard(0, 8)), None);
        assert!(matches!(canary.receive(9001, heard(0, 8)), Some(Action::Fuse(_))));
        assert!(matches!(canary.proof(), Proof::Fused { .. }));
        assert_eq!(canary.receive(9002, heard(0, 8)), None, "a fuse blows once");
        assert_eq!(canary.deadline(), None);
    }

    #[test]
    fn our_own_frame_coming_back_fuses() {
        let mut canary = waiting(0);
        canary.tick(1000);
        let back = ReceivedAnnouncement { own_mac: true, ..heard(3, 1) };
        assert!(matches!(canary.receive(1050, back), Some(Action::Fuse(_))));
        assert_eq!(canary.tick(1200), None);
    }

    #[test]
    fn what_drains_after_a_fuse_was_rearmed_fuses_nothing() {
        let mut canary = waiting(0);
        canary.drain(1000);
        let back = ReceivedAnnouncement { own_mac: true, ..heard(3, 1) };
        assert_eq!(canary.receive(2999, back), None);
        assert_eq!(canary.tick(2999), None);
        assert_eq!(canary.tick(3000), Some(Action::Send));
        assert!(
            matches!(canary.receive(3001, back), Some(Action::Fuse(_))),
            "the loop is still there"
        );
    }

    #[test]
    fn the_same_number_on_two_interfaces_of_one_vlan_is_no_duplicate() {
        let mut canary = waiting(1);
        assert_eq!(canary.receive(1500, heard(0, 7)), None);
        assert_eq!(
            canary.receive(1500, ReceivedAnnouncement { interface: "eth1.100", ..heard(0, 7) }),
            None
        );
    }

    #[test]
    fn without_carrier_nothing_is_sent_and_the_wait_starts_anew() {
        let mut canary = waiting(0);
        canary.usable(1000, false);
        assert_eq!(canary.tick(99_000), None);
        canary.usable(100_000, true);
        assert_eq!(canary.tick(100_000), Some(Action::Send));
        canary.usable(100_100, false);
        assert_eq!(canary.tick(100_300), None, "a carrier lost while proving proves nothing");
    }
}
