//! Compares the wanted with the observed policy rules that keep packets of the fabric inside it. They are added before
//! anything makes the kernel forward, and removed after all else: while rules change, each NIC keeps one that drops. The
//! kernel's own rule for the table `local` goes when ours is there, and comes back before ours goes.

use super::context::Context;
use super::steps::{Phase, Steps};
use crate::{GuardRule, Operation, Why};

/// Adds the operations on the guard's rules.
pub(super) fn guard(context: &Context<'_>, steps: &mut Steps) {
    let (wanted, observed) = (&context.wanted.guard, &context.observed.guard);
    let local = &context.observed.local_rules;
    for ipv4 in [true, false] {
        let instead = GuardRule::Local { ipv4 };
        let (is_wanted, is_there) = (wanted.contains(&instead), local.contains(&ipv4));
        if is_wanted && is_there {
            let operation = Operation::DeleteLocalRule { ipv4 };
            steps.push(Phase::Isolate, operation, Why::Leftover);
        } else if !is_wanted
            && !is_there
            && (observed.contains(&instead) || context.saved.local_rules.contains(&ipv4))
            && !context.observed.local_elsewhere.contains(&ipv4)
        {
            steps.push(Phase::Guard, Operation::AddLocalRule { ipv4 }, Why::Restored);
        }
    }
    for rule in wanted.difference(observed) {
        let operation = Operation::AddGuardRule { rule: rule.clone() };
        steps.push(Phase::Guard, operation, Why::Missing);
    }
    let left: Vec<_> = observed.difference(wanted).collect();
    for rule in left.into_iter().rev() {
        let operation = Operation::DeleteGuardRule { rule: rule.clone() };
        steps.push(Phase::DropGuard, operation, Why::Leftover);
    }
}
