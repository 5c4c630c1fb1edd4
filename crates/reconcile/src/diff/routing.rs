//! Compares the wanted with the observed routes, nexthop groups and nexthops (K1, K15), and adds
//! the operations that make them equal.
//!
//! A plain nexthop is identified by its content (interface, gateway and labels), a group by the
//! routes that use it. So when a path changes, one message replaces a group in place for all its
//! routes. That is done only if all routes of the group want the same members; otherwise the routes
//! move to other groups before the group is removed. Routes that were one group's may so come back in
//! several, once what led them apart has healed: [`ReconcileOptions::merge_groups`] makes these one again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

use tresse_base::id::Label;
use tresse_base::units::Prefix;

use super::context::Context;
use super::foreign::{
    ForeignRoute, Overlaps, borrowed, foreign_routes, is_our_nexthop, is_our_route,
};
use super::join::join;
use super::steps::{Phase, Steps};
use crate::{
    METRIC_PRIMARY, NEXTHOP_BASE, Nexthop, Object, ObservedNexthop, ObservedRoute, Operation,
    PendingReason, ReconcileOptions, Refusal, WantedRoute, Why,
};

/// Members of a group, sorted by id.
type Members = Vec<(u32, u16)>;
type Content<'a> = (&'a str, IpAddr, &'a [Label]);

/// A wanted route that has a usable nexthop and differs from the present one.
struct Target<'a> {
    key: &'a (Prefix, u32),
    route: &'a WantedRoute,
    present: Option<&'a ObservedRoute>,
    list: usize,
    /// Does `present` have the wanted source, MTU and advmss?
    alike: bool,
}

impl Target<'_> {
    /// The nexthop id of `present`.
    fn through(&self) -> Option<u32> {
        self.present?.nexthop
    }
}

/// A distinct set of members, and the group that serves it.
#[derive(Default)]
struct List {
    members: Members,
    group: Option<u32>,
}

/// A group of ours that exists.
#[derive(Default)]
struct Group {
    members: Members,
    list: Option<usize>,
}

struct Routing<'a> {
    plain: HashMap<Content<'a>, u32>,
    groups: HashMap<u32, Group>,
    borrowed: BTreeMap<u32, Object>,
    lists: Vec<List>,
    by_members: HashMap<Members, usize>,
    targets: Vec<Target<'a>>,
    waiting: HashSet<&'a Nexthop>,
    used: HashSet<u32>,
    next_id: u32,
    merges: bool,
}

/// Adds the operations on nexthops, groups and routes; `locals` are the addresses of this node.
pub(super) fn routing(
    context: &Context<'_>,
    locals: &HashSet<IpAddr>,
    options: &ReconcileOptions,
    steps: &mut Steps,
) {
    let foreign = foreign_routes(context.observed);
    let mut routing = Routing::new(context, &foreign, options.merge_groups);
    routing.targets(context, &foreign, locals, steps);
    routing.claim(steps);
    routing.install(context, steps);
    routing.remove(context, steps);
}

