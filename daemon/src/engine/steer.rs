//! What operators keep paths away from: drained switches, nodes and links, and pairs that are pinned to one
//! path. Such paths go on being watched, and are used where there is no other.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_control::{Alert, NodeError};
use tresse_fabric::reconcile::{Leg, METRIC_BACKUP, METRIC_PRIMARY};
use tresse_fabric::units::Prefix;
use tresse_fabric::watch::Watch;
use tresse_fabric::watch::part::Part;

use super::gate::Gate;
use super::transaction::{Job, Purpose};
use super::{CallId, Effect, Engine, Intent, Prepared, Reply, tell};

/// What was asked to be kept free. Outlives restarts and plans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// Switches, nodes, links, ports and NICs by name.
    pub drained: BTreeSet<String>,
    /// By peer, the only path to use.
    pub pinned: BTreeMap<String, Pinned>,
}

/// The path of a pinned pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// Its rank.
    pub rank: u32,
    /// Its first hops: in another plan the rank may be another path.
    pub ways: BTreeSet<Leg>,
}

/// One change of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steer {
    /// Keep paths off this.
    Drain(String),
    /// No longer.
    Undrain(String),
    /// Use this path alone.
    Pin {
        /// To this node.
        to: String,
        /// The path's rank.
        rank: u32,
    },
    /// All paths to this node again.
    Unpin(String),
}

/// First hops of the paths of one plan that are kept free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptFree {
    /// All of them.
    pub rested: BTreeSet<Leg>,
    /// Those that cross what is drained.
    pub drained: BTreeSet<Leg>,
}

/// A change of the steering under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steered {
    /// Who waits.
    pub(super) call: CallId,
    /// What it is.
    pub(super) steer: Steer,
    /// What it does.
    pub(super) reply: tresse_control::Steered,
    /// What is returned to where it fails.
    pub(super) before: Steering,
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
            Self::Drain(_) => ("drained", "paths keep off it"),
            Self::Undrain(_) => ("undrained", "paths cross it again"),
            Self::Pin { .. } => ("pinned", "one path is used"),
            Self::Unpin(_) => ("unpinned", "all paths are used again"),
        }
    }
}

impl Steering {
    /// The same after a change.
    fn after(&self, steer: &Steer, prepared: &Prepared) -> Result<Self, NodeError> {
        let mut after = self.clone();
        match steer {
            Steer::Drain(object) => {
                let part = prepared.index.parts.named(object);
                let part = part.map_err(|error| refused(object, error.to_string()))?;
                if part.node() == Some(&prepared.node) {
                    let message = "is this node: drain it on the others, which send through it";
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
                    return Err(refused(object, "is not drained here: see `tresse status`".into()));
                }
            }
            Steer::Pin { to, rank } => {
                let pinned = pin(prepared, to, *rank)?;
                after.pinned.insert(to.clone(), pinned);
            }
            Steer::Unpin(to) => {
                if after.pinned.remove(to).is_none() {
                    return Err(refused(to, "is not pinned here: see `tresse status`".into()));
                }
            }
        }
        Ok(after)
    }

    /// First hops of the paths of a plan that are kept free.
    fn kept_free(&self, prepared: &Prepared) -> KeptFree {
        let drained = self.drained(prepared);
        let mut rested = drained.clone();
        for (peer, pinned) in &self.pinned {
            let paths: Vec<&Watch> =
                prepared.watches.paths.iter().filter(|watch| watch.peer == *peer).collect();
            if paths.iter().any(|watch| pinned.is(watch)) {
                let others = paths.iter().filter(|watch| !pinned.is(watch));
                rested.extend(others.flat_map(|watch| watch.ways()));
            }
        }
        KeptFree { rested, drained }
    }

