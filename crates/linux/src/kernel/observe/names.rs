//! Maps each ifindex to the name of its interface, because the kernel's addresses, routes and
//! neighbours contain the ifindex only.

use std::collections::HashMap;

use super::super::channel::DumpError;

/// Interface names by ifindex.
pub(super) struct Names(pub HashMap<u32, String>);

impl Names {
    /// The name of an interface. An unknown ifindex belongs to an interface that came after the
    /// dump of links.
    pub fn name(&self, index: u32) -> Result<&str, DumpError> {
        self.0.get(&index).map(String::as_str).ok_or(DumpError::Interrupted)
    }
}
