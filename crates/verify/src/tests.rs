use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, Learning, Strategy, TopologyShape};

use super::check;

fn cluster(dims: &[u32], torus: bool, strategy: Strategy) -> Cluster {
    let dims = dims.to_vec();
    let kind = if torus { TopologyShape::Torus { dims } } else { TopologyShape::Mesh { dims } };
    Cluster::generated(kind, 1, 1, strategy, 1)
}

fn report(dims: &[u32], torus: bool, strategy: Strategy) -> super::Report {
    check(&Plan::build(cluster(dims, torus, strategy)).unwrap())
}

/// (dims, torus, strategy, VLANs, mean hops, L, ideal, deadlock-free).
type Row<'a> = (&'a [u32], bool, Strategy, usize, f64, f64, f64, bool);

/// Computed by an independent analyser over uniform traffic, self excluded, one node per switch;
/// L = max_link_load / (nodes - 1).
#[test]
fn channel_loads_are_the_known_ones() {
    use Strategy::{Dor, Pdor, Stp};
    let rows: &[Row<'_>] = &[
        (&[4, 4], false, Dor, 4, 2.667, 1.067, 0.938, true),
        (&[4, 4], false, Pdor, 3, 2.667, 2.400, 0.417, false),
        (&[4, 4], false, Stp, 1, 3.267, 4.267, 0.234, true),
        (&[8, 8], false, Dor, 8, 5.333, 2.032, 0.492, true),
        (&[8, 8], false, Pdor, 5, 5.333, 4.317, 0.232, false),
        (&[8, 8], false, Stp, 1, 6.524, 16.254, 0.0615, true),
        (&[4, 4, 4], false, Dor, 16, 3.810, 1.016, 0.984, true),
        (&[4, 4, 4], false, Pdor, 9, 3.810, 2.603, 0.384, false),
        (&[4, 4, 4], false, Stp, 1, 5.095, 16.254, 0.0615, true),
        (&[4, 4], true, Dor, 8, 2.133, 0.800, 1.0, false),
        (&[4, 4], true, Pdor, 6, 2.133, 1.400, 0.714, false),
        (&[4, 4], true, Stp, 1, 3.267, 4.267, 0.234, true),
        (&[8, 8], true, Dor, 16, 4.063, 1.270, 0.788, false),
        (&[8, 8], true, Pdor, 10, 4.063, 2.381, 0.420, false),
        (&[8, 8], true, Stp, 1, 6.524, 16.254, 0.0615, true),
        (&[4, 4, 4], true, Dor, 32, 3.048, 0.762, 1.0, false),
        (&[4, 4, 4], true, Pdor, 18, 3.048, 1.476, 0.677, false),
        (&[4, 4, 4], true, Stp, 1, 5.095, 16.254, 0.0615, true),
    ];
    for &(dims, torus, strategy, vlans, hops, load, ideal, free) in rows {
        let r = report(dims, torus, strategy);
        let what = format!("{dims:?} torus {torus} {strategy:?}: {r:?}");
        let nodes = dims.iter().product::<u32>() as f64;
        assert_eq!(r.vlans, vlans, "{what}");
        assert!((r.mean_hops - hops).abs() < 0.0006, "{what}");
        assert!((r.max_link_load as f64 / (nodes - 1.0) - load).abs() < 0.0006, "{what}");
        assert!((r.ideal_throughput - ideal).abs() < 0.0006, "{what}");
        assert_eq!(r.deadlock_free, free, "{what}");
        assert_eq!(r.minimal, strategy != Stp, "{what}");
        assert_eq!((r.reachable, r.loop_free, r.violations.len()), (r.pairs, true, 0), "{what}");
    }
}

/// On a torus DOR is cyclic as soon as one dimension is 4 or more, and so is PDOR; free when all
/// are at most 3. DOR on a mesh is always free. PDOR on a 2-D mesh is cyclic from N1 = 4 on.
#[test]
fn deadlock_freedom_is_what_the_design_states() {
    for n in 1..7u32 {
        for m in 1..7u32 {
            let free = |torus, strategy| report(&[n, m], torus, strategy).deadlock_free;
            assert!(free(false, Strategy::Dor), "mesh {n}x{m}");
            assert_eq!(free(true, Strategy::Dor), n <= 3 && m <= 3, "torus dor {n}x{m}");
            if n >= 2 {
                assert_eq!(free(false, Strategy::Pdor), m < 4, "mesh pdor {n}x{m}");
            }
        }
    }
    for dims in [[2, 2, 2], [3, 3, 3], [4, 4, 4], [2, 3, 4]] {
        assert!(!report(&dims, false, Strategy::Pdor).deadlock_free, "{dims:?}");
        assert!(report(&dims, false, Strategy::Dor).deadlock_free, "{dims:?}");
    }
}

