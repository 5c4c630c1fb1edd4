//! What a proof finds.

use std::fmt;

use serde::Serialize;

/// Something that `check` found: a violation where it breaks the plan, a note where it does not.
/// As text: kind, object, message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of finding: `deadlock`, `too-many-vlans`, `no-disjoint-backup`, ...
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
