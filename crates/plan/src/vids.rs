//! The VIDs of a plan: one per VLAN tree and, where P-Mesh switches hold several lines of nodes (the nodes that differ
//! in one coordinate only), one per line.

use tresse_base::id::Vid;
use tresse_topology::Layout;
use tresse_topology::vlan::TreeSpec;

use crate::lock::{self, Lock, VidsExhausted};
use crate::trees::Trees;

/// The VID of every VLAN tree. Where P-Mesh switches hold several lines of nodes, also the VID of every line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vids {
    /// By tree.
    pub(crate) trees: Vec<Vid>,
    /// By line, where switches hold several.
    pub(crate) lines: Vec<Vid>,
}

impl Vids {
    /// Gives every tree and line a VID. If VIDs that the lock holds for other trees leave too few,
    /// backup trees are removed, the last one first.
    pub(crate) fn allocate(mut trees: Trees, lock: &Lock) -> Result<(Trees, Self), VidsExhausted> {
        loop {
            let named = named_texts(&trees);
            match lock::allocate(&borrowed(&named), &trees.cluster.vlans.free_ranges(), lock) {
                Err(_) if trees.drop_last_backup() => {}
                vids => {
                    let mut of_trees = vids?;
                    let lines = of_trees.split_off(trees.specs.len());
                    return Ok((trees, Self { trees: of_trees, lines }));
                }
            }
        }
    }

    /// The VIDs in the order of [`named_texts`].
    pub(crate) fn all(&self) -> Vec<Vid> {
        self.trees.iter().chain(&self.lines).copied().collect()
    }
}

/// Everything that has a VID, trees then lines: its name and the text that the lock keeps for it.
pub(crate) fn named_texts(trees: &Trees) -> Vec<(String, String)> {
    let text = |spec: &TreeSpec| lock::tree::text(&trees.cluster, &spec.links);
    let of_trees = trees.specs.iter().map(|spec| (spec.name.clone(), text(spec)));
    let lines = line_names(trees).into_iter().map(|name| (name.clone(), name));
    of_trees.chain(lines).collect()
}

/// The same pairs as string slices.
pub(crate) fn borrowed(named: &[(String, String)]) -> Vec<(&str, &str)> {
    named.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

/// The names of all lines that need a VID.
fn line_names(trees: &Trees) -> Vec<String> {
    let layout = Layout::of(&trees.cluster.kind).filter(Layout::shares_switches);
    let names = |layout: Layout| (0..layout.lines()).map(|l| layout.line_name(l)).collect();
    layout.map(names).unwrap_or_default()
}
