//! Where `transit` gives less ideal throughput than `updown` would: every path is minimal, and nodes in
//! transit pay for that with their own links, where `updown` takes longer paths that nobody pays for.

use tresse_plan::Plan;

use super::report::ideal_throughput;
use super::{Finding, Survey};

/// Notes that `updown` would give more, and whether it must be so.
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
