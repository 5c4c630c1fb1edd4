//! Lists the paths from this node to other nodes, by the plan in force, with the state of each path
//! (active, standby, broken and so on).

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_base::id::PathId;
use tresse_base::units::Prefix;
use tresse_control::{NodeError, PathLine, PathList};
use tresse_plan::remaining::HopState;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY};

use super::Engine;
use super::chosen::no_path;
use super::gate::Gate;
use super::index::{Index, PathEntry};
use super::prepared::Prepared;

/// The role of a path among the paths of its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathPlace {
    /// The primary or one of its weighted siblings.
    Carrier,
    /// The backup that is used before others.
    FirstBackup,
    /// Another backup.
    Backup,
    /// A path that is used because all that normally carry traffic are broken.
    Next,
}

impl Engine {
    /// The reply to ListPaths: this node's paths with their state.
    ///
    /// # Errors
    /// [`NodeError::NoPlan`]; [`NodeError::Refused`] for a node to which no path leads, such as this one.
    pub fn paths(&self, to: Option<&str>) -> Result<PathList, NodeError> {
        let current = self.current().ok_or(NodeError::NoPlan)?;
        let index = &current.index;
        let pairs =
            index.pairs().filter(|pair| to.is_none_or(|to| index.node(pair[0].id.dst) == to));
        let dark = self.dark();
        let dark = dark.iter().map(String::as_str).collect();
        let known = self.known(current, &dark);
        let ids = current.watches.paths().iter().map(|watch| watch.id);
        let states = LazyCell::new(|| -> BTreeMap<PathId, HopState> {
            ids.zip(self.states(current, &dark)).collect()
        });
        let lines = |pair| {
            let mut lines = self.pair(index, pair);
            if let Some(known) = known.as_ref().filter(|_| self.goes_round(pair)) {
                for (line, path) in lines.iter_mut().zip(pair) {
                    let worst = match index.goes_by_hops() {
                        true => index.worst_hop(path, |node, at| known.state(node, at)),
                        false => states.get(&path.watched).copied().unwrap_or_default(),
                    };
                    line.state = round(worst).into();
                }
            }
            lines
        };
        let paths: Vec<_> = pairs.flat_map(lines).collect();
        match to.filter(|_| paths.is_empty()) {
            Some(to) => Err(no_path(current, to)),
            None => Ok(PathList { paths }),
        }
    }

    /// Is the destination of a pair reached by no planned path, or not at all?
    pub(super) fn goes_round(&self, pair: &[PathEntry]) -> bool {
        let routes = &self.healing.healed.routes;
        pair[0].nexthops.iter().any(|(to, _)| routes.contains_key(to))
    }

    /// The paths of one pair.
    pub(super) fn pair(&self, index: &Index, pair: &[PathEntry]) -> Vec<PathLine> {
        let shared =
            pair[0].nexthops.first().is_some_and(|(to, _)| self.free.shares.contains_key(to));
        if let Some(current) = self.stored.current.as_ref().filter(|_| shared) {
            return self.shared_pair(current, pair);
        }
        let carriers = pair.iter().filter(|path| path.weight > 0).count();
        let unused: Vec<Option<&str>> = pair.iter().map(|path| self.unused(path.watched)).collect();
        // If no path that normally carries traffic is used, the first usable one takes over.
        let next = unused[..carriers].iter().all(Option::is_some);
        let whole = |why: &Option<&str>| *why != Some("broken");
        let first = || unused.iter().position(Option::is_none);
        let first = || first().or_else(|| unused.iter().position(whole));
        let next = next.then(first).flatten();
        let line = |(at, path): (usize, &PathEntry)| {
            let place = match at {
                _ if next == Some(at) => PathPlace::Next,
                _ if path.weight > 0 => PathPlace::Carrier,
                _ if at == carriers => PathPlace::FirstBackup,
                _ => PathPlace::Backup,
            };
            let state = self.path_state(index.interface(path), path.address, place);
            // A path that is kept free is used if there is no other.
            let state = unused[at].filter(|_| next != Some(at)).unwrap_or(state);
            PathLine { state: state.into(), ..index.line(path) }
        };
        pair.iter().enumerate().map(line).collect()
    }

    /// The same for a pair whose traffic is shared as an operator chose.
    fn shared_pair(&self, current: &Prepared, pair: &[PathEntry]) -> Vec<PathLine> {
        let index = &current.index;
        let carriers = self.carriers(current, &self.gates(current), pair, &self.free);
        let line = |(at, path): (usize, &PathEntry)| {
            let carries = carriers.iter().any(|(carrier, _)| *carrier == at);
            let place = if carries { PathPlace::Next } else { PathPlace::Backup };
            let state = match (carries, self.unused(path.watched)) {
                (false, Some(why)) | (_, Some(why @ "broken")) => why,
                _ => self.path_state(index.interface(path), path.address, place),
            };
            PathLine { state: state.into(), ..index.line(path) }
        };
        pair.iter().enumerate().map(line).collect()
    }

    /// The state of a path that is not broken, leaves by `interface` and leads to `destination`:
    /// `active`, `standby`, `pending` or `fused`.
    fn path_state(&self, interface: &str, destination: IpAddr, place: PathPlace) -> &'static str {
        let Some(current) = &self.stored.current else { return "pending" };
        let vid = current.interfaces.get(interface).and_then(|i| i.vid);
        if vid.is_some_and(|vid| self.stored.fused.contains_key(&vid)) {
            return "fused";
        }
        let primary = self.holds((Prefix::host(destination), METRIC_PRIMARY));
        let backup = self.holds((Prefix::host(destination), METRIC_BACKUP));
        match (place, primary, backup) {
            (PathPlace::Carrier, true, _) | (PathPlace::FirstBackup, false, true) => "active",
            (PathPlace::Next, primary, backup) if primary || backup => "active",
            (PathPlace::Carrier, false, _) => "pending",
            _ if Gate::of(&self.gates(current), vid) == Gate::Unproven => "pending",
            _ => "standby",
        }
    }
}

/// The state of a path whose destination is reached otherwise, by its worst hop.
const fn round(worst: HopState) -> &'static str {
    match worst {
        HopState::Held | HopState::Broken => "broken",
        HopState::Drained => "drained",
        HopState::Unknown | HopState::Sound => "standby",
    }
}
