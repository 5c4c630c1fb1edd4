//! Feeds arbitrary bytes to what reads the answers of nodes and of programs, for fuzzing.

use std::sync::OnceLock;

use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use crate::baseline::Baseline;
use crate::finding::Finding;
use crate::measure::Measured;
use crate::talk::{Answer, Job};
use crate::targets::Targets;
use crate::tools;

/// Lets the bytes be what a program printed, a job, a file of an earlier run, or, line by line, what nodes answered, and judges
/// that. The first byte selects.
///
/// # Panics
/// If the code under test panics, or a verdict names no more than there is.
pub fn probe(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match first % 4 {
        0 => tools::read_any(rest),
        1 => drop(serde_json::from_slice::<Job>(rest)),
        2 => drop(Baseline::read(&text, "ring-4")),
        _ => {
            static PLAN: OnceLock<(Plan, Targets)> = OnceLock::new();
            let (plan, targets) = PLAN.get_or_init(|| {
                let kind = TopologyShape::Ring { nodes: 4 };
                let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2));
                let plan = plan.expect("a ring of four has a plan");
                let targets = Targets::of(&plan, |_| true);
                (plan, targets)
            });
            let mut measured = Measured::default();
            for line in text.lines() {
                if let Ok(answer) = serde_json::from_str::<Answer>(line) {
                    measured.hear(answer);
                }
            }
            for target in targets.all() {
                let finding = Finding::of(plan, target, &measured, None, 0.8);
                assert!(finding.lost <= finding.sent);
            }
        }
    }
}
