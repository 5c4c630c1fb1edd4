//! Compares the wanted with the observed policy rules that keep packets of the fabric inside it. They are added before
//! anything makes the kernel forward, and removed after all else: while rules change, each NIC keeps one that drops.

use super::context::Context;
use super::steps::{Phase, Steps};
use crate::{Operation, Why};

/// Adds the operations on the guard's rules.
pub(super) fn guard(context: &Context<'_>, steps: &mut Steps) {
    let (wanted, observed) = (&context.wanted.guard, &context.observed.guard);
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
