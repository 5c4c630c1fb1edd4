//! The findings of the checks of `tresse doctor`.

use serde::Serialize;

/// How serious a finding of `tresse doctor` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Checked, and as it should be.
    Fine,
    /// Works now, but not in every case or not for long.
    Warning,
    /// Something does not work.
    Fault,
}

/// One result of a check of `tresse doctor`: that all is well, or what is wrong, with cause, effect
/// and fix.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// How bad it is.
    pub verdict: Verdict,
    /// The object: an interface, a node, a module.
    pub object: String,
    /// What was found.
    pub cause: String,
    /// What that causes.
    pub effect: String,
    /// What helps.
    pub fix: String,
}

/// A check of `tresse doctor`, by its name. Its methods make the findings of this check.
pub(crate) struct Check(pub &'static str);

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

    /// The findings, or one that says that all is fine.
    pub fn or_fine(&self, findings: Vec<Finding>, cause: &str) -> Vec<Finding> {
        if findings.is_empty() { vec![self.fine(cause)] } else { findings }
    }
}
