//! Label routes and the filter on labelled frames: what one namespace shows. Whole paths are in
//! `transit`.

use libtest_mimic::Trial;
use tresse_base::id::Label;
use tresse_base::units::Mac;
use tresse_linux::kernel::{
    KernelEvent, KernelEvents, LabelSupport, OperationStatus, execute, label_support, observe,
};
use tresse_namespace::{Feature, ip, ip_json, tc, trial};
use tresse_reconcile::{
    Operation, PLATFORM_LABELS, PREF_DROP, PREF_PASS, PROTOCOL, Saved, Wanted, WantedLabel,
    label_input, reconcile,
};

use crate::cables::cables;
use crate::events::{block_on, settled, without_ipv6};
use crate::interfaces::{address, done, neighbour};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("labels_work_or_name_the_fix", &[], labels_work_or_name_the_fix),
        trial("k11_filters_work_or_name_the_fix", &[], filters_work_or_name_the_fix),
        trial("k11_an_ingress_qdisc_comes_and_goes", &[], ingress_qdisc),
        trial("asking_what_labels_can_do_leaves_nothing", &[], asking_leaves_nothing),
        trial("vm_this_kernel_can_do_labels", &[Feature::Mpls, Feature::Flower], this_kernel_can),
        trial("vm_label_routes_round_trip", &[Feature::Mpls], label_routes),
        trial("vm_k15_foreign_label_routes_stay", &[Feature::Mpls], foreign_label_routes),
        trial("vm_k01_label_routes_outlive_carrier_loss", &[Feature::Mpls], carrier_loss),
        trial("vm_k11_filters_round_trip", &[Feature::Flower], filters),
        trial("vm_k15_foreign_filters_stay", &[Feature::Flower], foreign_filters),
        trial("vm_label_changes_are_told", &[Feature::Mpls, Feature::Flower], || {
            block_on(changes_are_told());
        }),
    ]
}

const MAC: Mac = Mac([2, 0, 0, 0, 0, 9]);

fn label(label: u32, via: &str, replace: bool) -> Operation {
    let nexthop = WantedLabel { interface: "eth0".into(), via: via.parse().unwrap() };
    Operation::AddLabel { label: Label(label), nexthop, replace }
}

fn filter(handle: u32, source: Option<Mac>) -> Operation {
    Operation::AddFilter { interface: "eth0".into(), handle, source }
}

fn clsact() -> Operation {
    Operation::AddIngress { interface: "eth0".into() }
}

fn raise() -> Operation {
    platform_labels("1000")
}

fn platform_labels(limit: &str) -> Operation {
    let (key, value) = (PLATFORM_LABELS.into(), limit.into());
    Operation::WriteSysctl { key, value, before: Some("0".into()) }
}

fn labels_work_or_name_the_fix() {
    cables(1);
    let observed = observe([]).unwrap();
    assert!(observed.labels.is_empty());
    if observed.mpls {
        done(&[raise(), label(16, "10.78.0.2", false)]);
    } else {
        let outcome = execute(&[label(16, "10.78.0.2", false)]);
        let message = outcome.errors[0].1.to_string();
        assert!(message.contains("label 16 via 10.78.0.2 dev eth0"), "{message}");
        assert!(message.contains("modprobe -a mpls_router"), "{message}");
    }
}

fn filters_work_or_name_the_fix() {
    cables(1);
    let outcome = execute(&[clsact(), filter(1, Some(MAC))]);
    assert_eq!(outcome.is_complete(), label_support().filter);
    for (_, error) in &outcome.errors {
        assert!(error.to_string().contains("modprobe -a sch_ingress cls_flower"), "{error}");
    }
}

fn ingress_qdisc() {
    cables(1);
    assert!(observe([]).unwrap().ingress.is_empty());
    done(&[clsact()]);
    assert!(tc("qdisc show dev eth0").contains("clsact"));
    let found = observe([]).unwrap().ingress;
    assert!(!found["eth0"].foreign && found.len() == 1, "{found:?}");
    assert_eq!(execute(&[clsact()]).errors[0].1.errno(), Some(libc::EEXIST));
    let delete = Operation::DeleteIngress { interface: "eth0".into() };
    done(std::slice::from_ref(&delete));
    assert!(observe([]).unwrap().ingress.is_empty());
    assert_eq!(execute(&[delete]).status, [OperationStatus::Absent]);
    let filter = Operation::DeleteFilter { interface: "eth0".into(), handle: 1, source: Some(MAC) };
    assert_eq!(execute(&[filter]).status, [OperationStatus::Absent]);
}

fn this_kernel_can() {
    assert_eq!(label_support(), LabelSupport { routes: true, filter: true, encap: true });
}

