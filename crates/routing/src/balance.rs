//! Counts, for each switch, the nodes on it, and those of them that may be transit nodes (forward frames for other
//! nodes). The strategies `stp`, `minimal`, `updown` and `transit` weight switches by these counts when they choose
//! trees and paths.

use tresse_topology::cluster::Cluster;

/// For each switch, the number of nodes whose traffic paths are balanced for, and the number of nodes on it that may
/// forward frames for other nodes (transit nodes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// By switch: the number of nodes whose first NIC is on it.
    pub nodes: Vec<u64>,
    /// By switch: the number of possible transit nodes with any NIC on it.
    pub transit: Vec<u64>,
}

impl Balance {
    /// The counts of a cluster as its file has it.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
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
