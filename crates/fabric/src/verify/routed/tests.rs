use super::*;
use crate::cluster::{Cluster, Strategy};

fn report(kind: Kind, paths: u32) -> Report {
    let cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, paths);
    super::super::check(&Plan::build(cluster).unwrap())
}

fn pmesh(dims: &[u32]) -> Kind {
    Kind::Pmesh { dims: dims.into(), grow_to: dims.into() }
}

fn kinds(report: &Report) -> Vec<&'static str> {
    report.notes.iter().map(|note| note.kind).collect()
}

/// Every NIC of an n x n P-Mesh carries n (n - 1) primaries each way.
#[test]
fn a_p_mesh_is_loaded_evenly_and_outlives_every_part() {
    let report = report(pmesh(&[4, 4]), 2);
    assert_eq!((report.pairs, report.reachable), (240, 240));
    assert!(report.minimal && report.loop_free && report.deadlock_free);
    assert_eq!((report.max_link_load, report.mean_link_load), (12, 12.0));
    assert_eq!((report.transit.paths, report.transit.max), (144, 1));
    let failures = &report.failures;
    assert_eq!((failures.link.objects, failures.link.harmless), (32, 32));
    assert_eq!((failures.switch.objects, failures.switch.harmless), (8, 8));
    assert!(!kinds(&report).contains(&"two-failures"));
}

#[test]
fn without_backups_a_failure_costs_what_passes_there() {
    let report = report(pmesh(&[4, 4]), 1);
    assert_eq!((report.failures.switch.most_lost, report.failures.link.most_lost), (48, 24));
    assert_eq!(report.failures.node.most_lost, 9);
}

#[test]
fn where_there_is_one_way_its_loss_is_told() {
    let line = report(pmesh(&[4]), 2);
    assert_eq!((line.failures.switch.harmless, line.failures.switch.most_lost), (0, 12));
    let chain = report(Kind::DirectMesh { dims: vec![4] }, 2);
    assert_eq!((chain.failures.link.objects, chain.failures.link.most_lost), (3, 8));
    let ring = report(Kind::Ring { nodes: 4 }, 2);
    assert_eq!((ring.failures.link.objects, ring.failures.link.harmless), (4, 4));
}

#[test]
fn two_by_n_is_named_as_what_two_failures_break() {
    let report = report(pmesh(&[2, 4]), 2);
    let note = report.notes.iter().find(|note| note.kind == "two-failures").unwrap();
    assert!(note.message.contains("6 nodes are cut off"), "{note}");
}