fn asking_leaves_nothing() {
    let before = observe([]).unwrap();
    assert_eq!(label_support().routes, before.mpls);
    assert_eq!(observe([]).unwrap(), before);
}

fn label_routes() {
    cables(1);
    done(&[raise(), label(16, "10.78.0.2", false), label(999, "fd78::2", false)]);
    let shown = ip("-f mpls route show");
    assert!(shown.contains("16 via inet 10.78.0.2 dev eth0 proto 78"), "{shown}");
    assert!(shown.contains("999 via inet6 fd78::2 dev eth0 proto 78"), "{shown}");
    let observed = observe([]).unwrap();
    let found = &observed.labels[&Label(999)];
    assert_eq!((found.protocol, found.interface.as_deref()), (PROTOCOL, Some("eth0")));
    assert_eq!((found.via, found.swap.len()), (Some("fd78::2".parse().unwrap()), 0));
    done(&[label(16, "10.78.0.3", true)]);
    assert!(ip("-f mpls route show 16").contains("10.78.0.3"));
    for (operation, errno) in [
        (label(16, "10.78.0.2", false), libc::EEXIST),
        (label(17, "10.78.0.2", true), libc::ENOENT),
        (label(1000, "10.78.0.2", false), libc::EINVAL),
    ] {
        let outcome = execute(&[operation]);
        assert_eq!(outcome.errors[0].1.errno(), Some(errno), "{:?}", outcome.errors);
    }
    let nexthop = WantedLabel { interface: "eth0".into(), via: "10.78.0.3".parse().unwrap() };
    let delete = Operation::DeleteLabel { label: Label(16), nexthop };
    // The kernel does not tell whether there was one, but beyond its table.
    done(&[delete.clone(), delete.clone()]);
    done(&[platform_labels("17")]);
    assert_eq!(observe([]).unwrap().labels.len(), 0);
    done(&[platform_labels("16")]);
    assert_eq!(execute(&[delete]).status, [OperationStatus::Absent]);
    done(&[raise(), label(999, "fd78::2", false)]);
    // Bare routes of other families are not taken for label routes, nor the other way round.
    let observed = observe([]).unwrap();
    assert_eq!(observed.labels.len(), 1);
    assert!(observed.routes.values().all(|r| r.protocol != PROTOCOL));
}

fn foreign_label_routes() {
    cables(1);
    ip("addr add 10.78.0.1/32 dev eth0");
    done(&[raise()]);
    ip("-f mpls route add 16 via inet 10.78.0.7 dev eth0 proto static");
    ip("-f mpls route add 17 as 18/19 via inet 10.78.0.7 dev eth0 proto 78");
    ip("link add eth9 type dummy");
    ip("link set eth9 up");
    ip("-f mpls route add 20 nexthop via inet 10.78.0.7 dev eth0 nexthop via inet 10.78.0.8 dev \
        eth9");
    let observed = observe([]).unwrap();
    assert_eq!(observed.labels[&Label(17)].swap, [Label(18), Label(19)]);
    assert_eq!(
        (&observed.labels[&Label(20)].interface, observed.labels[&Label(20)].via),
        (&None, None)
    );
    let mut wanted = Wanted::default();
    for number in [16, 17, 20] {
        let nexthop = WantedLabel { interface: "eth0".into(), via: "10.78.0.2".parse().unwrap() };
        wanted.labels.insert(Label(number), nexthop);
    }
    let outcome = reconcile(&wanted, &observed, &Saved::default());
    assert_eq!(outcome.refused.len(), 3, "{:?}", outcome.refused);
    assert!(outcome.operations.is_empty());
    assert!(reconcile(&Wanted::default(), &observed, &Saved::default()).in_sync());
    // An address of ours that they may need stays until they are gone.
    ip("addr del 10.78.0.1/32 dev eth0");
    done(&[address("eth0", "10.78.0.1")]);
    let leave = reconcile(&Wanted::default(), &observe([]).unwrap(), &Saved::default());
    assert!(leave.operations.is_empty() && leave.refused.len() == 1, "{leave:?}");
    assert!(leave.refused[0].to_string().contains("label"), "{:?}", leave.refused);
}

fn carrier_loss() {
    cables(1);
    done(&[
        address("eth0", "10.78.0.1"),
        neighbour("eth0", "10.78.0.2", [2, 0, 0, 0, 0, 2], false),
        raise(),
        label(16, "10.78.0.2", false),
    ]);
    let dead = |of: &str| ip_json("-f mpls route show")[0]["flags"].to_string().contains(of);
    ip("link set far0 down");
    tresse_namespace::eventually("the label route is linkdown", || dead("linkdown"));
    // One more is taken without carrier too, and on an interface that is down.
    done(&[label(17, "10.78.0.2", false)]);
    ip("link set eth0 down");
    done(&[label(18, "10.78.0.2", false)]);
    ip("link set eth0 up");
    ip("link set far0 up");
    tresse_namespace::eventually("it is back", || !dead("linkdown"));
    assert_eq!(observe([]).unwrap().labels.len(), 3);
}

