//! What a check found.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Looked at, and as it should be.
    Fine,
    /// Works, and may not for long or for everything.
    Warning,
    /// Something does not work.
    Fault,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Which check.
    pub check: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// The object: an interface, a node, a module.
    pub object: String,
    /// What was found.
    pub cause: String,
    /// What that does.
    pub effect: String,
    /// What helps.
    pub fix: String,
}

/// Begins a finding of one check.
pub struct Check(pub &'static str);

impl Check {
    pub fn fine(&self, cause: impl Into<String>) -> Finding {
        self.says(Verdict::Fine, "", cause, "", "")
    }

    pub fn warns(
        &self,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        self.says(Verdict::Warning, object, cause, effect, fix)
    }

    pub fn fails(
        &self,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        self.says(Verdict::Fault, object, cause, effect, fix)
    }

    fn says(
        &self,
        verdict: Verdict,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        Finding {
            check: self.0,
            verdict,
            object: object.into(),
            cause: cause.into(),
            effect: effect.into(),
            fix: fix.into(),
        }
    }

    /// The findings, or that there are none.
    pub fn or_fine(&self, findings: Vec<Finding>, cause: &str) -> Vec<Finding> {
        if findings.is_empty() { vec![self.fine(cause)] } else { findings }
    }
}
