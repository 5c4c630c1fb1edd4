//! Distinguishes our kernel objects, which bear our mark, from foreign ones, and finds foreign
//! objects that overlap our routes or use our objects (K15).

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use tresse_base::units::Prefix;

use crate::{
    METRIC_PRIMARY, NEXTHOP_BASE, NEXTHOP_END, Object, Observed, ObservedAddress, ObservedLabel,
    ObservedNeighbour, ObservedNexthop, ObservedRoute, ObservedTableRoute, PROTOCOL, RouteKey,
    Saved, TableRouteKey, WantedLabel,
};

/// Is the id in our range?
pub(super) const fn is_our_id(id: u32) -> bool {
    id >= NEXTHOP_BASE && id < NEXTHOP_END
}

/// Is it ours? By protocol number and id.
pub(super) const fn is_our_nexthop(id: u32, nexthop: &ObservedNexthop) -> bool {
    nexthop.protocol == PROTOCOL && is_our_id(id)
}

/// Is it ours? By protocol number and by its nexthop object: undo could not restore a route without
/// one.
pub(super) fn is_our_route(route: &ObservedRoute) -> bool {
    route.protocol == PROTOCOL && route.nexthop.is_some_and(is_our_id)
}

/// Returns the label route if it is ours: by protocol number, and because it only pops. Undo could
/// not restore another.
pub(super) fn is_our_label(label: &ObservedLabel) -> Option<WantedLabel> {
    let ours = label.protocol == PROTOCOL && label.swap.is_empty();
    let (interface, via) = (label.interface.clone().filter(|_| ours)?, label.via?);
    Some(WantedLabel { interface, via })
}

/// Returns interface and gateway of a table route if it is ours: by protocol number, metric, and
/// because it has one plain nexthop.
pub(super) fn is_our_table_route<'a>(
    key: &TableRouteKey,
    table_route: &'a ObservedTableRoute,
) -> Option<(&'a str, IpAddr)> {
    let ours = table_route.protocol == PROTOCOL && key.2 == METRIC_PRIMARY;
    Some((table_route.interface.as_deref().filter(|_| ours)?, table_route.via?))
}

/// Is it ours? By protocol number.
pub(super) const fn is_our_neighbour(neighbour: &ObservedNeighbour) -> bool {
    neighbour.protocol == PROTOCOL
}

/// Is a host address ours? By IFA_PROTO, because its interface is ours, or by the state file.
pub(super) fn is_our_address(
    key: &(String, IpAddr),
    address: &ObservedAddress,
    observed: &Observed,
    saved: &Saved,
) -> bool {
    let link_local = matches!(key.1, IpAddr::V6(a) if a.is_unicast_link_local());
    address.len == Prefix::host(key.1).len
        && !link_local
        && match address.protocol {
            PROTOCOL => true,
            0 => {
                observed.links.get(&key.0).is_some_and(|l| l.is_ours())
                    || saved.addresses.contains(key)
            }
            _ => false,
        }
}

/// Does the kernel itself make such routes (unspec, redirect, kernel, RA)?
const fn is_automatic(protocol: u8) -> bool {
    matches!(protocol, 0..=2 | 9)
}

/// Is it a default route, whole or as one of two halves? That does not claim an address range.
const fn is_default(prefix: &Prefix) -> bool {
    prefix.len <= if prefix.address.is_ipv4() { 1 } else { 3 }
}

/// A foreign route with its key.
pub(super) type ForeignRoute<'a> = (&'a RouteKey, &'a ObservedRoute);

/// All foreign routes, in order.
pub(super) fn foreign_routes(observed: &Observed) -> Vec<ForeignRoute<'_>> {
    observed.routes.iter().filter(|(_, route)| !is_our_route(route)).collect()
}

/// Finds foreign routes that overlap destinations, which are asked for in ascending order. Both
/// lists are sorted, with enclosing prefixes first: one pass with a stack.
pub(super) struct Overlaps<'a> {
    foreign: std::iter::Peekable<std::vec::IntoIter<&'a RouteKey>>,
    stack: Vec<&'a RouteKey>,
}

impl<'a> Overlaps<'a> {
    pub(super) fn new(observed: &'a Observed, foreign: &[ForeignRoute<'a>]) -> Self {
        let of_ours = |route: &ObservedRoute| {
            is_automatic(route.protocol)
                && route
                    .interface
                    .as_ref()
                    .and_then(|i| observed.links.get(i))
                    .is_some_and(|l| l.is_ours())
        };
        let foreign = foreign.iter().filter(|((dst, _), r)| !is_default(dst) && !of_ours(r));
        let foreign: Vec<_> = foreign.map(|(key, _)| *key).collect();
        Self { foreign: foreign.into_iter().peekable(), stack: Vec::new() }
    }

    /// The foreign route that overlaps `dst`. Must be called with ascending destinations.
    pub(super) fn with(&mut self, dst: &Prefix) -> Option<&'a RouteKey> {
        if is_default(dst) {
            return None;
        }
        let Self { foreign, stack } = self;
        while let Some(route) = foreign.next_if(|route| route.0 <= *dst) {
            while stack.pop_if(|outer| !outer.0.contains(route.0.address)).is_some() {}
            stack.push(route);
        }
        while stack.pop_if(|outer| !outer.0.contains(dst.address)).is_some() {}
        let within = || foreign.peek().copied().filter(|route| dst.contains(route.0.address));
        stack.last().copied().or_else(within)
    }
}

