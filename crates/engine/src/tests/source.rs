//! A source without encapsulation in its kernel: what goes through the TUN interface, what stays in the
//! kernel, and what follows a carrier.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, ObservedRoute, PUSH_INTERFACE};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::{Changes, Host, Input, Prepared, Reply};

/// The slice of the node with most labelled primaries, and a host with its NICs.
fn scene() -> (Prepared, Host) {
    let kind = TopologyShape::Torus { dims: vec![6, 6] };
    let cluster = Cluster::generated(kind, 1, 2, Strategy::Transit { root: None }, 3);
    let plan = Plan::build(cluster).unwrap();
    let slices = (0..36).map(|n| Prepared::new(&plan, NodeId(n), "torus".into(), None));
    // Of those that forward for nobody, as the host's kernel does not.
    let slices = slices.filter(|slice| slice.labels.is_empty());
    let plan = slices.max_by_key(|slice| labelled(slice, METRIC_PRIMARY).len()).unwrap();
    assert!(!labelled(&plan, METRIC_PRIMARY).is_empty(), "a torus has turns that are not legal");
    let mut host = Host::new(false);
    for (name, (mac, _)) in &plan.wanted.nics {
        host.kernel.observed.links.get_mut(name).unwrap().mac = Some(*mac);
    }
    let ipv6 = ("net/ipv6/conf/*/router_solicitations".to_owned(), "-1".to_owned());
    host.kernel.sysctls.push(ipv6);
    (plan, host)
}

/// Does a route go through the TUN interface?
fn through_tun(host: &Host, route: &ObservedRoute) -> bool {
    let nexthops = &host.kernel.observed.nexthops;
    let group = route.nexthop.and_then(|id| nexthops.get(&id));
    let members = group.into_iter().flat_map(|group| &group.group);
    members
        .filter_map(|(id, _)| nexthops.get(id)?.interface.as_deref())
        .any(|interface| interface == PUSH_INTERFACE)
}

fn tunnelled(host: &Host, metric: u32) -> BTreeSet<IpAddr> {
    let routes = host.kernel.observed.routes.iter();
    let routes = routes.filter(|((_, m), route)| *m == metric && through_tun(host, route));
    routes.map(|((dst, _), _)| dst.address).collect()
}

/// The destinations whose route of this metric begins with labels.
fn labelled(plan: &Prepared, metric: u32) -> BTreeSet<IpAddr> {
    let routes = plan.wanted.routes.iter().filter(|((_, m), _)| *m == metric);
    let routes =
        routes.filter(|(_, r)| r.nexthops.iter().any(|nexthop| !nexthop.labels.is_empty()));
    routes.map(|((dst, _), _)| dst.address).collect()
}

#[test]
fn labelled_paths_go_through_the_tun_and_all_others_do_not() {
    let (plan, mut host) = scene();
    let before = host.kernel.clone();
    let reply = host.apply(&plan);
    let Some(Ok(Reply::Applied(applied))) = reply else { panic!("{reply:?}") };
    assert!(applied.pending.is_empty(), "{:?}", applied.pending);
    assert!(host.kernel.observed.links[PUSH_INTERFACE].up);
    assert_eq!(tunnelled(&host, METRIC_PRIMARY), labelled(&plan, METRIC_PRIMARY));
    assert!(host.kernel.observed.nexthops.values().all(|n| n.labels.is_empty()));
    let pushed: BTreeSet<IpAddr> = host.pushing.routes.keys().copied().collect();
    let both = [METRIC_PRIMARY, METRIC_BACKUP].map(|metric| tunnelled(&host, metric));
    assert_eq!(pushed, both.into_iter().flatten().collect());
    for (to, paths) in &host.pushing.routes {
        let key = |metric| (Prefix::host(*to), metric);
        let metric = if labelled(&plan, METRIC_PRIMARY).contains(to) { 7800 } else { 7801 };
        let nexthop = &plan.wanted.routes[&key(metric)].nexthops[0];
        let vlan = &plan.interfaces[&nexthop.interface];
        assert_eq!(paths.len(), 1);
        assert_eq!((&paths[0].nic, paths[0].vid), (&vlan.parent, vlan.vid));
        assert_eq!(paths[0].labels, nexthop.labels);
        let mac = plan.wanted.neighbours[&(nexthop.interface.clone(), nexthop.via)].mac;
        assert_eq!(paths[0].mac, mac);
    }
    assert_eq!(host.engine.status(host.now).source, "tun");
    let again = host.call(|call| Input::Diff { call });
    let Some(Ok(Reply::Difference(difference))) = again else { panic!("{again:?}") };
    assert!(difference.operations.is_empty(), "{:?}", difference.operations);
    host.call(|call| Input::Withdraw { call, force: false });
    assert_eq!(host.kernel.comparable(), before.comparable());
    assert!(host.pushing.routes.is_empty());
    assert_eq!(host.engine.status(host.now).source, "none");
}

