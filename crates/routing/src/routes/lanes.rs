//! Decides how many routes a pair of switches has. One is enough where a switch has many others to send to: their routes
//! spread over its cables. Between two leaves below many spines, or over parallel cables, one route would leave the
//! others idle.

use tresse_topology::Graph;

use super::bound::least_cost;
use super::demand::SwitchDemand;
use super::switch_routes::SwitchRoutes;

/// The numbers of lanes that are tried.
const LANES: [u32; 6] = [2, 3, 4, 6, 8, 12];
/// More than so many are not tried where these have brought nothing and one search from each source is more work than this.
const FIRST: u32 = 3;
const SMALL: usize = 1 << 14;
/// A load so little above the bound is good enough, and a number of lanes that saves so little is not worth its VLANs.
const NEAR: f64 = 1.05;
/// How often the bound sets its prices.
const ROUNDS: i32 = 12;
/// With more work for one search from each source, there is one lane.
const WORK: usize = 1 << 20;

/// The demand on as many lanes as bring the cost near its bound, and the routes. `routes`: those on one lane. `lay` finds
/// the routes of a demand.
pub(crate) fn on_lanes(
    graph: &Graph,
    up: &[bool],
    demand: &SwitchDemand,
    routes: SwitchRoutes,
    lay: impl Fn(&SwitchDemand) -> SwitchRoutes,
) -> (SwitchDemand, SwitchRoutes) {
    let mut best = (demand.clone(), routes);
    let cost = |(demand, routes): &(SwitchDemand, SwitchRoutes)| routes.cost(demand).0 as f64;
    let light = demand.light() as f64;
    if demand.work() > WORK || cost(&best) <= light {
        return best;
    }
    let enough = (NEAR * least_cost(graph, up, demand, ROUNDS)).max(light);
    for lanes in LANES {
        let in_vain = lanes > FIRST && best.0.lanes == 1 && demand.work() > SMALL;
        if cost(&best) <= enough || in_vain || lanes as usize * demand.work() > WORK {
            break;
        }
        let more = SwitchDemand { lanes, ..demand.clone() };
        let routes = lay(&more);
        let tried = (more, routes);
        if cost(&tried) * NEAR <= cost(&best) {
            best = tried;
        }
    }
    best
}
