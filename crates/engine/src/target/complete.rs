//! Computes all kernel objects of a plan, including those for MPLS labels, as if all VLANs and
//! paths of the plan could be used.

use std::collections::BTreeMap;

use tresse_reconcile::{PUSH_INTERFACE, Wanted, label_sysctls, no_label_sysctls};

use super::tun;
use crate::engines::{Engines, LabelEngine, SourceEngine};
use crate::prepared::Prepared;

/// The kernel objects of a plan if all its VLANs and paths may be used, whatever the kernel
/// supports.
pub(super) fn all(prepared: &Prepared, engines: Engines) -> Wanted {
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

/// The sysctls that the label engines of this node need besides those of the plan.
pub(crate) fn engine_sysctls(prepared: &Prepared, engines: Engines) -> BTreeMap<String, String> {
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
