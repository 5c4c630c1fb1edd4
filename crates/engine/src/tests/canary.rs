//! K5 and K17: VLANs carry traffic once proven, and never again once fused.

use tresse_base::id::{NodeId, Vid};
use tresse_base::units::Mac;
use tresse_control::NodeError;
use tresse_frame::announce::{Announcement, AnnouncementKind};
use tresse_plan::Plan;
use tresse_reconcile::METRIC_PRIMARY;
use tresse_topology::cluster::{Cluster, Strategy};

use super::{Host, Input, Prepared, Reply, prepared};

pub(super) fn frame(plan: &Prepared, interface: &str, node: u32, sequence: u64) -> Input {
    Input::Frame {
        interface: interface.into(),
        source: Mac([2, 0, 0, 0, 9, 9]),
        announcement: Announcement {
            kind: AnnouncementKind::Canary,
            vid: plan.interfaces[interface].vid,
            node: NodeId(node),
            fabric: plan.fabric,
            sequence,
            plan: plan.digest(),
        },
    }
}

#[test]
fn k5_routes_wait_for_the_proof_of_their_vlan() {
    let mut host = Host::new(true);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    host.apply(&plan);
    assert_eq!(host.primaries(), 0);
    let status = host.engine.status(host.now);
    assert!(!status.unproven.is_empty());
    assert!(status.pending.iter().any(|p| p.why.contains("not proven")), "{status:?}");
    host.run_until(host.now + 10_000);
    assert_eq!(host.primaries(), 8);
    let vids: std::collections::BTreeSet<Vid> =
        plan.interfaces.values().filter_map(|i| i.vid).collect();
    let canaries = host.announced.iter().filter(|(_, a)| a.kind == AnnouncementKind::Canary);
    assert_eq!(canaries.count(), vids.len(), "one canary per VLAN");
    let sent = host.announced.len();
    host.restart();
    let canaries =
        host.announced[sent..].iter().filter(|(_, a)| a.kind == AnnouncementKind::Canary).count();
    assert_eq!((host.primaries(), canaries), (8, 0), "a restart proves nothing again");
}

#[test]
fn k5_a_second_copy_fuses_the_vlan_until_it_is_unfused() {
    let mut host = Host::new(true);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    host.apply(&plan);
    host.run_until(host.now + 10_000);
    let (name, interface) = plan.interfaces.iter().next().unwrap();
    host.input(frame(&plan, name, 0, 77));
    assert!(host.kernel.observed.links[name].up);
    host.input(frame(&plan, name, 0, 77));
    assert!(!host.kernel.observed.links[name].up, "its interface is down at once");
    let status = host.engine.status(host.now);
    assert_eq!(Some(Vid(status.fused[0].vid)), interface.vid);
    assert!(!status.fused[0].links.is_empty());
    assert!(
        host.published.iter().any(|(kind, m)| kind == "fused" && m.contains("s0")),
        "{:?}",
        host.published
    );
    let sent = host.announced.len();
    host.restart();
    host.run_until(host.now + 100_000);
    assert!(!host.announced[sent..].iter().any(|(i, _)| i == name), "nothing is announced on it");
    assert!(!host.kernel.observed.links[name].up);

    let vid = interface.vid.unwrap();
    assert_eq!(host.call(|call| Input::Unfuse { call, vid }), Some(Ok(Reply::Done)));
    host.run_until(host.now + 10_000);
    assert!(host.kernel.observed.links[name].up);
    assert_eq!(host.primaries(), 8);
    let again = host.call(|call| Input::Unfuse { call, vid });
    assert_eq!(again, Some(Err(NodeError::NotFused { vid: vid.0 })));
}

/// Lets every peer of a plan announce itself on the interface that its route leaves by, and say by
/// which plan it sends.
pub(super) fn hear_all(host: &mut Host, plan: &Prepared, sends_by: &Prepared) {
    let nexthops = plan.wanted.routes.values().flat_map(|r| &r.nexthops);
    for (nexthop, sequence) in nexthops.zip(host.now..) {
        let mac = plan.wanted.neighbours[&(nexthop.interface.clone(), nexthop.via)].mac;
        let mut heard = frame(plan, &nexthop.interface, 0, sequence);
        if let Input::Frame { source, announcement, .. } = &mut heard {
            *source = mac;
            announcement.kind = AnnouncementKind::Refresh;
            announcement.plan = sends_by.digest();
        }
        host.input(heard);
    }
}

fn vlan_interfaces(host: &Host) -> usize {
    host.kernel.observed.links.keys().filter(|l| l.contains('.')).count()
}

/// The primary routes as (destination, interface).
fn primary_interfaces(plan: &Prepared) -> Vec<String> {
    let primaries = plan.wanted.routes.iter().filter(|((_, m), _)| *m == METRIC_PRIMARY);
    primaries.map(|((dst, _), r)| format!("{dst} {}", r.nexthops[0].interface)).collect()
}

