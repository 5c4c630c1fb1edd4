//! What a broken path does to the routes.

use std::collections::BTreeSet;

use tresse_base::id::{NodeId, PathId};
use tresse_base::units::Prefix;
use tresse_frame::records::Origin;
use tresse_liveness::records::Report;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_reconcile::{METRIC_BACKUP, METRIC_ICMP, METRIC_PRIMARY, Observed};
use tresse_slice::watch::{Crossing, Watch, Watches};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::{Effect, Host, Input, Prepared};
use crate::{Stored, digest};

pub(super) fn plan(plan: &Plan, node: NodeId) -> Prepared {
    let mut prepared = Prepared::new(plan, node, "text".into(), None);
    prepared.watches = Watches::new(plan, node).into();
    prepared.index = crate::Index::new(plan, node).into();
    prepared
}

/// Node 1 of a torus, with two paths to every peer.
pub(super) fn torus() -> (Prepared, Host) {
    let kind = TopologyShape::Torus { dims: vec![3, 3] };
    let cluster = Cluster::generated(kind, 1, 2, Strategy::Dor, 2);
    let prepared = plan(&Plan::build(cluster).unwrap(), NodeId(1));
    (prepared, Host::new(false))
}

/// The host has the plan, and all its paths are shown to be sound.
pub(super) fn settled(prepared: &Prepared, host: &mut Host) {
    assert!(host.apply(prepared).unwrap().is_ok());
    host.settle();
    assert!(host.watching.paths.iter().any(|path| path.active));
    assert_eq!(host.watching.interfaces.len(), prepared.interfaces.len());
    path_event(host, &[]);
    host.settle();
}

/// All paths but these are shown to be sound.
pub(super) fn path_event(host: &mut Host, down: &[PathId]) {
    let down: BTreeSet<PathId> = down.iter().copied().collect();
    let paths = host.watching.paths.iter().map(|path| path.id);
    let up = paths.filter(|path| !down.contains(path)).collect();
    host.input(Input::PathEvent {
        generation: host.watching.generation,
        down,
        held: BTreeSet::new(),
        up,
        silent: BTreeSet::new(),
    });
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
    let watch = prepared.watches.paths().iter().find(|watch| watch.id.rank == 0).unwrap();
    let key = (Prefix::host(watch.destination), METRIC_PRIMARY);
    path_event(&mut host, &[watch.id]);
    let status = host.engine.status(host.now);
    assert_eq!(status.broken, [format!("{} rank 0 by {}", watch.peer, watch.nexthop.interface)]);
    assert_eq!(status.backup, [watch.destination.to_string()]);
    assert!(status.in_sync && status.drift.is_empty(), "{status:?}");
    assert!(host.engine.is_broken(watch.id));
    // One group leads elsewhere, no route is touched.
    assert_eq!(host.kernel.observed.routes, before.routes);
    let group = host.kernel.observed.routes.get(&key).unwrap().nexthop.unwrap();
    let changed = changed(&before, &host.kernel.observed);
    assert!(changed.contains(&group), "{changed:?}");
    let groups = changed.iter().filter(|id| !before.nexthops[*id].group.is_empty());
    assert_eq!(groups.count(), 1);
    assert!(host.published.iter().any(|(kind, _)| kind == "path-down"));
    assert!(!host.published.iter().any(|(kind, _)| kind == "drift"), "{:?}", host.published);

    // A daemon that starts goes on as the one before.
    let now = host.kernel.observed.clone();
    host.restart();
    assert_eq!(host.kernel.observed, now);
    assert_eq!(host.watching.broken, BTreeSet::from([watch.id]));

    path_event(&mut host, &[]);
    assert_eq!(host.kernel.observed.routes, before.routes);
    assert_eq!(self::changed(&before, &host.kernel.observed), BTreeSet::new());
    assert!(host.published.iter().any(|(kind, _)| kind == "path-up"));
}

