//! Apply, undo, confirm, rollback, withdraw, drift, restart; failures and crashes at every step.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use tresse_base::id::NodeId;
use tresse_control::{NodeError, Withdrawn};
use tresse_plan::Plan;
use tresse_reconcile::{ObservedRoute, Operation};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::{
    ApplyOptions, Arc, Changes, Engine, Host, Index, Input, Prepared, Reply, Stored, bare, keep,
    prepared, settings,
};

pub(super) fn applied(reply: Option<Result<Reply, NodeError>>) -> tresse_control::Applied {
    match reply {
        Some(Ok(Reply::Applied(applied))) => applied,
        other => panic!("{other:?}"),
    }
}

#[test]
fn apply_installs_and_a_second_apply_does_nothing() {
    let mut host = Host::new(false);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    let first = applied(host.apply(&plan));
    assert!(first.operations.len() > 20, "{first:?}");
    assert_eq!(host.primaries(), 8);
    let second = applied(host.apply(&plan));
    assert_eq!(second.operations, []);
    let status = host.engine.status(host.now);
    assert!(status.in_sync, "{status:?}");
    assert_eq!(status.generation.as_deref(), Some(plan.generation.as_str()));
    assert_eq!(host.kernel.damage, [""; 0]);
}

#[test]
fn a_dry_run_lists_the_operations_and_changes_nothing() {
    let mut host = Host::new(false);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    let options = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
    let listed = applied(host.apply_with(&plan, options));
    assert_eq!(host.kernel, bare());
    assert_eq!(host.disk.current, None);
    assert_eq!(applied(host.apply(&plan)).operations.len(), listed.operations.len());
}

#[test]
fn withdraw_leaves_the_kernel_as_it_was_found() {
    let mut host = Host::new(false);
    applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    applied(host.apply(&prepared(Strategy::Pdor, &[3, 3])));
    let reply = host.call(|call| Input::Withdraw { call, force: false });
    assert!(matches!(reply, Some(Ok(Reply::Withdrawn(_)))), "{reply:?}");
    assert_eq!(host.kernel, bare());
    assert_eq!(host.disk, withdrawn());
    let again = host.call(|call| Input::Withdraw { call, force: false });
    let nothing = Withdrawn { operations: Vec::new(), left: Vec::new() };
    assert_eq!(again, Some(Ok(Reply::Withdrawn(nothing))));
    let reply = Host::new(false).call(|call| Input::Withdraw { call, force: false });
    assert_eq!(reply, Some(Err(NodeError::NoPlan)));
}

#[test]
fn withdraw_names_what_it_had_to_leave_and_removes_it_when_it_is_free() {
    let mut host = Host::new(false);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    applied(host.apply(&plan));
    let interface = plan.interfaces.keys().next().unwrap().clone();
    let key = ("192.168.8.0/24".parse().unwrap(), 0);
    let foreign = ObservedRoute {
        protocol: 4,
        nexthop: None,
        interface: Some(interface.clone()),
        src: None,
        mtu: None,
        advmss: None,
    };
    host.kernel.observed.routes.insert(key, foreign);
    let left = |host: &mut Host| match host.call(|call| Input::Withdraw { call, force: false }) {
        Some(Ok(Reply::Withdrawn(withdrawn))) => withdrawn.left,
        other => panic!("{other:?}"),
    };
    let lines = left(&mut host);
    assert!(lines.iter().any(|line| line.why.contains(&interface)), "{lines:?}");
    assert!(host.kernel.observed.links.contains_key(&interface));
    assert!(host.kernel.observed.routes.contains_key(&key));
    host.restart();
    assert_eq!(left(&mut host), lines);
    host.kernel.observed.routes.remove(&key);
    assert_eq!(left(&mut host), []);
    assert_eq!(host.kernel, bare());
}

