//! Where `transit` gives less ideal throughput than `updown` would: every path is minimal, and nodes in
//! transit pay for that with their own links, where `updown` takes longer ways that nobody pays for.

use super::report::ideal_throughput;
use super::{Finding, Survey};
use crate::cluster::Strategy;
use crate::lock::Lock;
use crate::lock::balance::Balance;
use crate::plan::Plan;
use crate::routing::updown::{Demand, Updown, forced_turns};

/// Up to so many switches the routes of `updown` are laid to compare with.
const MOST_SWITCHES: usize = 128;

/// Is there less than by `updown`, and must it be so?
pub(super) fn below_updown(plan: &Plan, survey: &Survey) -> Option<Finding> {
    let (cluster, graph) = (plan.cluster(), plan.graph());
    let Strategy::Transit { root } = cluster.routing.strategy else { return None };
    let one_nic = cluster.nodes.iter().all(|node| node.nics.len() == 1);
    let mut rates = cluster.links.iter().map(|link| link.rate);
    rates.by_ref().next()?;
    let nics = || cluster.nodes.iter().flat_map(|node| &node.nics).map(|nic| nic.rate);
    let first = nics().next()?;
    let even = rates.chain(nics()).all(|rate| rate == first);
    let small = graph.switches() <= MOST_SWITCHES;
    if !one_nic || !even || !small || survey.transit.paths == 0 || survey.not_minimal.is_some() {
        return None;
    }
    let Balance { nodes, transit } = Balance::of(cluster, &Lock::default());
    let own = cluster.nodes.len() as u64 - 1;
    let ideal = |load: u64| own as f64 / load.max(own) as f64;
    let without = Demand { nodes: &nodes, transit: &vec![0; nodes.len()] };
    let (_, routes) = Updown::routes(graph, root, &without).ok()?;
    let (here, updown) = (ideal_throughput(plan, survey), ideal(routes.cost(&without).0));
    if here >= updown {
        return None;
    }
    let order = plan.updown_order()?;
    let demand = Demand { nodes: &nodes, transit: &transit };
    let (forced, any_root) = forced_turns(graph, order, root, &demand);
    let bound = ideal(own + forced);
    let why = if bound < updown {
        format!(
            "whatever minimal paths are chosen{}, some node in transit carries {forced} paths beside \
             its own {own}, so that {bound:.4} is the most",
            if any_root { ", from whatever root" } else { "" }
        )
    } else {
        "no minimal paths were found that give as much".into()
    };
    Some(Finding {
        kind: "below-updown",
        object: "strategy transit".into(),
        message: format!(
            "ideal throughput is {here:.4}, and {updown:.4} by updown, which takes longer ways: {why}; \
             more nodes in transit help, or updown where throughput counts more than hops"
        ),
    })
}
