//! The findings of `tresse check`.

use std::fmt;

use serde::Serialize;

/// A finding of `check`: a violation if it breaks the plan, else a note. Its text: kind, object,
/// message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Kind of the finding: `deadlock`, `too-many-vlans`, `no-disjoint-backup`, ...
    pub kind: &'static str,
    /// The object it is about.
    pub object: String,
    /// What was found and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind, self.object, self.message)
    }
}
