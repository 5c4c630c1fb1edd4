//! Label routes follow the gates of the VLANs that they lead out of.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::{Label, NodeId};
use tresse_plan::Plan;
use tresse_reconcile::{
    ALIAS_PREFIX, LinkKind, Observed, PLATFORM_LABELS, PUSH_INTERFACE, WantedLabel, WantedLink,
    label_input,
};
use tresse_topology::cluster::Strategy;

use super::steer::{cabled, prepared_for};
use super::{Changes, ENGINES, Effect, Host, Input, Prepared, prepared, seen, settings};
use crate::engines::{Engines, LabelEngine};
use crate::gate::{Gate, Gated};
use crate::kept_free::KeptFree;
use crate::target::{Plans, Target, target};
use crate::{Engine, Settings, Stored};

/// Label `label` out of the first VLAN interface, from its first neighbour to that.
fn with_label(mut plan: Prepared, label: u32) -> (Prepared, String) {
    let ((interface, via), neighbour) = plan.wanted.neighbours.first_key_value().unwrap();
    let (interface, via, mac) = (interface.clone(), *via, neighbour.mac);
    plan.label_sources.insert(interface.clone(), [mac].into());
    plan.labels.push((Label(label), WantedLabel { interface: interface.clone(), via }));
    (plan, interface)
}

#[test]
fn k5_label_routes_wait_for_the_vlan_they_lead_out_of() {
    let (plan, interface) = with_label(prepared(Strategy::Dor, &[3, 3]), 16);
    let vid = plan.interfaces[&interface].vid.unwrap();
    for (gate, there) in [(Gate::Open, true), (Gate::Unproven, false), (Gate::Fused, false)] {
        let gates = BTreeMap::from([(vid, gate)]);
        let (nexthops, free, out) = (BTreeSet::new(), KeptFree::default(), BTreeSet::new());
        let (doubtful, healed) = Default::default();
        let gated = Gated {
            prepared: &plan,
            gates: &gates,
            dead: &nexthops,
            doubtful: &doubtful,
            free: &free,
            healed: &healed,
            out: &out,
        };
        let plans = Plans { new: gated, old: None, heard: None, by_new_gateways: false };
        let Target { wanted, pending, .. } =
            target(&plans, &settings(true, 0), &seen(Observed::default()));
        assert_eq!(wanted.labels.contains_key(&Label(16)), there, "{gate:?}");
        let waits = pending.iter().any(|p| p.kind == "label" && p.object.starts_with("16 via"));
        assert_eq!(waits, !there, "{pending:?}");
        // Labels may arrive where none lead out.
        assert!(wanted.label_sources.contains_key(&interface));
    }
}

#[test]
fn k4_labels_of_the_plan_before_stay_while_plans_change() {
    let (old, _) = with_label(prepared(Strategy::Dor, &[3, 3]), 17);
    let (new, _) = with_label(prepared(Strategy::Dor, &[3, 3]), 16);
    let none = BTreeMap::new();
    let (nexthops, free, out) = (BTreeSet::new(), KeptFree::default(), BTreeSet::new());
    let (doubtful, healed) = Default::default();
    let gated = |prepared| Gated {
        prepared,
        gates: &none,
        dead: &nexthops,
        doubtful: &doubtful,
        free: &free,
        healed: &healed,
        out: &out,
    };
    let plans =
        Plans { new: gated(&new), old: Some(gated(&old)), heard: None, by_new_gateways: false };
    let wanted = target(&plans, &settings(true, 0), &seen(Observed::default())).wanted;
    assert_eq!(wanted.labels.keys().map(|l| l.0).collect::<Vec<_>>(), [16, 17]);
}

#[test]
fn label_routes_are_installed_repaired_and_withdrawn() {
    let mut host = Host::new(false);
    host.kernel.observed.mpls = true;
    host.kernel.observed.sysctls.insert(PLATFORM_LABELS.into(), "0".into());
    host.kernel.sysctls.push((label_input("*"), "0".into()));
    let before = host.kernel.clone();
    let (plan, interface) = with_label(prepared(Strategy::Dor, &[3, 3]), 16);
    host.apply(&plan);
    host.settle();
    assert!(host.kernel.observed.labels.contains_key(&Label(16)));
    assert_eq!(host.kernel.observed.ingress[&interface].passed.len(), 1);
    host.kernel.observed.labels.clear();
    host.kernel.observed.ingress.clear();
    host.input(Input::Changed(Changes::default()));
    host.settle();
    assert!(host.kernel.observed.labels.contains_key(&Label(16)));
    assert_eq!(host.kernel.observed.ingress[&interface].passed.len(), 1);
    host.call(|call| Input::Withdraw { call, force: false });
    assert_eq!(host.kernel.comparable(), before.comparable());
}

/// Traffic in one direction alone comes by one NIC and leaves by another.
#[test]
fn labels_lead_out_of_nics_by_which_none_arrive() {
    let text = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 2\\n2: 1 2\" }\n\
                [routing]\nreflect = true\n[[demand]]\nfrom = \"n0\"\nto = \"n1\"\n";
    let plan = Plan::build(tresse_cluster::parse(text, "test.toml").unwrap()).unwrap();
    let mut third = prepared_for(&plan, NodeId(2), text);
    // Without the way back.
    third.labels.retain(|(_, to)| to.interface == "eth1");
    third.label_sources.remove("eth1");
    let mut host = cabled(&third);
    let engines = Engines { labels: LabelEngine::Packet, ..ENGINES };
    host.engine = Engine::new(Settings { engines, ..settings(false, 0) }, Stored::default());
    host.apply(&third);
    host.settle();
    let tables = host.recording.iter().flat_map(|(_, _, effects)| effects);
    let exits = tables.filter_map(|effect| match effect {
        Effect::Forward(table) => Some(table.labels.values().map(|exit| exit.nic.clone())),
        _ => None,
    });
    assert_eq!(exits.flatten().collect::<BTreeSet<_>>(), ["eth1".to_owned()].into());
}

/// Versions before stored a plan with what handled labels at the time.
#[test]
fn a_plan_that_an_older_version_stored_is_the_same_plan() {
    let (plan, interface) = with_label(prepared(Strategy::Dor, &[3, 3]), 16);
    let tun = WantedLink {
        kind: LinkKind::Tun,
        mtu: 1500,
        alias: format!("{ALIAS_PREFIX}push"),
        up: true,
        mac: None,
    };
    let mut old = plan.clone();
    old.wanted.labels = plan.labels.iter().cloned().collect();
    old.wanted.label_sources.clone_from(&plan.label_sources);
    old.wanted.links.insert(PUSH_INTERFACE.into(), tun);
    for key in [
        PLATFORM_LABELS.to_owned(),
        label_input(&interface),
        format!("net/ipv6/conf/{PUSH_INTERFACE}/disable_ipv6"),
    ] {
        old.wanted.sysctls.insert(key, "1".into());
    }
    let stored = Stored { current: Some(old.into()), ..Stored::default() }.upgraded();
    assert_eq!(*stored.current.unwrap(), plan);
}
