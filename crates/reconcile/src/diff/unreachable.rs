//! Compares the wanted with the observed unreachable routes. They are less specific than all routes of
//! the plan, and come last among those to the same prefix, so they take no packet from any of them.

use super::context::Context;
use super::join::join;
use super::steps::{Phase, Steps};
use crate::{METRIC_UNREACHABLE, Operation, PROTOCOL, Refusal, Why};

/// Adds the operations on unreachable routes.
pub(super) fn unreachable(context: &Context<'_>, steps: &mut Steps) {
    let wanted = context.wanted.unreachable.iter().map(|dst| (dst, ()));
    for (&dst, want, have) in join(wanted, context.observed.unreachable.iter()) {
        match (want, have) {
            (Some(()), None) => {
                steps.push(Phase::Unreachable, Operation::AddUnreachable { dst }, Why::Missing);
            }
            (Some(()), Some(&protocol)) if protocol != PROTOCOL => {
                let metric = METRIC_UNREACHABLE;
                steps.refused.push(Refusal::ForeignRoute { dst, metric, protocol });
            }
            (None, Some(&PROTOCOL)) => {
                let operation = Operation::DeleteUnreachable { dst };
                steps.push(Phase::DropUnreachable, operation, Why::Leftover);
            }
            _ => {}
        }
    }
}
