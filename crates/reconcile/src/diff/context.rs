//! The input that all comparisons share: the wanted and the observed kernel state, the saved
//! original values, and what can be installed on each interface.

use super::interfaces::Interfaces;
use crate::{Observed, Saved, Wanted};

/// Both sides of a comparison, and what can be installed on each interface.
pub(super) struct Context<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) observed: &'a Observed,
    pub(super) saved: &'a Saved,
    pub(super) interfaces: Interfaces<'a>,
}

/// Our interfaces that are not wanted.
pub(super) fn leftover<'a>(context: &Context<'a>) -> impl Iterator<Item = &'a String> {
    let Context { wanted, observed, .. } = *context;
    let links = observed.links.iter();
    links.filter(|(name, link)| link.is_ours() && !wanted.links.contains_key(*name)).map(|(n, _)| n)
}