#[test]
fn paths_that_were_dead_before_their_sessions_came_up_are_probed() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let active: Vec<&Watch> =
        prepared.watches.paths().iter().filter(|watch| watch.active).collect();
    let [one, other] = [0, 1].map(|rank| {
        active.iter().find(|watch| watch.id.dst == NodeId(5) && watch.id.rank == rank).unwrap().id
    });
    // Nothing was heard of these, and no other session is there.
    let event = |host: &mut Host, unheard: &[PathId]| {
        let silent: BTreeSet<PathId> = unheard.iter().copied().collect();
        let all = prepared.watches.paths().iter().map(|watch| watch.id);
        host.input(Input::PathEvent {
            generation: host.watching.generation,
            down: BTreeSet::new(),
            held: BTreeSet::new(),
            up: all.filter(|id| !silent.contains(id)).collect(),
            silent,
        });
    };
    event(&mut host, &[one]);
    host.run_until(host.now + 4900);
    assert_eq!(host.watching.probed, BTreeSet::new(), "it may come up yet");
    host.run_until(host.now + 200);
    assert_eq!(host.watching.probed, [one].into(), "{other:?} shows that the node speaks");
    event(&mut host, &[]);
    assert_eq!(host.watching.probed, BTreeSet::new());

    // The node may be starting, or not be there.
    event(&mut host, &[one, other]);
    host.run_until(host.now + 29_900);
    assert_eq!(host.watching.probed, BTreeSet::new(), "it may speak yet");
    host.run_until(host.now + 200);
    assert_eq!(host.watching.probed, [one, other].into());

    let origin = Origin(u64::from_be_bytes(digest(prepared.index.node(NodeId(5)))));
    let says = |generation| {
        let report = Report { generation, ..Report::default() };
        Input::Reports([(origin, Some(report))].into())
    };
    for unheard in [&[one, other][..], &[one]] {
        host.input(says([7; 8]));
        event(&mut host, unheard);
        host.run_until(host.now + 60_000);
        assert_eq!(host.watching.probed, BTreeSet::new(), "it has another plan yet");
        host.input(says(prepared.digest()));
        host.run_until(host.now + 5100);
        assert_eq!(host.watching.probed, unheard.iter().copied().collect());
    }
}

#[test]
fn a_path_into_a_nic_whose_node_says_that_it_has_no_carrier_is_not_used() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let peer = NodeId(5);
    let watch = prepared.watches.paths().iter().find(|watch| watch.id.dst == peer).unwrap();
    let into = |wire: &Crossing| match wire {
        Crossing::In(node, nic) if *node == peer => Some(*nic),
        _ => None,
    };
    let nic = watch.wires.iter().find_map(into).unwrap();
    let says = |host: &mut Host, dark: &[usize]| {
        let origin = Origin(u64::from_be_bytes(digest(prepared.index.node(peer))));
        let dark = dark.iter().copied().collect();
        let report = Report { generation: prepared.digest(), dark, ..Report::default() };
        host.input(Input::Reports([(origin, Some(report))].into()));
        host.engine.status(0).broken.len()
    };
    assert_eq!(says(&mut host, &[]), 0);
    let into_it = |watch: &&Watch| watch.wires.iter().any(|wire| into(wire) == Some(nic));
    let dead: BTreeSet<PathId> =
        prepared.watches.paths().iter().filter(into_it).map(|watch| watch.id).collect();
    assert_eq!(says(&mut host, &[nic]), dead.len());
    // Its daemon is dead, and its kernel answers by that path: what it said is old.
    let paths = prepared.watches.paths().iter().map(|watch| watch.id);
    let event = |silent| Input::PathEvent {
        generation: prepared.digest(),
        down: BTreeSet::new(),
        held: BTreeSet::new(),
        up: paths.clone().collect(),
        silent,
    };
    host.input(event(dead.clone()));
    assert!(host.engine.status(0).broken.is_empty());
    host.input(event(BTreeSet::new()));
    assert_eq!(host.engine.status(0).broken.len(), dead.len());
    // What comes back is not trusted at once; after a while failure detection alone says what is broken.
    assert_eq!(says(&mut host, &[]), dead.len());
    host.now += 1000;
    host.input(Input::Tick);
    assert!(host.engine.status(0).broken.is_empty());
    assert_eq!(says(&mut host, &[nic]), dead.len());
    host.now += 10_000;
    host.input(Input::Tick);
    assert!(host.engine.status(0).broken.is_empty());
    assert_eq!(says(&mut host, &[]), 0);
}

