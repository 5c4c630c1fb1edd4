//! Compares the ideal throughput of the strategy `transit` with what the strategy `updown` would reach
//! on the same fabric, and reports if `updown` reaches more. With `transit` every path has the fewest
//! hops, but transit nodes (nodes that forward frames for others) spend the capacity of their own links
//! on it; with `updown` paths are longer and cross no third node's links.

use tresse_plan::Plan;

use super::report::ideal_throughput;
use super::{Finding, Survey};

/// Returns a note if `updown` would give more throughput, and whether that is inherent to the
/// fabric.
pub(super) fn below_updown(plan: &Plan, survey: &Survey) -> Option<Finding> {
    if survey.transit.paths == 0 || survey.not_minimal.is_some() {
        return None;
    }
    let own = plan.cluster().nodes.len() as u64 - 1;
    let ideal = |load: u64| own as f64 / load.max(own) as f64;
    let beside = plan.beside_updown()?;
    let (here, updown) = (ideal_throughput(plan, survey), ideal(beside.updown));
    if here >= updown {
        return None;
    }
    let (forced, any_root) = (beside.forced, beside.any_root);
    let bound = ideal(own + forced);
    let why = if bound < updown {
        format!(
            "whatever minimal paths are chosen{}, some transit node carries {forced} paths \
             besides its own {own}, so that {bound:.4} is the most",
            if any_root { ", from whatever root" } else { " from this root" }
        )
    } else {
        "no minimal paths were found that give as much".into()
    };
    Some(Finding {
        kind: "below-updown",
        object: "strategy transit".into(),
        message: format!(
            "ideal throughput is {here:.4}, and {updown:.4} by updown, whose paths are longer: \
             {why}; use more transit nodes, or updown if throughput counts more than hops"
        ),
    })
}