#[test]
fn k5_a_new_plan_takes_over_route_by_route_and_loses_none() {
    let mut host = Host::new(true);
    let old = prepared(Strategy::Dor, &[3, 3]);
    host.apply(&old);
    host.run_until(host.now + 20_000);
    assert_eq!(host.primaries(), 8);
    let new = prepared(Strategy::Stp, &[3, 3]);
    assert_ne!(primary_interfaces(&old), primary_interfaces(&new));
    host.apply(&new);
    assert_eq!(host.primaries(), 8, "old routes stay while the new VLANs are unproven");
    for _ in 0..100 {
        host.run_until(host.now + 50);
        assert_eq!(host.primaries(), 8);
    }
    assert!(host.engine.status(host.now).unproven.is_empty());
    assert!(vlan_interfaces(&host) > new.interfaces.len(), "no peer was heard yet");
    assert!(host.announced.iter().all(|(_, a)| a.plan == old.digest()), "it has not moved");
    for _ in 0..100 {
        hear_all(&mut host, &new, &old);
        host.run_until(host.now + 1000);
        assert_eq!(host.primaries(), 8);
        assert!(vlan_interfaces(&host) > new.interfaces.len(), "peers still send on old VLANs");
    }
    let pending = host.engine.status(host.now).pending;
    assert!(matches!(&pending[..], [line] if line.kind == "plan"), "{pending:?}");
    assert_eq!(
        host.announced.last().unwrap().1.plan,
        new.digest(),
        "it announces that it has moved"
    );
    hear_all(&mut host, &new, &new);
    host.run_until(host.now + 500);
    assert!(vlan_interfaces(&host) > new.interfaces.len(), "frames may be under way");
    host.run_until(host.now + 2000);
    assert_eq!(host.primaries(), 8);
    assert_eq!(vlan_interfaces(&host), new.interfaces.len(), "what only the old plan needed goes");
}

#[test]
fn the_last_node_to_move_ends_the_change_at_once() {
    let mut host = Host::new(true);
    host.apply(&prepared(Strategy::Dor, &[3, 3]));
    host.run_until(host.now + 20_000);
    let new = prepared(Strategy::Stp, &[3, 3]);
    host.apply(&new);
    host.run_until(host.now + 10_000);
    hear_all(&mut host, &new, &new);
    host.run_until(host.now + 2000);
    assert_eq!(vlan_interfaces(&host), new.interfaces.len());
    assert_eq!(
        host.announced.last().unwrap().1.plan,
        new.digest(),
        "it announced that it has moved"
    );
}

#[test]
fn a_silent_peer_holds_the_plan_before_for_a_limited_time() {
    let mut host = Host::new(true);
    host.apply(&prepared(Strategy::Dor, &[3, 3]));
    host.run_until(host.now + 20_000);
    let new = prepared(Strategy::Stp, &[3, 3]);
    host.apply(&new);
    let sent = host.announced.len();
    host.run_until(host.now + 30_000);
    assert!(vlan_interfaces(&host) > new.interfaces.len());
    let asked =
        host.announced[sent..].iter().filter(|(_, a)| a.kind == AnnouncementKind::Canary).count();
    assert!(asked > 10, "it asks for the peer: {asked}");
    host.run_until(host.now + 30_000);
    assert_eq!(vlan_interfaces(&host), new.interfaces.len());
    assert_eq!(host.primaries(), 8);
    assert_eq!(host.engine.status(host.now).pending, []);
    let sent = host.announced.len();
    host.run_until(host.now + 30_000);
    assert_eq!(host.announced.len(), sent, "and then it is quiet");
}

#[test]
fn a_canary_on_a_proven_vlan_is_answered_at_once() {
    let mut host = Host::new(true);
    let plan = prepared(Strategy::Stp, &[3, 3]);
    host.apply(&plan);
    host.run_until(host.now + 20_000);
    let (name, _) = plan.interfaces.iter().find(|(_, i)| i.announces).unwrap();
    let sent = host.announced.len();
    host.input(frame(&plan, name, 0, 12));
    host.run_until(host.now + 400);
    let answers = &host.announced[sent..];
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!((&answers[0].0, answers[0].1.kind), (name, AnnouncementKind::Refresh));
}

#[test]
fn frames_of_others_and_of_unknown_nodes_prove_and_fuse_nothing() {
    let mut host = Host::new(true);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    host.apply(&plan);
    let name = plan.interfaces.keys().next().unwrap();
    for _ in 0..2 {
        host.input(frame(&plan, name, 4_000_000, 5));
        let mut foreign = frame(&plan, name, 0, 5);
        if let Input::Frame { announcement, .. } = &mut foreign {
            announcement.fabric = [0; 8];
        }
        host.input(foreign);
    }
    assert_eq!(host.engine.status(host.now).fused, []);
}

/// Without VLANs, where nothing has to be proven: so that `tresse cables` soon has something to compare.
#[test]
fn the_first_announcement_on_a_nic_asks_who_is_there() {
    let mut host = Host::new(true);
    let ring = Cluster::generated(
        tresse_topology::cluster::TopologyShape::Ring { nodes: 3 },
        1,
        1,
        Strategy::Xy,
        2,
    );
    let plan = Plan::build(ring).unwrap();
    let plan = Prepared::new(&plan, NodeId(1), "ring".into(), None);
    let keys = plan.wanted.sysctls.keys();
    host.kernel.observed.sysctls.extend(keys.map(|key| (key.clone(), "0".to_owned())));
    host.apply(&plan);
    host.run_until(host.now + 2 * 3_600_000);
    for nic in ["eth0", "eth1"] {
        let on_it = host.announced.iter().filter(|(name, _)| name == nic);
        let kinds: Vec<AnnouncementKind> =
            on_it.map(|(_, announcement)| announcement.kind).collect();
        assert!(kinds.len() > 1 && kinds[0] == AnnouncementKind::Canary, "{nic}: {kinds:?}");
        assert!(
            kinds[1..].iter().all(|kind| *kind == AnnouncementKind::Refresh),
            "{nic}: {kinds:?}"
        );
    }
}