#[test]
fn a_cycle_is_named_and_closes() {
    let r = report(&[4, 4], true, Strategy::Dor);
    let cycle = r.cycle.unwrap();
    assert!(cycle.len() >= 3);
    for (i, channel) in cycle.iter().enumerate() {
        assert_eq!(channel[1], cycle[(i + 1) % cycle.len()][0]);
    }
    assert!(r.notes.iter().any(|n| n.kind == "deadlock"));
    let mut lossless = cluster(&[4, 4], true, Strategy::Dor);
    lossless.routing.lossless = true;
    let r = check(&Plan::build(lossless).unwrap());
    assert!(r.violations.iter().any(|v| v.kind == "deadlock"));
}

#[test]
fn limits_refuse_what_switches_cannot_hold() {
    let mut small = cluster(&[4, 4], true, Strategy::Dor);
    small.switches[3].max_vlans = 7;
    small.switches[4].fdb_size = Some(100);
    small.switches[5].learning = Learning::Svl;
    let kinds = |c: Cluster| {
        let r = check(&Plan::build(c).unwrap());
        r.violations.iter().map(|v| (v.kind, v.object.clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(small),
        [
            ("too-many-vlans", "s03".to_owned()),
            ("fdb-full", "s04".into()),
            ("shared-learning", "s05".into())
        ]
    );
    let mut stp = cluster(&[4, 4], true, Strategy::Stp);
    stp.switches[3].max_vlans = 1;
    stp.switches[4].fdb_size = Some(16);
    stp.switches[5].learning = Learning::Svl;
    assert_eq!(kinds(stp), []);
}

/// What a switch cannot hold is not installed: by a node, which knows its own paths only, nor at all.
#[test]
fn plans_with_violations_are_not_accepted() {
    use super::{accept, accept_quickly};

    let kinds = |found: Vec<super::Finding>| found.iter().map(|v| v.kind).collect::<Vec<_>>();
    let plan = |change: &dyn Fn(&mut Cluster)| {
        let mut cluster = cluster(&[4, 4], true, Strategy::Dor);
        change(&mut cluster);
        Plan::build(cluster).unwrap()
    };
    let both = |change: &dyn Fn(&mut Cluster)| {
        let plan = plan(change);
        let whole = accept(&plan).map(|_| ()).map_err(kinds);
        (whole, accept_quickly(&plan).map_err(kinds))
    };
    assert_eq!(both(&|_| {}), (Ok(()), Ok(())));
    let one = |kind| Err(vec![kind]);
    let vlans = |c: &mut Cluster| c.switches[3].max_vlans = 7;
    assert_eq!(both(&vlans), (one("too-many-vlans"), one("too-many-vlans")));
    let frames = |c: &mut Cluster| c.switches[3].max_frame = 1300;
    assert_eq!(both(&frames), (one("frame-too-small"), one("frame-too-small")));
    let fdb = |c: &mut Cluster| c.switches[4].fdb_size = Some(16);
    assert_eq!(both(&fdb), (one("fdb-full"), Ok(())));
    let lossless = |c: &mut Cluster| c.routing.lossless = true;
    assert_eq!(both(&lossless), (one("deadlock"), one("deadlock")));
}

#[test]
fn a_second_path_survives_every_single_link() {
    let mut one = cluster(&[4, 4], true, Strategy::Dor);
    let r = check(&Plan::build(one.clone()).unwrap());
    assert_eq!(r.failures.link.harmless, 0);
    assert_eq!(r.failures.link.most_lost, 16);
    one.routing.paths = 2;
    let r = check(&Plan::build(one).unwrap());
    assert_eq!(r.failures.link.harmless, 32);
    // A dead switch takes its own node with it: 15 pairs each way.
    assert_eq!(r.failures.switch.most_lost, 30);
    assert_eq!(r.failures.pairs_without_disjoint_backup, 0);
}

/// A pair whose ends share a switch, by different NICs, is lost once.
/// The NIC pair with the fewest hops in the tree need not be the one with the fewest in the fabric.
#[test]
fn several_nics_are_minimal_only_if_no_other_pair_of_nics_is_nearer() {
    for (dims, nics) in [([3, 5], 2), ([4, 4], 2), ([3, 3], 3)] {
        let kind = TopologyShape::Mesh { dims: dims.into() };
        let plan = Plan::build(Cluster::generated(kind, 1, nics, Strategy::Stp, 1)).unwrap();
        let long =
            plan.pairs().filter(|&(s, d)| plan.hops(&plan.primary(s, d)[0]) > plan.distance(s, d));
        assert_eq!(check(&plan).minimal, long.count() == 0, "{dims:?} {nics}");
    }
}

#[test]
fn a_failed_switch_loses_each_pair_once() {
    for (dims, nodes, nics) in [(&[4, 4][..], 1, 2), (&[3, 3], 2, 2), (&[4, 3], 3, 1)] {
        let kind = TopologyShape::Torus { dims: dims.into() };
        let plan = Plan::build(Cluster::generated(kind, nodes, nics, Strategy::Dor, 1)).unwrap();
        let lost = |switch: u32| {
            let crosses = |(s, d): &(tresse_base::id::NodeId, tresse_base::id::NodeId)| {
                let primary = plan.primary(*s, *d)[0];
                let mut way = Vec::new();
                plan.walk(&primary, &mut way);
                plan.sender(&primary).switch.0 == switch
                    || way.iter().any(|c| plan.graph().head(*c) == switch)
            };
            plan.pairs().filter(crosses).count() as u64
        };
        let most = (0..plan.graph().switches() as u32).map(lost).max().unwrap();
        let report = check(&plan);
        assert_eq!(report.failures.switch.most_lost, most, "{dims:?} {nodes} {nics}");
        assert_eq!(report.failures.pairs_without_disjoint_backup, 0);
    }
}

/// The whole machinery on parallel cables, several nodes per switch and several NICs per node.
#[test]
fn loads_agree_with_walking_every_pair() {
    for (nodes, nics) in [(1, 1), (3, 1), (1, 2), (2, 2)] {
        for strategy in [Strategy::Stp, Strategy::Dor, Strategy::Pdor] {
            let kind = TopologyShape::Torus { dims: vec![4, 3] };
            let plan = Plan::build(Cluster::generated(kind, nodes, nics, strategy, 1)).unwrap();
            let survey = super::Survey::of(&plan);
            let mut loads = vec![0; plan.graph().channels()];
            let mut through = vec![0; plan.graph().switches()];
            for (s, d) in plan.pairs() {
                let mut way = Vec::new();
                plan.walk(&plan.primary(s, d)[0], &mut way);
                way.iter().for_each(|c| loads[*c as usize] += 1);
                way.iter().skip(1).for_each(|c| through[plan.graph().tail(*c) as usize] += 1);
            }
            assert_eq!(survey.loads, loads);
            assert_eq!(survey.through, through);
            assert_eq!(survey.hops, loads.iter().sum::<u64>());
        }
    }
}

/// K3: the untagged VLAN is one more VLAN that has to be a tree.
#[test]
fn k3_the_base_vlan_is_verified_too() {
    let mut with_base = cluster(&[4, 4], true, Strategy::Dor);
    with_base.vlans.base = Some(1);
    with_base.switches[0].max_vlans = 8;
    let plan = Plan::build(with_base).unwrap();
    let report = check(&plan);
    assert!(report.loop_free);
    assert_eq!(report.violations[0].kind, "too-many-vlans");
    let base = plan.view().vlans.pop().unwrap();
    assert_eq!(
        (base.id.0, base.role, base.links.len()),
        (1, tresse_topology::vlan::Role::Base, 15)
    );
}

/// A lossless plan chooses its backups so that the whole stays acyclic.
#[test]
fn lossless_backups_keep_the_graph_acyclic() {
    let mut lossless = cluster(&[4, 4], false, Strategy::Dor);
    lossless.routing.paths = 2;
    let free = check(&Plan::build(lossless.clone()).unwrap());
    assert!(!free.deadlock_free && free.primaries_deadlock_free);
    let cyclic = check(&Plan::build(cluster(&[4, 4], true, Strategy::Dor)).unwrap());
    assert!(!cyclic.deadlock_free && !cyclic.primaries_deadlock_free);
    lossless.routing.lossless = true;
    let plan = Plan::build(lossless).unwrap();
    let kept = check(&plan);
    assert!(kept.deadlock_free, "{kept:?}");
    assert_eq!(kept.violations, []);
    assert!(kept.notes.iter().any(|n| n.kind == "no-disjoint-backup"));
    // Some turns that no primary takes close no cycle. Backups that follow their primaries protect nothing, and are not
    // there; that others are missing is said.
    let without = plan.pairs().filter(|(s, d)| plan.paths(*s, *d).len() == 1).count();
    assert!((1..120).contains(&without), "{without}");
    let alone = kept.notes.iter().find(|n| n.kind == "no-backup").unwrap();
    assert!(alone.message.starts_with(&format!("{without} ordered pairs")), "{alone:?}");
    assert!(alone.message.contains("lossless = true"), "{alone:?}");
    assert!(!free.notes.iter().any(|n| n.kind == "no-backup"), "{free:?}");
}
