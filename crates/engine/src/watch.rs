//! Which paths are watched, and what of the plan is not used while some are broken (K10).

use std::collections::{BTreeMap, BTreeSet};

use tresse_control::Alert;
use tresse_reconcile::Leg;
use tresse_slice::watch::Watch;

use super::gate::Gate;
use super::vlans::mac_of;
use super::{Effect, Engine, Prepared, tell};
use crate::watching::{Interface, Watching};

/// Paths that are told one by one, of those that break or come back at once.
const TOLD: usize = 8;

impl Engine {
    /// Tells what is to be watched where that has changed.
    pub(super) fn watch(&mut self, current: Option<&Prepared>, out: &mut Vec<Effect>) {
        if !self.settings.bfd {
            return;
        }
        let watches = current.map(|current| current.watches.clone()).unwrap_or_default();
        let interfaces = current.map(|current| self.sendable(current)).unwrap_or_default();
        let watching = &mut self.paths.watching;
        if watching.watches != watches {
            let dead = &self.stored.broken;
            let is_dead = |watch: &Watch| watch.ways().any(|leg| dead.contains(&leg));
            let paths = watches.paths.iter().enumerate();
            self.paths.broken = paths.filter(|(_, w)| is_dead(w)).map(|(at, _)| at).collect();
        }
        if watching.watches != watches || watching.interfaces != interfaces {
            let (serial, broken) = (watching.serial + 1, self.paths.broken.clone());
            *watching = Watching { serial, watches, broken, interfaces };
            out.push(Effect::Watch(Box::new(watching.clone())));
        }
    }

    /// The interfaces of watched paths that may be sent by: with carrier, on VLANs that are proven.
    fn sendable(&self, current: &Prepared) -> BTreeMap<String, Interface> {
        let gates = self.gates(current);
        let paths = current.watches.paths.iter().filter(|watch| !watch.arrival.is_empty());
        let names: BTreeSet<&String> =
            paths.flat_map(|watch| [&watch.leg.interface, &watch.arrival]).collect();
        let interface = |name: &String| {
            let vid = current.interfaces.get(name)?.vid;
            let open = gates.get(&vid).is_none_or(|gate| *gate == Gate::Open);
            let link = self.view.as_ref()?.observed.links.get(name)?;
            let mac = mac_of(current, name)?;
            (open && self.usable(name)).then_some(Interface { ifindex: link.index, mac })
        };
        names.into_iter().filter_map(|name| Some((name.clone(), interface(name)?))).collect()
    }

    /// Paths that are broken, and paths that are shown to be sound, of what was told to be watched then.
    pub(super) fn seen(
        &mut self,
        serial: u64,
        down: &BTreeSet<usize>,
        up: &BTreeSet<usize>,
        out: &mut Vec<Effect>,
    ) {
        let Some(current) = self.stored.current.clone() else { return };
        if serial != self.paths.watching.serial {
            return;
        }
        let watches = &current.watches;
        let broken = watches.broken(down, up);
        let before = std::mem::replace(&mut self.paths.broken, broken);
        let broken = &self.paths.broken;
        let all = |paths: &BTreeSet<usize>| -> BTreeSet<Leg> {
            paths.iter().filter_map(|at| watches.paths.get(*at)).flat_map(Watch::ways).collect()
        };
        let dead = all(broken);
        let mut news = Vec::new();
        for (alert, kind, paths, message) in [
            (Alert::Warning, "path-down", broken - &before, "not used while it is broken"),
            (Alert::Info, "path-up", &before - broken, "is used again"),
        ] {
            for watch in paths.iter().filter_map(|at| watches.paths.get(*at)).take(TOLD) {
                tell(&mut news, alert, kind, &name(watch), message);
            }
            if paths.len() > TOLD {
                tell(&mut news, alert, kind, "", &format!("and {} more", paths.len() - TOLD));
            }
        }
        if dead != self.stored.broken {
            self.stored.broken = dead;
            // Written with the change of the kernel that follows.
            self.dirty = true;
            self.count("path_changes_total");
            self.converge_at = Some(self.now);
            self.urgent = true;
            self.moving = true;
        }
        out.extend(news);
    }

    /// Is what begins with this hop not used, as it is broken?
    #[must_use]
    pub fn is_broken(&self, leg: &Leg) -> bool {
        self.stored.broken.contains(&leg.alone())
    }

    /// The paths that are not used as they are broken.
    pub(super) fn broken(&self) -> Vec<String> {
        let Some(current) = &self.stored.current else { return Vec::new() };
        let paths = self.paths.broken.iter().filter_map(|at| current.watches.paths.get(*at));
        paths.map(name).collect()
    }
}

/// A path in words.
fn name(watch: &Watch) -> String {
    format!("{} rank {} by {}", watch.peer, watch.rank, watch.leg.interface)
}