impl<'a> Routing<'a> {
    fn new(context: &Context<'a>, foreign: &[ForeignRoute<'a>], merges: bool) -> Self {
        let observed = context.observed;
        let mut plain = HashMap::new();
        let mut groups = HashMap::new();
        for (id, nexthop) in &observed.nexthops {
            if !is_our_nexthop(*id, nexthop) {
                continue;
            }
            if !nexthop.group.is_empty() {
                let mut members = nexthop.group.clone();
                members.sort_unstable();
                groups.insert(*id, Group { members, list: None });
            } else if let (Some(interface), Some(via)) = (&nexthop.interface, nexthop.via) {
                plain.entry((interface.as_str(), via, nexthop.labels.as_slice())).or_insert(*id);
            }
        }
        Self {
            plain,
            groups,
            borrowed: borrowed(observed, foreign),
            lists: Vec::new(),
            by_members: HashMap::new(),
            targets: Vec::new(),
            waiting: HashSet::new(),
            used: HashSet::new(),
            next_id: NEXTHOP_BASE,
            merges,
        }
    }

    /// The lowest free id.
    fn new_id(&mut self, observed: &BTreeMap<u32, ObservedNexthop>) -> u32 {
        while observed.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        self.next_id - 1
    }

    /// Decides which routes must exist and with which members, and removes unwanted ones.
    fn targets(
        &mut self,
        context: &Context<'a>,
        foreign: &[ForeignRoute<'a>],
        locals: &HashSet<IpAddr>,
        steps: &mut Steps,
    ) {
        let Context { wanted, observed, .. } = *context;
        let mut overlaps = Overlaps::new(observed, foreign);
        let mut reported: BTreeMap<(&(Prefix, u32), bool), Vec<Prefix>> = BTreeMap::new();
        let mut members = Members::new();
        let mut source = None;
        // Consecutive destinations often have the same nexthops.
        let mut last: Option<(&[Nexthop], usize)> = None;
        let mut own = None;
        for (key, want, have) in join(wanted.routes.iter(), observed.routes.iter()) {
            let present = have.filter(|have| is_our_route(have));
            let Some(route) = want else {
                if present.is_some() {
                    drop_route(key, steps);
                }
                continue;
            };
            let (dst, metric) = *key;
            if let (Some(foreign), None) = (have, present) {
                let protocol = foreign.protocol;
                steps.refused.push(Refusal::ForeignRoute { dst, metric, protocol });
                continue;
            }
            if let Some(foreign) = overlaps.with(&dst) {
                let installed = present.is_some() || observed.routes.to(dst).any(is_our_route);
                let list = reported.entry((foreign, installed)).or_default();
                if list.last() != Some(&dst) {
                    list.push(dst);
                }
                if !installed {
                    continue;
                }
            }
            let same =
                last.filter(|(nexthops, _)| *nexthops == route.nexthops).map(|(_, list)| list);
            if same.is_none() {
                self.members(context, &route.nexthops, &mut members, steps);
            }
            if source != Some(route.src) && locals.contains(&route.src) {
                source = Some(route.src);
            }
            let reason = if source != Some(route.src) {
                Some(PendingReason::NoSource(route.src))
            } else {
                (same.is_none() && members.is_empty()).then_some(PendingReason::NoNexthop)
            };
            if let Some(reason) = reason {
                steps.wait(Object::Route(dst, metric), reason);
                if present.is_some() {
                    drop_route(key, steps);
                }
                continue;
            }
            let list = same.unwrap_or_else(|| self.list(&members));
            last = Some((&route.nexthops, list));
            let alike = present.is_some_and(|have| {
                (have.src, have.mtu, have.advmss)
                    == (Some(route.src), Some(route.mtu), Some(route.advmss))
            });
            let through = present.and_then(|have| have.nexthop).map(|group| (group, list));
            if through.is_some() && (through == own || self.keep(through)) {
                own = through;
                if alike {
                    continue;
                }
            }
            self.targets.push(Target { key, route, present, list, alike });
        }
        report(context, reported, steps);
    }

    /// Collects the usable nexthops as members; new nexthops get their ids here.
    fn members(
        &mut self,
        context: &Context<'a>,
        nexthops: &'a [Nexthop],
        members: &mut Members,
        steps: &mut Steps,
    ) {
        members.clear();
        for nexthop in nexthops {
            let reason = match context.interfaces.find(&nexthop.interface) {
                Some(interface) => interface.carry.clone(),
                None => Some(PendingReason::Absent(nexthop.interface.clone())),
            };
            if let Some(reason) = reason {
                if self.waiting.insert(nexthop) {
                    steps.wait(Object::PlannedNexthop(nexthop.clone()), reason);
                }
                continue;
            }
            let content = (nexthop.interface.as_str(), nexthop.via, nexthop.labels.as_slice());
            let id = if let Some(id) = self.plain.get(&content) {
                *id
            } else {
                let id = self.new_id(&context.observed.nexthops);
                self.plain.insert(content, id);
                let (interface, via) = (nexthop.interface.clone(), nexthop.via);
                let operation =
                    Operation::AddNexthop { id, interface, via, labels: nexthop.labels.clone() };
                steps.push(Phase::Nexthops, operation, Why::Missing);
                id
            };
            members.push((id, u16::from(nexthop.weight.max(1))));
        }
        members.sort_unstable();
        members.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = (kept.1 + next.1).min(255);
            }
            same
        });
    }

    fn list(&mut self, members: &Members) -> usize {
        if let Some(list) = self.by_members.get(members) {
            return *list;
        }
        let list = self.lists.len();
        self.used.extend(members.iter().map(|m| m.0));
        self.by_members.insert(members.clone(), list);
        self.lists.push(List { members: members.clone(), group: None });
        list
    }

    /// Does the group already hold the members of the list? Then it serves that list for good.
    fn keep(&mut self, through: Option<(u32, usize)>) -> bool {
        let Some((id, list)) = through else { return false };
        if self.is_second(id, list) {
            return false;
        }
        let Some(group) = self.groups.get_mut(&id) else { return false };
        let same = group.members == self.lists[list].members;
        if same {
            group.list = Some(list);
            self.lists[list].group.get_or_insert(id);
        }
        same
    }

    /// Is the group to be merged into the one that serves the list already?
    fn is_second(&self, id: u32, list: usize) -> bool {
        self.merges
            && self.lists[list].group.is_some_and(|group| group != id)
            && !self.borrowed.contains_key(&id)
    }

    /// Assigns to each other group the list that all its routes want, if they agree.
    fn claim(&mut self, steps: &mut Steps) {
        let mut votes: BTreeMap<u32, Option<usize>> = BTreeMap::new();
        let mut last = None;
        for target in &self.targets {
            let Some(id) = target.through() else { continue };
            if last.replace((id, target.list)) == Some((id, target.list)) {
                continue;
            }
            let Some(group) = self.groups.get(&id) else { continue };
            if group.list == Some(target.list) {
                continue;
            }
            let unanimous = votes.entry(id).or_insert(Some(target.list));
            if *unanimous != Some(target.list) {
                *unanimous = None;
            }
        }
        for (id, vote) in votes {
            if vote.is_some_and(|list| self.is_second(id, list)) {
                continue;
            }
            let Some(group) = self.groups.get_mut(&id) else { continue };
            if let (Some(list), None, false) = (vote, group.list, self.borrowed.contains_key(&id)) {
                group.list = Some(list);
                self.lists[list].group.get_or_insert(id);
                let members = &self.lists[list].members;
                let operation = Operation::AddGroup { id, members: narrow(members), replace: true };
                let why = Why::Changed { from: text(&group.members) };
                steps.push(Phase::ReplacedGroups, operation, why);
            }
        }
    }

    /// Assigns a group to each route; creates groups where none serves.
    fn install(&mut self, context: &Context<'a>, steps: &mut Steps) {
        let mut idle: Option<HashMap<Members, u32>> = None;
        let targets = std::mem::take(&mut self.targets);
        let mut kept = None;
        for target in targets {
            let through = target.through();
            let Target { key: (dst, metric), route, present, list, alike } = target;
            let own = through.filter(|id| {
                kept == Some((*id, list))
                    || self.groups.get(id).is_some_and(|g| g.list == Some(list))
            });
            kept = own.map(|id| (id, list)).or(kept);
            let group = if let Some(group) = own.or(self.lists[list].group) {
                group
            } else {
                let idle = idle.get_or_insert_with(|| {
                    let mut idle: Vec<_> =
                        self.groups.iter().filter(|(_, g)| g.list.is_none()).collect();
                    idle.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(**id));
                    idle.into_iter().map(|(id, g)| (g.members.clone(), *id)).collect()
                });
                let members = &self.lists[list].members;
                let id = if let Some(id) = idle.get(members).copied() {
                    self.groups.entry(id).or_default().list = Some(list);
                    id
                } else {
                    let members = narrow(members);
                    let id = self.new_id(&context.observed.nexthops);
                    let operation = Operation::AddGroup { id, members, replace: false };
                    steps.push(Phase::NewGroups, operation, Why::Missing);
                    id
                };
                self.lists[list].group = Some(id);
                id
            };
            if alike && through == Some(group) {
                continue;
            }
            let (src, mtu, advmss) = (Some(route.src), Some(route.mtu), Some(route.advmss));
            let why = match present {
                None => Why::Missing,
                Some(have) if have.nexthop != Some(group) => Why::Changed {
                    from: format!("through group {:#x}", have.nexthop.unwrap_or_default()),
                },
                Some(have) => Why::Changed { from: metrics(have) },
            };
            let phase = match *metric {
                METRIC_PRIMARY => Phase::PrimaryRoutes,
                _ => Phase::BackupRoutes,
            };
            let (dst, metric, replace) = (*dst, *metric, present.is_some());
            let operation = Operation::AddRoute { dst, metric, group, src, mtu, advmss, replace };
            steps.push(phase, operation, why);
        }
    }

    /// Removes groups and nexthops of ours that nothing uses. Those that a foreign object uses
    /// stay, because the kernel would delete that object too.
    fn remove(&mut self, context: &Context<'a>, steps: &mut Steps) {
        for (id, nexthop) in &context.observed.nexthops {
            let idle = self.groups.get(id).is_some_and(|group| group.list.is_none());
            if !idle || !is_our_nexthop(*id, nexthop) {
                continue;
            }
            if let Some(user) = self.borrowed.get(id) {
                let object = Object::Group(*id);
                steps.refused.push(Refusal::InUse { object, user: user.clone() });
                self.used.extend(nexthop.group.iter().map(|m| m.0));
            } else {
                let operation = Operation::DeleteNexthop { id: *id };
                steps.push(Phase::DropGroups, operation, Why::Leftover);
            }
        }
        for (id, nexthop) in &context.observed.nexthops {
            let plain = nexthop.group.is_empty() && is_our_nexthop(*id, nexthop);
            if !plain || self.used.contains(id) {
                continue;
            }
            if let Some(user) = self.borrowed.get(id) {
                let object = Object::Nexthop(*id);
                steps.refused.push(Refusal::InUse { object, user: user.clone() });
            } else {
                let operation = Operation::DeleteNexthop { id: *id };
                steps.push(Phase::DropNexthops, operation, Why::Leftover);
            }
        }
    }
}