/// Ids of our nexthops and groups that foreign routes and groups use.
pub(super) fn borrowed(observed: &Observed, foreign: &[ForeignRoute<'_>]) -> BTreeMap<u32, Object> {
    let mut users = BTreeMap::new();
    for ((dst, metric), route) in foreign {
        if let Some(id) = route.nexthop
            && is_our_id(id)
        {
            users.entry(id).or_insert(Object::Route(*dst, *metric));
        }
    }
    for (group, nexthop) in &observed.nexthops {
        if !is_our_nexthop(*group, nexthop) {
            for (id, _) in &nexthop.group {
                users.entry(*id).or_insert(Object::Group(*group));
            }
        }
    }
    users
}

/// Foreign objects by the interface that they depend on.
pub(super) struct Hangers<'a> {
    any: BTreeMap<&'a str, Object>,
    ipv4: BTreeMap<&'a str, Object>,
    sources: HashSet<IpAddr>,
}

impl<'a> Hangers<'a> {
    pub(super) fn new(observed: &'a Observed) -> Self {
        let (any, ipv4, sources) = Default::default();
        let mut hangers = Self { any, ipv4, sources };
        for (name, link) in &observed.links {
            match (&link.lower, &link.master) {
                (Some(lower), _) if !link.is_ours() => {
                    hangers.any.entry(lower).or_insert_with(|| Object::Link(name.clone()));
                }
                // The interface is a port of a foreign bridge or bond.
                (_, Some(master)) if link.is_ours() => {
                    hangers.any.entry(name).or_insert_with(|| Object::Link(master.clone()));
                }
                _ => {}
            }
        }
        for ((interface, address), neighbour) in &observed.neighbours {
            if !is_our_neighbour(neighbour) {
                let object = || Object::Neighbour(interface.clone(), *address);
                hangers.hang(interface, address.is_ipv4(), object);
            }
        }
        for (id, nexthop) in &observed.nexthops {
            if let Some(interface) = &nexthop.interface
                && !is_our_nexthop(*id, nexthop)
            {
                let ipv4 = nexthop.via.is_none_or(|via| via.is_ipv4());
                hangers.hang(interface, ipv4, || Object::Nexthop(*id));
            }
        }
        for (label, route) in &observed.labels {
            if let Some(interface) = &route.interface
                && is_our_label(route).is_none()
            {
                let ipv4 = route.via.is_some_and(|via| via.is_ipv4());
                hangers.hang(interface, ipv4, || Object::Label(*label, None));
            }
        }
        for (key, table_route) in &observed.table_routes {
            if let Some(interface) = &table_route.interface
                && is_our_table_route(key, table_route).is_none()
            {
                let object = || Object::TableRoute(key.0, key.1);
                hangers.hang(interface, key.1.address.is_ipv4(), object);
            }
        }
        let foreign = foreign_routes(observed);
        for ((dst, metric), route) in &foreign {
            if is_automatic(route.protocol) {
                continue;
            }
            hangers.sources.extend(route.src);
            if let Some(interface) = &route.interface {
                let object = || Object::Route(*dst, *metric);
                hangers.hang(interface, dst.address.is_ipv4(), object);
            }
        }
        for (id, user) in borrowed(observed, &foreign) {
            let Some(nexthop) = observed.nexthops.get(&id) else { continue };
            let members = nexthop.group.iter().filter_map(|m| observed.nexthops.get(&m.0));
            for plain in members.chain([nexthop]) {
                if let Some(interface) = &plain.interface {
                    let ipv4 = plain.via.is_none_or(|via| via.is_ipv4());
                    hangers.hang(interface, ipv4, || user.clone());
                }
            }
        }
        hangers
    }

    fn hang(&mut self, interface: &'a str, ipv4: bool, object: impl Fn() -> Object) {
        self.any.entry(interface).or_insert_with(&object);
        if ipv4 {
            self.ipv4.entry(interface).or_insert_with(object);
        }
    }

    /// A foreign object that depends on the interface.
    pub(super) fn any(&self, interface: &str) -> Option<&Object> {
        self.any.get(interface)
    }

    /// A foreign object that depends on the interface having an IPv4 address.
    pub(super) fn ipv4(&self, interface: &str) -> Option<&Object> {
        self.ipv4.get(interface)
    }

    /// Does a foreign route use the address as its source?
    pub(super) fn is_source(&self, address: &IpAddr) -> bool {
        self.sources.contains(address)
    }
}
