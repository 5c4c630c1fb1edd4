//! Reads the kernel's label routes (one per incoming MPLS label), and the ingress filters that
//! decide which labelled frames pass.

use std::collections::BTreeMap;

use tresse_base::id::Label;
use tresse_reconcile::{ObservedIngress, ObservedLabel};

use super::super::channel::{DumpError, Tables};
use super::super::filter::{self, Filter, HOOKS, Qdisc, Seen};
use super::super::label::{self, LabelRoute};
use super::names::Names;

/// Reads the label routes. Call it only on a kernel with mpls_router: another one returns the
/// routes of all families.
pub(super) fn labels(
    source: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<Label, ObservedLabel>, DumpError> {
    let mut labels = BTreeMap::new();
    source.dump(libc::RTM_GETROUTE, &label::dump(), |message| {
        if message.kind != libc::RTM_NEWROUTE {
            return Ok(());
        }
        let Some(route) = LabelRoute::parse(message.payload)? else { return Ok(()) };
        let interface = route.ifindex.map(|i| names.name(i)).transpose()?.map(str::to_owned);
        let LabelRoute { label, protocol, via, swap, .. } = route;
        labels.insert(label, ObservedLabel { protocol, interface, via, swap });
        Ok(())
    })?;
    Ok(labels)
}

/// Reads the filters of all interfaces that can have some.
pub(super) fn ingress(
    source: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<String, ObservedIngress>, DumpError> {
    let mut found = Vec::new();
    let result = source.dump(libc::RTM_GETQDISC, &filter::qdiscs(0), |message| {
        let qdisc = Qdisc::parse(message.payload)?;
        found.extend(Some(qdisc.ifindex).filter(|_| qdisc.takes_filters()));
        Ok(())
    });
    match result {
        // The kernel has no traffic control.
        Err(DumpError::Kernel(source, _)) if source.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
        result => result?,
    }
    let mut ingress = BTreeMap::new();
    for ifindex in found {
        let mut filters = ObservedIngress::default();
        for parent in HOOKS {
            source.dump(libc::RTM_GETTFILTER, &filter::hook(ifindex, parent), |message| {
                match Filter::parse(message.payload)? {
                    Seen::Ours(Filter { handle, source: Some(mac) }) => {
                        filters.passed.insert(handle, mac);
                    }
                    Seen::Ours(Filter { handle, source: None }) => {
                        filters.dropped.insert(handle);
                    }
                    Seen::Foreign(taken) => {
                        filters.foreign = true;
                        filters.taken = filters.taken.or(taken);
                    }
                    Seen::Head => {}
                }
                Ok(())
            })?;
        }
        ingress.insert(names.name(ifindex)?.to_owned(), filters);
    }
    Ok(ingress)
}