#[test]
fn routes_round_a_failure_wait_neither_for_a_look_at_the_kernel_nor_for_the_disk() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    host.recording.clear();
    path_event(&mut host, &[prepared.watches.paths()[0].id]);
    let effects: Vec<&Effect> = host.recording.iter().flat_map(|(_, _, effects)| effects).collect();
    let first = |is: fn(&Effect) -> bool| effects.iter().position(|effect| is(effect)).unwrap();
    let changed = first(|effect| matches!(effect, Effect::Execute(_)));
    let looked = first(|effect| matches!(effect, Effect::Observe { .. }));
    let written = first(|effect| matches!(effect, Effect::Persist(_)));
    assert!(changed < looked && looked < written, "{effects:?}");
}

#[test]
fn a_look_that_finds_nothing_to_do_delays_none_after_it() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    host.engine.now = host.now;
    host.engine.go_round();
    host.input(Input::Tick);
    assert_eq!(host.engine.schedule.due(), None);
    host.now += 30_000;
    let generation = host.watching.generation;
    let down = [prepared.watches.paths()[0].id].into();
    let (held, up, silent) = Default::default();
    host.recording.clear();
    host.input(Input::PathEvent { generation, down, held, up, silent });
    let mut effects = host.recording.iter().flat_map(|(_, _, effects)| effects);
    assert!(effects.any(|effect| matches!(effect, Effect::Execute(_))));
}

/// What was seen of the kernel before may be wrong.
#[test]
fn where_the_kernel_refuses_routes_round_a_failure_it_is_looked_at_and_they_are_made_at_once() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    host.recording.clear();
    let at = host.now;
    host.fail_at = Some(0);
    path_event(&mut host, &[prepared.watches.paths()[0].id]);
    let done: Vec<(u64, &str)> = host
        .recording
        .iter()
        .flat_map(|(now, _, effects)| effects.iter().map(|effect| (*now, effect)))
        .filter_map(|(now, effect)| match effect {
            Effect::Execute(_) => Some((now, "execute")),
            Effect::Observe { .. } => Some((now, "observe")),
            Effect::Persist(_) => Some((now, "persist")),
            _ => None,
        })
        .collect();
    let wanted = ["execute", "observe", "execute", "observe", "persist"];
    assert_eq!(done, wanted.map(|step| (at, step)));
    let (status, paths) = (host.engine.status(host.now), prepared.watches.paths());
    assert_eq!(status.backup, [paths[0].destination.to_string()]);
    assert!(status.in_sync && status.fault.is_none(), "{status:?}");
    assert!(!host.published.iter().any(|(kind, _)| kind == "drift"), "{:?}", host.published);
}

#[test]
fn a_peer_that_is_gone_keeps_its_route_for_icmp() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let before = host.kernel.observed.routes.clone();
    let peer = prepared.watches.paths()[0].id.dst;
    let paths = prepared.watches.paths().iter().map(|watch| watch.id);
    let all: Vec<PathId> = paths.filter(|path| path.dst == peer).collect();
    path_event(&mut host, &all);
    let address = prepared.watches.paths()[0].destination;
    let of = |metric| (Prefix::host(address), metric);
    let now = &host.kernel.observed.routes;
    let (planned, kept) = (before.get(&of(METRIC_PRIMARY)), now.get(&of(METRIC_ICMP)));
    assert!(planned.is_some() && planned == kept, "{kept:?}");
    assert!(now.get(&of(METRIC_PRIMARY)).is_none() && now.get(&of(METRIC_BACKUP)).is_none());
}

