//! What a change of plans waits for, in words: for `status`, `monitor` and the answer of a rollout.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;
use tresse_control::{Alert, PendingLine, WaitLine};

use super::advance::{unheard, unproven};
use super::transition::{REPORT_MS, is_among};
use super::{Effect, Engine, Prepared, publish};

impl Engine {
    /// Publishes an event for other nodes that this node has waited for for a while.
    pub(super) fn report_waits(&mut self, now: u64, out: &mut Vec<Effect>) {
        let since = self.transition.since(now);
        if since < REPORT_MS {
            self.transition.report_at = Some(now + REPORT_MS - since);
            return;
        }
        let waits = self.waits(now);
        let others: Vec<&WaitLine> = waits.iter().filter(|wait| wait.node.is_some()).collect();
        self.transition.report_at = None;
        let waited: Vec<_> = others.iter().map(|w| (w.node.clone(), w.what.clone())).collect();
        if waited != self.transition.reported {
            for wait in &others {
                let node = wait.node.as_deref().unwrap_or_default();
                publish(out, Alert::Info, "waiting", node, &wait.to_string());
            }
            self.transition.reported = waited;
        }
    }

    /// What delays the removal of the old plan after this node has moved.
    pub(super) fn held(&self) -> Option<PendingLine> {
        let old = self.stored.previous.as_ref().filter(|_| self.stored.moved)?;
        let holders = self.sides(old)?.holders(&self.transition);
        let names: BTreeSet<String> = holders.iter().map(|mac| name_of(old, *mac)).collect();
        let first = names.first()?;
        let more = match names.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(PendingLine {
            kind: "plan".into(),
            object: old.generation.clone(),
            why: format!("kept until {first}{more} sends by the new plan"),
        })
    }

    /// What the change of plans waits for: other nodes by name, or this node's own next step.
    pub(super) fn waits(&self, now: u64) -> Vec<WaitLine> {
        let (Some(old), Some(current)) = (self.held_plan(), &self.stored.current) else {
            return Vec::new();
        };
        let since_ms = self.transition.since(now);
        let own = |what: String| {
            vec![WaitLine { node: None, what, since_ms, left_ms: None, unheard: None }]
        };
        let gates = self.gates(current);
        let vids: BTreeSet<u16> =
            unproven(current, &gates, |name| self.usable(name)).map(|vid| vid.0).collect();
        if !vids.is_empty() {
            let vids: Vec<String> = vids.iter().map(u16::to_string).collect();
            return own(format!("tests VLANs {} for loops", vids.join(" ")));
        }
        let mut nodes: BTreeMap<String, Waiting> = BTreeMap::new();
        let mut add = |plan: &Prepared, mac: Mac, interface, cut_off| {
            let left = self.transition.patience(mac, cut_off);
            let waiting = nodes.entry(name_of(plan, mac)).or_default();
            waiting.interfaces.extend(interface);
            waiting.heard |= !cut_off;
            waiting.left_ms = waiting.left_ms.max(left.map(|until| until.saturating_sub(now)));
        };
        let Some(sides) = self.sides(&old) else { return Vec::new() };
        let cut_off = &self.transition.cut_off;
        if self.stored.moved {
            let heard = sides.reachable(cut_off, |name| self.usable(name));
            for mac in sides.holders(&self.transition) {
                add(&old, mac, None, !heard.contains(&mac));
            }
        } else {
            let (peers, heard) = (&sides.new_peers, &self.transition.heard);
            for (interface, mac) in unheard(peers, &gates, heard, |name| self.usable(name)) {
                add(current, mac, Some(interface), is_among(cut_off, interface, mac));
            }
        }
        if nodes.is_empty() {
            return own(match self.transition.all_at {
                Some(_) => "lets frames of the plan before arrive".into(),
                None => "changes the routes to the new plan".into(),
            });
        }
        let line = |(node, waiting): (String, Waiting<'_>)| {
            let interfaces: Vec<&str> = waiting.interfaces.into_iter().collect();
            let what = match (&interfaces[..], waiting.heard) {
                ([], true) => "sends by the plan before".into(),
                ([], false) => "is not heard: the paths to it are broken".into(),
                (_, true) => format!("was not heard on {}", interfaces.join(" ")),
                (_, false) => {
                    format!("was not heard on {}: the paths there are broken", interfaces.join(" "))
                }
            };
            let unheard = Some(!interfaces.is_empty() && waiting.heard);
            WaitLine { node: Some(node), what, since_ms, left_ms: waiting.left_ms, unheard }
        };
        nodes.into_iter().map(line).collect()
    }
}

/// A node that a change waits for.
#[derive(Default)]
struct Waiting<'a> {
    /// The interfaces on which it was not heard by the new plan; none once only the old plan is held for it.
    interfaces: BTreeSet<&'a str>,
    /// Is it heard at all, as far as failure detection knows?
    heard: bool,
    left_ms: Option<u64>,
}

/// The name of the node that has a NIC of this MAC address in a plan, else the address.
fn name_of(plan: &Prepared, mac: Mac) -> String {
    plan.index.nic(mac).map_or_else(|| mac.to_string(), |(node, _)| node.into())
}
