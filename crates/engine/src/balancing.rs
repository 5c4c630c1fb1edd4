//! Has the traffic of this node sampled where detours are used as they are needed, and moves it as [`Adaptive`] decides.
//!
//! [`Adaptive`]: super::adaptive::Adaptive

use tresse_control::{DetourLine, DetourList, NodeError, ShareLine, UseLine};

use super::adaptive::{Beside, Used};
use super::engines::SourceEngine;
use super::index::PathEntry;
use super::moves::share;
use super::sent::{Sampled, Sent};
use super::{Effect, Engine};

impl Engine {
    /// Has the NICs sampled, if the plan in force asks for it.
    pub(super) fn sample(&mut self, out: &mut Vec<Effect>) {
        let current = self.stored.current.as_ref().filter(|_| self.settings.bfd);
        let mut wanted = Sampled::default();
        if let Some(current) = current.filter(|current| !current.index.rates.is_empty()) {
            wanted.nics.extend(current.wanted.nics.keys().cloned());
            wanted.labelled = self.settings.engines.sources == SourceEngine::Kernel;
            let own = current.wanted.addresses.iter().map(|(_, address)| *address);
            wanted.sources.extend(own);
        }
        if self.sampled != wanted {
            self.sampled.clone_from(&wanted);
            out.push(Effect::Sample(wanted));
        }
    }

    /// Records what this node has sent, says so to all others, and moves traffic.
    pub(super) fn sent(&mut self, sent: &Sent) {
        let Some(current) = self.stored.current.clone() else { return };
        if current.index.rates.is_empty() || sent.elapsed_ms == 0 {
            return;
        }
        let reports = self.healing.reports.values();
        let reports = reports.filter(|report| report.generation == current.digest());
        let others = reports.map(|report| &report.loads[..]).collect();
        let mut adaptive = std::mem::take(&mut self.adaptive);
        let usable = |path: &PathEntry| {
            !self.is_broken(path.watched) && !self.free.rested.contains(&path.watched)
        };
        let steering = &self.stored.steering;
        let off = self.stored.without_detours;
        let steered = |peer: &str| {
            off || steering.pinned.contains_key(peer) || steering.weights.contains_key(peer)
        };
        let beside = Beside { now: self.now, others, usable: &usable, steered: &steered };
        let moved = adaptive.sent(&current, sent, &beside);
        self.adaptive = adaptive;
        if moved {
            self.count("detour_changes_total");
            self.resteer();
            self.go_round();
        }
    }

    /// Uses detours as they are needed, or no more.
    pub(super) fn use_detours(&mut self, used: bool) {
        self.stored.without_detours = !used;
        self.adaptive.forget();
        self.resteer();
        self.go_round();
    }

    /// The reply to ListDetours: by which paths this node sends, where detours are used as they are needed.
    ///
    /// # Errors
    /// [`NodeError::NoPlan`].
    pub fn detours(&self) -> Result<DetourList, NodeError> {
        let current = self.current().ok_or(NodeError::NoPlan)?;
        let line = |pair: &[PathEntry]| {
            let Used { rates, why, rests_ms } = self.adaptive.used(current, pair, self.now)?;
            let (peer, steering) = (current.index.node(pair[0].id.dst), &self.stored.steering);
            let why = match () {
                () if self.stored.without_detours => "switched off",
                () if steering.pinned.contains_key(peer) => "pinned by an operator",
                () if steering.weights.contains_key(peer) => "weighted by an operator",
                () => why,
            };
            let gates = self.gates(current);
            let carriers = self.carriers(current, &gates, pair, &self.free);
            let path = |(at, path): (usize, &PathEntry)| {
                let weight = carriers.iter().find(|(carrier, _)| *carrier == at);
                let weight = weight.map_or(0, |(_, weight)| *weight);
                let ShareLine { rank, weight, nic, through } = share(current, path, weight);
                let (planned, bits_per_second) = (path.weight > 0, rates[at] * 8);
                UseLine { rank, weight, planned, nic, through, bits_per_second }
            };
            let dst = current.index.node(pair[0].id.dst).to_owned();
            let paths = pair.iter().enumerate().map(path).collect();
            Some(DetourLine { dst, why: why.into(), rests_ms, paths })
        };
        Ok(DetourList {
            planned: !self.sampled.nics.is_empty(),
            used: !self.stored.without_detours,
            pairs: current.index.pairs().filter_map(line).collect(),
        })
    }
}