    /// Those of them that cross what is drained.
    fn drained(&self, prepared: &Prepared) -> BTreeSet<Leg> {
        if self.drained.is_empty() {
            return BTreeSet::new();
        }
        let parts =
            self.drained.iter().filter_map(|object| prepared.index.parts.named(object).ok());
        let parts: Vec<Part> = parts.collect();
        let crosses = |watch: &&Watch| parts.iter().any(|part| part.is_crossed_by(watch));
        prepared.watches.paths.iter().filter(crosses).flat_map(Watch::ways).collect()
    }
}

impl Pinned {
    fn is(&self, watch: &Watch) -> bool {
        self.rank == watch.rank && watch.ways().collect::<BTreeSet<Leg>>() == self.ways
    }
}

impl Prepared {
    /// Do the nodes of its fabric route, so that a path is what all of them choose?
    fn routes_for_others(&self) -> bool {
        self.watches.paths.iter().any(|watch| watch.nodes.is_some())
    }
}

impl Engine {
    /// Takes a change, or says why not.
    pub(super) fn steer(
        &mut self,
        call: CallId,
        steer: &Steer,
        force: bool,
        dry_run: bool,
        out: &mut Vec<Effect>,
    ) {
        let Some(current) = self.stored.current.clone() else {
            return out.push(Effect::Reply(call, Err(NodeError::NoPlan)));
        };
        if self.stored.intent == Some(Intent::Withdraw) {
            let busy = NodeError::Busy { doing: "withdrawing".into() };
            return out.push(Effect::Reply(call, Err(busy)));
        }
        let after = match self.stored.steering.after(steer, &current) {
            Ok(after) => after,
            Err(error) => return out.push(Effect::Reply(call, Err(error))),
        };
        let reply = self.outcome(&current, &after);
        if dry_run {
            return out.push(Effect::Reply(call, Ok(Reply::Steered(reply))));
        }
        if !force && !reply.cut.is_empty() {
            let object = steer.object().to_owned();
            let error = NodeError::WouldCut { object, destinations: reply.cut };
            return out.push(Effect::Reply(call, Err(error)));
        }
        self.dirty |= after != self.stored.steering;
        let before = std::mem::replace(&mut self.stored.steering, after);
        self.resteer();
        let steered = Steered { call, steer: steer.clone(), reply, before };
        self.observe(Job::new(Purpose::Steer(Box::new(steered)), Some(current)), out);
    }

    /// Finds again which paths of the plan in force are kept free.
    pub(super) fn resteer(&mut self) {
        let current = self.stored.current.as_ref();
        let free = current.map(|current| self.stored.steering.kept_free(current));
        self.free = Arc::new(free.unwrap_or_default());
    }

    /// First hops of the paths of a plan that are kept free.
    pub(super) fn kept_free(&self, plan: &Arc<Prepared>) -> Arc<KeptFree> {
        match &self.stored.current {
            Some(current) if Arc::ptr_eq(current, plan) => self.free.clone(),
            _ => Arc::new(self.stored.steering.kept_free(plan)),
        }
    }

    /// Drops pins of paths that the plan in force does not have.
    pub(super) fn drop_pins(&mut self, out: &mut Vec<Effect>) {
        let Some(current) = &self.stored.current else { return };
        self.stored.steering.pinned.retain(|peer, pinned| {
            let kept = current.watches.paths.iter().any(|w| w.peer == *peer && pinned.is(w));
            if !kept {
                let message = "the plan has another path of that rank: not pinned any more";
                tell(out, Alert::Warning, "unpinned", peer, message);
            }
            kept
        });
    }

    /// Is what begins with this hop kept free?
    pub(super) fn is_rested(&self, leg: &Leg) -> bool {
        self.free.rested.contains(&leg.alone())
    }

