//! Chooses the root of up*/down* routing by the loads that it leads to, and balances the routes from it.

use tresse_base::id::SwitchId;
use tresse_topology::Graph;

use crate::detour::DetourSearch;
use crate::order::Order;
use crate::routes::{SwitchDemand, SwitchRoutes, balanced, least_cost, on_lanes, relieve};

/// Roots that are compared by a first set of routes, from so many sources where there are many, and of those the ones
/// that are tried to the end.
const ROOTS: usize = 256;
const SOURCES: usize = 64;
const SOME_ROOTS: usize = 8;
/// With more work for one search from each source, roots are compared by their loads alone.
const SMALL: usize = 1 << 16;
/// How often routes are taken up and laid anew.
const ROUNDS: usize = 2;
/// How much work choosing the root and balancing may be each, in channels that are looked at.
const WORK: usize = 1 << 23;
const ROOT_WORK: usize = 1 << 24;
/// How much work moving single routes may be, alike, for all roots that are tried to the end.
const RELIEF: usize = 1 << 23;
/// How much work those roots may have on one lane of which several are tried on more lanes.
const LANE_WORK: usize = 1 << 11;
/// How often the bound sets its prices that tells which of these cannot be better.
const BOUND_ROUNDS: i32 = 6;
/// How often all routes are looked at for each power of the loads.
const SWEEPS: usize = 8;

/// The routes from `root`, or from the best of several roots, and the demand on the lanes that they have.
pub(super) fn choose(
    graph: &Graph,
    root: Option<SwitchId>,
    demand: &SwitchDemand,
) -> (Order, SwitchDemand, SwitchRoutes) {
    let OneLane { best, legal } = one_lane(graph, root, demand);
    let mut ends: Vec<(Order, SwitchDemand, SwitchRoutes)> = Vec::new();
    let mut least = f64::INFINITY;
    for (order, routes) in best.into_iter().take((LANE_WORK / demand.work()).max(1)) {
        let hopeless = || least_cost(graph, &order.ups(graph), demand, BOUND_ROUNDS) >= least;
        if least.is_finite() && hopeless() {
            continue;
        }
        let end = spread(graph, (order, routes), demand);
        least = least.min(end.2.cost(&end.1).0 as f64);
        ends.push(end);
    }
    if legal {
        let (order, on, routes) = choose(graph, root, &demand.without_transit());
        ends.push((order, SwitchDemand { lanes: on.lanes, ..demand.clone() }, routes));
    }
    let best = ends
        .into_iter()
        .min_by_key(|(order, demand, routes)| end_cost(graph, order, demand, routes));
    best.expect("at least one root is tried")
}

/// Routes on as many lanes as they need.
fn spread(
    graph: &Graph,
    (order, routes): (Order, SwitchRoutes),
    demand: &SwitchDemand,
) -> (Order, SwitchDemand, SwitchRoutes) {
    let up = order.ups(graph);
    let (demand, routes) = on_lanes(graph, &up, demand, routes, |demand| {
        let rounds = (WORK / demand.work()).min(ROUNDS);
        balanced(graph, &up, demand, rounds, (RELIEF / demand.work()).min(SWEEPS))
    });
    (order, demand, routes)
}

/// The routes from `root`, or from the best of several roots.
pub(super) fn on_one_lane(
    graph: &Graph,
    root: Option<SwitchId>,
    demand: &SwitchDemand,
) -> (Order, SwitchRoutes) {
    one_lane(graph, root, demand).best.swap_remove(0)
}

struct OneLane {
    /// From several roots, the best first.
    best: Vec<(Order, SwitchRoutes)>,
    /// With transit nodes: whether the best routes without them are as short as any.
    legal: bool,
}

fn one_lane(graph: &Graph, root: Option<SwitchId>, demand: &SwitchDemand) -> OneLane {
    let work = demand.work();
    let roots = root.map_or_else(|| best_first(graph, demand), |root| vec![root.0]);
    let rounds = (WORK / work).min(ROUNDS);
    let some = (RELIEF / (SWEEPS * work)).clamp(1, SOME_ROOTS).min(roots.len());
    let sweeps = |tried: usize| (RELIEF / (tried * work)).min(SWEEPS);
    let mut tried: Vec<_> =
        roots[..some].iter().map(|root| from(graph, *root, demand, rounds)).collect();
    let mut legal = false;
    if demand.transit.iter().any(|nodes| *nodes > 0) && sweeps(some) > 0 {
        let without = demand.without_transit();
        let (order, routes) = if some > 1 {
            on_one_lane(graph, root, &without)
        } else {
            let root = root.map_or_else(|| best_first(graph, &without)[0], |root| root.0);
            from(graph, root, &without, rounds)
        };
        tried.push(from(graph, order.root(), demand, rounds));
        legal = are_minimal(graph, demand, &routes);
        tried.extend(legal.then_some((order, routes)));
    }
    let sweeps = sweeps(tried.len());
    if some == 1 {
        // Moving single routes takes longest, and is left for the best.
        tried.sort_by_cached_key(|(_, routes)| routes.cost(demand));
        tried.truncate(1);
    }
    for (order, routes) in tried.iter_mut().filter(|_| sweeps > 0) {
        relieve(graph, &order.ups(graph), demand, routes, sweeps);
    }
    tried.sort_by_cached_key(|(order, routes)| end_cost(graph, order, demand, routes));
    OneLane { best: tried, legal }
}