fn filters() {
    cables(1);
    let other = Mac([2, 0, 0, 0, 0, 8]);
    done(&[clsact(), filter(1, Some(MAC)), filter(2, Some(other)), filter(1, None)]);
    let shown = tc("filter show dev eth0 ingress");
    for part in ["pref 7800", "pref 7801", "src_mac 02:00:00:00:00:09", "gact action drop"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains("cookie 747265737365"), "{shown}");
    let observed = observe([]).unwrap();
    let found = &observed.ingress["eth0"];
    assert_eq!(found.passed.values().copied().collect::<Vec<_>>(), [MAC, other]);
    assert_eq!((found.dropped.len(), found.foreign, found.taken), (1, false, None));
    assert_eq!(execute(&[filter(1, Some(other))]).errors[0].1.errno(), Some(libc::EEXIST));
    let delete =
        |handle, source| Operation::DeleteFilter { interface: "eth0".into(), handle, source };
    done(&[delete(1, None), delete(2, Some(other))]);
    let found = observe([]).unwrap().ingress["eth0"].clone();
    assert_eq!((found.passed.len(), found.dropped.len(), found.foreign), (1, 0, false));
    assert_eq!(execute(&[delete(2, Some(other))]).status, [OperationStatus::Absent]);
}

fn foreign_filters() {
    cables(1);
    ip("link set eth0 address 02:00:00:00:01:00");
    tc("qdisc add dev eth0 clsact");
    tc("filter add dev eth0 ingress pref 5 protocol ip flower dst_ip 192.0.2.1 action drop");
    tc("filter add dev eth0 egress pref 7800 protocol mpls_uc flower action pass");
    let before = observe([label_input("eth0").as_str()]).unwrap();
    assert!(before.ingress["eth0"].foreign && before.ingress["eth0"].taken.is_none());
    let theirs = |hook: &str| tc(&format!("filter show dev eth0 {hook}"));
    let shown = (theirs("ingress"), theirs("egress"));
    let mut wanted = Wanted::default();
    wanted.nics.insert("eth0".into(), (Mac([2, 0, 0, 0, 1, 0]), 1500));
    wanted.label_sources.insert("eth0".into(), [MAC].into());
    let install = reconcile(&wanted, &before, &Saved::default());
    let operations: Vec<_> = install.operations.iter().map(|p| p.operation.clone()).collect();
    assert_eq!(operations, [filter(1, Some(MAC)), filter(1, None)]);
    done(&operations);
    let saved = Saved::default().before(&install.operations, &before);
    let with = observe([]).unwrap();
    assert!(reconcile(&wanted, &with, &saved).in_sync());
    let leave = reconcile(&Wanted::default(), &with, &saved);
    done(&leave.operations.iter().map(|p| p.operation.clone()).collect::<Vec<_>>());
    assert_eq!((theirs("ingress"), theirs("egress")), shown);
    tc(&format!("filter add dev eth0 ingress pref {PREF_PASS} protocol all matchall action pass"));
    let refused = reconcile(&wanted, &observe([]).unwrap(), &saved).refused;
    assert!(refused[0].to_string().contains("preference 7800 dev eth0"), "{refused:?}");
    tc(&format!("filter del dev eth0 ingress pref {PREF_PASS}"));
    // Our words with another mark are not ours.
    tc(&format!(
        "filter add dev eth0 ingress pref {PREF_DROP} protocol mpls_uc flower action drop"
    ));
    assert_eq!(observe([]).unwrap().ingress["eth0"].taken, Some(PREF_DROP));
}

async fn changes_are_told() {
    without_ipv6();
    cables(1);
    done(&[raise()]);
    let mut events = KernelEvents::subscribe().unwrap();
    settled(&mut events).await;
    for (operations, event) in [
        (vec![label(16, "10.78.0.2", false)], KernelEvent::RouteChanged),
        (vec![clsact()], KernelEvent::FilterChanged),
        (vec![filter(1, None)], KernelEvent::FilterChanged),
    ] {
        done(&operations);
        assert_eq!(settled(&mut events).await, [event], "{operations:?}");
    }
    ip("-f mpls route del 16");
    assert_eq!(settled(&mut events).await, [KernelEvent::RouteChanged]);
    tc("filter del dev eth0 ingress pref 7801");
    assert_eq!(settled(&mut events).await, [KernelEvent::FilterChanged]);
    tc("qdisc del dev eth0 clsact");
    assert_eq!(settled(&mut events).await, [KernelEvent::FilterChanged]);
}