fn drop_route(&(dst, metric): &(Prefix, u32), steps: &mut Steps) {
    let phase = match metric {
        METRIC_PRIMARY => Phase::DropPrimaryRoutes,
        _ => Phase::DropBackupRoutes,
    };
    steps.push(phase, Operation::DeleteRoute { dst, metric }, Why::Leftover);
}

/// Reports each foreign route once, however many destinations it overlaps.
fn report(
    context: &Context<'_>,
    reported: BTreeMap<(&(Prefix, u32), bool), Vec<Prefix>>,
    steps: &mut Steps,
) {
    for ((key, installed), destinations) in reported {
        let Some((route, first)) = context.observed.routes.get(key).zip(destinations.first())
        else {
            continue;
        };
        let list = if installed { &mut steps.drift } else { &mut steps.refused };
        list.push(Refusal::Overlap {
            route: key.0,
            metric: key.1,
            protocol: route.protocol,
            interface: route.interface.clone(),
            first: *first,
            destinations: destinations.len(),
        });
    }
}

/// Converts weights to `u8`: ours never exceed that.
pub(crate) fn narrow(members: &[(u32, u16)]) -> Vec<(u32, u8)> {
    members.iter().map(|(id, weight)| (*id, u8::try_from(*weight).unwrap_or(u8::MAX))).collect()
}

fn text(members: &[(u32, u16)]) -> String {
    let members: Vec<_> = members.iter().map(|(id, weight)| format!("{id:#x},{weight}")).collect();
    members.join("/")
}

fn metrics(route: &ObservedRoute) -> String {
    let number = |n: Option<u32>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
    let src = route.src.map_or_else(|| "none".to_owned(), |src| src.to_string());
    format!("src {src} mtu {} advmss {}", number(route.mtu), number(route.advmss))
}
