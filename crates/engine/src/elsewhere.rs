//! Which plans other nodes announce: a node that was away while plans changed, or was left out, goes on by
//! its own, and `status` names it.

use std::collections::BTreeMap;

use tresse_base::units::Mac;
use tresse_control::OtherLine;

use super::prepared::Prepared;
use super::transition::BETWEEN;

/// A node counts as long as it is silent for less than so many tenths of its announcement period.
const HOLD_TENTHS: u64 = 25;

/// The plan that each NIC of another node announced last, and when.
#[derive(Debug, Default)]
pub struct Elsewhere(BTreeMap<Mac, Said>);

#[derive(Debug, Clone, Copy)]
struct Said {
    plan: [u8; 8],
    at: u64,
    until: u64,
}

impl Elsewhere {
    /// Records the announcement of a NIC that announces itself every `period` milliseconds.
    pub(super) fn hear(&mut self, now: u64, mac: Mac, plan: [u8; 8], period: u64) {
        self.0.insert(mac, Said { plan, at: now, until: now + period * HOLD_TENTHS / 10 });
    }

    /// Forgets who announced this plan: those who still have it will say so again.
    pub(super) fn forget(&mut self, plan: [u8; 8]) {
        self.0.retain(|_, said| said.plan != plan);
    }

    /// The nodes of `current` that announce neither it nor, while plans change, `held`; with the time since
    /// each was heard.
    pub(super) fn others(
        &self,
        now: u64,
        current: &Prepared,
        held: Option<[u8; 8]>,
    ) -> Vec<OtherLine> {
        let own = [Some(current.digest()), held, Some(BETWEEN)];
        let mut nodes: BTreeMap<&str, Said> = BTreeMap::new();
        for (mac, said) in self.0.iter().filter(|(_, said)| said.until > now) {
            let Some((node, _)) = current.index.nic(*mac) else { continue };
            let last = nodes.entry(node).or_insert(*said);
            // Its NICs announce one after the other.
            if said.at > last.at {
                *last = *said;
            }
        }
        let other = nodes.into_iter().filter(|(_, said)| !own.contains(&Some(said.plan)));
        let line = |(node, said): (&str, Said)| OtherLine {
            node: node.into(),
            age_ms: now.saturating_sub(said.at),
        };
        other.map(line).collect()
    }
}
