//! The findings of `tresse check`: violations and notes about a plan.

use std::fmt;

use serde::Serialize;

/// One finding of `tresse check` about an object of a plan: a violation, with which the plan must not be
/// installed, or a note. (The report lists the two apart.) A finding is displayed as its kind, object
/// and message.
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
