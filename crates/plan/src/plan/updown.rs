//! Compares the loads of a plan of strategy `transit` with the loads that strategy `updown` would give on the same
//! fabric.

use tresse_routing::updown::{Updown, forced_turns};
use tresse_routing::{Balance, SwitchDemand};
use tresse_topology::cluster::Strategy;

use super::Plan;

/// The most switches for which the routes of `updown` are computed to compare with.
const MOST_SWITCHES: usize = 128;

/// Two loads that show whether the strategy `updown` would carry more traffic than `transit`: that of the most loaded
/// link under `updown`, and the least that the busiest transit node must carry under `transit`. The unit is paths, if
/// every ordered pair of nodes has one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BesideUpdown {
    /// By `updown` on the same fabric.
    pub updown: u64,
    /// Paths that some transit node carries beside its own, under any choice of minimal paths.
    pub forced: u64,
    /// Whether `forced` holds for every root.
    pub any_root: bool,
}

impl Plan {
    /// The loads of `updown` beside those of this plan by `transit`; `None` for other strategies, where
    /// nodes have several NICs, where rates differ, and in large fabrics.
    #[must_use]
    pub fn beside_updown(&self) -> Option<BesideUpdown> {
        let (cluster, graph) = (&self.cluster, &self.graph);
        let Strategy::Transit { root } = cluster.routing.strategy else { return None };
        let one_nic = cluster.nodes.iter().all(|node| node.nics.len() == 1);
        let mut rates = cluster.links.iter().map(|link| link.rate);
        rates.by_ref().next()?;
        let nics = || cluster.nodes.iter().flat_map(|node| &node.nics).map(|nic| nic.rate);
        let first = nics().next()?;
        let even = rates.chain(nics()).all(|rate| rate == first);
        if !one_nic || !even || graph.switches() > MOST_SWITCHES {
            return None;
        }
        let demand = SwitchDemand::of_cluster(cluster, graph, &Balance::of(cluster));
        let (_, without, routes) = Updown::routes(graph, root, &demand.without_transit()).ok()?;
        let order = self.updown_order()?;
        let (forced, any_root) = forced_turns(graph, order, root, &demand);
        Some(BesideUpdown { updown: routes.cost(&without).0, forced, any_root })
    }
}
