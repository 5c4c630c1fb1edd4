//! Counts, for each switch, the nodes on it, and those of them that may be transit nodes (forward frames for other
//! nodes). The strategies `stp`, `minimal`, `updown` and `transit` weight switches by these counts when they choose
//! trees and paths.

use tresse_topology::cluster::Cluster;

/// For each switch, the number of nodes whose traffic paths are balanced for, and the number of nodes on it that may
/// forward frames for other nodes (transit nodes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// By switch: the number of nodes on it. A node with several NICs is counted on the switch of each, by its share:
    /// all counts have a common factor, so that every share is a whole number.
    pub nodes: Vec<u64>,
    /// By switch: the number of possible transit nodes with any NIC on it.
    pub transit: Vec<u64>,
}

impl Balance {
    /// The counts of a cluster as its file has it.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        let mut nodes = vec![0; cluster.switches.len()];
        let whole = Self::whole(cluster);
        for node in &cluster.nodes {
            for nic in &node.nics {
                // Where nodes route, their NICs are on no switch.
                if let Some(here) = nodes.get_mut(nic.switch.index()) {
                    *here += whole / node.nics.len() as u64;
                }
            }
        }
        let transit = cluster.transit_nodes().iter().map(|nodes| nodes.len() as u64).collect();
        Self { nodes, transit }
    }

    /// What a node counts for that has all its NICs on one switch: the least common multiple of the numbers of NICs.
    pub(crate) fn whole(cluster: &Cluster) -> u64 {
        let counts = cluster.nodes.iter().map(|node| node.nics.len().max(1) as u128);
        counts.fold(1, |all, count| all / gcd(all, count) * count) as u64
    }

    /// Whether every switch that had transit nodes has one now, and moving a quarter of the nodes would
    /// make the shares of `self` those of `now`.
    #[must_use]
    pub fn is_near(&self, now: &Self) -> bool {
        let [all, all_now]: [u128; 2] =
            [self, now].map(|b| b.nodes.iter().map(|n| u128::from(*n)).sum());
        let shares = self.nodes.iter().zip(&now.nodes);
        let apart =
            |(n, m): (&u64, &u64)| (u128::from(*n) * all_now).abs_diff(u128::from(*m) * all);
        let lost = self.transit.iter().zip(&now.transit).any(|(n, m)| *n > 0 && *m == 0);
        all > 0 && !lost && 2 * shares.map(apart).sum::<u128>() <= all * all_now
    }
}

/// The greatest common divisor; 0 of two zeros.
#[must_use]
pub const fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
