use std::collections::BTreeSet;

use tresse_base::id::SwitchId;
use tresse_topology::Hop;
use tresse_topology::cluster::{Cluster, NicEnd, Strategy, TopologyShape};

use super::*;
use crate::Finding;

fn plan(kind: TopologyShape, paths: u32) -> Plan {
    Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, paths)).unwrap()
}

fn report(kind: TopologyShape, paths: u32) -> Report {
    super::super::check(&plan(kind, paths))
}

fn pmesh(dims: &[u32]) -> TopologyShape {
    TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch: 1 }
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

/// Each switch learns the NICs on it: those of all its lines.
#[test]
fn a_switch_that_cannot_hold_the_nics_on_it_is_named() {
    for (kind, nics) in [(pmesh(&[4, 4]), 4), (shared(&[4, 4], 4), 16)] {
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
        cluster.switches[1].fdb_size = Some(nics);
        let check = |cluster: &Cluster| {
            super::super::check(&Plan::build(cluster.clone()).unwrap()).violations
        };
        assert_eq!(check(&cluster), []);
        cluster.switches[1].fdb_size = Some(nics - 1);
        let found: Vec<_> = check(&cluster).into_iter().map(|f| (f.kind, f.object)).collect();
        assert_eq!(found, [("fdb-full", "s1".to_owned())]);
    }
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
    let chain = report(TopologyShape::DirectMesh { dims: vec![4] }, 2);
    assert_eq!((chain.failures.link.objects, chain.failures.link.most_lost), (3, 8));
    let ring = report(TopologyShape::Ring { nodes: 4 }, 2);
    assert_eq!((ring.failures.link.objects, ring.failures.link.harmless), (4, 4));
}

#[test]
fn two_by_n_is_named_as_what_two_failures_break() {
    let report = report(pmesh(&[2, 4]), 2);
    let note = report.notes.iter().find(|note| note.kind == "two-failures").unwrap();
    assert!(note.message.contains("6 nodes are cut off"), "{note}");
}

/// A prefix without room for coordinates is named, with the key that changes it, unless the file asks for other addresses.
#[test]
fn a_prefix_without_room_for_coordinates_is_named() {
    use tresse_topology::cluster::AddressLayout;
    let note = |kind: TopologyShape, prefix: &str, layout: Option<AddressLayout>| {
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
        cluster.addressing.nodes = vec![prefix.parse().unwrap()];
        cluster.addressing.layout = layout;
        let notes = super::super::check(&Plan::build(cluster).unwrap()).notes;
        notes.into_iter().find(|note| note.kind == "sequential-addresses")
    };
    let grid = pmesh(&[4, 4]);
    let found = note(grid.clone(), "10.77.0.0/27", None);
    assert!(found.is_none(), "{found:?}");
    let found = note(grid.clone(), "10.77.0.0/27", Some(AddressLayout::Sequential));
    assert!(found.is_none(), "{found:?}");
    // 16 nodes take 5 bits by coordinates.
    let ring = TopologyShape::Ring { nodes: 8 };
    assert!(note(ring, "10.77.0.0/28", None).is_none());
    let grid = TopologyShape::DirectMesh { dims: vec![3, 4] };
    let found = note(grid, "10.77.0.0/28", None).unwrap();
    assert_eq!(found.object, "10.77.0.0/28");
    assert!(
        found.message.contains("take 5 bits")
            && found.message.contains("`[addressing] nodes` a /27"),
        "{found}"
    );
}

fn shared(dims: &[u32], lines_per_switch: u32) -> TopologyShape {
    TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch }
}

/// Nodes in reach of `from` without a switch: over NICs whose ports are in one VLAN of another.
fn reach(plan: &Plan, from: NodeId, dead: SwitchId) -> BTreeSet<NodeId> {
    let nics = |node: NodeId| {
        let nics = plan.cluster().node(node).nics.iter().enumerate();
        nics.filter(|(_, nic)| nic.switch != dead).map(move |(i, _)| plan.line_vid(node, i))
    };
    let (mut seen, mut queue) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = queue.pop() {
        let own: BTreeSet<_> = nics(at).collect();
        for other in (0..plan.cluster().nodes.len()).map(NodeId::from) {
            if nics(other).any(|line| own.contains(&line)) && seen.insert(other) {
                queue.push(other);
            }
        }
    }
    seen
}

