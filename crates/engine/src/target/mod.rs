//! Computes the target, that is, the kernel objects and the table of labels that this node should
//! hold now, as one pure function ([`target`]) of
//!
//! - the plan in force, and the old one while plans change,
//! - how far their VLANs and paths may be used ([`Gated`]),
//! - the settings of this node: what forwards and what pushes labels here, whether paths are watched, and which
//!   networks behind this node may be forwarded to,
//! - what the kernel holds, and which interfaces carry management traffic ([`View`]).
//!
//! ```text
//! plan -- all --> usable --> through the TUN interface --> able --> join --> followed --> folded --> Target
//!      (engines)  (gates)     (label sources)             (kernel)  (forwarding) (networks) (prefixes)
//! ```
//!
//! The stages of this computation: all objects of the plan; those that may be used now; labelled
//! paths routed to the TUN interface, where the daemon pushes the labels; what the kernel supports; what this node
//! forwards for pairs whose planned paths are all broken; routes to what is behind nodes, as those to these are; and routes to nodes that are alike as one to their prefix.
//! `reconcile` compares the result with the observed state; nothing changes a target afterwards.

mod able;
mod complete;
mod isolate;
mod join;
mod plans;
mod tun;
mod usable;

use tresse_control::PendingLine;
use tresse_reconcile::{GuardRule, Wanted};

pub(super) use self::able::also_observed;
use self::complete::all;
pub(super) use self::complete::engine_sysctls;
pub(super) use self::join::join_sysctls;
pub use self::plans::Plans;
use super::engines::SourceEngine;
use super::prepared::Prepared;
use super::pushing::Pushing;
use super::{Settings, View};

/// What a node should hold now: kernel objects, the table of labels that its daemon pushes onto own
/// packets, and the objects of the plan that must wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The kernel objects.
    pub wanted: Wanted,
    /// What the source engine pushes onto packets from the TUN interface.
    pub pushing: Pushing,
    /// Objects of the plan that must wait, each with the reason.
    pub pending: Vec<PendingLine>,
}

/// Computes what this node should hold now: its kernel objects, the table of labels that its daemon
/// pushes, and the objects of the plan that must wait.
#[must_use]
pub fn target(plans: &Plans<'_>, settings: &Settings, view: &View) -> Target {
    let (observed, guarded) = (&view.observed, &view.guarded);
    let engines = settings.engines;
    let (mut wanted, mut pending) = usable::usable(plans, engines);
    let mut pushing = match engines.sources {
        SourceEngine::Kernel => Pushing::default(),
        SourceEngine::Tun => tun::through(&mut wanted, plans, observed, &mut pending),
    };
    let mut wanted = able::able(wanted, observed, guarded);
    for plan in [Some(plans.new), plans.old].into_iter().flatten() {
        join::join(&mut wanted, plan.prepared, settings, observed);
    }
    wanted.guard = GuardRule::united(wanted.guard);
    let in_use = || [Some(plans.new), plans.old].into_iter().flatten().map(|plan| plan.prepared);
    join::exempt_uplinks(&mut wanted, observed);
    let behind = GuardRule::behind(&wanted.guard, &settings.forward_to);
    wanted.guard.extend(behind);
    isolate::isolate(&mut wanted, in_use(), settings, view);
    pushing.networks = wanted.led();
    let wanted = wanted.followed().folded(in_use().flat_map(|plan| plan.wanted.hosts()));
    Target { wanted, pushing, pending }
}

/// Returns the kernel objects of a plan as if all its VLANs and paths could be used now. Routes
/// with labels leave by their own interfaces, even if the daemon would push the labels through its
/// TUN interface.
#[must_use]
pub fn whole(prepared: &Prepared, settings: &Settings, view: &View) -> Wanted {
    let (observed, guarded) = (&view.observed, &view.guarded);
    let mut wanted = able::able(all(prepared, settings.engines), observed, guarded);
    join::join(&mut wanted, prepared, settings, observed);
    join::exempt_uplinks(&mut wanted, observed);
    isolate::isolate(&mut wanted, [prepared].into_iter(), settings, view);
    wanted.followed().folded([])
}
