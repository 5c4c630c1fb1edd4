//! What the paths between switches were balanced for: how many nodes were on each switch, and how many
//! of them in transit. Where nodes come and go and the lock holds these numbers, the strategies weigh
//! the same demand again and lay the same paths, so that pairs that were there before keep theirs and
//! those of new nodes are like their neighbours' (DESIGN section 3).
//!
//! The numbers are taken anew when switches, cables or `[routing]` change, since paths change then
//! anyhow, and when more than a quarter of the nodes would have to move for the old shares to be right.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Lock, place};
use crate::address::Addresses;
use crate::cluster::{Cluster, Strategy};

/// The lock's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Digest of the switches, cables and strategy that it is for.
    pub of: String,
    /// By switch: nodes, and nodes in transit.
    pub switches: BTreeMap<String, [u64; 2]>,
}

/// By switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// Nodes that the paths are balanced for, by their first NIC.
    pub nodes: Vec<u64>,
    /// Nodes that may be in transit there, with every NIC.
    pub transit: Vec<u64>,
}

impl Balance {
    /// What the paths of `cluster` are balanced for: what the lock says where that still goes.
    #[must_use]
    pub fn of(cluster: &Cluster, lock: &Lock) -> Self {
        let now = Self::now(cluster);
        let kept = || {
            let locked = lock.balance.as_ref().filter(|locked| locked.of == digest(cluster))?;
            let counts = |name| locked.switches.get(&name).copied();
            let counts: Vec<[u64; 2]> = names(cluster).map(counts).collect::<Option<_>>()?;
            let [nodes, transit] = [0, 1].map(|at| counts.iter().map(|count| count[at]).collect());
            Some(Self { nodes, transit }).filter(|kept| kept.is_near(&now))
        };
        kept().unwrap_or(now)
    }

    /// The counts of the cluster file.
    fn now(cluster: &Cluster) -> Self {
        let mut nodes = vec![0; cluster.switches.len()];
        for nic in cluster.nodes.iter().filter_map(|node| node.nics.first()) {
            // Where nodes route, their NICs are on no switch.
            if let Some(here) = nodes.get_mut(nic.switch.index()) {
                *here += 1;
            }
        }
        let transit = cluster.transit_nodes().iter().map(|nodes| nodes.len() as u64).collect();
        Self { nodes, transit }
    }

    /// Does every switch that had nodes in transit have one now, and would moving a quarter of the nodes
    /// make their shares those of `now`?
    fn is_near(&self, now: &Self) -> bool {
        let [all, all_now]: [u128; 2] =
            [self, now].map(|b| b.nodes.iter().map(|n| u128::from(*n)).sum());
        let shares = self.nodes.iter().zip(&now.nodes);
        let apart =
            |(n, m): (&u64, &u64)| (u128::from(*n) * all_now).abs_diff(u128::from(*m) * all);
        let lost = self.transit.iter().zip(&now.transit).any(|(n, m)| *n > 0 && *m == 0);
        all > 0 && !lost && 2 * shares.map(apart).sum::<u128>() <= all * all_now
    }

    /// For the lock after a plan; none where paths do not depend on it.
    #[must_use]
    pub fn to_lock(&self, cluster: &Cluster) -> Option<Locked> {
        let counts =
            self.nodes.iter().zip(&self.transit).map(|(nodes, transit)| [*nodes, *transit]);
        depends(cluster)
            .then(|| Locked { of: digest(cluster), switches: names(cluster).zip(counts).collect() })
    }
}

/// By node, a number that stays where its address does, for pairs that take turns: that of its address
/// in the first prefix, from 0, or its index where it has none.
#[must_use]
pub fn turns(cluster: &Cluster, addresses: &Addresses) -> Vec<usize> {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let first = cluster.addressing.nodes.first().and_then(|prefix| prefix.nth(1)).map(bits);
    let number = |(k, own): (usize, &Vec<IpAddr>)| {
        let own = own.first().copied().map(bits);
        let number = own.zip(first).and_then(|(own, first)| own.checked_sub(first));
        number.map_or(k, |number| (number & 0xffff_ffff) as usize)
    };
    addresses.node.iter().enumerate().map(number).collect()
}

/// Do the paths of its strategy depend on the nodes?
const fn depends(cluster: &Cluster) -> bool {
    matches!(
        cluster.routing.strategy,
        Strategy::Stp | Strategy::Minimal | Strategy::Updown { .. } | Strategy::Transit { .. }
    )
}

fn names(cluster: &Cluster) -> impl Iterator<Item = String> + '_ {
    (0..cluster.switches.len()).map(|s| place::switch(cluster, s.into()))
}

/// 16 hexadecimal digits that tell switches, cables and strategies apart.
fn digest(cluster: &Cluster) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text);
        hash.update("\n");
    };
    let routing = (&cluster.routing.strategy, &cluster.routing.choice);
    add(&serde_json::to_string(&routing).expect("plain data has a text"));
    names(cluster).for_each(|name| add(&name));
    let all: Vec<_> = (0..cluster.links.len()).map(Into::into).collect();
    add(&place::cables(cluster, &all));
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
