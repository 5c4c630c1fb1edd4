//! MPTCP endpoints, their rules and tables, and the limit of subflows.

use tresse_base::units::Prefix;

use super::scene::*;
use crate::model::KernelModel;
use crate::{
    ENDPOINTS_MAX, METRIC_PRIMARY, MPTCP_ENABLED, ObservedEndpoint, ObservedMptcp,
    ObservedTableRoute, Planned, Refusal, Saved, SourceRule, Wanted, inverse, reconcile,
};

/// Subflows from eth0 and eth1, each to one of two peers and to both.
fn multipath() -> Wanted {
    let mut wanted = two_nics();
    for (nic, peer) in [(0, 2), (0, 3), (1, 3)] {
        let key = (format!("eth{nic}"), Prefix::host(node_address(peer, false)));
        wanted.mptcp.tables.insert(key, nexthop(nic, 100 + u16::from(nic), peer, &[], false));
        wanted.mptcp.endpoints.insert(nic_address(1, nic, false), format!("eth{nic}"));
    }
    wanted.sysctls.insert(MPTCP_ENABLED.into(), "1".into());
    wanted
}

/// A node whose kernel has MPTCP, with so many endpoints of somebody else.
fn able(others: u8) -> KernelModel {
    let mut model = node();
    let endpoint = |n: u8| ObservedEndpoint { address: ip(&format!("192.0.2.{n}")), plain: true };
    let endpoints = (1..=others).map(|n| (n, endpoint(n))).collect();
    model.observed.mptcp = Some(ObservedMptcp { endpoints, subflows: 1 });
    model.observed.sysctls.insert(MPTCP_ENABLED.into(), "0".into());
    model
}

fn lines(operations: &[Planned]) -> Vec<String> {
    operations.iter().map(|p| p.operation.to_string()).collect()
}

#[test]
fn endpoints_come_last_and_go_first() {
    let (mut model, mut saved) = (able(1), Saved::default());
    let found = lines(&converge(&mut model, &multipath(), &mut saved).operations);
    let first = found.iter().position(|l| l.contains("table 7864")).unwrap();
    let expected = [
        "add route 10.77.0.2/32 table 7864 via 10.78.0.2 dev eth0.100",
        "add route 10.77.0.3/32 table 7864 via 10.78.0.3 dev eth0.100",
        "add route 10.77.0.3/32 table 7865 via 10.78.1.3 dev eth1.101",
        "add rule IPv4 from 10.78.0.1 lookup 7864",
        "add rule IPv4 from 10.78.0.1 unreachable",
        "add rule IPv4 from 10.78.1.1 lookup 7865",
        "add rule IPv4 from 10.78.1.1 unreachable",
    ];
    assert_eq!(found[first..first + 7], expected);
    let expected = [
        "write limit MPTCP subflows = 8",
        "add endpoint 10.78.0.1 subflow id 78",
        "add endpoint 10.78.1.1 subflow id 79",
    ];
    assert_eq!(found[found.len() - 3..], expected);
    assert_eq!(saved.subflows, Some(1));
    assert_eq!(model.observed.sysctls[MPTCP_ENABLED], "1");
    assert!(reconcile(&multipath(), &model.observed, &saved).in_sync());
    let found = lines(&converge(&mut model, &Wanted::default(), &mut saved).operations);
    assert_eq!(found[0], "delete endpoint 10.78.0.1 subflow");
    assert_eq!(found[2], "delete rule IPv4 from 10.78.0.1 lookup 7864");
    assert!(found.contains(&"write limit MPTCP subflows = 1".to_owned()), "{found:#?}");
    assert_eq!((model.comparable(), saved), (able(1).comparable(), Saved::default()));
    assert_eq!(model.damage, [""; 0]);
}

#[test]
fn what_is_lost_or_lowered_is_repaired() {
    let (mut model, mut saved) = (able(0), Saved::default());
    converge(&mut model, &multipath(), &mut saved);
    let healthy = model.clone();
    let mptcp = model.observed.mptcp.as_mut().unwrap();
    mptcp.endpoints.remove(&78);
    mptcp.subflows = 0;
    model.observed.source_rules.pop_first();
    let found = lines(&converge(&mut model, &multipath(), &mut saved).operations);
    let expected = [
        "add rule IPv4 from 10.78.0.1 lookup 7864",
        "write limit MPTCP subflows = 8",
        "add endpoint 10.78.0.1 subflow id 78",
    ];
    assert_eq!(found, expected);
    assert_eq!(model.observed, healthy.observed);
    // Whatever it was when somebody lowered it, it becomes what it was at first.
    assert_eq!(saved.subflows, Some(1));
}