#[test]
fn what_cannot_be_persisted_is_not_done_and_the_caller_is_told() {
    let mut host = Host::new(false);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    // At start nobody waits for the answer.
    host.fail_at = Some(0);
    let (prepared, options) = (Box::new(plan.clone()), ApplyOptions::default());
    host.input(Input::Apply { call: None, prepared, options });
    let status = host.engine.status(host.now);
    assert!(status.fault.as_ref().is_some_and(|f| f.contains("no space left")), "{status:?}");
    assert!(!status.in_sync && status.generation.is_none(), "{status:?}");
    let mut host = Host::new(false);
    for (step, words) in
        [(0, "nothing was changed"), (usize::MAX, "operations before it were undone")]
    {
        // The journal, then the commit: the last of all steps.
        let mut trial = Host::new(false);
        let steps = applied(trial.apply(&plan)).operations.len() + 1;
        host.fail_at = Some(step.min(steps));
        match host.apply(&plan) {
            Some(Err(NodeError::Internal { message })) => {
                assert!(message.contains("no space left") && message.contains(words), "{message}");
            }
            other => panic!("{other:?}"),
        }
        host.settle();
        assert_eq!(host.kernel, bare());
        host.restart();
        assert_eq!(host.kernel, bare());
        assert_eq!(host.disk.current, None);
    }
    applied(host.apply(&plan));
    let status = host.engine.status(host.now);
    assert!(status.in_sync && status.fault.is_none(), "{status:?}");
}

#[test]
fn a_configured_plan_whose_first_apply_fails_is_applied_again() {
    let plan = prepared(Strategy::Dor, &[3, 3]);
    // The journal, an operation in the middle, and the commit.
    for step in [0, 20, 60] {
        let mut host = Host::new(false);
        host.configured = Some(Box::new(plan.clone()));
        host.engine = Engine::new(settings(false, 1), Stored::default());
        host.fail_at = Some(step);
        host.input(Input::Start { configured: host.configured.clone() });
        let status = host.engine.status(host.now);
        let fault = status.fault.unwrap_or_else(|| panic!("step {step} did not fail"));
        assert!(fault.ends_with("; tried again in 1 s"), "{fault}");
        assert!(!status.in_sync && status.generation.is_none());
        host.settle();
        let status = host.engine.status(host.now);
        assert!(status.in_sync && status.fault.is_none(), "{status:?}");
        assert_eq!(host.primaries(), 8);
    }
}

#[test]
fn a_configured_plan_that_cannot_be_applied_is_withdrawn_or_replaced() {
    let failing = || {
        let mut host = Host::new(false);
        let plan = Box::new(prepared(Strategy::Dor, &[3, 3]));
        // The interface belongs to a bridge, so that every apply is refused (K20).
        let nic = plan.wanted.nics.keys().next().unwrap().clone();
        host.kernel.observed.links.get_mut(&nic).unwrap().master = Some("br0".into());
        host.input(Input::Start { configured: Some(plan) });
        host.settle();
        assert!(host.engine.status(host.now).fault.is_some());
        host
    };
    let mut host = failing();
    let tries = host.published.iter().filter(|(kind, _)| kind == "failed").count();
    assert!((5..=8).contains(&tries), "{tries} tries in a minute");
    let reply = host.call(|call| Input::Withdraw { call, force: false });
    assert!(matches!(reply, Some(Ok(_))), "{reply:?}");
    host.published.clear();
    host.settle();
    assert!(host.published.is_empty(), "{:?}", host.published);
    assert!(host.engine.status(host.now).withdrawn);
    // Another plan takes its place.
    let mut host = failing();
    let forced = ApplyOptions {
        force_interfaces: prepared(Strategy::Stp, &[3, 3]).wanted.nics.into_keys().collect(),
        ..ApplyOptions::default()
    };
    applied(host.apply_with(&prepared(Strategy::Stp, &[3, 3]), forced));
    host.settle();
    let status = host.engine.status(host.now);
    assert!(status.in_sync && status.fault.is_none(), "{status:?}");
    assert_eq!(status.generation, Some(prepared(Strategy::Stp, &[3, 3]).generation));
}

fn withdrawn() -> Stored {
    Stored { withdrawn: true, ..Stored::default() }
}

