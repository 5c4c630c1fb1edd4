#![expect(clippy::disallowed_methods, reason = "a test reads its own processor time")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tresse_base::id::Vid;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::*;
use crate::address::Addresses;
use crate::plan::Plan;

fn cluster(dims: &[u32]) -> Cluster {
    Cluster::generated(TopologyShape::Torus { dims: dims.into() }, 1, 1, Strategy::Dor, 1)
}

const RANGES: &[(u16, u16)] = &[(100, 103), (200, 203)];

#[test]
fn a_lock_round_trips_and_is_stable_text() {
    let cluster = cluster(&[4, 4]);
    let addresses = assign(&cluster, &Lock::default()).unwrap();
    let trees = [("VL(-:1,0)", "a:1~b:1"), ("odd \"name\" \\ é", "ö\":2~\\:1")];
    let vids = allocate(&trees, RANGES, &Lock::default()).unwrap();
    let lock = Lock::default().next(&cluster, &addresses, &trees, &vids, Labels::new());
    let text = lock.emit();
    assert!(text.contains("\"VL(-:1,0)\" = { vid = 100, tree = \"a:1~b:1\" }"), "{text}");
    assert!(text.contains("\"n15/eth0\" = [\"10.78.0.16\"]"), "{text}");
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    assert_eq!(Lock::parse(&text).unwrap().emit(), text);
    let again =
        lock.next(&cluster, &assign(&cluster, &lock).unwrap(), &trees, &vids, Labels::new());
    assert_eq!(again, lock);
}

#[test]
fn bad_locks_are_refused_with_their_place() {
    let parse = |text: &str| Lock::parse(text).unwrap_err().to_string();
    assert!(parse("format = 1\nvid = 3\n").starts_with("line 2, column 1: unknown field `vid`"));
    assert!(parse("format = 2\n[future]\n").contains("format 2 is not 1"));
    assert!(parse("").contains("missing field `format`; take the lock from a copy"));
    assert!(parse("format = 1\n[nodes]\nn0 = [\"x\"]\n").starts_with("line 3"));
    let places = parse("format = 1\n[places]\na = \"0:1\"\nb = \"0:1\"\n");
    assert_eq!(places, "nodes `a` and `b` are both at 0:1: remove the line of one");
    let twice = "format = 1\n[vids]\na = { vid = 5, tree = \"\" }\nb = { vid = 5, tree = \"\" }\n";
    assert!(parse(twice).contains("tree `b` has VID 5"));
    assert!(parse("format = 1\n[vids]\na = { vid = 0, tree = \"\" }\n").contains("VID 0"));
}

#[test]
fn trees_keep_their_vids_and_changed_trees_get_fresh_ones() {
    let first = [("a", "a:1~b:1"), ("b", "a:2~b:2")];
    let vids = allocate(&first, RANGES, &Lock::default()).unwrap();
    assert_eq!(vids, [Vid(100), Vid(101)]);
    let none = Cluster::generated(TopologyShape::Explicit, 1, 1, Strategy::Stp, 1);
    let lock = Lock::default().next(&none, &Addresses::default(), &first, &vids, Labels::new());

    let changed = [("new", "a:0~b:0"), ("b", "a:3~b:3"), ("a", "a:1~b:1")];
    let vids = allocate(&changed, RANGES, &lock).unwrap();
    assert_eq!(vids, [Vid(102), Vid(103), Vid(100)]);
    let next = lock.next(&none, &Addresses::default(), &changed, &vids, Labels::new());
    assert_eq!(next.retired.vids, [LockedVid { vid: Vid(101), tree: "a:2~b:2".into() }]);
    assert_eq!(Lock::parse(&next.emit()).unwrap(), next);
    // The same tree again is no new meaning.
    assert_eq!(
        allocate(&[("a", "a:1~b:1"), ("other", "a:2~b:2")], RANGES, &next).unwrap()[1],
        Vid(101)
    );

    let more = [("new", "a:0~b:0"), ("b", "a:3~b:3"), ("a", "a:1~b:1"), ("c", "a:4~b:4")];
    assert_eq!(allocate(&more, RANGES, &next).unwrap()[3], Vid(200));
    assert_eq!(allocate(&more, &[(100, 103)], &next).unwrap()[3], Vid(101));
}

