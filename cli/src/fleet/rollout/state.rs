//! What is known of a rollout and of each node in it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::fleet::nodes::Fleet;

/// What is known of one node.
#[derive(Debug, Default, Serialize)]
pub struct Line {
    pub node: String,
    /// Its plan before.
    pub before: Option<String>,
    /// Its plan now, as far as it is known.
    pub after: Option<String>,
    /// Kernel operations, done or (as a dry run) to do.
    pub operations: usize,
    /// What went wrong here.
    pub error: Option<String>,
    /// VLANs that were fused before.
    #[serde(skip)]
    pub fused: BTreeSet<u16>,
}

/// A rollout under way.
pub struct Run {
    pub fleet: Fleet,
    pub generation: String,
    pub lines: BTreeMap<String, Line>,
    /// Are nodes left out, which go on sending by the plan before?
    pub partial: bool,
}

/// Node names in short: `n[00-15]`.
pub fn names(nodes: &[&str]) -> String {
    tresse_fabric::cluster::collapse(nodes).join(",")
}