#[test]
fn a_withdrawal_outlives_the_daemon_until_the_next_apply() {
    let mut host = Host::new(false);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    host.configured = Some(Box::new(plan.clone()));
    host.restart();
    assert_eq!(host.primaries(), 8, "the configured plan is installed where there is no other");
    let withdraw = |host: &mut Host| {
        let reply = host.call(|call| Input::Withdraw { call, force: false });
        assert!(matches!(reply, Some(Ok(_))), "{reply:?}");
    };
    let clean = |host: &Host| {
        assert_eq!(host.kernel, bare());
        let status = host.engine.status(host.now);
        assert!(status.withdrawn && status.in_sync && status.fault.is_none(), "{status:?}");
    };
    withdraw(&mut host);
    for _ in 0..2 {
        host.restart();
        clean(&host);
        let published = host.published.last().unwrap();
        assert!(
            published.0 == "withdrawn" && published.1.contains("tresse apply"),
            "{published:?}"
        );
    }
    // An apply that nobody confirms returns to the withdrawn state, also over a restart.
    let confirm = ApplyOptions { confirm_seconds: Some(10), ..ApplyOptions::default() };
    for restarts in [false, true] {
        applied(host.apply_with(&plan, confirm.clone()));
        assert!(!host.engine.status(host.now).withdrawn);
        if restarts {
            host.restart();
        }
        host.settle();
        clean(&host);
        host.restart();
        clean(&host);
    }
    // A confirmed one, and one without a timer, end it.
    for options in [confirm, ApplyOptions::default()] {
        applied(host.apply_with(&plan, options.clone()));
        if options.confirm_seconds.is_some() {
            assert_eq!(host.call(keep), Some(Ok(Reply::Done)));
        }
        host.restart();
        assert_eq!(host.primaries(), 8);
        assert!(!host.disk.withdrawn);
        withdraw(&mut host);
    }
}

#[test]
fn rollback_returns_to_the_plan_before() {
    let mut host = Host::new(false);
    applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    let before = host.kernel.comparable();
    applied(host.apply(&prepared(Strategy::Stp, &[3, 3])));
    assert_ne!(host.kernel.comparable().links, before.links);
    applied(host.call(|call| Input::Rollback { call }));
    assert_eq!(host.kernel.comparable().routes.len(), before.routes.len());
    assert_eq!(host.kernel.comparable().links, before.links);
}

#[test]
fn an_apply_that_nobody_confirms_is_rolled_back() {
    let mut host = Host::new(false);
    let options = ApplyOptions { confirm_seconds: Some(30), ..ApplyOptions::default() };
    applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    let before = host.kernel.comparable().links;
    let answer = applied(host.apply_with(&prepared(Strategy::Stp, &[3, 3]), options.clone()));
    assert_eq!(answer.confirm_seconds, Some(30));
    let refused = host.apply(&prepared(Strategy::Pdor, &[3, 3]));
    assert!(matches!(refused, Some(Err(NodeError::Busy { .. }))), "{refused:?}");
    host.run_until(host.now + 29_000);
    assert_ne!(host.kernel.comparable().links, before);
    host.run_until(host.now + 2_000);
    assert_eq!(host.kernel.comparable().links, before);
    assert_eq!(host.engine.status(host.now).confirm_seconds, None);

    applied(host.apply_with(&prepared(Strategy::Stp, &[3, 3]), options));
    assert_eq!(host.call(keep), Some(Ok(Reply::Done)));
    host.run_until(host.now + 60_000);
    assert_ne!(host.kernel.comparable().links, before);
    let nothing = host.call(keep);
    assert_eq!(nothing, Some(Err(NodeError::NothingToConfirm)));
}

#[test]
fn k19_an_unconfirmed_apply_found_at_start_is_rolled_back_first() {
    let mut host = Host::new(false);
    let options = ApplyOptions { confirm_seconds: Some(3600), ..ApplyOptions::default() };
    applied(host.apply_with(&prepared(Strategy::Dor, &[3, 3]), options));
    host.restart();
    assert_eq!(host.kernel, bare());
    assert_eq!(host.disk.current, None);
}

#[test]
fn a_restart_is_hitless() {
    let mut host = Host::new(false);
    applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    let (kernel, disk) = (host.kernel.clone(), host.disk.clone());
    host.restart();
    assert_eq!(host.kernel, kernel);
    assert_eq!(host.disk, disk);
    assert!(host.engine.status(host.now).in_sync);
}