/// By what routes that were tried to the end are compared: the longest time, that of a cable, [`unprotected`] pairs, and how
/// uneven the times are.
fn end_cost(
    graph: &Graph,
    order: &Order,
    demand: &SwitchDemand,
    routes: &SwitchRoutes,
) -> (u64, u64, u64, u128) {
    let (time, uneven) = routes.cost(demand);
    (time, routes.cable_time(), unprotected(graph, order, demand, routes), uneven)
}

/// How many pairs of nodes have no backup that is legal and shares no cable and no switch with their route. Not counted
/// on large fabrics. Counted where nobody asks for backups too: they do not decide what the primaries are.
fn unprotected(graph: &Graph, order: &Order, demand: &SwitchDemand, routes: &SwitchRoutes) -> u64 {
    if demand.work() > SMALL {
        return 0;
    }
    let mut search = DetourSearch::new(graph, Some(order));
    let mut channels = Vec::new();
    let mut alone = 0;
    let all = 0..demand.switches() as u32;
    for (source, d) in (0..demand.sources()).flat_map(|s| all.clone().map(move |d| (s, d))) {
        let pairs = demand.pairs(source, d);
        if pairs == 0 {
            continue;
        }
        channels.clear();
        routes.walk(source, d, &mut channels);
        let links: Vec<_> = channels.iter().map(|c| graph.link(*c)).collect();
        let inner = channels.iter().skip(1);
        let switches: Vec<_> = inner.map(|c| SwitchId(graph.tail(*c))).collect();
        let s = SwitchId(demand.switch(source));
        if search.find(s, SwitchId(d), &links, &switches).is_none() {
            alone += pairs;
        }
    }
    alone
}

/// Roots, those that lead to the lowest loads first. Candidates are switches with the fewest hops to all nodes, and
/// others from all over the fabric: in a fat tree switches with nodes are the best roots, from which every cable has an
/// up end towards the spines.
fn best_first(graph: &Graph, demand: &SwitchDemand) -> Vec<u32> {
    let mut roots: Vec<(u64, u32)> =
        graph.sums_of_hops(&demand.nodes).into_iter().zip(0..).collect();
    roots.sort_unstable();
    let most = (ROOT_WORK / (SOURCES * graph.channels().max(1))).clamp(4, ROOTS);
    if roots.len() > most {
        let rest = roots.split_off(most / 2);
        let others = most - roots.len();
        roots.extend((1..=others).map(|at| rest[at * rest.len() / others - 1]));
    }
    let mut roots: Vec<u32> = roots.into_iter().map(|(_, root)| root).collect();
    let every = (roots.len() * demand.work()).div_ceil(ROOT_WORK);
    let cost = |root: &u32| {
        let order = Order::new(graph, *root);
        if every > 1 {
            return SwitchRoutes::sample(graph, &order.ups(graph), demand, every);
        }
        SwitchRoutes::new(graph, &order.ups(graph), demand, 1).cost(demand)
    };
    if roots.len() > 1 {
        roots.sort_by_cached_key(cost);
    }
    roots
}

fn from(graph: &Graph, root: u32, demand: &SwitchDemand, rounds: usize) -> (Order, SwitchRoutes) {
    let order = Order::new(graph, root);
    let routes = SwitchRoutes::new(graph, &order.ups(graph), demand, rounds);
    (order, routes)
}

/// Whether routes are as short as any. Where those without transit nodes are, as on a mesh, nothing that turns need be
/// worse than they are.
fn are_minimal(graph: &Graph, demand: &SwitchDemand, routes: &SwitchRoutes) -> bool {
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    (0..demand.sources()).filter(|source| demand.is_home(*source)).all(|source| {
        graph.distances(demand.switch(source), &mut distance, &mut queue);
        let homes = (0..).zip(&distance).filter(|(d, _)| demand.homes[*d as usize]);
        homes.into_iter().all(|(d, hops)| routes.hops(source, d) == *hops)
    })
}
