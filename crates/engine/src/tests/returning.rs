//! The way back to the plan before, and what other nodes announce.

use tresse_base::units::Mac;
use tresse_frame::announce::AnnouncementKind;

use super::transactions::{applied, in_a_ring};
use super::*;

/// The interfaces of the node with the peer on each.
fn peers() -> Vec<(String, Mac)> {
    let plan = in_a_ring(2);
    plan.wanted.neighbours.iter().map(|((nic, _), n)| (nic.clone(), n.mac)).collect()
}

/// Every peer announces a plan.
fn hear(host: &mut Host, digest: [u8; 8]) {
    let plan = in_a_ring(2);
    for (interface, source) in peers() {
        let announcement = Announcement {
            kind: AnnouncementKind::Refresh,
            vid: None,
            node: NodeId(0),
            fabric: plan.fabric,
            sequence: host.now,
            plan: digest,
        };
        host.input(Input::Frame { interface, source, announcement });
    }
}

/// A node that has settled by an unconfirmed second plan; its peers, too.
fn unconfirmed(force: bool) -> Host {
    let mut host = Host::new(true);
    applied(host.apply(&in_a_ring(2)));
    host.settle();
    let options = ApplyOptions { confirm_seconds: Some(300), force, ..ApplyOptions::default() };
    applied(host.apply_with(&in_a_ring(1), options));
    for _ in 0..5 {
        hear(&mut host, in_a_ring(1).digest());
        let next = host.now + 1000;
        host.run_until(next);
    }
    assert!(!host.engine.status(host.now).changing);
    host
}

#[test]
fn on_the_way_back_both_plans_are_kept_until_all_have_moved() {
    let mut host = unconfirmed(false);
    host.announced.clear();
    applied(host.call(|call| Input::Rollback { call }));
    let (old, new) = (in_a_ring(2), in_a_ring(1));
    let status = host.engine.status(host.now);
    assert_eq!(status.generation.as_ref(), Some(&old.generation));
    assert!(status.changing && status.previous.is_none(), "{status:?}");
    // Nobody takes this node for one that has gone on, or is back.
    assert!(!host.announced.is_empty());
    assert!(host.announced.iter().all(|(_, said)| said.plan == [0; 8]), "{:?}", host.announced);
    // As long as others send by the plan that is left, frames by it are received.
    for _ in 0..60 {
        hear(&mut host, new.digest());
        let next = host.now + 1000;
        host.run_until(next);
    }
    let status = host.engine.status(host.now);
    assert!(status.changing && status.waits.iter().any(|w| w.node.is_some()), "{status:?}");
    host.announced.clear();
    hear(&mut host, old.digest());
    let next = host.now + 5000;
    host.run_until(next);
    let status = host.engine.status(host.now);
    assert!(!status.changing && status.waits.is_empty(), "{status:?}");
    assert_eq!(host.disk.previous, None);
    assert!(!host.disk.returning && !host.disk.discard);
    let nothing = host.call(|call| Input::Rollback { call });
    assert_eq!(nothing, Some(Err(NodeError::NothingToRollBack)));
}

#[test]
fn the_way_back_survives_a_restart_and_ends_without_the_silent() {
    let mut host = unconfirmed(false);
    // A daemon that finds an unconfirmed plan goes back by itself.
    host.engine = Engine::new(settings(true, 1 << 40), host.disk.clone());
    host.input(Input::Start { configured: None });
    assert_eq!(host.disk.current.as_ref().map(|c| &c.generation), Some(&in_a_ring(2).generation));
    assert!(host.disk.in_transition && host.disk.discard);
    let end = host.now + 12_000;
    host.run_until(end);
    let status = host.engine.status(host.now);
    assert!(!status.changing && status.in_sync, "{status:?}");
    assert_eq!(host.disk.previous, None);
}

/// It may be what cuts the operator off.
#[test]
fn k19_a_forced_plan_is_removed_at_once() {
    let mut host = unconfirmed(true);
    applied(host.call(|call| Input::Rollback { call }));
    assert!(!host.engine.status(host.now).changing);
    assert_eq!(host.disk.previous, None);
}

#[test]
fn a_confirm_that_cannot_be_stored_is_none() {
    let mut host = Host::new(false);
    applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    let options = ApplyOptions { confirm_seconds: Some(30), ..ApplyOptions::default() };
    applied(host.apply_with(&prepared(Strategy::Stp, &[3, 3]), options));
    for _ in 0..2 {
        host.fail_at = Some(0);
        let refused = host.call(keep);
        assert!(matches!(refused, Some(Err(NodeError::Internal { .. }))), "{refused:?}");
        assert!(host.published.iter().all(|(kind, _)| kind != "confirmed"));
        assert!(host.engine.status(host.now).confirm_seconds.is_some());
    }
    // Neither is one of a plan that is not in force.
    let generation = Some(in_a_ring(1).generation);
    let other = host.call(|call| Input::Confirm { call, generation });
    assert_eq!(other, Some(Err(NodeError::NothingToConfirm)));
    let generation = host.engine.status(host.now).generation;
    assert_eq!(host.call(|call| Input::Confirm { call, generation }), Some(Ok(Reply::Done)));
    assert!(host.published.iter().any(|(kind, _)| kind == "confirmed"));
    let generation = host.engine.status(host.now).generation;
    host.restart();
    assert_eq!(host.engine.status(host.now).generation, generation);
}

#[test]
fn a_node_with_another_plan_is_named_while_it_is_heard() {
    let mut host = Host::new(true);
    applied(host.apply(&in_a_ring(2)));
    host.settle();
    let others = |host: &Host| -> Vec<String> {
        host.engine.status(host.now).others.into_iter().map(|other| other.node).collect()
    };
    hear(&mut host, [7; 8]);
    assert_eq!(others(&host), ["n0", "n2"]);
    // Neither is one that is on its way, nor one with this plan.
    for digest in [[0; 8], in_a_ring(2).digest()] {
        host.now += 1;
        hear(&mut host, digest);
        assert_eq!(others(&host), [""; 0]);
    }
    host.now += 1;
    hear(&mut host, [7; 8]);
    host.now += 3 * 3_600_000;
    assert_eq!(others(&host), [""; 0]);
}