/// However often the lock changes, a VID means one tree while there are others to take.
#[test]
fn a_vid_is_not_given_to_another_tree_while_there_are_fresh_ones() {
    let mut meaning = HashMap::new();
    let mut lock = Lock::default();
    for rows in [4, 5, 6, 7, 5, 4, 6] {
        let mut cluster = cluster(&[4, rows]);
        cluster.vlans.ranges = vec![(100, 199)];
        let plan = Plan::build_with(cluster, &lock).unwrap();
        lock = plan.lock(&lock);
        for LockedVid { vid, tree } in lock.vids.values() {
            let old = meaning.insert(*vid, tree.clone());
            let kept = old.as_ref().is_none_or(|old| tree::compatible(old, tree));
            assert!(kept, "VID {vid} went from {old:?} to {tree}");
        }
    }
    // Back at an earlier size its trees have their VIDs.
    assert!(meaning.len() < 60, "{} VIDs", meaning.len());
}

/// The base VLAN has one VID for ever, so its tree only gets more cables.
#[test]
fn the_base_tree_grows_and_does_not_move() {
    use crate::plan::base_vlan;
    use tresse_base::id::SwitchId;

    for (strategy, sizes) in [
        (Strategy::Dor, [&[4, 4][..], &[4, 5], &[5, 5], &[5, 6]]),
        (Strategy::Stp, [&[3, 3], &[4, 3], &[4, 4], &[4, 4, 2]]),
        (Strategy::Pdor, [&[4], &[5], &[7], &[11]]),
    ] {
        let mut lock = Lock::default();
        let mut before: BTreeSet<String> = BTreeSet::new();
        for dims in sizes {
            let kind = TopologyShape::Mesh { dims: dims.into() };
            let mut cluster = Cluster::generated(kind, 1, 1, strategy, 1);
            cluster.vlans.base = Some(1);
            // Many nodes in a corner draw the best tree there.
            for (node, port) in cluster.nodes.iter_mut().zip(20..).skip(1).step_by(2) {
                (node.nics[0].switch, node.nics[0].port) = (SwitchId(0), port);
            }
            let plan = Plan::build_with(cluster, &lock).unwrap();
            let (_, links) = base_vlan(&plan).unwrap();
            assert_eq!(links.len() + 1, plan.graph().switches(), "it spans");
            let text = place::cables(plan.cluster(), &links);
            let now: BTreeSet<String> = text.split(' ').map(Into::into).collect();
            assert!(before.is_subset(&now), "{strategy:?} {dims:?}: {before:?} to {now:?}");
            lock = plan.lock(&lock);
            assert_eq!(lock.base.as_deref(), Some(text.as_str()));
            lock = Lock::parse(&lock.emit()).unwrap();
            before = now;
        }
    }
}

#[test]
fn a_vid_outside_the_ranges_is_given_up() {
    let mut lock = Lock::default();
    lock.vids.insert("a".into(), LockedVid { vid: Vid(7), tree: "1".into() });
    assert_eq!(allocate(&[("a", "1")], RANGES, &lock).unwrap(), [Vid(100)]);
}

#[test]
fn too_few_vids_say_how_many_more() {
    let lock = Lock::default();
    let trees = [("a", "1"), ("b", "2"), ("c", "3")];
    assert!(allocate(&trees, &[(5, 7)], &lock).is_ok());
    let error = allocate(&trees, &[(5, 6)], &lock).unwrap_err().to_string();
    assert!(error.contains("holds 2 VIDs and 3 are needed"), "{error}");
    assert!(error.ends_with("enlarge the range by 1"), "{error}");
    let mut lock = Lock::default();
    lock.vids.insert("a".into(), LockedVid { vid: Vid(5), tree: "old".into() });
    let error = allocate(&trees, &[(5, 7)], &lock).unwrap_err();
    assert_eq!((error.room, error.needed), (3, 4));
}

#[test]
fn growth_keeps_addresses_and_gives_changed_trees_fresh_vids() {
    let small = Plan::build(cluster(&[4, 4])).unwrap();
    let lock = small.lock(&Lock::default());
    let same = Plan::build_with(cluster(&[4, 4]), &lock).unwrap();
    assert_eq!(same.generation(), small.generation());
    assert_eq!(same.lock(&lock), lock);

    let grown = Plan::build_with(cluster(&[4, 5]), &lock).unwrap();
    assert_eq!(grown.addresses().node[..16], small.addresses().node[..]);
    assert_eq!(grown.addresses().nic[..16], small.addresses().nic[..]);
    let next = grown.lock(&lock);
    for (name, old) in &lock.vids {
        for new in next.vids.values().filter(|new| new.vid == old.vid) {
            let kept = tree::compatible(&old.tree, &new.tree);
            assert!(kept, "VID {} of {name} went from {} to {}", old.vid, old.tree, new.tree);
        }
    }
    let back = Plan::build_with(cluster(&[4, 4]), &next).unwrap();
    assert_eq!(back.addresses(), small.addresses());
}

