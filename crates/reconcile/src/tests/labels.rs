//! Label routes, their filter and their sysctls (K1, K11, K12, K15).

use tresse_base::id::Label;

use super::scene::*;
use crate::{
    Object, ObservedIngress, ObservedLabel, Operation, PLATFORM_LABELS, PREF_DROP, PROTOCOL,
    PendingReason, Planned, Refusal, Saved, Wanted, inverse, label_input, no_label_sysctls,
    reconcile,
};

/// Labels 16 and 17 lead out of eth0.100 and eth1.101.
fn transit() -> Wanted {
    let mut wanted = base(&[(0, 100), (1, 101)], false);
    add_label(&mut wanted, 16, (0, 100), 2);
    add_label(&mut wanted, 17, (1, 101), 3);
    wanted
}

fn lines(operations: &[Planned]) -> Vec<String> {
    operations.iter().map(|p| p.operation.to_string()).collect()
}

fn foreign(protocol: u8, swap: &[u32]) -> ObservedLabel {
    let swap = swap.iter().map(|l| Label(*l)).collect();
    let (interface, via) = (Some("eth2".into()), Some(ip("192.168.2.1")));
    ObservedLabel { protocol, interface, via, swap }
}

#[test]
fn label_routes_come_after_what_they_need_and_go_before_it() {
    let (mut model, mut saved) = (node(), Saved::default());
    let outcome = converge(&mut model, &transit(), &mut saved);
    let found = lines(&outcome.operations);
    let last = |text: &str| found.iter().rposition(|l| l.contains(text)).unwrap();
    let first = |text: &str| found.iter().position(|l| l.contains(text)).unwrap();
    assert!(last("add neighbour") < first("add label"), "{found:#?}");
    assert!(first(PLATFORM_LABELS) < first("add label"));
    assert!(last("add filter") < first("up link"));
    assert_eq!(found[first("add label")], "add label 16 via 10.78.0.2 dev eth0.100");
    let passes = "add filter labelled from 02:00:00:00:02:00 dev eth0.100 pass";
    assert!(first(passes) < first("add filter labelled dev eth0.100 drop"), "{found:#?}");
    assert_eq!(model.observed.sysctls[PLATFORM_LABELS], "18");
    assert_eq!(model.observed.sysctls[&label_input("eth0.100")], "1");
    let outcome = converge(&mut model, &Wanted::default(), &mut saved);
    let found = lines(&outcome.operations);
    assert_eq!(found[0], "delete label 16 via 10.78.0.2 dev eth0.100");
    assert_eq!(model.comparable(), node().comparable());
    assert_eq!(saved, Saved::default());
}

#[test]
fn k1_label_routes_outlive_carrier_loss() {
    let (mut model, saved) = installed(&transit());
    model.set_carrier("eth0", false);
    let outcome = reconcile(&transit(), &model.observed, &saved);
    assert!(outcome.in_sync(), "{outcome:#?}");
}

#[test]
fn a_lost_or_bent_label_route_is_repaired() {
    let (healthy, mut saved) = installed(&transit());
    let mut model = healthy.clone();
    model.observed.labels.remove(&Label(16));
    model.observed.labels.get_mut(&Label(17)).unwrap().via = Some(ip("10.78.1.9"));
    let outcome = converge(&mut model, &transit(), &mut saved);
    let expected =
        ["add label 16 via 10.78.0.2 dev eth0.100", "replace label 17 via 10.78.1.3 dev eth1.101"];
    assert_eq!(lines(&outcome.operations), expected);
    assert_eq!(outcome.operations[1].why.to_string(), "is via 10.78.1.9 dev eth1.101");
    assert_eq!(model.observed, healthy.observed);
}

