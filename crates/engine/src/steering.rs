//! What operators have drained (switches, nodes, links, ports, NICs), and the peers to which they
//! have pinned this node to one path. Paths that carry no traffic because of this are still
//! watched, and are used if there is no other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::id::PathId;
use tresse_control::NodeError;
use tresse_reconcile::Nexthop;
use tresse_slice::watch::Watch;
use tresse_slice::watch::part::{FabricPart, NAMES_OF_PARTS};

use super::prepared::Prepared;

/// What operators have drained and pinned on this node: the parts of the fabric that paths keep
/// off, and the only path to use to a peer. Kept across restarts and changes of plans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// Names of drained switches, nodes, links, ports and NICs.
    pub drained: BTreeSet<String>,
    /// By peer: the only path to use.
    pub pinned: BTreeMap<String, Pinned>,
}

/// The only path that this node uses to a peer, as long as the path works, because an operator
/// pinned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// Its path rank.
    pub rank: u32,
    /// The first hops of the path, with weight 1: in another plan the rank may be another path.
    #[serde(rename = "ways")]
    pub first_hops: BTreeSet<Nexthop>,
}

/// One change of drains or pins: drain or undrain a part of the fabric, pin or unpin the path to a
/// node.
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
    /// Use all paths to this node again.
    Unpin(String),
}

/// The paths of one plan that carry no traffic, as long as there are others, because an operator
/// drained a part of the fabric that they cross or pinned their pair to another path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptFree {
    /// All of them: drained paths, and paths beside a pin.
    pub rested: BTreeSet<PathId>,
    /// Those that cross a drained part.
    pub drained: BTreeSet<PathId>,
}

impl Steer {
    /// The part or peer concerned.
    pub(super) fn object(&self) -> &str {
        match self {
            Self::Drain(object) | Self::Undrain(object) | Self::Unpin(object) => object,
            Self::Pin { to, .. } => to,
        }
    }

    /// Kind and message of the event.
    pub(super) const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Drain(_) => ("drained", "paths no longer use it"),
            Self::Undrain(_) => ("undrained", "paths use it again"),
            Self::Pin { .. } => ("pinned", "one path is used"),
            Self::Unpin(_) => ("unpinned", "all paths are used again"),
        }
    }
}

impl Steering {
    /// A copy with the change applied.
    pub(super) fn after(&self, steer: &Steer, prepared: &Prepared) -> Result<Self, NodeError> {
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
                let other = after.drained.iter().find(|other| *other != object);
                if let Some(other) = other.filter(|_| prepared.routes_for_others()) {
                    let message = format!(
                        "{other} is drained already, and nodes that route for each other keep off one \
                         part at a time: undrain it first"
                    );
                    return Err(refused(object, message));
                }
                after.drained.insert(object.clone());
            }
            Steer::Undrain(object) => {
                if !after.drained.remove(object) {
                    let message = "this is not drained here: `tresse status` lists what is";
                    return Err(refused(object, message.into()));
                }
            }
            Steer::Pin { to, rank } => {
                let pinned = pin(prepared, to, *rank)?;
                after.pinned.insert(to.clone(), pinned);
            }
            Steer::Unpin(to) => {
                if after.pinned.remove(to).is_none() {
                    if prepared.paths_to(to).next().is_none() {
                        return Err(no_path(prepared, to));
                    }
                    let message =
                        "no path to this node is pinned here: `tresse status` lists what is";
                    return Err(refused(to, message.into()));
                }
            }
        }
        Ok(after)
    }

    /// The paths of a plan that are kept free.
    pub(super) fn kept_free(&self, prepared: &Prepared) -> KeptFree {
        let drained = self.drained(prepared);
        let mut rested = drained.clone();
        for (peer, pinned) in &self.pinned {
            let paths: Vec<&Watch> = prepared.paths_to(peer).collect();
            if paths.iter().any(|watch| pinned.is(watch)) {
                let others = paths.iter().filter(|watch| !pinned.is(watch));
                rested.extend(others.map(|watch| watch.id));
            }
        }
        KeptFree { rested, drained }
    }

    /// First nexthops of paths that cross a drained part.
    fn drained(&self, prepared: &Prepared) -> BTreeSet<PathId> {
        if self.drained.is_empty() {
            return BTreeSet::new();
        }
        let parts =
            self.drained.iter().filter_map(|object| prepared.index.parts.named(object).ok());
        let parts: Vec<FabricPart> = parts.collect();
        let crosses = |watch: &&Watch| parts.iter().any(|part| part.is_crossed_by(watch));
        prepared.watches.paths().iter().filter(crosses).map(|watch| watch.id).collect()
    }
}

impl Pinned {
    pub(super) fn is(&self, watch: &Watch) -> bool {
        self.rank == watch.id.rank && self.first_hops == first_hops(watch)
    }
}

impl Prepared {
    /// Is it a node-routed fabric, where a path is the choice of all nodes on it?
    pub(super) fn routes_for_others(&self) -> bool {
        self.watches.paths().iter().any(|watch| watch.nodes.is_some())
    }

    /// The watched paths to the node called `peer`.
    fn paths_to<'a>(&'a self, peer: &'a str) -> impl Iterator<Item = &'a Watch> {
        self.watches.paths().iter().filter(move |watch| watch.peer == peer)
    }
}

fn first_hops(watch: &Watch) -> BTreeSet<Nexthop> {
    watch.nexthops.iter().cloned().collect()
}

/// The path with this rank.
fn pin(prepared: &Prepared, to: &str, rank: u32) -> Result<Pinned, NodeError> {
    let paths = || prepared.paths_to(to);
    if paths().next().is_none() {
        return Err(no_path(prepared, to));
    }
    if prepared.routes_for_others() {
        let message = "nodes of this fabric route for each other, so that no node chooses a whole path: \
                       drain a part instead";
        return Err(refused(to, message.into()));
    }
    match paths().find(|watch| watch.id.rank == rank) {
        Some(watch) => Ok(Pinned { rank, first_hops: first_hops(watch) }),
        None => {
            let ranks: Vec<String> = paths().map(|watch| watch.id.rank.to_string()).collect();
            let ranks = ranks.join(", ");
            let message =
                format!("no path from here to this node has rank {rank}: the ranks are {ranks}");
            Err(refused(to, message))
        }
    }
}

/// Why there is no path to `to`: it is no node, it is this one, or the plan has none.
fn no_path(prepared: &Prepared, to: &str) -> NodeError {
    let node = prepared.index.parts.named(to).ok().and_then(|part| part.node());
    let message = match node {
        None => "the fabric has no such node: `tresse plan FILE` lists all nodes".into(),
        Some(node) if node == prepared.id => "a node has no path to itself: name another".into(),
        Some(_) => {
            let from = &prepared.node;
            format!(
                "{from} has no path to this node: `tresse paths FILE --from {from}` lists its paths"
            )
        }
    };
    refused(to, message)
}

fn refused(object: &str, message: String) -> NodeError {
    NodeError::Refused { object: object.into(), message }
}
