//! How soon a change of plans asks for peers, and when it reports whom it waits for.

use std::collections::BTreeSet;

use tresse_base::id::{NodeId, PathId};
use tresse_control::NodeError;
use tresse_frame::announce::AnnouncementKind;
use tresse_plan::Plan;
use tresse_slice::watch::Watches;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::canary::{frame, hear_all};
use super::transactions::in_a_ring;
use super::watch::path_event;
use super::{ApplyOptions, Host, Index, Input, Prepared};

/// A node of a ring that has just changed from two paths to one.
fn changed() -> Host {
    let mut host = Host::new(true);
    host.apply(&in_a_ring(2)).unwrap().unwrap();
    host.settle();
    host.apply(&in_a_ring(1)).unwrap().unwrap();
    (host.published, host.announced) = Default::default();
    host
}

#[test]
fn a_peer_that_was_not_heard_is_asked_for_at_once_and_then_once_a_second() {
    let mut host = changed();
    let began = host.now;
    let asked = |host: &mut Host, until| {
        host.run_until(began + until);
        let canary = |(_, sent): &&(String, _)| is_canary(sent);
        let asked = host.announced.iter().filter(canary).count();
        host.announced.clear();
        asked
    };
    assert_eq!(asked(&mut host, 240), 0);
    assert_eq!(asked(&mut host, 380), 2, "one on each cable");
    assert_eq!(asked(&mut host, 1200), 0);
    assert_eq!(asked(&mut host, 1900), 2);
}

fn is_canary(sent: &tresse_frame::announce::Announcement) -> bool {
    sent.kind == AnnouncementKind::Canary
}

#[test]
fn who_still_sends_by_the_plan_before_is_reported_two_seconds_after_this_node_moved() {
    let mut host = changed();
    let began = host.now;
    let (old, new) = (in_a_ring(2), in_a_ring(1));
    host.run_until(began + 3000);
    host.published.clear();
    hear_all(&mut host, &new, &old);
    let held = |host: &Host| {
        let still = |(_, words): &&(String, String)| words.contains("sends by the plan before,");
        host.published.iter().filter(still).count()
    };
    host.run_until(host.now + 1500);
    assert!(host.published.iter().any(|(kind, _)| kind == "moved"), "{:?}", host.published);
    assert_eq!(held(&host), 0, "{:?}", host.published);
    host.run_until(host.now + 1500);
    assert_eq!(held(&host), 2, "{:?}", host.published);
}

/// Node 1 of a fabric of four nodes, as the daemon has it.
fn planned(kind: TopologyShape, paths: u32) -> Prepared {
    let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, paths)).unwrap();
    let mut prepared = Prepared::new(&plan, NodeId(1), format!("{paths} paths"), None);
    prepared.index = Index::new(&plan, NodeId(1)).into();
    prepared.watches = Watches::new(&plan, NodeId(1)).into();
    prepared
}

fn ring(paths: u32) -> Prepared {
    planned(TopologyShape::Ring { nodes: 4 }, paths)
}

/// A node that has `old` and gets `new` while nothing arrives by the NIC of that name.
fn changed_with_a_dead_cable(old: &Prepared, new: &Prepared, nic: &str) -> Host {
    let mut host = Host::new(true);
    for (name, (mac, _)) in &old.wanted.nics {
        host.kernel.observed.links.get_mut(name).unwrap().mac = Some(*mac);
    }
    host.apply(old).unwrap().unwrap();
    host.settle();
    let dead = old.watches.paths().iter().filter(|watch| watch.nexthop.interface == nic);
    path_event(&mut host, &dead.map(|watch| watch.id).collect::<Vec<PathId>>());
    host.apply(new).unwrap().unwrap();
    host
}

/// Announcements of the peers of `plan`, apart from those behind one NIC.
fn hear_all_but(host: &mut Host, plan: &Prepared, nic: &str) {
    let nexthops = plan.wanted.routes.values().flat_map(|route| &route.nexthops);
    let heard: BTreeSet<_> = nexthops.filter(|nexthop| nexthop.interface != nic).collect();
    for (nexthop, sequence) in heard.into_iter().zip(host.now..) {
        let neighbour = &plan.wanted.neighbours[&(nexthop.interface.clone(), nexthop.via)];
        announce(host, plan, &nexthop.interface, neighbour.mac, sequence);
    }
}

fn announce(
    host: &mut Host,
    plan: &Prepared,
    nic: &str,
    mac: tresse_base::units::Mac,
    sequence: u64,
) {
    let mut heard = frame(plan, nic, 0, sequence);
    if let Input::Frame { source, announcement, .. } = &mut heard {
        *source = mac;
        announcement.kind = AnnouncementKind::Refresh;
        announcement.plan = plan.digest();
    }
    host.input(heard);
}