    /// Why what begins with this hop is not used: `broken`, `drained`, or `standby` beside a path that its
    /// pair is pinned to.
    #[must_use]
    pub fn unused(&self, leg: &Leg) -> Option<&'static str> {
        match () {
            () if self.is_broken(leg) => Some("broken"),
            () if !self.is_rested(leg) => None,
            () if self.free.drained.contains(&leg.alone()) => Some("drained"),
            () => Some("standby"),
        }
    }

    /// Pairs that are pinned, in words.
    pub(super) fn pinned(&self) -> Vec<String> {
        let pinned = self.stored.steering.pinned.iter();
        pinned.map(|(peer, pinned)| format!("{peer} rank {}", pinned.rank)).collect()
    }

    /// What another steering does to the destinations, as far as ways are known to carry.
    fn outcome(&self, current: &Prepared, after: &Steering) -> tresse_control::Steered {
        let (before, rested) = (&self.free.rested, after.kept_free(current).rested);
        let gates = self.gates(current);
        let carries = |leg: &Leg| {
            let vid = current.interfaces.get(&leg.interface).map(|interface| interface.vid);
            let open = vid.and_then(|vid| gates.get(&vid)).is_none_or(|g| *g == Gate::Open);
            open && !self.is_broken(leg) && self.usable(&leg.interface)
        };
        let routes = &current.wanted.routes;
        let nodes: BTreeSet<IpAddr> =
            current.watches.paths.iter().map(|watch| watch.destination).collect();
        let backups = routes.keys().any(|(_, metric)| *metric == METRIC_BACKUP);
        let mut steered = tresse_control::Steered::default();
        for ((destination, _), primary) in routes.iter().filter(|((_, m), _)| *m == METRIC_PRIMARY)
        {
            let backup = routes.get(&(*destination, METRIC_BACKUP));
            let others = current.alternatives.get(destination);
            // A NIC's address has one way: it names the NIC.
            let named = match current.routes_for_others() {
                true => backups && backup.is_none(),
                false => !nodes.contains(&destination.address),
            };
            if named {
                continue;
            }
            let legs = primary.legs.iter().chain(backup.iter().flat_map(|route| &route.legs));
            let ways: BTreeSet<Leg> =
                legs.chain(others.into_iter().flatten()).map(Leg::alone).collect();
            let ways: BTreeSet<&Leg> = ways.iter().filter(|leg| carries(leg)).collect();
            let count =
                |rested: &BTreeSet<Leg>| ways.iter().filter(|w| !rested.contains(**w)).count();
            let list = match (count(before), count(&rested)) {
                (1.., 0) => &mut steered.cut,
                (2.., 1) => &mut steered.single,
                _ => continue,
            };
            list.push(name(*destination));
        }
        let changes = |rested: &BTreeSet<Leg>| {
            let key = |(d, m): &(Prefix, u32)| (*m == METRIC_PRIMARY).then(|| name(*d));
            let touched =
                routes.iter().filter(|(_, r)| r.legs.iter().any(|l| rested.contains(&l.alone())));
            touched.filter_map(|(at, _)| key(at)).collect::<BTreeSet<String>>()
        };
        steered.moved = changes(before).symmetric_difference(&changes(&rested)).cloned().collect();
        steered
    }
}

fn name(destination: Prefix) -> String {
    destination.address.to_string()
}

/// The path of that rank.
fn pin(prepared: &Prepared, to: &str, rank: u32) -> Result<Pinned, NodeError> {
    if prepared.routes_for_others() {
        let message = "nodes of this fabric route for each other: no node chooses a path alone";
        return Err(refused(to, message.into()));
    }
    let paths = || prepared.watches.paths.iter().filter(|watch| watch.peer == to);
    match paths().find(|watch| watch.rank == rank) {
        Some(watch) => Ok(Pinned { rank, ways: watch.ways().collect() }),
        None if paths().next().is_none() => {
            let message = "this node has no path to such a node: see `tresse paths FILE --from`";
            Err(refused(to, message.into()))
        }
        None => {
            let ranks: Vec<String> = paths().map(|watch| watch.rank.to_string()).collect();
            Err(refused(
                to,
                format!("has no path of rank {rank} from here, but {}", ranks.join(", ")),
            ))
        }
    }
}

fn refused(object: &str, message: String) -> NodeError {
    NodeError::Refused { object: object.into(), message }
}
