//! Answers the control calls that need no new observation of the kernel: GetStatus and GetCounters.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_base::id::Vid;
use tresse_base::units::Prefix;
use tresse_control::{CounterLine, FORMAT, FusedLine, OtherLine, StateLine, Status};
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, Nexthop, PROTOCOL};

use super::Engine;
use super::gate::Gate;
use super::index::PathEntry;
use super::prepared::Prepared;

impl Engine {
    /// The reply to GetStatus.
    #[must_use]
    pub fn status(&self, now: u64) -> Status {
        let current = self.stored.current.as_ref();
        let names = |addresses: &[String]| {
            current.map(|current| current.index.owners(addresses)).unwrap_or_default()
        };
        let others = self.others_plans(now);
        let (broken, fused) = (self.broken(), self.fused());
        let (backup, unprotected) = (self.on_backup(), self.unprotected());
        let doing = self.job.as_ref().and_then(|job| job.purpose.doing());
        Status {
            format: FORMAT,
            node: current.map(|c| c.node.clone()),
            generation: current.map(|c| c.generation.clone()),
            in_sync: self.in_sync && self.fault.is_none(),
            pending: self.pending.iter().cloned().chain(self.held()).collect(),
            drift: self.drift.clone(),
            backup_nodes: names(&backup),
            backup,
            foreign: Vec::new(),
            states: self.ups_and_downs(&broken, &fused, &others),
            broken,
            fused,
            drained: self.stored.steering.drained.iter().cloned().collect(),
            pinned: self.pinned(),
            weighted: self.weighted(),
            unprotected_nodes: names(&unprotected),
            unprotected,
            cut: self.cut(),
            gateways: current.map(|current| self.gateways(current)).unwrap_or_default(),
            sessions: 0,
            sessions_up: 0,
            authentication: String::new(),
            engine: self.label_engine().into(),
            source: self.source_engine().into(),
            activity: match (doing, &self.fault) {
                (Some(doing), _) => doing.into(),
                (None, Some(_)) => "failed".into(),
                (None, None) => "idle".into(),
            },
            changing: self.stored.in_transition || doing.is_some(),
            waits: self.waits(now),
            confirm_seconds: self
                .confirm_at
                .map(|at| u32::try_from(at.saturating_sub(now).div_ceil(1000)).unwrap_or(u32::MAX)),
            previous: self
                .stored
                .previous
                .as_ref()
                .filter(|_| !self.stored.discard)
                .map(|p| p.generation.clone()),
            others: others.clone(),
            unproven: current
                .map(|c| self.gates(c))
                .unwrap_or_default()
                .into_iter()
                .filter(|(_, gate)| *gate == Gate::Unproven)
                .map(|(vid, _)| vid.0)
                .collect(),
            version: env!("CARGO_PKG_VERSION").into(),
            fault: self.fault_at(now),
            withdrawn: self.withdrawn(),
        }
    }

    /// All NICs of the plan, up or down, and what else is down.
    fn ups_and_downs(
        &self,
        broken: &[String],
        fused: &[FusedLine],
        others: &[OtherLine],
    ) -> Vec<StateLine> {
        let down = |kind: &str, object: String, why: String| StateLine {
            kind: kind.into(),
            object,
            up: false,
            since: None,
            today: 0,
            why,
        };
        let paths = broken.iter().map(|path| down("path", path.clone(), "not used".into()));
        let vlans = fused.iter().map(|line| down("vlan", line.vid.to_string(), line.why.clone()));
        let plans = others
            .iter()
            .map(|other| down("plan", other.node.clone(), "it sends by another plan".into()));
        self.links.lines().chain(paths).chain(vlans).chain(plans).collect()
    }

    /// The nodes that announce another plan than this node's.
    pub(super) fn others_plans(&self, now: u64) -> Vec<OtherLine> {
        let Some(current) = &self.stored.current else { return Vec::new() };
        let held = self.held_plan().map(|held| held.digest());
        self.elsewhere.others(now, current, held)
    }

    /// The reply to GetCounters.
    #[must_use]
    pub fn counters(&self) -> Vec<CounterLine> {
        let line = |(name, value): (&&str, &u64)| CounterLine {
            name: (*name).into(),
            object: String::new(),
            value: *value,
        };
        self.counters.iter().map(line).collect()
    }

    /// The last failure, and when a plan that nobody waits for is applied again.
    fn fault_at(&self, now: u64) -> Option<String> {
        let fault = self.fault.as_ref()?;
        Some(match &self.again {
            Some(again) => {
                format!("{fault}; tried again in {} s", again.at.saturating_sub(now).div_ceil(1000))
            }
            None => fault.clone(),
        })
    }

    /// Whether the kernel has our route to this destination and of this metric, also to a prefix of it.
    pub(super) fn holds(&self, (dst, metric): (Prefix, u32)) -> bool {
        let Some(view) = &self.view else { return false };
        let folds = self.stored.current.as_ref().is_some_and(|current| current.wanted.folds);
        let shortest = if folds { 1 } else { dst.len };
        let prefixes = (shortest..=dst.len).rev().map(|len| Prefix::containing(dst.address, len));
        let held = |prefix: Prefix, metric: u32| {
            let route = view.observed.routes.get(&(prefix, metric));
            route.is_some_and(|route| route.protocol == PROTOCOL)
        };
        // The longest prefix wins, whatever the metrics.
        let of_both = |prefix: &Prefix| {
            [METRIC_PRIMARY, METRIC_BACKUP].iter().any(|metric| held(*prefix, *metric))
        };
        prefixes.into_iter().find(of_both).is_some_and(|prefix| held(prefix, metric))
    }

