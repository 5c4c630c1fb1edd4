//! What the best choice of paths could reach, beside what the strategy has chosen.

use serde::Serialize;
use tresse_routing::routes::least_cost;
use tresse_routing::{Assignment, Balance, SwitchDemand};
use tresse_topology::cluster::{Choice, Strategy};

use super::Plan;

/// How often the bound sets its prices: at most, and by how much work one search from each switch is.
const ROUNDS: usize = 48;
const WORK: usize = 1 << 22;
/// With fewer times, the bound is not sought.
const FEW: usize = 12;

/// A bound on what any choice of the strategy's paths reaches, with the pairs of nodes split over them at will: the dual
/// of a linear program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadBound {
    /// The busiest link has at least so many pairs; `None` where rates differ or transit nodes may be busier than links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The ideal throughput is at most so much of a node link.
    pub throughput: f64,
    /// Over which paths the program runs.
    pub by: String,
}

impl LoadBound {
    /// The bound in words, to follow "at most".
    #[must_use]
    pub fn words(&self) -> String {
        let load = self.load.map(|load| format!(", link load at least {load:.1}"));
        format!("{:.4}{} by the {}", self.throughput, load.unwrap_or_default(), self.by)
    }
}

impl Plan {
    /// The bound of `minimal`, `updown` and `transit`; `None` for other strategies, where nodes have several NICs, and in
    /// large fabrics.
    #[must_use]
    pub fn load_bound(&self) -> Option<LoadBound> {
        let (cluster, graph) = (&self.cluster, &self.graph);
        if cluster.links.is_empty() || cluster.nodes.iter().any(|node| node.nics.len() != 1) {
            return None;
        }
        let mut demand = SwitchDemand::of_cluster(cluster, graph, &Balance::of(cluster));
        let transit = matches!(cluster.routing.strategy, Strategy::Transit { .. });
        if !transit {
            demand = demand.without_transit();
        }
        let rounds = (WORK / demand.work()).min(ROUNDS);
        if rounds < FEW || demand.own == 0 || cluster.routing.choice == Choice::Paper {
            return None;
        }
        let (up, paths) = match self.assignment.one()? {
            Assignment::Minimal(_) => (vec![true; graph.channels()], String::new()),
            Assignment::Updown(updown) => {
                let order = updown.order();
                let root = &cluster.switches[order.root() as usize].name;
                let what = if transit { ", those that need transit nodes too," } else { " legal" };
                (order.ups(graph), format!("{what} from root {root}"))
            }
            _ => return None,
        };
        let time = least_cost(graph, &up, &demand, rounds as i32);
        let slowness = demand.slowness[0];
        let even = demand.slowness.iter().all(|other| *other == slowness);
        let own = demand.own_time as f64;
        Some(LoadBound {
            load: (even && !transit).then(|| time / slowness as f64),
            throughput: own / time.max(own),
            by: format!("linear program over all shortest paths{paths}"),
        })
    }
}
