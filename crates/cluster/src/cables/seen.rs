//! One NIC of the file with the interface that it is.

use tresse_topology::cluster::NicEnd;

use super::heard::Interface;
use super::place::{By, Place};

/// A NIC of the file beside the interface that it is.
pub(super) struct Seen<'a> {
    pub(super) end: NicEnd,
    pub(super) interface: Option<&'a Interface>,
    pub(super) expected: Place,
    pub(super) found: Option<(Place, By)>,
}

impl Seen<'_> {
    /// Is it where the file has it?
    pub(super) fn fits(&self) -> bool {
        self.found.as_ref().is_some_and(|(found, _)| self.expected.fits(found))
    }
}
