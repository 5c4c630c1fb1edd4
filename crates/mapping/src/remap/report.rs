//! What `tresse remap` prints.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tresse_plan::Comparison;

use super::change::{Change, ChangeKind, Part};

/// The comparison of file and wires, with where the drafts are and what is to be done with them.
#[derive(Debug, Clone, Serialize)]
pub struct Report<'a> {
    /// Format of this object.
    pub format: u32,
    /// What came, went or moved.
    pub changes: &'a [Change],
    /// In words, what could not be seen.
    pub unknown: &'a [String],
    /// The plan of the draft beside that of the file; null if nothing changed, or no plan is possible.
    pub comparison: Option<Comparison>,
    /// The draft of the file; null if none was written.
    pub cluster: Option<PathBuf>,
    /// The draft of the lock; null if none was written.
    pub lock: Option<PathBuf>,
    /// The commands to run next.
    pub steps: Vec<String>,
}

impl Report<'_> {
    /// Adds the commands to run once the drafts were read: they check the draft, write what the switches need beside what
    /// they have of the plan of `file`, and roll out. Nodes that did not answer (`away`, a hostlist) are left out.
    #[must_use]
    pub fn with_steps(mut self, file: &Path, away: &str) -> Self {
        let (Some(new), Some(lock)) = (&self.cluster, &self.lock) else { return self };
        let (new, lock, file) = (new.display(), lock.display(), file.display());
        let mut steps = vec![format!("tresse check {new} --lock {lock}")];
        if self.changes.iter().any(|c| c.part != Part::Nic || c.kind != ChangeKind::Gone) {
            steps.push(format!("tresse export {new} FORMAT --lock {lock} --keep {file} -o DIR"));
        }
        let except = if away.is_empty() { String::new() } else { format!(" --except {away}") };
        steps.push(format!("tresse rollout {new} --lock {lock}{except}"));
        self.steps = steps;
        self
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.changes.iter().try_for_each(|change| writeln!(f, "{change}"))?;
        self.unknown.iter().try_for_each(|words| writeln!(f, "unknown: {words}"))?;
        if self.changes.is_empty() {
            writeln!(f, "nothing that was seen differs from the file")?;
        }
        if let Some(c) = &self.comparison {
            writeln!(
                f,
                "{} of {} common pairs touched, {} pairs added, {} removed",
                c.touched_pairs, c.common_pairs, c.added_pairs, c.removed_pairs
            )?;
        }
        if let (Some(cluster), Some(lock)) = (&self.cluster, &self.lock) {
            writeln!(f, "drafts: {}, {}; read them, then:", cluster.display(), lock.display())?;
        }
        self.steps.iter().try_for_each(|step| writeln!(f, "    {step}"))
    }
}
