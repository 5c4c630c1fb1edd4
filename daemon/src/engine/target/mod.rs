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
mod tun;
mod usable;

use std::collections::BTreeMap;

use tresse_control::PendingLine;
use tresse_fabric::reconcile::{Observed, PUSH_INTERFACE, Wanted, label_sysctls, no_label_sysctls};

use super::bridge::Heard;
use super::gate::Gated;
use super::prepared::Prepared;
use super::source::{Pushing, SourceEngine};
use super::transit::LabelEngine;

pub(super) use self::able::also_observed;

/// What handles labels on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// What forwards labelled frames for others.
    pub labels: LabelEngine,
    /// What pushes labels onto what this node sends.
    pub sources: SourceEngine,
}

/// The plans that a target is made from.
#[derive(Debug, Clone, Copy)]
pub struct Plans<'a> {
    /// The plan to install.
    pub new: Gated<'a>,
    /// The plan before, while its routes serve where those of the new one have to wait.
    pub old: Option<Gated<'a>>,
    /// If given, a route that changes waits until its peer is among these.
    pub heard: Option<&'a Heard>,
}

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

/// The same, whatever the kernel is able to hold.
fn all(prepared: &Prepared, engines: Engines) -> Wanted {
    let mut wanted = prepared.wanted.clone();
    wanted.sysctls.extend(engine_sysctls(prepared, engines));
    if engines.labels == LabelEngine::Kernel {
        wanted.labels = prepared.labels.iter().cloned().collect();
        wanted.label_sources.clone_from(&prepared.label_sources);
    }
    if engines.sources == SourceEngine::Tun
        && let Some((link, _)) = tun::interface(prepared)
    {
        wanted.links.insert(PUSH_INTERFACE.into(), link);
    }
    wanted
}

/// The sysctls that a plan needs beside its own, as labels are handled here.
pub(super) fn engine_sysctls(prepared: &Prepared, engines: Engines) -> BTreeMap<String, String> {
    let arrivals = prepared.label_sources.keys();
    let mut sysctls = match engines.labels {
        LabelEngine::Kernel => {
            label_sysctls(prepared.labels.iter().map(|(label, _)| *label).max(), arrivals)
        }
        LabelEngine::Packet => no_label_sysctls(arrivals),
    };
    if engines.sources == SourceEngine::Tun
        && let Some((_, own)) = tun::interface(prepared)
    {
        sysctls.extend(own);
    }
    sysctls
}
