//! What all nodes say of paths, NICs and each other, in one list.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_control::{PathLine, StateLine, Status};
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

use super::{Report, Said};

/// A planned path that its source says is broken, or others by its word.
#[derive(Debug)]
pub(crate) struct BrokenPath {
    pub src: NodeId,
    pub dst: NodeId,
    /// There and back.
    pub crosses: Vec<Crossing>,
    pub dated: Dated,
    /// Who says so, if it is not the source itself.
    pub by: Option<String>,
}

/// Since when something is so, and how often it turned today.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dated {
    /// Milliseconds since the Unix epoch; none: longer than anybody knows.
    pub since: Option<u64>,
    pub count: u32,
}

impl Dated {
    fn of(line: &StateLine) -> Self {
        Self { since: line.since, count: line.today }
    }

    /// The earlier of both times, and the larger number.
    pub fn and(self, other: Self) -> Self {
        let since = [self.since, other.since].into_iter().flatten().min();
        Self { since, count: self.count.max(other.count) }
    }
}

/// Is a NIC of this node down?
pub(crate) fn has_dark_nic(status: &Status) -> bool {
    status.states.iter().any(|line| line.kind == "link" && !line.up)
}

/// Are sessions of this node not up though nothing that it knows of keeps them from it? Then it is unknown which of its
/// paths work.
pub(crate) fn is_unwatched(status: &Status) -> bool {
    let known = !status.broken.is_empty() || !status.fused.is_empty() || has_dark_nic(status);
    status.sessions_up < status.sessions && !known && !status.changing
}

/// All that is known.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub broken: Vec<BrokenPath>,
    /// What working paths cross.
    pub sound: BTreeSet<Crossing>,
    /// Nodes to which a path works.
    pub reached: BTreeSet<NodeId>,
    /// NICs that are down, by what leaves them: since when, and why.
    pub dark: BTreeMap<Crossing, (Dated, String)>,
    /// Nodes that did not answer.
    pub silent: BTreeSet<NodeId>,
    /// Pairs that no path joins, and pairs that one more failure may cut off.
    pub cut: BTreeSet<(NodeId, NodeId)>,
    pub unprotected: BTreeSet<(NodeId, NodeId)>,
}

impl Evidence {
    pub fn of(plan: &Plan, reports: &[Report]) -> Self {
        let cluster = plan.cluster();
        let mut all = Self::default();
        for report in reports {
            let Some(src) = cluster.node_named(&report.node) else { continue };
            let Some(Said { status, paths, .. }) = &report.said else {
                all.silent.insert(src);
                continue;
            };
            // What it says of paths is of another plan.
            if status.generation.as_deref() != Some(plan.generation()) {
                continue;
            }
            all.links(plan, src, status);
            all.pairs(plan, src, status);
            for lines in paths.chunk_by(|a, b| a.dst == b.dst) {
                all.paths(plan, src, status, lines);
            }
        }
        all
    }

    /// Enters what a node says of its paths to one other.
    fn paths(&mut self, plan: &Plan, src: NodeId, status: &Status, lines: &[PathLine]) {
        let cluster = plan.cluster();
        let Some(dst) = lines.first().and_then(|line| cluster.node_named(&line.dst)) else {
            return;
        };
        let is_broken = lines.iter().any(|line| line.state == "broken");
        let paths = plan.paths(src, dst);
        let back = if is_broken { plan.paths(dst, src) } else { Vec::new() };
        for line in lines {
            let Some(path) = paths.iter().find(|path| path.id.rank == line.rank) else { continue };
            let mut crosses = plan.path_crossings(path);
            match line.state.as_str() {
                "broken" => {
                    let name = format!("{} rank {} ", line.dst, line.rank);
                    let of = |state: &&StateLine| {
                        state.kind == "path" && state.object.starts_with(&name)
                    };
                    let dated = status.states.iter().find(of).map(Dated::of).unwrap_or_default();
                    // Its session needs the way back too.
                    let back = back.iter().find(|path| path.id.rank == line.rank);
                    crosses.extend(back.into_iter().flat_map(|path| plan.path_crossings(path)));
                    self.broken.push(BrokenPath { src, dst, crosses, dated, by: None });
                }
                // Without sessions that are up nobody knows whether it works.
                "active" | "standby" if status.sessions_up > 0 && !is_unwatched(status) => {
                    if !status.cut.contains(&line.dst) {
                        self.reached.insert(dst);
                    }
                    // Where nodes route each watches its own hops alone: a longer path may be broken further on.
                    if path.segments.len() == 1 || plan.layout().is_none() {
                        self.sound.extend(crosses);
                    }
                }
                _ => {}
            }
        }
    }

    fn links(&mut self, plan: &Plan, src: NodeId, status: &Status) {
        let nics = &plan.cluster().node(src).nics;
        for line in status.states.iter().filter(|line| line.kind == "link" && !line.up) {
            // An interface may have another name than the file's: then nothing is known of its cable.
            if let Some(nic) = nics.iter().position(|nic| nic.name == line.object) {
                self.dark.insert(Crossing::Out(src, nic), (Dated::of(line), line.why.clone()));
            }
        }
    }

    fn pairs(&mut self, plan: &Plan, src: NodeId, status: &Status) {
        let pairs = |names: &[String]| -> Vec<(NodeId, NodeId)> {
            let nodes = names.iter().filter_map(|name| plan.cluster().node_named(name));
            nodes.map(|dst| (src, dst)).collect()
        };
        self.cut.extend(pairs(&status.cut));
        self.unprotected.extend(pairs(&status.unprotected_nodes));
        self.unprotected.extend(pairs(&status.backup_nodes));
    }
}
