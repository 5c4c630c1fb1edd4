//! Evaluates an observation of the kernel: computes the target (what this node should hold now),
//! compares it with the observation, and finds what forbids the transaction and what is drift, that
//! is, changed by somebody else.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Prefix;
use tresse_control::{Alert, NodeError, OperationLine};
use tresse_reconcile::{
    METRIC_PRIMARY, Operation, ReconcileOptions, Reconciliation, Refusal, Wanted, reconcile_with,
};

use super::gate::Gated;
use super::job::{Job, Purpose};
use super::schedule::Cause;
use super::target::{Plans, Target, target, whole};
use super::transition::Senders;
use super::{Effect, Engine, REPAIR_MS, Unsaved, View, exchanged, guard, line, publish};

impl Engine {
    /// The state that this node should have after a transaction; empty if it has no plan.
    pub(super) fn target(&self, job: &Job, view: &View) -> Target {
        let Some(plan) = &job.target else { return Target::default() };
        let gates = self.gates(plan);
        let own = matches!(job.purpose, Purpose::Apply { .. });
        let replaces = own && self.stored.current.as_ref().is_some_and(|c| c != plan);
        let old = match (replaces, self.stored.in_transition) {
            (true, _) => self.stored.current.as_ref(),
            (false, true) => self.stored.previous.as_ref(),
            (false, false) => None,
        };
        let old = old.filter(|_| self.settings.canary);
        let old_gates = old.map(|o| self.gates(o)).unwrap_or_default();
        let nobody = Senders::new();
        let heard = match (replaces, self.stored.moved) {
            (true, _) => Some(&nobody),
            (false, true) => None,
            (false, false) => Some(self.transition.heard()),
        };
        let out: BTreeSet<&str> = without_carrier(view).collect();
        let free = self.kept_free(plan);
        let old_free = old.map(|o| self.kept_free(o)).unwrap_or_default();
        let dead = self.dead(plan);
        let old_dead = old.map(|o| self.dead(o)).unwrap_or_default();
        let doubtful = self.doubtful(plan);
        let old_doubtful = old.map(|o| self.doubtful(o)).unwrap_or_default();
        let (healed, old_healed) =
            (self.healed(plan, &out), old.map(|o| self.healed(o, &out)).unwrap_or_default());
        let gated = |prepared, gates, (dead, doubtful), free, healed| Gated {
            prepared,
            gates,
            dead,
            doubtful,
            free,
            healed,
            out: &out,
        };
        let plans = Plans {
            new: gated(plan, &gates, (&dead, &doubtful), &free, &healed),
            old: old.map(|old| {
                gated(old, &old_gates, (&old_dead, &old_doubtful), &old_free, &old_healed)
            }),
            heard,
            by_new_gateways: self.transition.by_new_gateways,
        };
        target(&plans, &self.settings, view)
    }

    /// The difference between the kernel and a target.
    pub(super) fn compare(&self, job: &Job, target: &Target, view: &View) -> Reconciliation {
        let forced = match job.purpose {
            Purpose::Apply { .. } => &job.options.force_interfaces,
            _ => &self.stored.force_interfaces,
        };
        let merge_groups = self.is_as_planned(target, view);
        let options = ReconcileOptions { force_interfaces: forced.clone(), merge_groups };
        reconcile_with(&target.wanted, &view.observed, &self.stored.saved, &options)
    }

    /// Does all traffic go as the plan in force says? Then no route has to move in a hurry.
    fn is_as_planned(&self, target: &Target, view: &View) -> bool {
        let steered = !self.free.rested.is_empty() || self.stored.in_transition;
        let failing = !self.paths.broken.is_empty() || !self.healing.healed.routes.is_empty();
        let nics = &target.wanted.nics;
        !failing && !steered && !without_carrier(view).any(|name| nics.contains_key(name))
    }