/// A path that is shown to be sound again is on trial. It carries what no other path does.
#[test]
fn a_path_on_trial_is_used_where_nothing_else_is_whole() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let peer = prepared.watches.paths()[0].id.dst;
    let of_peer = prepared.watches.paths().iter().filter(|watch| watch.id.dst == peer);
    let paths: Vec<_> = of_peer.collect();
    let key = |metric| (Prefix::host(paths[0].destination), metric);
    let via = |host: &Host| {
        let observed = &host.kernel.observed;
        let route = [METRIC_PRIMARY, METRIC_ICMP]
            .into_iter()
            .find_map(|metric| observed.routes.get(&key(metric)));
        let group = &observed.nexthops[&route.unwrap().nexthop.unwrap()];
        let members: BTreeSet<_> =
            group.group.iter().map(|(id, _)| observed.nexthops[id].via).collect();
        if members.is_empty() { BTreeSet::from([group.via]) } else { members }
    };
    let all: BTreeSet<PathId> = paths.iter().map(|watch| watch.id).collect();
    let mut say = |held: &[PathId]| {
        let held = held.iter().copied().collect();
        let (generation, down) = (host.watching.generation, all.clone());
        host.input(Input::PathEvent {
            generation,
            down,
            held,
            up: BTreeSet::new(),
            silent: BTreeSet::new(),
        });
        host.settle();
        (via(&host), host.engine.status(host.now).cut)
    };
    let peer = paths[0].peer.clone();
    let (planned, cut) = say(&[]);
    assert_eq!(cut, std::slice::from_ref(&peer));
    let (used, cut) = say(&[paths[1].id]);
    assert_eq!(used, [Some(paths[1].nexthop.via)].into());
    assert_eq!(cut, [""; 0]);
    assert_eq!(say(&[]), (planned, vec![peer]));
}

#[test]
fn what_was_seen_of_another_plan_means_nothing() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let generation = host.watching.generation;
    assert_eq!(generation, prepared.digest());
    let effects = host.kernel.observed.clone();
    let known = prepared.watches.paths()[0].id;
    let other = prepared.digest().map(|byte| !byte);
    let unknown = PathId { rank: 9999, ..known };
    for (generation, path) in [(other, known), (generation, unknown)] {
        host.input(Input::PathEvent {
            generation,
            down: [path].into(),
            held: BTreeSet::new(),
            up: BTreeSet::new(),
            silent: BTreeSet::new(),
        });
    }
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
    let watch = &prepared.watches.paths()[0];
    let nexthop = &watch.nexthops[0];
    let of = |host: &Host, metric: u32| -> BTreeSet<_> {
        let routes = host.kernel.observed.routes.keys().filter(|(_, m)| *m == metric);
        routes.map(|(dst, _)| *dst).collect()
    };
    let installed = prepared.wanted.clone().folded([]).routes;
    let by_it: BTreeSet<_> = installed
        .iter()
        .filter(|((dst, metric), route)| {
            *metric == METRIC_PRIMARY
                && route.nexthops == [nexthop.clone()]
                && installed.contains_key(&(*dst, METRIC_BACKUP))
        })
        .map(|((dst, _), _)| *dst)
        .collect();
    assert!(!by_it.is_empty());
    let (primaries, backups) = (of(&host, METRIC_PRIMARY), of(&host, METRIC_BACKUP));
    path_event(&mut host, &[watch.id]);
    assert_eq!(&primaries - &by_it, of(&host, METRIC_PRIMARY));
    assert!(by_it.is_subset(&of(&host, METRIC_BACKUP)));
    assert!(of(&host, METRIC_BACKUP).is_subset(&backups));
    path_event(&mut host, &[]);
    assert_eq!((of(&host, METRIC_PRIMARY), of(&host, METRIC_BACKUP)), (primaries, backups));
}

/// Versions before stored the rank of a path without its ends; what is broken they stored as this one does.
#[test]
fn paths_that_a_version_before_has_stored_are_chosen_again() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let watch = &prepared.watches.paths()[0];
    path_event(&mut host, &[watch.id]);
    let stored = serde_json::to_value(&host.disk).unwrap();
    let now: Stored = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(now.upgraded(), host.disk);
    let mut before = stored;
    for path in before["current"]["watches"]["paths"].as_array_mut().unwrap() {
        let path = path.as_object_mut().unwrap();
        assert!(path.remove("src").is_some() && path.remove("dst").is_some());
        assert!(path["rank"].is_u64() && path["peer"].is_string());
    }
    let before: Stored = serde_json::from_value(before).unwrap();
    let before = before.upgraded();
    assert_eq!(before.current.unwrap().watches.paths(), []);
    assert_eq!(before.broken, watch.nexthops.iter().cloned().collect());
}