#[test]
fn drift_is_repaired_reported_and_rate_limited() {
    let mut host = Host::new(false);
    applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    let whole = host.kernel.comparable();
    let key = *host.kernel.observed.routes.keys().find(|(_, m)| *m >= 7800).unwrap();
    let delete = Operation::DeleteRoute { dst: key.0, metric: key.1 };
    host.kernel.apply(&delete).unwrap();
    host.input(Input::Changed(Changes::default()));
    assert_eq!(host.kernel.comparable(), whole);
    assert!(host.published.iter().any(|(kind, _)| kind == "drift"), "{:?}", host.published);
    let mut repaired = 0;
    for _ in 0..20 {
        host.kernel.apply(&delete).unwrap();
        host.input(Input::Changed(Changes::default()));
        repaired += usize::from(host.kernel.comparable() == whole);
        if host.kernel.comparable() != whole {
            assert!(!host.engine.status(host.now).drift.is_empty());
            break;
        }
    }
    assert!(repaired < 10, "{repaired}");
    host.settle();
    assert_eq!(host.kernel.comparable(), whole);
}

#[test]
fn k1_a_cable_out_and_in_again_ends_in_sync() {
    let mut host = Host::new(false);
    host.kernel.set_carrier("eth1", false);
    let answer = applied(host.apply(&prepared(Strategy::Dor, &[3, 3])));
    assert!(!answer.pending.is_empty());
    host.kernel.set_carrier("eth1", true);
    host.input(Input::Changed(Changes::default()));
    host.settle();
    let status = host.engine.status(host.now);
    assert!(status.in_sync && status.pending.is_empty(), "{status:?}");
    let whole = host.kernel.comparable();
    host.kernel.set_carrier("eth0", false);
    host.input(Input::Changed(Changes { overrun: true, ..Changes::default() }));
    assert!(!host.engine.status(host.now).backup.is_empty());
    host.kernel.set_carrier("eth0", true);
    host.input(Input::Changed(Changes::default()));
    host.settle();
    assert_eq!(host.kernel.comparable().routes.len(), whole.routes.len());
    assert!(host.engine.status(host.now).in_sync);
}

#[test]
fn k19_a_guarded_interface_is_not_changed_and_a_moved_route_rolls_back() {
    let mut host = Host::new(false);
    let plan = prepared(Strategy::Dor, &[3, 3]);
    host.management.insert("10.77.0.1".into(), "dev eth0".into());
    let refused = host.apply(&plan);
    assert!(matches!(refused, Some(Err(NodeError::WouldLockOut { .. }))), "{refused:?}");
    assert_eq!(host.kernel, bare());
    let forced = ApplyOptions { force: true, ..ApplyOptions::default() };
    applied(host.apply_with(&plan, forced));
}

#[test]
fn a_slice_for_another_node_is_refused() {
    let mut host = Host::new(false);
    let mut plan = prepared(Strategy::Dor, &[3, 3]);
    applied(host.apply(&plan));
    plan.node = "n7".into();
    let refused = host.apply(&plan);
    assert!(matches!(refused, Some(Err(NodeError::WrongNode { .. }))), "{refused:?}");
}

/// Node 1 of a ring of four; its cables lead to n0 and n2.
pub(super) fn in_a_ring(paths: u32) -> Prepared {
    let ring = TopologyShape::Ring { nodes: 4 };
    let plan = Plan::build(Cluster::generated(ring, 1, 1, Strategy::Xy, paths)).unwrap();
    let mut prepared = Prepared::new(&plan, NodeId(1), format!("{paths} paths"), None);
    prepared.index = Arc::new(Index::new(&plan, NodeId(1)));
    prepared
}

