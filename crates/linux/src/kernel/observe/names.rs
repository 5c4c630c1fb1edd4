//! Interface names by ifindex: all tables but that of links refer to interfaces by ifindex.

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
