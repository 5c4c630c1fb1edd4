//! Lines of nodes on switches that hold several.

use tresse_base::id::Vid;
use tresse_plan::Comparison;
use tresse_plan::lock::Lock;

use super::*;

fn cluster(dims: &[u32], lines_per_switch: u32, ranges: &[(u16, u16)]) -> Cluster {
    let kind = TopologyShape::Pmesh { dims: dims.into(), grow_to: vec![8, 8], lines_per_switch };
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
    cluster.vlans.ranges = ranges.into();
    cluster
}

fn vids(plan: &Plan) -> Vec<(String, u16)> {
    plan.lines().into_iter().map(|line| (line.name, line.vid.0)).collect()
}

#[test]
fn every_line_has_a_vid_of_its_own_in_their_order_but_for_the_base() {
    let mut cluster = cluster(&[2, 3], 2, &[(100, 101), (103, 110)]);
    cluster.vlans.base = Some(104);
    let plan = Plan::build(cluster).unwrap();
    let expected = [
        ("line(-,0)", 100),
        ("line(-,1)", 101),
        ("line(-,2)", 103),
        ("line(0,-)", 105),
        ("line(1,-)", 106),
    ];
    assert_eq!(vids(&plan), expected.map(|(name, vid)| (name.to_owned(), vid)));
    let switches: Vec<_> = plan.lines().iter().map(|line| line.switch.0).collect();
    assert_eq!(switches, [0, 0, 1, 1, 2]);
    // The third line's ports, then those of the fourth.
    assert_eq!((plan.lines()[2].ports.clone(), plan.lines()[3].ports.clone()), (1..=2, 3..=5));
    let view = plan.view();
    assert_eq!(view.switches[1].lines[&Vid(105)], [3, 4, 5]);
    assert!(view.vlans.iter().all(|vlan| vlan.role == tresse_topology::vlan::Role::Line));
}

#[test]
fn a_line_on_a_switch_of_its_own_needs_no_vid() {
    let plan = Plan::build(cluster(&[4, 4], 1, &[(2, 2)])).unwrap();
    assert!(plan.lines().is_empty() && plan.view().vlans.is_empty());
    assert_eq!(plan.line_vid(NodeId(3), 1), None);
}

#[test]
fn too_few_vids_are_refused_with_what_would_do() {
    let error = Plan::build(cluster(&[4, 4], 4, &[(100, 104)])).unwrap_err().to_string();
    assert!(error.contains("holds 5 VIDs and 8 are needed"), "{error}");
    assert!(error.ends_with("enlarge the range by 3"), "{error}");
}

/// A row more: the lines that are there keep their VIDs, whatever switch they are on now.
#[test]
fn lines_keep_their_vids_as_the_fabric_grows() {
    let ranges = [(100, 199)];
    let first = Plan::build(cluster(&[4, 4], 4, &ranges)).unwrap();
    let lock = first.lock(&Lock::default());
    let text = lock.emit();
    assert!(text.contains("\"line(-,2)\" = { vid = 102, tree = \"line(-,2)\" }"), "{text}");
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    let grown = Plan::build_with(cluster(&[4, 5], 4, &ranges), &lock).unwrap();
    let (before, after) = (vids(&first), vids(&grown));
    assert!(before.iter().all(|line| after.contains(line)), "{after:?}");
    assert!(after.contains(&("line(-,4)".into(), 108)), "{after:?}");
    let change = Comparison::of(&first, &grown);
    assert_eq!((change.kept_vlans, &change.fresh_vlans[..]), (8, &["line(-,4)".to_owned()][..]));
    // Smaller again, and back: the row gets the VID that it had.
    let later = grown.lock(&lock);
    let small = Plan::build_with(cluster(&[4, 4], 4, &ranges), &later).unwrap();
    let last = small.lock(&later);
    assert_eq!(vids(&Plan::build_with(cluster(&[4, 5], 4, &ranges), &last).unwrap()), after);
    assert!(small.is_held_by(&last) && !grown.is_held_by(&lock));
}

/// Paths are those of lines on switches of their own, but for the names of switches.
#[test]
fn paths_do_not_depend_on_what_shares_a_switch() {
    let plans = [1, 3].map(|lines| Plan::build(cluster(&[3, 4], lines, &[(2, 99)])).unwrap());
    assert_ne!(plans[0].generation(), plans[1].generation());
    for (src, dst) in plans[0].pairs() {
        assert_eq!(plans[0].paths(src, dst), plans[1].paths(src, dst));
        let slices = plans.each_ref().map(|plan| tresse_slice::Slice::of(plan, src).wanted);
        assert_eq!(slices[0], slices[1]);
    }
}
