//! What this node shall hold now, as one pure function ([`target`]) of
//!
//! - the plan in force, and the one before it while plans change,
//! - how far their VLANs and paths may be used ([`Gated`]),
//! - what forwards and what pushes labels here ([`Engines`]),
//! - what the kernel holds ([`Observed`]).
//!
//! ```text
//! plan -- all --> usable --> through the TUN interface --> able --> Target
//!      (engines)  (gates)     (label sources)             (kernel)
//! ```
//!
//! `reconcile` compares the result with what is observed; nothing changes a target afterwards.

mod able;
mod complete;
mod plans;
mod tun;
mod usable;

use tresse_control::PendingLine;
use tresse_reconcile::{Observed, Wanted};

pub(super) use self::able::also_observed;
use self::complete::all;
pub(super) use self::complete::engine_sysctls;
pub use self::plans::Plans;
use super::engines::{Engines, SourceEngine};
use super::prepared::Prepared;
use super::pushing::Pushing;

/// What a node shall hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The kernel objects.
    pub wanted: Wanted,
    /// What the daemon pushes onto what the TUN interface gives it.
    pub pushing: Pushing,
    /// Objects of the plan that wait, and why.
    pub pending: Vec<PendingLine>,
}

/// What a node shall hold now.
#[must_use]
pub fn target(plans: &Plans<'_>, engines: Engines, observed: &Observed) -> Target {
    let (mut wanted, mut pending) = usable::usable(plans, engines);
    let pushing = match engines.sources {
        SourceEngine::Kernel => Pushing::default(),
        SourceEngine::Tun => tun::through(&mut wanted, plans, observed, &mut pending),
    };
    Target { wanted: able::able(wanted, observed), pushing, pending }
}

/// The kernel objects of a plan once all of its VLANs and paths may be used, labelled paths without the TUN
/// interface in between.
#[must_use]
pub fn whole(prepared: &Prepared, engines: Engines, observed: &Observed) -> Wanted {
    able::able(all(prepared, engines), observed)
}