#[test]
fn a_change_of_plans_says_whom_it_waits_for_and_goes_on_without_the_silent() {
    let mut host = Host::new(true);
    applied(host.apply(&in_a_ring(2)));
    host.settle();
    assert_eq!(host.engine.status(host.now).waits, []);
    host.published.clear();
    applied(host.apply(&in_a_ring(1)));
    let began = host.now;
    host.run_until(began + 3000);
    let waits = host.engine.status(host.now).waits;
    let lines: Vec<String> = waits.iter().map(ToString::to_string).collect();
    let expected = ["n0", "n2"].map(|node| {
        let nic = if node == "n0" { "eth0" } else { "eth1" };
        format!("waits for {node}, which was not heard on {nic}, since 3 s, for 37 s more at most if it stays silent")
    });
    assert_eq!(lines, expected);
    let kinds =
        |host: &Host| host.published.iter().map(|(kind, _)| kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&host), ["applied", "waiting", "waiting"], "{:?}", host.published);
    host.run_until(began + 120_000);
    let status = host.engine.status(host.now);
    assert!(!status.changing && status.waits.is_empty(), "{status:?}");
    let kinds = kinds(&host);
    assert!(kinds.ends_with(&["settled".into()]) && kinds.contains(&"moved".into()), "{kinds:?}");
}

#[test]
fn a_recording_replays_with_the_same_effects() {
    let mut host = Host::new(true);
    host.apply(&prepared(Strategy::Dor, &[3, 3]));
    host.settle();
    host.kernel.set_carrier("eth0", false);
    host.input(Input::Changed(Changes::default()));
    host.apply(&prepared(Strategy::Stp, &[3, 3]));
    host.settle();
    let settings = settings(true, 0);
    let mut engine = Engine::new(settings, Stored::default());
    assert!(host.recording.len() > 20);
    for (now, input, effects) in &host.recording {
        let input = serde_json::from_str(input).unwrap();
        assert_eq!(&engine.step(*now, input), effects);
    }
}

#[test]
fn a_failure_at_any_step_is_undone_exactly() {
    let first = prepared(Strategy::Dor, &[3, 3]);
    let second = prepared(Strategy::Stp, &[3, 3]);
    for step in 0.. {
        let mut host = Host::new(false);
        applied(host.apply(&first));
        let (before, saved) = (host.kernel.comparable(), host.disk.clone());
        host.fail_at = Some(step);
        let reply = host.apply(&second);
        if host.fail_at.is_some() {
            assert!(step > 30, "{step}");
            return;
        }
        match reply {
            Some(Ok(_)) => assert_eq!(
                host.disk.current.as_ref().map(|c| &c.generation),
                Some(&second.generation),
                "step {step} failed and nobody said so"
            ),
            Some(Err(NodeError::Failed { .. } | NodeError::Internal { .. })) => {
                assert_eq!(host.kernel.comparable(), before, "step {step}");
                assert_eq!(host.disk.current, saved.current, "step {step}");
                assert_eq!(host.disk.saved, saved.saved, "step {step}");
            }
            Some(Err(error)) => panic!("step {step}: {error}"),
            None => panic!("no answer at step {step}"),
        }
        host.settle();
        assert!(host.engine.status(host.now).in_sync, "step {step}");
        assert_eq!(host.kernel.damage, [""; 0]);
    }
}

#[test]
fn a_crash_at_any_step_converges_to_the_old_or_the_new_plan() {
    let first = prepared(Strategy::Dor, &[3, 3]);
    let second = prepared(Strategy::Stp, &[3, 3]);
    let mut done = Host::new(false);
    applied(done.apply(&first));
    let old = done.kernel.comparable();
    applied(done.apply(&second));
    let new = done.kernel.comparable();
    for step in 0.. {
        let mut host = Host::new(false);
        applied(host.apply(&first));
        host.crash_at = Some(step);
        host.apply(&second);
        if !host.dead {
            assert!(step > 30, "{step}");
            break;
        }
        host.restart();
        let now = host.kernel.comparable();
        let same = |other: &tresse_reconcile::Observed| {
            now.links == other.links
                && now.addresses == other.addresses
                && now.routes.keys().eq(other.routes.keys())
                && now.sysctls == other.sysctls
        };
        assert!(same(&old) || same(&new), "step {step}");
        assert!(host.engine.status(host.now).in_sync, "step {step}");
        let reply = host.call(|call| Input::Withdraw { call, force: false });
        assert!(matches!(reply, Some(Ok(_))), "step {step}: {reply:?}");
        assert_eq!(host.kernel, bare(), "step {step}");
    }
}

