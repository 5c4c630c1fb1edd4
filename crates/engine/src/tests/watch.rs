//! What a broken path does to the routes.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, Observed};
use tresse_slice::watch::Watches;
use tresse_topology::cluster::{Cluster, Kind, Strategy};

use super::{Host, Input, Prepared};

fn plan(plan: &Plan, node: NodeId) -> Prepared {
    let mut prepared = Prepared::new(plan, node, "text".into(), None);
    prepared.watches = Watches::new(plan, node).into();
    prepared
}

/// Node 1 of a torus, with two paths to every peer.
fn torus() -> (Prepared, Host) {
    let kind = Kind::Torus { dims: vec![3, 3] };
    let cluster = Cluster::generated(kind, 1, 2, Strategy::Dor, 2);
    let prepared = plan(&Plan::build(cluster).unwrap(), NodeId(1));
    (prepared, Host::new(false))
}

/// The host has the plan, and all its paths are shown to be sound.
fn settled(prepared: &Prepared, host: &mut Host) {
    assert!(host.apply(prepared).unwrap().is_ok());
    host.settle();
    assert!(host.watching.watches.active() > 0);
    assert_eq!(host.watching.interfaces.len(), prepared.interfaces.len());
    sight(host, &[]);
    host.settle();
}

fn sight(host: &mut Host, down: &[usize]) {
    let down: BTreeSet<usize> = down.iter().copied().collect();
    let up = (0..host.watching.watches.paths.len()).filter(|at| !down.contains(at)).collect();
    host.input(Input::Sight { serial: host.watching.serial, down, up });
    host.settle();
}

/// The nexthop objects of `before` that are others by now.
fn changed(before: &Observed, now: &Observed) -> BTreeSet<u32> {
    let ids = before.nexthops.iter().filter(|(id, found)| now.nexthops.get(id) != Some(*found));
    ids.map(|(id, _)| *id).collect()
}

#[test]
fn a_broken_path_gives_way_to_the_other_and_comes_back() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let before = host.kernel.observed.clone();
    let (at, watch) =
        prepared.watches.paths.iter().enumerate().find(|(_, watch)| watch.rank == 0).unwrap();
    let key = (Prefix::host(watch.destination), METRIC_PRIMARY);
    sight(&mut host, &[at]);
    let status = host.engine.status(host.now);
    assert_eq!(status.broken, [format!("{} rank 0 by {}", watch.peer, watch.leg.interface)]);
    assert_eq!(status.backup, [watch.destination.to_string()]);
    assert!(status.in_sync && status.drift.is_empty(), "{status:?}");
    assert!(host.engine.is_broken(&watch.leg));
    // One group leads elsewhere, no route is touched.
    assert_eq!(host.kernel.observed.routes, before.routes);
    let group = host.kernel.observed.routes.get(&key).unwrap().nexthop.unwrap();
    let changed = changed(&before, &host.kernel.observed);
    assert!(changed.contains(&group), "{changed:?}");
    let groups = changed.iter().filter(|id| !before.nexthops[*id].group.is_empty());
    assert_eq!(groups.count(), 1);
    assert!(host.told.iter().any(|(kind, _)| kind == "path-down"));
    assert!(!host.told.iter().any(|(kind, _)| kind == "drift"), "{:?}", host.told);

    // A daemon that starts goes on as the one before.
    let now = host.kernel.observed.clone();
    host.restart();
    assert_eq!(host.kernel.observed, now);
    assert_eq!(host.watching.broken, BTreeSet::from([at]));

    sight(&mut host, &[]);
    assert_eq!(host.kernel.observed.routes, before.routes);
    assert_eq!(self::changed(&before, &host.kernel.observed), BTreeSet::new());
    assert!(host.told.iter().any(|(kind, _)| kind == "path-up"));
}

#[test]
fn a_peer_that_is_gone_keeps_its_routes() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let before = host.kernel.observed.routes.clone();
    let peer = &prepared.watches.paths[0].peer;
    let paths = prepared.watches.paths.iter().enumerate();
    let all: Vec<usize> = paths.filter(|(_, w)| w.peer == *peer).map(|(at, _)| at).collect();
    sight(&mut host, &all);
    let address = prepared.watches.paths[0].destination;
    let key = (Prefix::host(address), METRIC_PRIMARY);
    assert!(before.get(&key).is_some() && host.kernel.observed.routes.get(&key).is_some());
}

#[test]
fn what_was_seen_of_another_plan_means_nothing() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let serial = host.watching.serial;
    let effects = host.kernel.observed.clone();
    host.input(Input::Sight { serial: serial - 1, down: [0].into(), up: BTreeSet::new() });
    host.input(Input::Sight { serial, down: [9999].into(), up: BTreeSet::new() });
    host.settle();
    assert_eq!(host.kernel.observed, effects);
}

#[test]
fn a_neighbour_that_is_lost_leaves_its_routes_to_the_backups_of_the_kernel() {
    let text = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n";
    let fabric = Plan::build(tresse_cluster::parse(text, "test.toml").unwrap()).unwrap();
    let prepared = plan(&fabric, NodeId(1));
    let mut host = Host::new(false);
    host.kernel.observed.links.clear();
    for (index, (name, (mac, _))) in (2..).zip(&prepared.wanted.nics) {
        let mut link = super::bare().observed.links.into_values().next().unwrap();
        (link.index, link.mac) = (index, Some(*mac));
        host.kernel.observed.links.insert(name.clone(), link);
    }
    for key in ["net/ipv4/conf/*/forwarding", "net/ipv4/conf/*/accept_local"] {
        host.kernel.sysctls.push((key.into(), "0".into()));
    }
    settled(&prepared, &mut host);
    let watch = &prepared.watches.paths[0];
    let leg = &watch.legs[0];
    let of = |host: &Host, metric: u32| -> BTreeSet<_> {
        let routes = host.kernel.observed.routes.keys().filter(|(_, m)| *m == metric);
        routes.map(|(dst, _)| *dst).collect()
    };
    let by_it: BTreeSet<_> = prepared
        .wanted
        .routes
        .iter()
        .filter(|((dst, metric), route)| {
            *metric == METRIC_PRIMARY
                && route.legs == [leg.clone()]
                && prepared.wanted.routes.contains_key(&(*dst, METRIC_BACKUP))
        })
        .map(|((dst, _), _)| *dst)
        .collect();
    assert!(!by_it.is_empty());
    let (primaries, backups) = (of(&host, METRIC_PRIMARY), of(&host, METRIC_BACKUP));
    sight(&mut host, &[0]);
    assert_eq!(&primaries - &by_it, of(&host, METRIC_PRIMARY));
    assert!(by_it.is_subset(&of(&host, METRIC_BACKUP)));
    assert!(of(&host, METRIC_BACKUP).is_subset(&backups));
    sight(&mut host, &[]);
    assert_eq!((of(&host, METRIC_PRIMARY), of(&host, METRIC_BACKUP)), (primaries, backups));
}
