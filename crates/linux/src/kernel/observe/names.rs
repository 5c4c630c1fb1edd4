//! The names of interfaces, which all tables but that of links name by number.

use std::collections::HashMap;

use super::super::channel::DumpError;

/// Interface names by ifindex.
pub(super) struct Names(pub HashMap<u32, String>);

impl Names {
    /// An index without a name belongs to an interface that came after the dump of links.
    pub fn name(&self, index: u32) -> Result<&str, DumpError> {
        self.0.get(&index).map(String::as_str).ok_or(DumpError::Interrupted)
    }
}
