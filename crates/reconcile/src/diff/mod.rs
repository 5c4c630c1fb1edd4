//! Set algebra from wanted and observed to operations, in an order that loses no frame.
//!
//! Additions in the order in which the kernel needs them, then removals the other way round:
//!
//! ```text
//! sysctls > links > filters > up > addresses > neighbours > labels > nexthops > groups > routes
//! filters < sysctls < links < down < addresses < neighbours < labels < nexthops < groups < routes <
//! ```
//!
//! Rules and their tables change between labels and nexthops: MPTCP endpoints and rules that go, routes
//! that come, routes that go, rules that come. So no rule leads to a table that is another interface's or
//! not filled. Endpoints come after the routes.
//!
//! Source: rules K1, K2, K9, K15, K16 and K20. Only objects that bear our mark are replaced or
//! removed. Cost: one ordered pass per table, O(n log n) in the objects that differ.

mod filters;
mod foreign;
mod interfaces;
mod labels;
mod local;
mod mptcp;
mod routing;
mod sysctls;
mod turns;

pub(super) use self::routing::narrow;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use self::interfaces::Interfaces;
use super::{
    Object, Observed, Operation, Pending, Planned, Reason, Reconciliation, Refusal, Saved, Wanted,
    Why,
};

/// What an operator may allow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Interfaces that are used although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
}

/// The operations that lead from `observed` to `wanted`. Withdraw is
/// `reconcile(&Wanted::default(), observed, saved)`.
#[must_use]
pub fn reconcile(wanted: &Wanted, observed: &Observed, saved: &Saved) -> Reconciliation {
    reconcile_with(wanted, observed, saved, &Options::default())
}

/// [`reconcile`], with what the operator allows.
#[must_use]
pub fn reconcile_with(
    wanted: &Wanted,
    observed: &Observed,
    saved: &Saved,
    options: &Options,
) -> Reconciliation {
    let mut steps = Steps::default();
    let interfaces = Interfaces::new(wanted, observed, options, &mut steps);
    let context = Context { wanted, observed, saved, interfaces };
    interfaces::links(&context, &mut steps);
    filters::filters(&context, &mut steps);
    sysctls::sysctls(&context, &mut steps);
    let locals = local::addresses(&context, &mut steps);
    local::neighbours(&context, &mut steps);
    labels::labels(&context, &mut steps);
    let taken = turns::taken(observed);
    turns::turns(&context, &taken, &mut steps);
    mptcp::mptcp(&context, &taken, &mut steps);
    routing::routing(&context, &locals, &mut steps);
    steps.finish()
}

struct Context<'a> {
    wanted: &'a Wanted,
    observed: &'a Observed,
    saved: &'a Saved,
    interfaces: Interfaces<'a>,
}

/// The place of an operation in the whole.
#[derive(Clone, Copy)]
enum Phase {
    InterfaceSysctls,
    GlobalSysctls,
    Links,
    Filters,
    LabelInputs,
    Up,
    Addresses,
    Neighbours,
    Labels,
    DropEndpoints,
    DropRules,
    Turns,
    DropTurns,
    Rules,
    Nexthops,
    NewGroups,
    ReplacedGroups,
    BackupRoutes,
    PrimaryRoutes,
    Endpoints,
    DropPrimaryRoutes,
    DropBackupRoutes,
    DropGroups,
    DropNexthops,
    DropLabels,
    DropNeighbours,
    DropAddresses,
    Down,
    DropLinks,
    RestoreGlobalSysctls,
    RestoreInterfaceSysctls,
    DropFilters,
}

const PHASES: usize = Phase::DropFilters as usize + 1;

#[derive(Default)]
struct Steps {
    phases: [Vec<Planned>; PHASES],
    pending: Vec<Pending>,
    refused: Vec<Refusal>,
    drift: Vec<Refusal>,
}

impl Steps {
    fn push(&mut self, phase: Phase, operation: Operation, why: Why) {
        self.phases[phase as usize].push(Planned { operation, why });
    }

    fn wait(&mut self, object: Object, why: Reason) {
        self.pending.push(Pending { object, why });
    }

    fn finish(self) -> Reconciliation {
        let Self { phases, pending, refused, drift } = self;
        let mut operations = Vec::with_capacity(phases.iter().map(Vec::len).sum());
        phases.into_iter().for_each(|phase| operations.extend(phase));
        Reconciliation { operations, pending, refused, drift }
    }
}

/// Merges two iterators that are sorted by the same key.
fn join<'a, K: Ord + 'a, A, B>(
    a: impl Iterator<Item = (&'a K, A)>,
    b: impl Iterator<Item = (&'a K, B)>,
) -> impl Iterator<Item = (&'a K, Option<A>, Option<B>)> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((x, _)), Some((y, _))) => x.cmp(y),
        };
        match order {
            Ordering::Less => a.next().map(|(key, x)| (key, Some(x), None)),
            Ordering::Greater => b.next().map(|(key, y)| (key, None, Some(y))),
            Ordering::Equal => a.next().zip(b.next()).map(|((k, x), (_, y))| (k, Some(x), Some(y))),
        }
    })
}
