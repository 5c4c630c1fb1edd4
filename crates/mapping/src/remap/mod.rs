//! Compares a cluster file with the wires, and drafts the file as the wires are (in-transit-buffers, section 2: the
//! adapters discover the configuration and check it for changes).
//!
//! A part came if it is seen and the file lacks it. It is gone only if something that should see it does not; what
//! nothing looks at is unknown, and stays in the draft as the file has it:
//!
//! | part | gone if |
//! |---|---|
//! | switch | neither it nor those cabled to it that are not heard either are: the LLDP table of each switch around them has nothing or another switch at the port to them, and of the nodes on them none hears anything there |
//! | cable between switches | one end is joined to another port, or no end that can hear the other one does |
//! | NIC | it is elsewhere; or its node answers, and it has no carrier though its switch is seen; or its switch is gone; or its node does not answer, and the forwarding table, which has other entries, has none or another station at its port |
//! | node | all its NICs are gone, and it does not answer or its switch is gone |

mod cables;
mod change;
mod draft;
mod look;
mod nodes;
mod pairs;
mod report;
mod sight;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use tresse_plan::{Comparison, Plan};
use tresse_topology::cluster::TopologyShape;

use self::change::Delta;
pub use self::change::{Change, ChangeKind, Part};
use self::look::Look;
pub use self::report::Report;
pub use self::sight::{RemapError, Sight};
use crate::draft::Discovered;
use crate::wires::Wires;

/// The result of a comparison of file and wires.
#[derive(Debug, Clone)]
pub struct Remap {
    /// What came, went or moved: switches, cables, nodes, NICs, each in the order of the file.
    pub changes: Vec<Change>,
    /// In words, what could not be seen.
    pub unknown: Vec<String>,
    deltas: Vec<Delta>,
}

impl Remap {
    /// Compares. O((switches + cables + NICs) x cables seen).
    ///
    /// # Errors
    /// [`RemapError::Kind`], [`RemapError::Kept`].
    pub fn of(sight: Sight<'_>) -> Result<Self, RemapError> {
        let cluster = sight.cluster;
        match &cluster.kind {
            TopologyShape::Fnn { uplink: Some(_), .. } => {
                return Err(RemapError::Kind { kind: "fnn with uplink" });
            }
            kind if kind.is_routed() => return Err(RemapError::Kind { kind: "whose nodes route" }),
            _ => {}
        }
        let is_of_file = |name: &&String| {
            cluster.switch_named(name).is_some() || cluster.node_named(name).is_some()
        };
        if let Some(name) = sight.keep.iter().find(|name| !is_of_file(name)) {
            return Err(RemapError::Kept { name: name.clone() });
        }
        let found = Discovered::of(sight.hosts, sight.wires);
        let mut look = Look::new(sight, &found);
        let mut deltas = cables::compare(&mut look);
        deltas.extend(nodes::compare(&mut look));
        let mut unknown = look.unknown;
        unknown.extend(sight.wires.unseen.iter().cloned());
        unknown.sort();
        unknown.dedup();
        let changes = deltas.iter().map(|delta| delta.change(cluster)).collect();
        Ok(Self { changes, unknown, deltas })
    }

    /// The text of the cluster file as the wires are: of kind `explicit`, with all that `text`, the old file, says
    /// beside its switches, nodes and cables.
    ///
    /// # Errors
    /// [`RemapError::Form`].
    pub fn draft(&self, sight: Sight<'_>, text: &str) -> Result<String, RemapError> {
        draft::write(&self.deltas, sight, text)
    }

    /// What is printed of it: `drafts` are the paths of the drafts of file and lock, `silence` what kept the first node from
    /// answering, if none did.
    #[must_use]
    pub fn report<'a>(
        &'a self,
        format: u32,
        wires: &'a Wires,
        comparison: Option<Comparison>,
        drafts: [Option<PathBuf>; 2],
        silence: Option<String>,
    ) -> Report<'a> {
        let (changes, unknown, left_out) = (&*self.changes, &*self.unknown, &*wires.left_out);
        let ([cluster, lock], steps) = (drafts, Vec::new());
        Report { format, changes, unknown, left_out, comparison, cluster, lock, steps, silence }
    }

    /// Counts for each change the pairs of nodes of which a path crosses the part: of the old plan for what went, of the
    /// new one for what came, of either for what moved. O(paths).
    pub fn count(&mut self, old: &Plan, new: &Plan) {
        let pairs = pairs::touched(&self.deltas, old, new);
        for (change, pairs) in self.changes.iter_mut().zip(pairs) {
            change.pairs = Some(pairs);
        }
    }
}
