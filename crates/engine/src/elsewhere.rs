//! Which plans other nodes announce: a node that was away while plans changed, or was left out, goes on by
//! its own, and `status` names it.

use std::collections::BTreeMap;

use tresse_base::units::Mac;
use tresse_control::OtherLine;

use super::prepared::Prepared;
use super::transition::BETWEEN;

/// A node counts as long as it is silent for less than so many tenths of its announcement period.
const HOLD_TENTHS: u64 = 25;

/// How long a node may go by another plan before that is an event: plans change one node after the other.
const PATIENCE_MS: u64 = 5000;

/// The plan that each NIC of another node announced last, and when.
#[derive(Debug, Default)]
pub struct Elsewhere {
    said: BTreeMap<Mac, Said>,
    /// Has a NIC announced another plan than before?
    news: bool,
    /// The nodes that announce another plan than this node's.
    differing: BTreeMap<String, Differing>,
}

/// Since when a node goes by another plan, in milliseconds, and whether that was published.
#[derive(Debug, Clone, Copy)]
struct Differing {
    since: u64,
    told: bool,
}

#[derive(Debug, Clone, Copy)]
struct Said {
    plan: [u8; 8],
    at: u64,
    until: u64,
}

impl Elsewhere {
    /// Records the announcement of a NIC that announces itself every `period` milliseconds.
    pub(super) fn hear(&mut self, now: u64, mac: Mac, plan: [u8; 8], period: u64) {
        let said = Said { plan, at: now, until: now + period * HOLD_TENTHS / 10 };
        let before = self.said.insert(mac, said);
        self.news |= before.is_none_or(|before| before.plan != plan);
    }

    /// Forgets who announced this plan: those who still have it will say so again.
    pub(super) fn forget(&mut self, plan: [u8; 8]) {
        self.said.retain(|_, said| said.plan != plan);
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
        for (mac, said) in self.said.iter().filter(|(_, said)| said.until > now) {
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

    /// May it be that a node has begun or ceased to go by another plan?
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news) || !self.differing.is_empty()
    }

    /// The nodes that have ceased and those that have begun to go by another plan; `others` do so now.
    pub(super) fn compare(&mut self, now: u64, others: &[OtherLine]) -> [Vec<String>; 2] {
        let [mut ceased, mut begun] = [Vec::new(), Vec::new()];
        self.differing.retain(|node, was| {
            let differs = others.iter().any(|other| other.node == *node);
            if !differs && was.told {
                ceased.push(node.clone());
            }
            differs
        });
        for other in others {
            let began = Differing { since: now, told: false };
            let was = self.differing.entry(other.node.clone()).or_insert(began);
            if !was.told && now.saturating_sub(was.since) >= PATIENCE_MS {
                was.told = true;
                begun.push(other.node.clone());
            }
        }
        [ceased, begun]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(node: &str) -> OtherLine {
        OtherLine { node: node.into(), age_ms: 0 }
    }

    #[test]
    fn a_node_differs_after_five_seconds_and_ceases_once() {
        let mut plans = Elsewhere::default();
        assert!(!plans.take_news());
        plans.hear(0, Mac([2; 6]), [1; 8], 1000);
        assert!(plans.take_news() && !plans.take_news(), "each word is news once");
        plans.hear(1, Mac([2; 6]), [1; 8], 1000);
        assert!(!plans.take_news(), "the same plan again");
        let none: [Vec<String>; 2] = Default::default();
        assert_eq!(plans.compare(1000, &[other("n1")]), none);
        assert!(plans.take_news(), "as long as somebody differs");
        assert_eq!(plans.compare(5999, &[other("n1")]), none);
        assert_eq!(plans.compare(6000, &[other("n1")]), [vec![], vec!["n1".to_owned()]]);
        assert_eq!(plans.compare(9000, &[other("n1")]), none);
        assert_eq!(plans.compare(9001, &[]), [vec!["n1".to_owned()], vec![]]);
        assert_eq!(plans.compare(9002, &[]), none);
        // One that differed for a moment, as while plans change, is no event.
        plans.compare(10_000, &[other("n2")]);
        assert_eq!(plans.compare(11_000, &[]), none);
    }
}