    fn fused(&self) -> Vec<FusedLine> {
        let line = |(vid, why): (&Vid, &String)| FusedLine {
            vid: vid.0,
            why: why.clone(),
            links: self.stored.current.as_ref().map(|c| c.links(*vid)).unwrap_or_default(),
        };
        self.stored.fused.iter().map(line).collect()
    }

    /// Destinations that are reached as planned but would not survive one more failure, although
    /// the plan has a backup.
    fn unprotected(&self) -> Vec<String> {
        let Some(current) = &self.stored.current else { return Vec::new() };
        let is_dead = |nexthop: &Nexthop| current.watches.is_first_hop(nexthop, &self.paths.broken);
        let lives = |key| {
            let route = current.wanted.routes.get(&key);
            self.holds(key)
                && route.is_some_and(|r| r.nexthops.iter().any(|nexthop| !is_dead(nexthop)))
        };
        let backups = current.wanted.routes.keys().filter(|(_, m)| *m == METRIC_BACKUP);
        let backups = backups
            .filter(|(dst, metric)| lives((*dst, METRIC_PRIMARY)) && !lives((*dst, *metric)));
        backups.map(|(dst, _)| dst.address.to_string()).collect()
    }

    /// The names of the nodes of [`Engine::cut_pairs`].
    pub(super) fn cut(&self) -> Vec<String> {
        let Some(current) = &self.stored.current else { return Vec::new() };
        let name = |pair: &[PathEntry]| current.index.node(pair[0].id.dst).to_owned();
        self.cut_pairs().map(name).collect()
    }

    /// The paths to each node that none of them leads to: each is broken, has no interface, or its VLAN is
    /// fused. Where nodes route and watch each other, also no way round leads there. None while plans change, as paths
    /// of both are in use then.
    fn cut_pairs(&self) -> impl Iterator<Item = &[PathEntry]> {
        let current = self.stored.current.as_ref();
        let current = current.filter(|_| self.view.is_some() && !self.stored.in_transition);
        let doubtful = current.map(|current| self.doubtful(current)).unwrap_or_default();
        let healed = &self.healing.healed.routes;
        let by_healing = |current: &Prepared, pair: &[PathEntry]| {
            let remaining = current.index.remaining.as_ref().filter(|_| self.settings.bfd)?;
            let mut ways = pair[0].nexthops.iter().filter_map(|(to, _)| healed.get(to));
            match remaining.joins_paths() {
                // A pair that goes round nothing has its planned paths.
                true => ways.next().is_some().then_some(false),
                false => Some(ways.any(|way| way.nexthop.is_none())),
            }
        };
        let fails = move |current: &Prepared, entry: &PathEntry| {
            let interface = current.index.interface(entry);
            let vid = current.interfaces.get(interface).and_then(|interface| interface.vid);
            self.is_broken(entry.watched) && !doubtful.iter().any(|of| of.contains(&entry.watched))
                || !self.usable(interface)
                || vid.is_some_and(|vid| self.stored.fused.contains_key(&vid))
        };
        let pairs = current.into_iter().flat_map(|current| {
            let pairs = current.index.pairs();
            pairs.map(move |pair| (current, pair))
        });
        pairs
            .filter(move |(current, pair)| {
                let all = || pair.iter().all(|entry| fails(current, entry));
                by_healing(current, pair).unwrap_or_else(all)
            })
            .map(|(_, pair)| pair)
    }

    /// Destinations whose traffic uses a backup: the primary route is gone, or the primary path is
    /// broken or its VLAN fused.
    fn on_backup(&self) -> Vec<String> {
        let Some(current) = &self.stored.current else { return Vec::new() };
        let is_fused = |vid| self.stored.fused.contains_key(&vid);
        let unused = |nexthop: &Nexthop| {
            let interface = current.interfaces.get(&nexthop.interface);
            current.watches.is_first_hop(nexthop, &self.paths.broken)
                || interface.and_then(|i| i.vid).is_some_and(is_fused)
        };
        let is_rested =
            |nexthop: &Nexthop| current.watches.is_first_hop(nexthop, &self.free.rested);
        let cut: BTreeSet<IpAddr> = self
            .cut_pairs()
            .flat_map(|pair| &pair[0].nexthops)
            .map(|(destination, _)| destination.address)
            .collect();
        let primaries = current.wanted.routes.iter().filter(|((_, m), _)| *m == METRIC_PRIMARY);
        primaries
            .filter(|(_, route)| !route.nexthops.iter().all(is_rested))
            .filter(|((dst, _), _)| !cut.contains(&dst.address))
            .filter(|&(&(dst, metric), route)| match self.holds((dst, metric)) {
                // What goes round a drain alone is as an operator wants it.
                true if self.healing.healed.routes.contains_key(&dst) => {
                    !self.healing.since.is_empty()
                }
                true => route.nexthops.iter().all(unused),
                false => self.holds((dst, METRIC_BACKUP)),
            })
            .map(|((dst, _), _)| dst.address.to_string())
            .collect()
    }
}
