//! Chooses the node counts per switch by which the strategies balance paths: those that the lock stores, or those of
//! the cluster. As long as the stored counts apply, a cluster that gains or loses nodes keeps the paths of its old
//! pairs, and new nodes get paths like those of the other nodes on their switch (DESIGN section 3).
//!
//! The stored counts are replaced when switches, cables or the strategy change, since paths change then in any case;
//! when more than a quarter of the nodes are on another switch than the counts say; and when a switch has lost its
//! last transit node.

use std::collections::BTreeMap;
use std::net::IpAddr;

use sha2::{Digest, Sha256};
use tresse_routing::Balance;
use tresse_topology::cluster::{Cluster, Strategy};

use super::content::{Lock, LockedBalance};
use super::place;
use crate::address::Addresses;

/// Returns the node counts per switch by which the paths of `cluster` are balanced: those that the lock stores if they
/// still apply, else those of the cluster itself.
#[must_use]
pub fn of(cluster: &Cluster, lock: &Lock) -> Balance {
    kept(cluster, lock).map_or_else(|| Balance::of(cluster), |(_, counts)| counts)
}

/// What the lock stores, and its counts by switch, if they still apply.
pub(super) fn kept<'a>(cluster: &Cluster, lock: &'a Lock) -> Option<(&'a LockedBalance, Balance)> {
    let locked = lock.balance.as_ref().filter(|locked| locked.of == digest(cluster))?;
    let counts = |name| locked.switches.get(&name).copied();
    let counts: Vec<[u64; 2]> = names(cluster).map(counts).collect::<Option<_>>()?;
    let [nodes, transit] = [0, 1].map(|at| counts.iter().map(|count| count[at]).collect());
    let kept = Balance { nodes, transit };
    kept.is_near(&Balance::of(cluster)).then_some((locked, kept))
}

/// Returns `balance`, the node counts per switch, in the form in which the lock stores them, without ports; `None` if the
/// strategy does not balance its paths by node counts.
#[must_use]
pub fn to_lock(balance: &Balance, cluster: &Cluster) -> Option<LockedBalance> {
    let counts =
        balance.nodes.iter().zip(&balance.transit).map(|(nodes, transit)| [*nodes, *transit]);
    depends(cluster).then(|| LockedBalance {
        of: digest(cluster),
        switches: names(cluster).zip(counts).collect(),
        ports: BTreeMap::new(),
    })
}

/// Returns the round-robin index of each node, in the order of `cluster.nodes`. Where several NICs or transit nodes
/// serve a pair of nodes equally well, the sum of the pair's two indices selects one of them. The index is the offset
/// of the node's address from the first host address in the first prefix of node addresses. A node without an address
/// has its node index instead. A node keeps its index as long as it keeps its address, also when the cluster grows.
#[must_use]
pub fn round_robin(cluster: &Cluster, addresses: &Addresses) -> Vec<usize> {
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

/// Whether the paths of its strategy depend on the node counts.
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