/// Does a packet arrive by the routes that nodes hold, without a switch?
fn arrives(fabric: &Fabric<'_>, from: NodeId, to: NodeId, dead: SwitchId) -> bool {
    let plan = fabric.plan;
    let on = |node: NodeId, nic: usize| plan.cluster().node(node).nics[nic].switch;
    let alive = |end: NicEnd, hop: &Hop| {
        assert_eq!(on(end.node, end.nic), on(hop.to, hop.to_nic));
        on(end.node, end.nic) != dead
    };
    let (mut at, mut came) = (from, None);
    for _ in 0..200 {
        let hop = fabric.next(at, came, to, &alive);
        let Some(hop) = hop else { return false };
        (at, came) = (hop.to, Some(hop.to_nic));
        if at == to {
            return true;
        }
    }
    false
}

/// Hop by hop for every pair and every switch: what a switch of several lines takes with it.
#[test]
fn a_shared_switch_costs_what_a_walk_of_every_pair_loses() {
    for (dims, per_switch) in
        [(&[4, 4][..], 4), (&[3, 3], 2), (&[3, 3], 4), (&[2, 3, 3], 5), (&[4, 3], 7)]
    {
        let plan = plan(shared(dims, per_switch), 2);
        let report = super::super::check(&plan);
        let routes = plan.node_routes().unwrap();
        let fabric = Fabric::of(&plan, &routes);
        let reported = switches::lost(&fabric, 1);
        assert_eq!(reported.len(), plan.cluster().switches.len());
        for (switch, reported) in reported.iter().enumerate() {
            let dead = SwitchId::from(switch);
            let lost = plan.pairs().filter(|(s, d)| !arrives(&fabric, *s, *d, dead)).count();
            assert_eq!(*reported, lost as u64, "{dims:?} {per_switch} s{switch}");
            let apart =
                (0..fabric.nodes).map(|n| fabric.nodes - reach(&plan, n.into(), dead).len());
            assert!(lost >= apart.clone().sum(), "{dims:?} {per_switch} s{switch}");
            let cut = apart.min().unwrap();
            let name = &plan.cluster().switches[switch].name;
            let is_told = |note: &&Finding| {
                let names =
                    note.object.split(',').flat_map(|n| tresse_base::hostlist::expand(n).unwrap());
                note.kind == "shared-switch" && names.into_iter().any(|n| n == *name)
            };
            let note = report.notes.iter().find(is_told).unwrap();
            let pairs = report.pairs;
            assert!(note.message.contains(&format!("{lost} of {pairs} ordered pairs")), "{note}");
            let says = note.message.contains(&format!("{cut} nodes are cut off"));
            assert!(says || cut < 2, "{cut}: {note}");
        }
        assert_eq!(report.failures.switch.most_lost, reported.into_iter().max().unwrap());
    }
}

/// Two ways of reckoning the same: hop by hop, and pair by pair.
#[test]
fn a_switch_of_one_line_costs_the_same_pair_by_pair() {
    for dims in [&[4, 4][..], &[3, 3, 3], &[2, 5], &[2, 3, 4], &[5]] {
        for paths in [1, 2] {
            let plan = plan(pmesh(dims), paths);
            let routes = plan.node_routes().unwrap();
            let fabric = Fabric::of(&plan, &routes);
            assert_eq!(switches::lost(&fabric, 1), fabric.walk_failures(1).switches, "{dims:?}");
        }
    }
}

/// p-mesh, figure 4: rows on one switch, columns on the other.
#[test]
fn the_test_bed_of_the_paper_does_not_outlive_a_switch() {
    let report = report(shared(&[4, 4], 4), 2);
    assert_eq!((report.pairs, report.reachable, report.vlans), (240, 240, 8));
    assert!(report.minimal && report.loop_free && report.violations.is_empty());
    // Of every node the three on its own line of the switch that is left answer.
    assert_eq!((report.failures.switch.most_lost, report.failures.switch.harmless), (192, 0));
    assert_eq!((report.failures.link.objects, report.failures.link.harmless), (32, 32));
    let notes: Vec<_> = report.notes.iter().map(ToString::to_string).collect();
    let says = |text: &str| assert!(notes.iter().any(|note| note.starts_with(text)), "{notes:?}");
    says(
        "shared-switch s[0-1]: lines on one switch fail together: with each of these gone 192 of 240 \
         ordered pairs are lost, and 12 nodes are cut off",
    );
    says("two-failures s0 and s1: with both gone 15 nodes are cut off");
}

#[test]
fn a_switch_with_too_few_vlans_is_refused() {
    let mut cluster = Cluster::generated(shared(&[4, 4], 3), 1, 1, Strategy::Xy, 2);
    cluster.switches.iter_mut().for_each(|switch| switch.max_vlans = 2);
    let report = super::super::check(&Plan::build(cluster).unwrap());
    let reported: Vec<_> = report.violations.iter().map(ToString::to_string).collect();
    // The third switch holds two lines.
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(
        reported[0].contains("needs 3 VLANs") && reported[0].contains("lines_per_switch = 2"),
        "{reported:?}"
    );
}
