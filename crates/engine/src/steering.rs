//! What operators have drained (switches, nodes, links, ports, NICs), and the peers to which they
//! have pinned this node to one path or shared the traffic out by weights. Paths that carry no
//! traffic because of this are still watched, and are used if there is no other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_control::NodeError;
use tresse_slice::watch::part::NAMES_OF_PARTS;

use super::chosen::{self, ChosenPath, WeightedPath, no_path, refused};
use super::prepared::Prepared;

/// What operators have drained, pinned and weighted on this node: the parts of the fabric that paths
/// keep off, and how the paths to a peer are used. Kept across restarts and changes of plans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// Names of drained switches, nodes, links, ports and NICs.
    pub drained: BTreeSet<String>,
    /// By peer: the only path to use, as long as it works.
    pub pinned: BTreeMap<String, ChosenPath>,
    /// By peer: the weights of all its paths. A peer has either a pin or weights.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, Vec<WeightedPath>>,
}

/// One change of drains, pins or weights: drain or undrain a part of the fabric, pin the path to a
/// node or share its traffic out, or undo that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steer {
    /// Keep paths off this part.
    Drain(String),
    /// Use this part again.
    Undrain(String),
    /// Use only one path to a node.
    Pin {
        /// The node.
        to: String,
        /// The path's rank.
        rank: u32,
    },
    /// Share the traffic to a node among its paths.
    Weight {
        /// The node.
        to: String,
        /// Weights by rank; other ranks keep theirs.
        weights: BTreeMap<u32, u32>,
    },
    /// Use all paths to this node again as planned.
    Unpin(String),
}

impl Steer {
    /// The part or peer concerned.
    pub(super) fn object(&self) -> &str {
        match self {
            Self::Drain(object) | Self::Undrain(object) | Self::Unpin(object) => object,
            Self::Pin { to, .. } | Self::Weight { to, .. } => to,
        }
    }

    /// Kind and message of the event.
    pub(super) const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Drain(_) => ("drained", "paths no longer use it"),
            Self::Undrain(_) => ("undrained", "paths use it again"),
            Self::Pin { .. } => ("pinned", "one path is used"),
            Self::Weight { .. } => ("weighted", "paths share the traffic by the weights given"),
            Self::Unpin(_) => ("unpinned", "all paths are used again"),
        }
    }
}

impl Steering {
    /// The name by which this part is drained: a cable has several (`n0-n1`, `n1-n0`, `n0:eth1`).
    fn drained_as(&self, object: &str, prepared: &Prepared) -> Option<String> {
        if self.drained.contains(object) {
            return Some(object.into());
        }
        let parts = &prepared.index.parts;
        let part = parts.named(object).ok()?;
        let is = |name: &&String| parts.named(name).is_ok_and(|other| other == part);
        self.drained.iter().find(is).cloned()
    }

    /// The drained part that the path of this rank to a peer crosses.
    fn drained_on(&self, prepared: &Prepared, to: &str, rank: u32) -> Option<&String> {
        let entry = prepared.index.to(to).iter().find(|entry| entry.id.rank == rank)?;
        let crosses = |object: &&String| {
            let part = prepared.index.parts.named(object);
            part.is_ok_and(|part| part.is_on_way_to(entry.id.dst, &entry.wires))
        };
        self.drained.iter().find(crosses)
    }

    /// A copy with the change applied. `heals`: whether all nodes know what each keeps free.
    pub(super) fn after(
        &self,
        steer: &Steer,
        prepared: &Prepared,
        heals: bool,
    ) -> Result<Self, NodeError> {
        let mut after = self.clone();
        match steer {
            Steer::Drain(object) => {
                let part = prepared.index.parts.named(object);
                let part = part.map_err(|_| {
                    refused(object, format!("the fabric has no such part: {NAMES_OF_PARTS}"))
                })?;
                if part.node() == Some(prepared.id) {
                    let message = "a node cannot be drained on itself: drain it on the others, which send \
                                   through it";
                    return Err(refused(object, message.into()));
                }
                if part.node().is_some() && prepared.routes_for_others() {
                    let message = "nodes of this fabric route for each other by one rule for all \
                                   destinations: drain the node's cables or its switches";
                    return Err(refused(object, message.into()));
                }
                if after.drained_as(object, prepared).is_some() {
                    return Ok(after);
                }
                let other = after.drained.first();
                if let Some(other) = other.filter(|_| prepared.routes_for_others() && !heals) {
                    let unless = match prepared.index.remaining {
                        Some(_) => "they hear all their neighbours (`tresse status`: BFD sessions)",
                        None => "the plan has `paths = 2` or more",
                    };
                    let message = format!(
                        "{other} is drained already, and nodes that route for each other keep off one part at \
                         a time unless {unless}: undrain it first"
                    );
                    return Err(refused(object, message));
                }
                after.drained.insert(object.clone());
            }
            Steer::Undrain(object) => {
                let Some(name) = after.drained_as(object, prepared) else {
                    let message = "this is not drained here: `tresse status` lists what is";
                    return Err(refused(object, message.into()));
                };
                after.drained.remove(&name);
            }
            Steer::Pin { to, rank } => {
                let pinned = chosen::pin(prepared, to, *rank)?;
                if let Some(part) = self.drained_on(prepared, to, *rank) {
                    let message = format!(
                        "the path of rank {rank} crosses {part}, which is drained: undrain that first, or \
                         pin another rank"
                    );
                    return Err(refused(to, message));
                }
                after.pinned.insert(to.clone(), pinned);
                after.weights.remove(to);
            }
            Steer::Weight { to, weights } => {
                let weights = chosen::weights(prepared, after.weights.get(to), to, weights)?;
                after.weights.insert(to.clone(), weights);
                after.pinned.remove(to);
            }
            Steer::Unpin(to) => {
                let pinned = after.pinned.remove(to).is_some();
                if after.weights.remove(to).is_none() && !pinned {
                    if prepared.index.to(to).is_empty() {
                        return Err(no_path(prepared, to));
                    }
                    let message = "no path to this node is pinned here: `tresse status` lists what is \
                                   pinned or weighted";
                    return Err(refused(to, message.into()));
                }
            }
        }
        Ok(after)
    }
}
