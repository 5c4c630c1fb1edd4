//! Folds routes to single nodes into prefixes ([`tresse_base::fold`]), where a slice asks for it: node addresses that
//! carry coordinates need few routes then.
//!
//! The routes to a node are its primary and its backup in the main table, and one in the table of each NIC of arrival.
//! A prefix of the main table holds nodes whose primaries and backups are both the same, as the longest prefix wins
//! over the best metric: a backup to one node would hide a primary to its prefix. A known address without a route is in
//! no prefix, and neither is an address of this node. Addresses of no node may be: packets to them end at a node of their
//! prefix, which has no route for them but the unreachable one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tresse_base::fold::fold;
use tresse_base::units::Prefix;

use super::{METRIC_BACKUP, METRIC_PRIMARY, Nexthop, Wanted, WantedRoute};

/// What the main table has for one node: its primary, its backup, and the backup that needs table routes.
type MainRoutes<'a> = [Option<&'a WantedRoute>; 3];

impl Wanted {
    /// The addresses of single hosts that the routes of all tables lead to.
    pub fn hosts(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let main = self.routes.keys().map(|(dst, _)| dst);
        let all =
            main.chain(self.xy.backups.keys()).chain(self.xy.tables.keys().map(|(_, dst)| dst));
        all.filter(|dst| is_host(dst)).map(|dst| dst.address)
    }

    /// The same kernel state with routes to prefixes, if the slice asks for them ([`Wanted::folds`]). `known`: further
    /// addresses that no prefix may hold, because nodes have them and no route leads there now.
    #[must_use]
    pub fn folded(mut self, known: impl IntoIterator<Item = IpAddr>) -> Self {
        if !self.folds {
            return self;
        }
        let own = self.addresses.iter().map(|(_, address)| *address);
        let known: BTreeSet<IpAddr> = known.into_iter().chain(self.hosts()).chain(own).collect();
        self.fold_main(&known);
        self.fold_tables(&known);
        self
    }

    fn fold_main(&mut self, known: &BTreeSet<IpAddr>) {
        let mut main: BTreeMap<IpAddr, Option<MainRoutes<'_>>> =
            known.iter().map(|address| (*address, None)).collect();
        let planned = self.routes.iter().filter(|(key, _)| is_of_host(key));
        let planned = planned
            .map(|((dst, metric), route)| (dst, usize::from(*metric == METRIC_BACKUP), route));
        let others = self.xy.backups.iter().filter(|(dst, _)| is_host(dst));
        for (dst, at, route) in planned.chain(others.map(|(dst, route)| (dst, 2, route))) {
            main.entry(dst.address).or_default().get_or_insert_default()[at] = Some(route);
        }
        let (mut routes, mut backups) = (BTreeMap::new(), BTreeMap::new());
        for (prefix, [primary, backup, other]) in fold(&main.into_iter().collect::<Vec<_>>()) {
            routes.extend(primary.map(|route| ((prefix, METRIC_PRIMARY), route.clone())));
            routes.extend(backup.map(|route| ((prefix, METRIC_BACKUP), route.clone())));
            backups.extend(other.map(|route| (prefix, route.clone())));
        }
        self.routes.retain(|key, _| !is_of_host(key));
        self.routes.extend(routes);
        self.xy.backups.retain(|dst, _| !is_host(dst));
        self.xy.backups.extend(backups);
    }

    fn fold_tables(&mut self, known: &BTreeSet<IpAddr>) {
        let mut tables: BTreeMap<&str, BTreeMap<IpAddr, Option<&Nexthop>>> = BTreeMap::new();
        for ((came, dst), nexthop) in self.xy.tables.iter().filter(|((_, dst), _)| is_host(dst)) {
            let none = || known.iter().map(|address| (*address, None)).collect();
            tables.entry(came).or_insert_with(none).insert(dst.address, Some(nexthop));
        }
        let of = |(came, table): (&str, BTreeMap<IpAddr, Option<&Nexthop>>)| -> Vec<_> {
            let folded = fold(&table.into_iter().collect::<Vec<_>>()).into_iter();
            folded.map(|(prefix, nexthop)| ((came.to_owned(), prefix), nexthop.clone())).collect()
        };
        let folded: Vec<_> = tables.into_iter().flat_map(of).collect();
        self.xy.tables.retain(|(_, dst), _| !is_host(dst));
        self.xy.tables.extend(folded);
    }
}