/// Nothing is heard of them once the sessions are those of the new plan.
#[test]
fn broken_paths_of_the_old_plan_are_not_used_while_plans_change() {
    let ring = |nodes| {
        let cluster = Cluster::generated(TopologyShape::Ring { nodes }, 1, 1, Strategy::Xy, 2);
        plan(&Plan::build(cluster).unwrap(), NodeId(3))
    };
    let (old, new) = (ring(5), ring(4));
    let mut host = Host::new(true);
    for (name, (mac, _)) in &old.wanted.nics {
        host.kernel.observed.links.get_mut(name).unwrap().mac = Some(*mac);
    }
    settled(&old, &mut host);
    // Its cable now leads to node 0.
    let gone = old.watches.paths().iter().find(|watch| watch.id.dst == NodeId(4)).unwrap();
    path_event(&mut host, &[gone.id]);
    assert!(host.disk.broken.contains(&gone.nexthop));
    assert!(host.apply(&new).unwrap().is_ok());
    assert!(host.disk.in_transition);
    let up = host.watching.paths.iter().map(|path| path.id).collect();
    let generation = host.watching.generation;
    host.input(Input::PathEvent {
        generation,
        down: BTreeSet::new(),
        held: BTreeSet::new(),
        up,
        silent: BTreeSet::new(),
    });
    host.run_until(host.now + 100);
    assert!(host.disk.in_transition);
    // A NIC's address has one path, because it names that NIC.
    let node = |destination| old.wanted.routes.contains_key(&(destination, METRIC_BACKUP));
    let observed = &host.kernel.observed;
    for ((destination, metric), route) in observed.routes.iter() {
        if *metric == METRIC_PRIMARY && node(*destination) {
            let group = &observed.nexthops[&route.nexthop.unwrap()];
            let via = group.group.iter().map(|(id, _)| observed.nexthops[id].via);
            let via: BTreeSet<_> = via.chain([group.via]).collect();
            assert!(!via.contains(&Some(gone.nexthop.via)), "{destination} via {via:?}");
        }
    }
    host.settle();
    assert!(!host.disk.in_transition);
    assert_eq!(host.disk.broken, BTreeSet::new());
}

/// The plan before goes on using a VLAN whose tree has grown, until the new tree is proven. Without sessions meanwhile
/// all its paths would count as broken, and those who join paths would take their routes away.
#[test]
fn a_vlan_whose_tree_has_grown_is_watched_until_it_is_proven_anew() {
    let mesh = |rows| {
        let kind = TopologyShape::Mesh { dims: vec![3, rows] };
        Cluster::generated(kind, 1, 1, Strategy::Pdor, 2)
    };
    let old = Plan::build(mesh(2)).unwrap();
    let new = Plan::build_with(mesh(3), &old.lock(&Lock::default())).unwrap();
    let [old, new] = [&old, &new].map(|of| plan(of, NodeId(1)));
    let grown = |(name, now): (&String, &crate::PlannedInterface)| {
        let before = old.interfaces.get(name)?;
        (before.vid == now.vid && before.digest != now.digest).then(|| name.clone())
    };
    let grown: Vec<String> = new.interfaces.iter().filter_map(grown).collect();
    assert!(!grown.is_empty());
    let mut host = Host::new(true);
    settled(&old, &mut host);
    assert!(host.apply(&new).unwrap().is_ok());
    assert_eq!(host.watching.generation, new.digest());
    let unproven = host.engine.status(host.now).unproven;
    for name in grown {
        let vid = new.interfaces[&name].vid.unwrap().0;
        assert!(unproven.contains(&vid), "{vid}: {unproven:?}");
        assert!(host.watching.interfaces.contains_key(&name), "{name}");
    }
}