#[test]
fn k1_a_source_leaves_the_paths_of_a_nic_without_carrier() {
    let (plan, mut host) = scene();
    host.apply(&plan);
    host.settle();
    let (routes, pushing) = (host.kernel.observed.routes.clone(), host.pushing.clone());
    let nic = host.pushing.nics.keys().next().unwrap().clone();
    host.kernel.set_carrier(&nic, false);
    host.input(Input::Changed(Changes::default()));
    host.settle();
    let mut paths = host.pushing.routes.values().flatten();
    assert!(paths.all(|path| path.nic != nic), "{nic} {:?}", host.pushing);
    assert!(host.pushing.routes.len() < pushing.routes.len());
    for (dst, _) in routes.keys().filter(|(_, metric)| *metric == METRIC_PRIMARY) {
        let left = host.kernel.observed.routes.to(*dst).next().expect("a way by the other NIC");
        assert_eq!(through_tun(&host, left), host.pushing.routes.contains_key(&dst.address));
    }
    assert!(!host.engine.status(host.now).backup.is_empty());
    host.kernel.set_carrier(&nic, true);
    host.input(Input::Changed(Changes::default()));
    host.settle();
    assert_eq!(host.pushing, pushing);
    assert!(host.kernel.observed.routes.keys().eq(routes.keys()));
}

/// The TUN interface goes with the daemon, and with it the routes through it.
#[test]
fn k1_without_the_daemon_the_second_route_serves_where_the_plan_has_one_without_labels() {
    let (plan, mut host) = scene();
    host.apply(&plan);
    host.settle();
    let before = host.kernel.comparable();
    host.kernel.remove_link(PUSH_INTERFACE);
    let routes = &host.kernel.observed.routes;
    let mut kept = 0;
    for to in labelled(&plan, METRIC_PRIMARY) {
        let plain = |nexthop: &tresse_reconcile::Nexthop| nexthop.labels.is_empty();
        let has = plan.alternatives[&Prefix::host(to)].iter().any(plain);
        assert_eq!(routes.to(Prefix::host(to)).count(), usize::from(has), "{to}");
        kept += usize::from(has);
    }
    println!("{kept} of {} kept", labelled(&plan, METRIC_PRIMARY).len());
    host.restart();
    assert_eq!(host.kernel.comparable(), before);
    assert!(host.engine.status(host.now).in_sync);
}

#[test]
fn an_apply_that_fails_leaves_what_was_pushed_before() {
    let (plan, mut host) = scene();
    host.apply(&plan);
    host.settle();
    let (pushing, before) = (host.pushing.clone(), host.kernel.comparable());
    let mut other = plan.clone();
    other.generation = "other".into();
    other.wanted.routes.retain(|(dst, _), _| dst.address != *pushing.routes.keys().next().unwrap());
    host.fail_at = Some(3);
    assert!(matches!(host.apply(&other), Some(Err(_))));
    host.settle();
    assert_eq!(host.kernel.comparable(), before);
    assert_eq!(host.pushing.routes, pushing.routes);
}