#[test]
fn a_label_whose_interface_is_missing_waits_and_leads_nowhere_else() {
    let (mut model, mut saved) = installed(&transit());
    model.observed.links.remove("eth1");
    model.remove_link("eth1.101");
    let mut moved = transit();
    add_label(&mut moved, 16, (1, 101), 3);
    let outcome = converge(&mut model, &moved, &mut saved);
    let waits = |label: u32| {
        outcome.pending.iter().any(|p| matches!(&p.object, Object::Label(l, _) if l.0 == label))
    };
    assert!(waits(16) && waits(17), "{:#?}", outcome.pending);
    assert!(outcome.pending.iter().any(|p| p.why == PendingReason::Absent("eth1".into())));
    assert!(model.observed.labels.is_empty(), "the old meaning of label 16 is gone");
}

#[test]
fn k5_a_fused_vlan_forwards_no_labels() {
    let (mut model, mut saved) = installed(&transit());
    let mut fused = transit();
    fused.links.get_mut("eth0.100").unwrap().up = false;
    converge(&mut model, &fused, &mut saved);
    assert_eq!(model.observed.labels.keys().map(|l| l.0).collect::<Vec<_>>(), [17]);
    assert!(reconcile(&fused, &model.observed, &saved).operations.is_empty());
    converge(&mut model, &transit(), &mut saved);
    assert!(reconcile(&transit(), &model.observed, &saved).in_sync());
}

#[test]
fn k11_label_input_is_on_only_behind_the_whole_filter() {
    let bare = base(&[(0, 100), (1, 101)], false);
    let (mut model, mut saved) = installed(&bare);
    let found = lines(&converge(&mut model, &transit(), &mut saved).operations);
    let input = found.iter().position(|l| l.contains("conf/eth0.100/input = 1")).unwrap();
    assert!(found.iter().rposition(|l| l.contains("filter")).unwrap() < input, "{found:#?}");
    // A plan without labels on that VLAN switches it off again, though the interface stays.
    let found = lines(&converge(&mut model, &bare, &mut saved).operations);
    let input = found.iter().position(|l| l.contains("conf/eth0.100/input = 0")).unwrap();
    assert!(input < found.iter().position(|l| l.contains("delete filter")).unwrap());
    assert!(model.observed.ingress.is_empty(), "the clsact goes: {:?}", model.observed.ingress);
}

#[test]
fn k11_sources_come_and_go_with_the_plan() {
    let (mut model, mut saved) = installed(&transit());
    let mut wanted = transit();
    wanted.label_sources.insert("eth0.100".into(), [mac(4, 0), mac(5, 0)].into());
    let found = lines(&converge(&mut model, &wanted, &mut saved).operations);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[2].starts_with("delete filter labelled from 02:00:00:00:02:00"), "{found:?}");
    let handles: Vec<_> = model.observed.ingress["eth0.100"].passed.keys().copied().collect();
    assert_eq!(handles, [2, 3]);
    // One filter twice, and the drop lost.
    let ingress = model.observed.ingress.get_mut("eth0.100").unwrap();
    ingress.passed.insert(9, mac(5, 0));
    ingress.dropped.clear();
    let found = lines(&converge(&mut model, &wanted, &mut saved).operations);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(reconcile(&wanted, &model.observed, &saved).in_sync());
}

#[test]
fn k12_another_engine_keeps_label_input_off() {
    let sysctls = no_label_sysctls(transit().label_sources.keys());
    assert_eq!(sysctls[&label_input("eth1.101")], "0");
    assert!(sysctls.values().all(|value| value == "0"), "{sysctls:?}");
}

#[test]
fn k15_foreign_label_routes_are_named_and_left_alone() {
    for foreign in [foreign(4, &[]), foreign(PROTOCOL, &[300])] {
        let mut model = node();
        model.observed.sysctls.insert(PLATFORM_LABELS.into(), "100".into());
        model.observed.labels.insert(Label(16), foreign.clone());
        let mut saved = Saved::default();
        let outcome = converge(&mut model, &transit(), &mut saved);
        let (label, protocol) = (Label(16), foreign.protocol);
        assert_eq!(outcome.refused, [Refusal::ForeignLabel { label, protocol }]);
        converge(&mut model, &Wanted::default(), &mut saved);
        assert_eq!(model.observed.labels[&label], foreign);
        assert!(model.damage.is_empty(), "{:?}", model.damage);
    }
}