    /// The reason why a transaction must not begin, if there is one.
    pub(super) fn stops(
        &self,
        job: &Job,
        comparison: &Reconciliation,
        view: &View,
    ) -> Option<NodeError> {
        // Objects that the plan wants after its VLANs are proven are checked now, not later.
        let whole = job.target.as_ref().filter(|_| job.undoes()).map(|target| {
            let force_interfaces = job.options.force_interfaces.clone();
            let options = ReconcileOptions { force_interfaces, ..ReconcileOptions::default() };
            let whole = whole(target, &self.settings, view);
            reconcile_with(&whole, &view.observed, &self.stored.saved, &options)
        });
        let guarded = match &job.purpose {
            Purpose::Apply { .. } => {
                let of_routes = |r: &&Refusal| {
                    matches!(r, Refusal::Overlap { .. } | Refusal::ForeignRoute { .. })
                };
                let later = whole.iter().flat_map(|w| &w.refused).find(of_routes);
                if let Some(refusal) = comparison.refused.first().or(later) {
                    return Some(NodeError::Refused {
                        object: job.target.as_ref().map(|t| t.node.clone()).unwrap_or_default(),
                        message: refusal.to_string(),
                    });
                }
                if let (Some(current), Some(new)) = (&self.stored.current, &job.target)
                    && let Err(error) = exchanged::refuse(current, new)
                {
                    return Some(error);
                }
                !job.options.force
            }
            Purpose::Withdraw { .. } => !job.options.force,
            Purpose::Rollback { .. } | Purpose::Converge | Purpose::Steer(_) => !self.stored.force,
            Purpose::Diff { .. } | Purpose::Note { .. } => false,
        };
        if !guarded {
            return None;
        }
        let is_route = |o: &&Operation| matches!(o, Operation::AddRoute { .. });
        let later = whole.iter().flat_map(|w| &w.operations).map(|p| &p.operation);
        let operations = comparison.operations.iter().map(|p| &p.operation);
        let operations = operations.chain(later.filter(is_route));
        guard::permits(operations, &view.guarded, &self.others(job, &view.management)).err()
    }

    /// Management peers whose routes a transaction must not change. Peers that the plan in force
    /// reaches by its own routes were accepted when it was applied: those routes change with its
    /// paths.
    pub(super) fn others(
        &self,
        job: &Job,
        management: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let keeps = matches!(job.purpose, Purpose::Converge | Purpose::Steer(_));
        let current = self.stored.current.as_ref().filter(|_| keeps);
        let ours = |peer: &str| {
            let Ok(address) = peer.parse().map(Prefix::host) else { return false };
            current.is_some_and(|c| c.wanted.routes.contains_key(&(address, METRIC_PRIMARY)))
        };
        let others = management.iter().filter(|(peer, _)| !ours(peer));
        others.map(|(peer, way)| (peer.clone(), way.clone())).collect()
    }

    /// Until when the repair of drift must wait, if the rate limit delays it. A change of carrier
    /// is not drift.
    pub(super) fn delays_repair(
        &mut self,
        job: &Job,
        comparison: &Reconciliation,
        view: &View,
        out: &mut Vec<Effect>,
    ) -> Option<u64> {
        let before = self.view.as_ref().filter(|_| self.in_sync)?;
        if comparison.operations.is_empty() || job.cause > Cause::Kernel {
            return None;
        }
        let states = |v: &View| -> Vec<(String, bool)> {
            let up = v.observed.links.iter().filter(|(_, l)| l.up && l.carrier);
            up.map(|(name, l)| (name.clone(), l.carrier)).collect()
        };
        if states(before) != states(view) {
            return None;
        }
        let first = &comparison.operations[0];
        let message = match comparison.operations.len() - 1 {
            0 => first.operation.describe(),
            more => format!("{} and {more} more", first.operation.describe()),
        };
        match self.repairs.take(self.now) {
            Ok(()) => {
                self.count("repairs_total");
                publish(
                    out,
                    Alert::Warning,
                    "drift",
                    &first.operation.object().to_string(),
                    &message,
                );
                None
            }
            Err(at) => {
                self.drift = comparison.operations.iter().map(line).collect();
                Some(at.min(self.now + REPAIR_MS))
            }
        }
    }

    pub(super) fn report(&mut self, comparison: &Reconciliation, job: &Job) {
        self.pending.clone_from(&job.pending);
        self.drift = comparison.refused.iter().chain(&comparison.drift).map(refusal_line).collect();
        self.in_sync = comparison.operations.is_empty() && comparison.refused.is_empty();
    }

    pub(super) fn settle(&mut self, job: &Job, view: &View) {
        let wanted = match &job.target {
            Some(target) if !self.stored.in_transition => whole(target, &self.settings, view),
            Some(_) => return,
            None => Wanted::default(),
        };
        let settled = self.stored.saved.clone().settled(&wanted, &view.observed);
        self.unsaved.add(Unsaved::journal_if(settled != self.stored.saved));
        self.stored.saved = settled;
    }
}

/// The interfaces that are set up and have no carrier.
fn without_carrier(view: &View) -> impl Iterator<Item = &str> {
    let links = view.observed.links.iter();
    links.filter(|(_, link)| link.up && !link.carrier).map(|(name, _)| name.as_str())
}

fn refusal_line(refusal: &Refusal) -> OperationLine {
    OperationLine {
        op: "refused".into(),
        kind: "foreign".into(),
        object: refusal.interface().unwrap_or_default().into(),
        why: refusal.to_string(),
    }
}