#[test]
fn a_crash_at_any_step_of_a_withdraw_ends_withdrawn() {
    for step in 0.. {
        let mut host = Host::new(false);
        let plan = prepared(Strategy::Dor, &[3, 3]);
        applied(host.apply(&plan));
        host.configured = Some(Box::new(plan));
        host.crash_at = Some(step);
        host.call(|call| Input::Withdraw { call, force: false });
        if !host.dead {
            assert_eq!(host.kernel, bare());
            break;
        }
        host.restart();
        if host.disk.current.is_some() {
            let reply = host.call(|call| Input::Withdraw { call, force: false });
            assert!(matches!(reply, Some(Ok(_))), "step {step}: {reply:?}");
        }
        assert_eq!(host.kernel, bare(), "step {step}");
        assert_eq!(host.disk, withdrawn(), "step {step}");
    }
}

#[derive(Debug, Clone)]
enum Act {
    Apply(usize, Option<u32>),
    Confirm,
    Rollback,
    Withdraw,
    Delete(usize),
    Carrier(bool, bool),
    Fail(usize),
    Crash(usize),
    Wait(u64),
}

fn act() -> impl proptest::strategy::Strategy<Value = Act> {
    prop_oneof![
        (0..3_usize, proptest::option::of(1..100_u32)).prop_map(|(p, c)| Act::Apply(p, c)),
        Just(Act::Confirm),
        Just(Act::Rollback),
        Just(Act::Withdraw),
        (0..50_usize).prop_map(Act::Delete),
        (any::<bool>(), any::<bool>()).prop_map(|(nic, on)| Act::Carrier(nic, on)),
        (0..60_usize).prop_map(Act::Fail),
        (0..60_usize).prop_map(Act::Crash),
        (0..100_000_u64).prop_map(Act::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_it_converges_and_foreign_objects_stay(
        acts in proptest::collection::vec(act(), 1..14),
        canary in any::<bool>(),
    ) {
        let plans = [
            prepared(Strategy::Dor, &[3, 3]),
            prepared(Strategy::Stp, &[3, 3]),
            prepared(Strategy::Pdor, &[3, 3]),
        ];
        let mut host = Host::new(canary);
        for act in &acts {
            match *act {
                Act::Apply(plan, confirm_seconds) => {
                    let options = ApplyOptions { confirm_seconds, ..ApplyOptions::default() };
                    host.apply_with(&plans[plan], options);
                }
                Act::Confirm => drop(host.call(keep)),
                Act::Rollback => drop(host.call(|call| Input::Rollback { call })),
                Act::Withdraw => drop(host.call(|call| Input::Withdraw { call, force: false })),
                Act::Delete(n) => {
                    let ours = host.kernel.observed.routes.keys().filter(|(_, m)| *m >= 7800);
                    let key = ours.copied().nth(n);
                    if let Some((dst, metric)) = key {
                        host.kernel.apply(&Operation::DeleteRoute { dst, metric }).unwrap();
                        host.input(Input::Changed(Changes::default()));
                    }
                }
                Act::Carrier(nic, on) => {
                    host.kernel.set_carrier(if nic { "eth1" } else { "eth0" }, on);
                    host.input(Input::Changed(Changes::default()));
                }
                Act::Fail(n) => host.fail_at = Some(n),
                Act::Crash(n) => host.crash_at = Some(n),
                Act::Wait(ms) => host.run_until(host.now + ms),
            }
            if host.dead {
                host.restart();
            }
        }
        host.fail_at = None;
        host.crash_at = None;
        host.kernel.set_carrier("eth0", true);
        host.kernel.set_carrier("eth1", true);
        host.input(Input::Changed(Changes::default()));
        host.run_until(host.now + 300_000);
        let status = host.engine.status(host.now);
        prop_assert!(status.in_sync && status.unproven.is_empty(), "{acts:?}: {status:?}");
        prop_assert!(host.kernel.damage.is_empty(), "{:?}", host.kernel.damage);
        if status.generation.is_some() {
            let reply = host.call(|call| Input::Withdraw { call, force: false });
            prop_assert!(matches!(reply, Some(Ok(_))), "{reply:?}");
        }
        prop_assert_eq!(&host.kernel.observed, &bare().observed);
    }
}
