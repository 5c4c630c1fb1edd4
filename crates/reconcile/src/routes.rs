//! The observed routes of one routing table, as one sorted list. Many thousands of routes are
//! filled in, compared and dropped in order, and a `BTreeMap` is several times slower at that.

use std::net::IpAddr;
use std::ops::Index;

use serde::{Deserialize, Serialize};
use tresse_base::units::Prefix;

use super::PROTOCOL;

/// A route found in the kernel: everything but its destination and metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedRoute {
    /// rtm_protocol; ours is [`PROTOCOL`].
    pub protocol: u8,
    /// RTA_NH_ID.
    pub nexthop: Option<u32>,
    /// RTA_OIF (name), if the route has no nexthop object.
    pub interface: Option<String>,
    /// RTA_PREFSRC.
    pub src: Option<IpAddr>,
    /// RTAX_MTU.
    pub mtu: Option<u32>,
    /// RTAX_ADVMSS.
    pub advmss: Option<u32>,
}

/// Key of a route in one table: destination and metric.
pub type RouteKey = (Prefix, u32);

type Keyed = (RouteKey, ObservedRoute);

/// The observed routes of one routing table, sorted by destination and metric. Each destination and
/// metric has one route.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Keyed>")]
pub struct ObservedRoutes(Vec<Keyed>);

impl ObservedRoutes {
    /// The number of routes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The route with this key.
    #[must_use]
    pub fn get(&self, key: &RouteKey) -> Option<&ObservedRoute> {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    /// Is there a route with this key?
    #[must_use]
    pub fn contains_key(&self, key: &RouteKey) -> bool {
        self.find(key).is_ok()
    }

    /// All routes with their keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&RouteKey, &ObservedRoute)> {
        self.0.iter().map(|(key, route)| (key, route))
    }

    /// All keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &RouteKey> {
        self.0.iter().map(|(key, _)| key)
    }

    /// All routes in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &ObservedRoute> {
        self.0.iter().map(|(_, route)| route)
    }

    /// The routes to exactly this destination, lowest metric first.
    pub fn to(&self, dst: Prefix) -> impl Iterator<Item = &ObservedRoute> {
        let from = self.0.partition_point(|(key, _)| *key < (dst, 0));
        self.0[from..].iter().take_while(move |(key, _)| key.0 == dst).map(|(_, route)| route)
    }

    fn find(&self, key: &RouteKey) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }
}

/// For the fake kernel of tests. Each operation costs time in proportion to the routes after the
/// key.
impl ObservedRoutes {
    /// Inserts a route; returns the one that it replaces.
    pub fn insert(&mut self, key: RouteKey, route: ObservedRoute) -> Option<ObservedRoute> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, route)),
            Err(at) => {
                self.0.insert(at, (key, route));
                None
            }
        }
    }

    /// Removes the route with this key.
    pub fn remove(&mut self, key: &RouteKey) -> Option<ObservedRoute> {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The route with this key, mutable.
    pub fn get_mut(&mut self, key: &RouteKey) -> Option<&mut ObservedRoute> {
        self.find(key).ok().map(|at| &mut self.0[at].1)
    }

    /// All routes, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut ObservedRoute> {
        self.0.iter_mut().map(|(_, route)| route)
    }

    /// Removes all routes for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&RouteKey, &ObservedRoute) -> bool) {
        self.0.retain(|(key, route)| keep(key, route));
    }
}

impl Index<&RouteKey> for ObservedRoutes {
    type Output = ObservedRoute;

    /// Returns the route with this key.
    ///
    /// # Panics
    /// If no route has the key.
    fn index(&self, key: &RouteKey) -> &ObservedRoute {
        self.get(key).expect("no route with this key")
    }
}

impl From<Vec<Keyed>> for ObservedRoutes {
    fn from(routes: Vec<Keyed>) -> Self {
        let mut list = RouteList::default();
        routes.into_iter().for_each(|(key, route)| list.push(key, route));
        list.finish()
    }
}

/// Collects routes in the order in which the kernel dumps them, to make [`ObservedRoutes`] of them. Kernels
/// dump them nearly in the order of [`ObservedRoutes`], so the list is sorted at the end only if it has to
/// be.
#[derive(Debug, Default)]
pub struct RouteList {
    routes: Vec<Keyed>,
    mixed: bool,
}

impl RouteList {
    /// Adds one route.
    #[inline]
    pub fn push(&mut self, key: RouteKey, route: ObservedRoute) {
        if let Some((last, present)) = self.routes.last_mut()
            && *last >= key
        {
            if *last == key {
                if present.protocol != PROTOCOL && route.protocol == PROTOCOL {
                    *present = route;
                }
                return;
            }
            self.mixed = true;
        }
        self.routes.push((key, route));
    }

    /// All routes, sorted; of several with one key ours, or else the first.
    #[must_use]
    pub fn finish(self) -> ObservedRoutes {
        let Self { mut routes, mixed } = self;
        if mixed {
            routes.sort_by_key(|(key, route)| (*key, route.protocol != PROTOCOL));
            routes.dedup_by_key(|(key, _)| *key);
        }
        routes.shrink_to_fit();
        ObservedRoutes(routes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(protocol: u8) -> ObservedRoute {
        let (nexthop, interface, src, mtu, advmss) = Default::default();
        ObservedRoute { protocol, nexthop, interface, src, mtu, advmss }
    }

    fn key(dst: &str, metric: u32) -> RouteKey {
        (dst.parse().unwrap(), metric)
    }

    #[test]
    fn a_list_in_any_order_is_sorted_and_of_one_key_ours_wins() {
        let reported = [
            ("10.0.0.0/16", 0, 4),
            ("10.0.0.0/8", 0, 4),
            ("fd77::/64", 1024, 2),
            ("10.0.0.0/8", 7, 3),
            ("10.0.0.0/8", 0, PROTOCOL),
            ("10.0.0.0/8", 7, 4),
        ];
        let reported = reported.map(|(dst, metric, protocol)| (key(dst, metric), route(protocol)));
        let mut routes = ObservedRoutes::from(reported.to_vec());
        let found: Vec<_> =
            routes.iter().map(|(k, r)| (k.0.to_string(), k.1, r.protocol)).collect();
        let expected = [
            ("10.0.0.0/8", 0, PROTOCOL),
            ("10.0.0.0/8", 7, 3),
            ("10.0.0.0/16", 0, 4),
            ("fd77::/64", 1024, 2),
        ];
        assert_eq!(found, expected.map(|(dst, metric, p)| (dst.to_owned(), metric, p)));
        let to: Vec<u8> = routes.to(key("10.0.0.0/8", 0).0).map(|r| r.protocol).collect();
        assert_eq!(to, [PROTOCOL, 3]);
        assert_eq!(routes.to(key("10.0.0.0/9", 0).0).count(), 0);
        let json = serde_json::to_string(&routes).unwrap();
        assert_eq!(serde_json::from_str::<ObservedRoutes>(&json).unwrap(), routes);
        assert!(routes.insert(key("10.0.0.0/8", 3), route(9)).is_none());
        assert_eq!(routes.remove(&key("10.0.0.0/8", 3)), Some(route(9)));
        assert!(!routes.contains_key(&key("10.0.0.0/8", 3)) && routes.len() == 4);
    }
}