#[test]
fn a_limit_that_is_enough_stays() {
    let mut model = able(0);
    model.observed.mptcp.as_mut().unwrap().subflows = 8;
    let mut saved = Saved::default();
    let found = lines(&converge(&mut model, &multipath(), &mut saved).operations);
    assert!(!found.iter().any(|line| line.contains("limit")), "{found:#?}");
    converge(&mut model, &Wanted::default(), &mut saved);
    assert_eq!((model.observed.mptcp.unwrap().subflows, saved.subflows), (8, None));
}

#[test]
fn k15_endpoints_of_others_stay() {
    // One has an address of ours, one an id of ours and more than the flag `subflow`.
    let mut model = able(0);
    let endpoints = &mut model.observed.mptcp.as_mut().unwrap().endpoints;
    endpoints.insert(3, ObservedEndpoint { address: ip("10.78.0.1"), plain: true });
    endpoints.insert(78, ObservedEndpoint { address: ip("192.0.2.1"), plain: false });
    let theirs = endpoints.clone();
    let mut saved = Saved::default();
    let outcome = converge(&mut model, &multipath(), &mut saved);
    let found = lines(&outcome.operations);
    assert_eq!(found.last().unwrap(), "add endpoint 10.78.1.1 subflow id 79");
    let refusal = Refusal::ForeignEndpoint { address: ip("10.78.0.1"), id: 3 };
    assert_eq!(outcome.drift, [refusal]);
    assert!(reconcile(&multipath(), &model.observed, &saved).in_sync());
    converge(&mut model, &Wanted::default(), &mut saved);
    assert_eq!((model.observed.mptcp.unwrap().endpoints, model.damage), (theirs, vec![]));
}

#[test]
fn no_more_endpoints_than_the_kernel_holds() {
    let (mut model, mut saved) = (able(7), Saved::default());
    let outcome = converge(&mut model, &multipath(), &mut saved);
    let refusal = Refusal::EndpointsFull { address: ip("10.78.1.1"), others: 7 };
    assert_eq!(outcome.drift, [refusal]);
    assert_eq!(model.observed.mptcp.as_ref().unwrap().endpoints.len(), ENDPOINTS_MAX);
    assert!(reconcile(&multipath(), &model.observed, &saved).in_sync());
}

#[test]
fn a_kernel_without_mptcp_says_so_and_gets_the_rest() {
    // Tables that no rule leads to are not asked for there.
    let mut wanted = multipath();
    wanted.mptcp.tables.clear();
    wanted.sysctls.remove(MPTCP_ENABLED);
    let (mut model, mut saved) = (node(), Saved::default());
    let outcome = converge(&mut model, &wanted, &mut saved);
    assert_eq!(outcome.drift, [Refusal::NoMptcp]);
    assert!(outcome.pending.is_empty() && outcome.refused.is_empty(), "{outcome:#?}");
    let (with, _) = installed(&two_nics());
    assert_eq!(model.comparable(), with.comparable());
    assert!(reconcile(&wanted, &model.observed, &saved).in_sync());
}

#[test]
fn k15_no_rule_leads_to_a_table_that_is_taken() {
    let mut model = able(0);
    let key = (7865, Prefix::host(ip("10.99.0.1")), METRIC_PRIMARY);
    let theirs = ObservedTableRoute { protocol: 4, interface: Some("eth2".into()), via: None };
    model.observed.table_routes.insert(key, theirs.clone());
    let outcome = converge(&mut model, &multipath(), &mut Saved::default());
    let [Refusal::ForeignTableRoute { table: 7865, .. }] = &outcome.refused[..] else {
        panic!("{outcome:#?}")
    };
    assert_eq!(model.observed.table_routes[&key], theirs);
    let source = nic_address(1, 1, false);
    let leads = SourceRule { source, table: 7865, unreachable: false };
    let found = &model.observed.source_rules;
    assert!(!found.contains(&leads) && found.contains(&SourceRule { unreachable: true, ..leads }));
}

#[test]
fn every_step_can_be_taken_back() {
    let before = able(1);
    let (mut model, saved) = (before.clone(), Saved::default());
    let outcome = reconcile(&multipath(), &model.observed, &saved);
    execute(&mut model, &outcome.operations);
    let installed = model.clone();
    for planned in outcome.operations.iter().rev() {
        for operation in inverse(&planned.operation, &before.observed) {
            model.apply(&operation).unwrap();
        }
    }
    assert_eq!(model.comparable(), before.comparable());
    let mut model = installed.clone();
    let saved = saved.before(&outcome.operations, &before.observed);
    let outcome = reconcile(&Wanted::default(), &model.observed, &saved);
    execute(&mut model, &outcome.operations);
    for planned in outcome.operations.iter().rev() {
        for operation in inverse(&planned.operation, &installed.observed) {
            model.apply(&operation).unwrap();
        }
    }
    assert_eq!(model.comparable().mptcp, installed.comparable().mptcp);
    assert_eq!(model.observed.source_rules, installed.observed.source_rules);
}
