//! Has the traffic of this node sampled where detours are used as they are needed, and moves it as [`Adaptive`] decides.
//!
//! [`Adaptive`]: super::adaptive::Adaptive

use super::adaptive::Beside;
use super::engines::SourceEngine;
use super::index::PathEntry;
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
        let steered =
            |peer: &str| steering.pinned.contains_key(peer) || steering.weights.contains_key(peer);
        let beside = Beside { now: self.now, others, usable: &usable, steered: &steered };
        let moved = adaptive.sent(&current, sent, &beside);
        self.adaptive = adaptive;
        if moved {
            self.count("detour_changes_total");
            self.resteer();
            self.go_round();
        }
    }
}