const fn is_host(dst: &Prefix) -> bool {
    dst.len == dst.width()
}

/// Is this the key of a primary or backup route to a single host?
const fn is_of_host((dst, metric): &(Prefix, u32)) -> bool {
    is_host(dst) && (*metric == METRIC_PRIMARY || *metric == METRIC_BACKUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nexthop(via: &str) -> Nexthop {
        let interface = "eth0".into();
        Nexthop { interface, via: via.parse().unwrap(), labels: Vec::new(), weight: 1 }
    }

    fn wanted(routes: &[(&str, u32, &str)]) -> Wanted {
        let mut wanted = Wanted { folds: true, ..Wanted::default() };
        wanted.addresses.insert(("tresse0".into(), "10.77.0.1".parse().unwrap()));
        for (dst, metric, via) in routes {
            let src = "10.77.0.1".parse().unwrap();
            let route = WantedRoute { src, mtu: 1500, advmss: 1460, nexthops: vec![nexthop(via)] };
            wanted.routes.insert((dst.parse().unwrap(), *metric), route);
        }
        wanted
    }

    fn lines(wanted: &Wanted) -> Vec<String> {
        let line = |((dst, metric), route): (&(Prefix, u32), &WantedRoute)| {
            format!("{dst} {metric} {}", route.nexthops[0].via)
        };
        wanted.routes.iter().map(line).collect()
    }

    #[test]
    fn a_prefix_has_primary_and_backup_of_all_its_nodes() {
        let all = wanted(&[
            ("10.77.0.8/32", 7800, "10.78.0.2"),
            ("10.77.0.8/32", 7801, "10.78.1.2"),
            ("10.77.0.9/32", 7800, "10.78.0.2"),
            ("10.77.0.9/32", 7801, "10.78.1.2"),
            ("10.77.0.10/32", 7800, "10.78.0.2"),
            ("10.78.0.0/29", 7800, "10.78.0.2"),
        ]);
        assert_eq!(
            lines(&all.clone().folded([])),
            [
                "10.77.0.8/31 7800 10.78.0.2",
                "10.77.0.8/31 7801 10.78.1.2",
                "10.77.0.10/32 7800 10.78.0.2",
                "10.78.0.0/29 7800 10.78.0.2",
            ]
        );
        let plain = Wanted { folds: false, ..all.clone() };
        assert_eq!(plain.clone().folded([]), plain);
        assert_eq!(all.clone().folded([]).folded([]), all.folded([]), "twice is once");
    }

    #[test]
    fn neither_an_own_address_nor_one_without_a_route_is_in_a_prefix() {
        let all = wanted(&[
            ("10.77.0.0/32", 7800, "10.78.0.2"),
            ("10.77.0.2/32", 7800, "10.78.0.2"),
            ("10.77.0.3/32", 7800, "10.78.0.2"),
            ("10.77.0.5/32", 7800, "10.78.0.2"),
            ("10.77.0.6/32", 7800, "10.78.0.2"),
        ]);
        let folded = lines(&all.folded(["10.77.0.4".parse().unwrap()]));
        let of = |dst: &str| format!("{dst} 7800 10.78.0.2");
        assert_eq!(
            folded,
            ["10.77.0.0/32", "10.77.0.2/31", "10.77.0.5/32", "10.77.0.6/32"].map(of)
        );
    }

    #[test]
    fn each_table_is_folded_by_itself() {
        let mut all = wanted(&[]);
        for (came, dst, via) in [
            ("eth0", "10.77.0.8/32", "10.78.0.2"),
            ("eth0", "10.77.0.10/32", "10.78.0.2"),
            ("eth1", "10.77.0.9/32", "10.78.0.2"),
        ] {
            all.xy.tables.insert((came.into(), dst.parse().unwrap()), nexthop(via));
        }
        let folded = all.folded([]).xy.tables;
        let found: Vec<_> = folded.keys().map(|(came, dst)| format!("{came} {dst}")).collect();
        // The address between has no route in the table of eth0.
        assert_eq!(found, ["eth0 10.77.0.8/32", "eth0 10.77.0.10/32", "eth1 10.77.0.9/32"]);
    }
}