#[test]
fn a_peer_behind_a_cable_that_is_known_to_be_dead_is_not_waited_for() {
    let (old, new) = (ring(2), ring(1));
    let mut host = changed_with_a_dead_cable(&old, &new, "eth0");
    let began = host.now;
    hear_all_but(&mut host, &new, "eth0");
    host.run_until(began + 1000);
    let waits = host.engine.status(host.now).waits;
    let words: Vec<String> = waits.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), 1, "{words:?}");
    assert!(
        words[0].contains("n0") && words[0].contains("the paths there are broken"),
        "{words:?}"
    );
    host.run_until(began + 2500);
    hear_all_but(&mut host, &new, "eth0");
    host.run_until(began + 5000);
    let status = host.engine.status(host.now);
    assert!(!status.changing, "{status:?}");
}

/// What it said before it fell silent is not a plan that it has now.
#[test]
fn a_node_that_was_given_up_is_not_named_as_one_with_another_plan() {
    let (old, new) = (ring(2), ring(1));
    let mut host = changed_with_a_dead_cable(&old, &new, "eth0");
    hear_all(&mut host, &new, &old);
    let began = host.now;
    host.run_until(began + 500);
    hear_all_but(&mut host, &new, "eth0");
    host.run_until(began + 8000);
    let status = host.engine.status(host.now);
    assert!(!status.changing, "{status:?}");
    assert_eq!(status.others, []);
}

/// Its NICs are named the wrong way round in the file: who is heard on the other one is not where the plan
/// says, and nothing may be sent there.
#[test]
fn a_peer_that_is_heard_on_another_interface_counts_as_not_heard() {
    let (old, new) = (in_a_ring(2), in_a_ring(1));
    let mut host = Host::new(true);
    host.apply(&old).unwrap().unwrap();
    host.settle();
    host.apply(&new).unwrap().unwrap();
    let began = host.now;
    for second in 0..60 {
        for (nic, other) in [("eth0", "eth1"), ("eth1", "eth0")] {
            let peers = new.wanted.neighbours.iter().filter(|((name, _), _)| name == other);
            for (_, neighbour) in peers {
                announce(&mut host, &old, nic, neighbour.mac, began + second);
            }
        }
        host.run_until(began + second * 1000);
    }
    assert!(!host.published.iter().any(|(kind, _)| kind == "moved"), "{:?}", host.published);
    let waits = host.engine.status(host.now).waits;
    assert!(waits.iter().all(|wait| wait.what.contains("was not heard on")), "{waits:?}");
    assert_eq!(waits.len(), 2);
}

#[test]
fn a_plan_that_gives_an_address_of_a_node_to_another_is_refused_and_nothing_is_changed() {
    let (old, new) = (ring(2), planned(TopologyShape::FullMesh { nodes: 4 }, 2));
    let mut host = Host::new(true);
    host.apply(&old).unwrap().unwrap();
    host.settle();
    let before = (host.kernel.comparable(), host.disk.clone());
    for (dry_run, force) in [(true, false), (false, false), (false, true)] {
        let options = ApplyOptions { dry_run, force, ..ApplyOptions::default() };
        let Some(Err(NodeError::Refused { message, .. })) = host.apply_with(&new, options) else {
            panic!("not refused")
        };
        assert!(
            message.contains("in the plan in force") && message.contains("tresse.lock"),
            "{message}"
        );
    }
    assert_eq!((host.kernel.comparable(), host.disk.clone()), before);
}

#[test]
fn a_node_that_no_sound_path_leads_to_is_cut_off_and_not_on_a_backup() {
    let plan = ring(1);
    let mut host = Host::new(false);
    for (name, (mac, _)) in &plan.wanted.nics {
        host.kernel.observed.links.get_mut(name).unwrap().mac = Some(*mac);
    }
    host.apply(&plan).unwrap().unwrap();
    host.settle();
    path_event(&mut host, &[]);
    assert_eq!(host.engine.status(host.now).cut, [""; 0]);
    let by_eth0 = plan.watches.paths().iter().filter(|watch| watch.nexthop.interface == "eth0");
    path_event(&mut host, &by_eth0.map(|watch| watch.id).collect::<Vec<PathId>>());
    let status = host.engine.status(host.now);
    assert!(status.cut.contains(&"n0".into()) && !status.cut.contains(&"n2".into()), "{status:?}");
    assert!(!status.backup.contains(&"10.77.0.1".into()), "{status:?}");
}
