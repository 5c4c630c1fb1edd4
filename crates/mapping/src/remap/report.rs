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
    /// In words, the ports and switches that are left out.
    pub left_out: &'a [String],
    /// What kept the first node from answering, if no node answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
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
        // A rollout without any node is none.
        if self.silence.is_none() {
            let except = if away.is_empty() { String::new() } else { format!(" --except {away}") };
            steps.push(format!("tresse rollout {new} --lock {lock}{except}"));
        }
        self.steps = steps;
        self
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.changes.iter().try_for_each(|change| writeln!(f, "{change}"))?;
        self.unknown.iter().try_for_each(|words| writeln!(f, "unknown: {words}"))?;
        self.left_out.iter().try_for_each(|words| writeln!(f, "left out: {words}"))?;
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
        self.steps.iter().try_for_each(|step| writeln!(f, "    {step}"))?;
        match &self.silence {
            Some(why) => {
                writeln!(f, "no node answers, so there is none to roll out to; look first at {why}")
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_to_no_node_is_no_step() {
        let report = |silence: Option<&str>| {
            let (changes, unknown, left_out) = (&[][..], &[][..], &[][..]);
            let (cluster, lock) = (Some("a.toml.new".into()), Some("tresse.lock.new".into()));
            let (comparison, steps, silence) = (None, Vec::new(), silence.map(str::to_owned));
            let all = Report {
                format: 1,
                changes,
                unknown,
                left_out,
                comparison,
                cluster,
                lock,
                steps,
                silence,
            };
            all.with_steps(Path::new("a.toml"), "n[0-3]").to_string()
        };
        assert!(
            report(None)
                .contains("tresse rollout a.toml.new --lock tresse.lock.new --except n[0-3]")
        );
        let silent = report(Some("n0: no route to host"));
        assert!(!silent.contains("tresse rollout") && silent.contains("tresse check"), "{silent}");
        assert!(silent.ends_with(
            "no node answers, so there is none to roll out to; look first at n0: no route to host\n"
        ));
    }
}