/// Names are numbers by place: 3x3 to 4x4 makes n4 to n05 and gives n04 to another machine.
#[test]
fn growth_keeps_the_addresses_of_machines_whatever_their_names_become() {
    for (small, large) in [
        (&[3, 3][..], &[4, 4][..]),
        (&[4, 4], &[5, 4]),
        (&[4, 4], &[4, 4, 2]),
        (&[9], &[11]),
        (&[10, 10], &[11, 10]),
    ] {
        let old = Plan::build(cluster(small)).unwrap();
        let lock = old.lock(&Lock::default());
        let lock = Lock::parse(&lock.emit()).unwrap();
        let new = Plan::build_with(cluster(large), &lock).unwrap();
        let place = |plan: &Plan, k: usize| place::node(plan.cluster(), k.into()).unwrap();
        let at = |plan: &Plan, k: usize| {
            (plan.addresses().node[k].clone(), plan.addresses().nic[k].clone())
        };
        let all = 0..new.cluster().nodes.len();
        let grown: BTreeMap<_, _> = all.map(|k| (place(&new, k), at(&new, k))).collect();
        let before = 0..old.cluster().nodes.len();
        for k in before.clone() {
            assert_eq!(grown[&place(&old, k)], at(&old, k), "{small:?} to {large:?}, node {k}");
        }
        let given: BTreeSet<_> = grown.values().map(|(node, _)| node).collect();
        assert_eq!(given.len(), grown.len(), "every address once");
        let n = before.len();
        let change = crate::plan::Comparison::of(&old, &new);
        assert_eq!((change.common_pairs, change.removed_pairs), (n * (n - 1), 0));
        // Back to the smaller fabric nothing has changed either.
        let back = Plan::build_with(cluster(small), &new.lock(&lock)).unwrap();
        assert_eq!(back.addresses(), old.addresses());
    }
}

#[test]
fn a_node_that_moves_to_another_port_keeps_its_address() {
    let mut cluster = cluster(&[4]);
    let lock = Plan::build(cluster.clone()).unwrap().lock(&Lock::default());
    cluster.nodes[1].nics[0].port = 9;
    cluster.switches[1].ports = 9;
    let names = lock.names(&cluster);
    assert_eq!(names, ["n0", "n1", "n2", "n3"].map(Some));
}

/// By what planning without a lock takes, just before on the same thread: a lock whose every tree is made
/// to be judged takes a hundred times as long and more.
#[test]
fn a_lock_of_the_largest_torus_is_read_and_planned_quickly() {
    let begin = on_processor();
    let plan = Plan::build(cluster(&[16, 16, 16])).unwrap();
    let without = on_processor() - begin;
    let text = plan.lock(&Lock::default()).emit();
    let before = on_processor();
    let lock = Lock::parse(&text).unwrap();
    let again = Plan::build_with(cluster(&[16, 16, 16]), &lock).unwrap();
    let taken = on_processor() - before;
    eprintln!("lock of {} bytes read and planned in {taken:?}, without {without:?}", text.len());
    assert_eq!(again.generation(), plan.generation());
    assert!(taken < 20 * without, "{taken:?} with the lock, {without:?} without");
}

/// Processor time of this thread, which no other work on the machine lengthens: proc(5) `schedstat`.
fn on_processor() -> Duration {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

#[test]
fn k4_the_base_vlan_takes_no_vid_of_a_tree() {
    let first = Plan::build(cluster(&[4, 4])).unwrap();
    let lock = first.lock(&Lock::default());
    let mut moved = cluster(&[4, 4]);
    moved.vlans.ranges = vec![(200, 299)];
    let vid = first.vid(0.into());
    moved.vlans.base = Some(vid.0);
    let error = Plan::build_with(moved.clone(), &lock).unwrap_err().to_string();
    assert!(error.starts_with(&format!("`[vlans] base` = {vid} was the VID of a VLAN tree")));
    // Also once the tree is retired.
    moved.vlans.base = Some(1);
    let lock = Plan::build_with(moved.clone(), &lock).unwrap().lock(&lock);
    moved.vlans.base = Some(vid.0);
    assert!(Plan::build_with(moved, &lock).is_err());
}
