//! A NIC of the cluster file together with its interface on the host (the one with its MAC address, else with its
//! name), the place where its cable should end, and the place where it was found to end.

use tresse_topology::cluster::NicEnd;

use super::heard::HostInterface;
use super::place::{By, Place};

/// A NIC of the file, its interface, and where its cable should end and was found to end.
pub(super) struct Seen<'a> {
    pub(super) end: NicEnd,
    pub(super) interface: Option<&'a HostInterface>,
    pub(super) expected: Place,
    pub(super) found: Option<(Place, By)>,
}

impl Seen<'_> {
    /// Whether the cable ends where the file says.
    pub(super) fn fits(&self) -> bool {
        self.found.as_ref().is_some_and(|(found, _)| self.expected.fits(found))
    }
}
