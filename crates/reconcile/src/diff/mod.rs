//! Computes the operations that lead from the observed to the wanted state, in an order that loses
//! no frame.
//!
//! Additions come first, in the order in which the kernel needs them; then removals, roughly in
//! the reverse order:
//!
//! ```text
//! add     guard, sysctls, links, filters, label inputs, up, addresses, neighbours, forwarding entries (FDB), labels,
//!         (policy rules, see below), nexthops, groups, routes, unreachable routes, MPTCP endpoints
//! remove  routes, unreachable routes, policy rules, table routes, groups, nexthops, labels, forwarding entries,
//!         neighbours, addresses, down, links, sysctls, filters, guard
//! ```
//!
//! A table that another interface takes over is emptied among the additions: MPTCP endpoints deleted,
//! policy rules deleted, table routes added, table routes deleted, policy rules added. So no policy rule
//! ever leads to a table that is not filled or that belongs to another interface. Every other table
//! keeps its routes until the main table has changed, which would send packets back without them.
//!
//! Source: rules K1, K2, K9, K15, K16 and K20. Only objects that bear our mark are replaced or
//! removed. Cost: one ordered pass per table, O(n log n) in the objects that differ.

mod context;
mod fdb;
mod filters;
mod foreign;
mod guard;
mod interfaces;
mod join;
mod labels;
mod links;
mod local;
mod mptcp;
mod options;
mod routing;
mod steps;
mod sysctls;
mod table_routes;
mod unreachable;

pub(super) use self::routing::narrow;

pub use self::options::ReconcileOptions;

use self::context::Context;
use self::interfaces::Interfaces;
use self::steps::Steps;
use crate::{Observed, Reconciliation, Saved, Wanted};

/// Computes the operations that change the kernel from the state `observed` to the state `wanted`.
/// `saved` has the original values, which are restored where nothing is wanted any more. To
/// withdraw everything, call `reconcile(&Wanted::default(), observed, saved)`.
#[must_use]
pub fn reconcile(wanted: &Wanted, observed: &Observed, saved: &Saved) -> Reconciliation {
    reconcile_with(wanted, observed, saved, &ReconcileOptions::default())
}

/// Like [`reconcile`], but as the options say.
#[must_use]
pub fn reconcile_with(
    wanted: &Wanted,
    observed: &Observed,
    saved: &Saved,
    options: &ReconcileOptions,
) -> Reconciliation {
    let mut steps = Steps::default();
    let interfaces = Interfaces::new(wanted, observed, options, &mut steps);
    let context = Context { wanted, observed, saved, interfaces };
    guard::guard(&context, &mut steps);
    links::links(&context, &mut steps);
    filters::filters(&context, &mut steps);
    sysctls::sysctls(&context, &mut steps);
    let locals = local::addresses(&context, &mut steps);
    local::neighbours(&context, &mut steps);
    fdb::fdb(&context, &mut steps);
    labels::labels(&context, &mut steps);
    let taken = table_routes::taken(observed);
    table_routes::table_routes(&context, &taken, &mut steps);
    mptcp::mptcp(&context, &taken, &mut steps);
    routing::routing(&context, &locals, options, &mut steps);
    unreachable::unreachable(&context, &mut steps);
    steps.finish()
}
