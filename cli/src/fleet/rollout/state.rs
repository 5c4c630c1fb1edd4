//! The state of a rollout (installing one plan on all nodes), and of each node in it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::Serialize;

use super::progress::Progress;
use crate::fleet::nodes::Fleet;

/// The state of one node in a rollout: its plan before and now, and what went wrong. It is also the
/// line that is printed for this node.
#[derive(Debug, Default, Serialize)]
pub struct NodeState {
    pub node: String,
    /// The generation of its plan before the rollout.
    pub before: Option<String>,
    /// The generation of its plan now, as far as it is known.
    pub after: Option<String>,
    /// Number of kernel operations; in a dry run those to be done.
    pub operations: usize,
    /// What went wrong on this node.
    pub error: Option<String>,
    /// What keeps a part of the plan from working although the node has it.
    pub remarks: Vec<String>,
    /// Is it unknown which plan it has now?
    pub unknown: bool,
    /// VLANs that were fused before the rollout.
    #[serde(skip)]
    pub fused: BTreeSet<u16>,
}

/// A rollout (installing one plan on all nodes) under way: the connections to the nodes, the digest
/// of the new plan, and the state of each node.
pub struct Run {
    pub fleet: Fleet,
    pub generation: String,
    pub lines: BTreeMap<String, NodeState>,
    /// By node: the NICs that the new plan uses.
    pub nics: BTreeMap<String, Vec<String>>,
    /// Whether nodes are left out, which go on sending by the plan before.
    pub partial: bool,
    /// What was shown of the nodes.
    pub progress: Progress,
    /// How long each step took.
    pub seconds: Seconds,
}

/// How long each step of a rollout took, in seconds; no value for steps that were not taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Seconds {
    pub look: Option<f64>,
    pub validate: Option<f64>,
    pub apply: Option<f64>,
    pub settle: Option<f64>,
    pub confirm: Option<f64>,
    pub verify: Option<f64>,
}

impl Run {
    /// Takes a step and notes how long that took.
    pub fn timed<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> T,
        seconds: impl FnOnce(&mut Seconds) -> &mut Option<f64>,
    ) -> T {
        let began = Instant::now();
        let answer = step(self);
        *seconds(&mut self.seconds) = Some(began.elapsed().as_secs_f64());
        answer
    }
}
