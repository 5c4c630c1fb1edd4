//! The number of nodes on each switch by which strategies balance paths: all nodes, and those that may be transit
//! nodes (forward frames for other pairs).

use tresse_topology::cluster::Cluster;

/// For each switch, the number of nodes for which paths are balanced, and the number of NICs there of nodes that may
/// forward frames for other pairs (transit nodes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// Nodes that the paths are balanced for, by their first NIC.
    pub nodes: Vec<u64>,
    /// Nodes that may be transit nodes there, by each of their NICs.
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
