//! One node more: who keeps its paths (DESIGN section 3, the lock).

use tresse_plan::lock::Lock;
use tresse_plan::{Comparison, Plan};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};
use tresse_verify as verify;

/// A random network as a file lists it, with `nodes` of its own on each switch and `more` at the end.
fn listed(switches: u32, nodes: u32, strategy: &str, more: &[u32]) -> Cluster {
    let mut text = format!(
        "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\nstrategy = \"{strategy}\"\n\
         paths = 1\n[[switch]]\nname = \"s[00-{:02}]\"\nports = 24\n",
        switches - 1
    );
    let mut used = vec![0; switches as usize];
    let mut port = |s: u32| {
        used[s as usize] += 1;
        used[s as usize]
    };
    for (a, b) in tresse_topology::random::regular(switches, 4, 1) {
        let (at, to) = (port(a), port(b));
        text += &format!("[[link]]\na = \"s{a:02}:{at}\"\nb = \"s{b:02}:{to}\"\n");
    }
    let all = (0..nodes * switches).map(|n| n / nodes).chain(more.iter().copied());
    for (n, s) in all.enumerate() {
        let at = port(s);
        text += &format!(
            "[[node]]\nname = \"n{n:03}\"\nnics = [{{ switch = \"s{s:02}\", port = {at} }}]\n"
        );
    }
    tresse_cluster::parse(&text, "listed").unwrap()
}

/// The lock keeps what the paths were balanced for, so that all of them stay.
#[test]
fn one_node_more_touches_no_pair_that_was_there() {
    for (strategy, nodes) in
        ["stp", "minimal", "updown", "transit"].into_iter().flat_map(|s| [(s, 1), (s, 4)])
    {
        let old = Plan::build(listed(16, nodes, strategy, &[])).unwrap();
        let lock = old.lock(&Lock::default());
        assert_eq!(Lock::parse(&lock.emit()).unwrap(), lock);
        let new = Plan::build_with(listed(16, nodes, strategy, &[5]), &lock).unwrap();
        let seen = Comparison::of(&old, &new);
        let what = format!("{strategy} with {nodes}: {seen:?}");
        assert_eq!((seen.touched_pairs, seen.added_pairs), (0, 2 * 16 * nodes as usize), "{what}");
        assert!(seen.fresh_vlans.is_empty() && seen.dropped_vlans.is_empty(), "{what}");
        assert_eq!(verify::check(&new).violations, [], "{what}");
        // And again from there, and back.
        let next = new.lock(&lock);
        assert_eq!(next.balance, lock.balance);
        let more = Plan::build_with(listed(16, nodes, strategy, &[5, 9]), &next).unwrap();
        assert_eq!(Comparison::of(&new, &more).touched_pairs, 0, "{strategy}");
        let back = Plan::build_with(listed(16, nodes, strategy, &[]), &next).unwrap();
        assert_eq!(Comparison::of(&new, &back).touched_pairs, 0, "{strategy}");
    }
}

/// A column more moves no cable of a P-Mesh whose lines have switches of their own, and those of the lines
/// behind it where they share one.
#[test]
fn cables_that_move_are_counted() {
    let pmesh = |dims: &[u32], lines_per_switch| {
        let kind =
            TopologyShape::Pmesh { dims: dims.into(), grow_to: vec![8, 8], lines_per_switch };
        Cluster::generated(kind, 1, 1, Strategy::Xy, 2)
    };
    let moved = |lines_per_switch| {
        let old = Plan::build(pmesh(&[4, 4], lines_per_switch)).unwrap();
        let grown = pmesh(&[4, 5], lines_per_switch);
        let new = Plan::build_with(grown, &old.lock(&Lock::default())).unwrap();
        let seen = Comparison::of(&old, &new);
        (seen.touched_pairs, seen.moved_cables)
    };
    assert_eq!(moved(1), (0, 0));
    assert_eq!(moved(4), (0, 16));
}

/// Many more nodes are worth new paths, other cables make them anyhow; then the lock holds the new
/// numbers, and the plan is the same with it.
#[test]
fn the_balance_is_taken_anew_where_it_no_longer_goes() {
    let old = Plan::build(listed(16, 1, "transit", &[])).unwrap();
    let lock = old.lock(&Lock::default());
    let held = |cluster: Cluster| {
        let plan = Plan::build_with(cluster, &lock).unwrap();
        let next = plan.lock(&lock);
        let again = Plan::build_with(plan.cluster().clone(), &next).unwrap();
        assert_eq!(Comparison::of(&plan, &again).touched_pairs, 0);
        next.balance == lock.balance
    };
    assert!(held(listed(16, 1, "transit", &[5, 5, 5])));
    assert!(held(listed(16, 4, "transit", &[])), "as many on each as on any other");
    assert!(!held(listed(16, 1, "transit", &[5; 8])));
    assert!(!held(listed(16, 1, "updown", &[])));
    let mut cut = listed(16, 1, "transit", &[]);
    cut.links.pop();
    assert!(!held(cut));
    let mut none = listed(16, 1, "transit", &[]);
    none.nodes[5].transit = false;
    assert!(!held(none));
    assert!(
        Plan::build(Cluster::generated(
            TopologyShape::Mesh { dims: vec![3, 3] },
            1,
            1,
            Strategy::Dor,
            1
        ))
        .unwrap()
        .lock(&Lock::default())
        .balance
        .is_none()
    );
}