#[test]
fn k15_platform_labels_stay_above_foreign_label_routes() {
    let (mut model, mut saved) = installed(&transit());
    model.observed.labels.insert(Label(12), foreign(4, &[]));
    let outcome = converge(&mut model, &Wanted::default(), &mut saved);
    assert!(matches!(&outcome.refused[..], [Refusal::InUse { user: Object::Label(l, _), .. }]
        if *l == Label(12)));
    assert_eq!(model.observed.sysctls[PLATFORM_LABELS], "18");
    assert!(model.damage.is_empty(), "{:?}", model.damage);
    model.observed.labels.clear();
    converge(&mut model, &Wanted::default(), &mut saved);
    assert_eq!((model.comparable(), saved), (node().comparable(), Saved::default()));
}

#[test]
fn k15_foreign_filters_and_their_qdisc_stay() {
    let mut wanted = transit();
    wanted.label_sources.insert("eth2".into(), [mac(2, 2)].into());
    by_kernel(&mut wanted);
    let (healthy, saved) = installed(&wanted);
    assert!(saved.ingress.contains("eth2"));
    // Theirs from before: ours are added, theirs stay.
    let mut model = node();
    let theirs = ObservedIngress { foreign: true, ..Default::default() };
    model.observed.ingress.insert("eth2".into(), theirs.clone());
    let mut since = Saved::default();
    let found = lines(&converge(&mut model, &wanted, &mut since).operations);
    assert!(!found.contains(&"add qdisc clsact dev eth2".to_owned()), "{found:#?}");
    converge(&mut model, &Wanted::default(), &mut since);
    assert_eq!(model.observed.ingress.get("eth2"), Some(&theirs));
    // Theirs on a qdisc of ours: it is theirs from then on.
    let (mut model, mut since) = (healthy.clone(), saved.clone());
    model.observed.ingress.get_mut("eth2").unwrap().foreign = true;
    converge(&mut model, &Wanted::default(), &mut since);
    assert_eq!(model.observed.ingress.get("eth2"), Some(&theirs));
    assert!(model.damage.is_empty() && since == Saved::default());
    // Theirs where ours belong.
    let mut model = node();
    let taken = Some(PREF_DROP);
    let theirs = ObservedIngress { foreign: true, taken, ..Default::default() };
    model.observed.ingress.insert("eth2".into(), theirs);
    let outcome = reconcile(&wanted, &model.observed, &Saved::default());
    assert!(outcome.refused[0].to_string().contains("preference 7801 dev eth2"));
}

#[test]
fn without_mpls_nothing_is_observed_and_a_wanted_label_names_the_fix() {
    let mut model = node();
    model.observed.mpls = false;
    model.observed.sysctls.retain(|key, _| !key.contains("mpls"));
    let outcome = reconcile(&transit(), &model.observed, &Saved::default());
    let [refusal] = &outcome.refused[..] else { panic!("{:#?}", outcome.refused) };
    let message = refusal.to_string();
    assert!(message.contains("modprobe -a mpls_router") && message.contains("packet"), "{message}");
    let bare = base(&[(0, 100), (1, 101)], false);
    assert!(reconcile(&bare, &model.observed, &Saved::default()).refused.is_empty());
}

#[test]
fn a_deleted_interface_is_undone_with_its_filter() {
    let (mut model, saved) = installed(&transit());
    let before = model.clone();
    let outcome = reconcile(&Wanted::default(), &model.observed, &saved);
    execute(&mut model, &outcome.operations);
    for planned in outcome.operations.iter().rev() {
        for operation in inverse(&planned.operation, &before.observed) {
            model.apply(&operation).unwrap();
        }
    }
    assert_eq!(model.comparable(), before.comparable());
    let deleted = |o: &Operation| matches!(o, Operation::DeleteLink { .. });
    assert!(outcome.operations.iter().any(|p| deleted(&p.operation)));
}
