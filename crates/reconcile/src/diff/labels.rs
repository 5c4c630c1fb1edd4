//! Compares the wanted with the observed MPLS label routes of the `kernel` forwarding engine, and
//! adds the operations that make them equal.
//!
//! The kernel accepts a label route on an interface without carrier and only marks it `linkdown`
//! (K1). So a label route is neither removed nor delayed for lack of carrier. It waits only while
//! its interface is absent, is down, or is one that the comparison refuses to use, such as a NIC
//! with another MAC address than in the plan, a VLAN interface that is not ours, or a member of a
//! bridge or bond.

use super::context::Context;
use super::foreign::is_our_label;
use super::join::join;
use super::steps::{Phase, Steps};
use crate::{Object, Operation, Refusal, Why};

/// Adds the operations on label routes.
pub(super) fn labels(context: &Context<'_>, steps: &mut Steps) {
    let Context { wanted, observed, interfaces, .. } = context;
    if !observed.mpls && !wanted.labels.is_empty() {
        steps.refused.push(Refusal::NoLabels { labels: wanted.labels.len() });
        return;
    }
    for (&label, want, have) in join(wanted.labels.iter(), observed.labels.iter()) {
        let want = want.filter(|nexthop| !interfaces.is_fused(&nexthop.interface));
        let ours = have.and_then(is_our_label);
        match (want, have, ours) {
            (Some(_), Some(have), None) => {
                steps.refused.push(Refusal::ForeignLabel { label, protocol: have.protocol });
            }
            (Some(want), _, Some(nexthop)) if *want == nexthop => {}
            (Some(want), _, ours) => {
                if let Some(reason) = interfaces.hold(&want.interface) {
                    steps.wait(Object::Label(label, Some(want.clone())), reason);
                    // The old route must not stay in use meanwhile.
                    if let Some(nexthop) = ours {
                        let operation = Operation::DeleteLabel { label, nexthop };
                        steps.push(Phase::DropLabels, operation, Why::Leftover);
                    }
                    continue;
                }
                let replace = ours.is_some();
                let why =
                    ours.map_or(Why::Missing, |nexthop| Why::Changed { from: nexthop.to_string() });
                let operation = Operation::AddLabel { label, nexthop: want.clone(), replace };
                steps.push(Phase::Labels, operation, why);
            }
            (None, _, Some(nexthop)) => {
                let operation = Operation::DeleteLabel { label, nexthop };
                steps.push(Phase::DropLabels, operation, Why::Leftover);
            }
            (None, _, None) => {}
        }
    }
}
