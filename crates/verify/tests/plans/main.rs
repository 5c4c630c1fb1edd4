//! Plans against the statements of DESIGN section 4, judged by the proofs of this crate.

#![expect(
    clippy::unwrap_used,
    reason = "the lint knows tests by their attribute, not the functions that they share"
)]

mod below;
mod direct;
mod estimate;
mod families;
mod growth;
mod lines;
mod mptcp;
mod node_ports;
mod planes;
mod published;
mod reflect;
mod room;
mod several_nics;
mod shapes;
mod slow;
mod transit;

use tresse_base::id::{NodeId, SwitchId};
use tresse_plan::Plan;
use tresse_topology::Grid;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};
use tresse_topology::vlan::Tree;

fn plan(dims: &[u32], torus: bool, strategy: Strategy, paths: u32) -> Plan {
    let dims = dims.to_vec();
    let kind = if torus { TopologyShape::Torus { dims } } else { TopologyShape::Mesh { dims } };
    Plan::build(Cluster::generated(kind, 1, 1, strategy, paths)).unwrap()
}

/// (VLAN name, coordinates of the switches on the way) of the primary path.
fn route(plan: &Plan, from: (u32, u32), to: (u32, u32)) -> (String, Vec<(u32, u32)>) {
    let n = match &plan.cluster().kind {
        TopologyShape::Mesh { dims } | TopologyShape::Torus { dims } => dims[0],
        _ => unreachable!(),
    };
    let node = |(x, y): (u32, u32)| NodeId(x + n * y);
    let segment = plan.primary(node(from), node(to))[0];
    let mut channels = Vec::new();
    plan.walk(&segment, &mut channels);
    let mut way = vec![from];
    way.extend(channels.iter().map(|c| plan.graph().head(*c)).map(|s| (s % n, s / n)));
    (plan.specs()[segment.tree.index()].name.clone(), way)
}

/// vlan-minimal-paths, section 2.3: (0,0) to (3,2) on the 4x4 mesh under PDOR uses VL(-,1).
#[test]
fn paper_example_pdor_mesh() {
    let plan = plan(&[4, 4], false, Strategy::Pdor, 1);
    let names: Vec<_> = plan.specs().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["VL(-,1)", "VL(-,3)", "VL(1,-)"]);
    assert_eq!(
        route(&plan, (0, 0), (3, 2)),
        ("VL(-,1)".into(), vec![(0, 0), (0, 1), (1, 1), (2, 1), (3, 1), (3, 2)])
    );
}

/// vlan-minimal-paths, section 3.2: (0,0) to (3,2) on the 4x4 torus under DOR uses VL(-:3,0).
#[test]
fn paper_example_dor_torus() {
    let plan = plan(&[4, 4], true, Strategy::Dor, 1);
    let names: Vec<_> = plan.specs().iter().map(|s| s.name.as_str()).collect();
    let expected: Vec<String> =
        [1, 3].iter().flat_map(|ab| (0..4).map(move |y| format!("VL(-:{ab},{y})"))).collect();
    assert_eq!(names, expected);
    assert_eq!(
        route(&plan, (0, 0), (3, 2)),
        ("VL(-:3,0)".into(), vec![(0, 0), (3, 0), (3, 1), (3, 2)])
    );
    // "all paths from (0,0) use VL(-:1,0) for (1,y), VL(-:3,0) for (3,y)"
    for y in 0..4 {
        assert_eq!(route(&plan, (0, 0), (1, y)).0, "VL(-:1,0)");
        assert_eq!(route(&plan, (0, 0), (3, y)).0, "VL(-:3,0)");
    }
}

/// vlan-minimal-paths, section 3.3: (0,3) to (1,1) on the 4x4 torus under PDOR uses VL(-:1,0).
#[test]
fn paper_example_pdor_torus() {
    let plan = plan(&[4, 4], true, Strategy::Pdor, 1);
    let names: Vec<_> = plan.specs().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["VL(-:1,0)", "VL(-:1,2)", "VL(-:3,0)", "VL(-:3,2)", "VL(1,-:1)", "VL(3,-:3)"]
    );
    assert_eq!(
        route(&plan, (0, 3), (1, 1)),
        ("VL(-:1,0)".into(), vec![(0, 3), (0, 0), (1, 0), (1, 1)])
    );
}

/// N^(M-1), floor(N^(M-1)/2)+1, 2N^(M-1), N^(M-1)+2 and the rules for unequal and small sizes.
#[test]
fn vlan_counts_are_the_papers() {
    let count = |dims: &[u32], torus, strategy| plan(dims, torus, strategy, 1).specs().len();
    for n in 3..9u32 {
        let n_ = n as usize;
        assert_eq!(count(&[n, n], false, Strategy::Dor), n_);
        assert_eq!(count(&[n, n], false, Strategy::Pdor), n_ / 2 + 1);
        assert_eq!(count(&[n, n], true, Strategy::Dor), 2 * n_);
        assert_eq!(count(&[n, n], true, Strategy::Pdor), 2 * n_.div_ceil(2) + 2);
    }
    for n in [4u32, 6] {
        let rows = (n * n) as usize;
        assert_eq!(count(&[n, n, n], false, Strategy::Dor), rows);
        assert_eq!(count(&[n, n, n], false, Strategy::Pdor), rows / 2 + 1);
        assert_eq!(count(&[n, n, n], true, Strategy::Dor), 2 * rows);
        assert_eq!(count(&[n, n, n], true, Strategy::Pdor), rows + 2);
    }
    assert_eq!(count(&[8], true, Strategy::Dor), 2);
    assert_eq!(count(&[8], true, Strategy::Pdor), 2);
    assert_eq!(count(&[8], false, Strategy::Pdor), 1);
    assert_eq!(count(&[2, 4], true, Strategy::Dor), 4);
    assert_eq!(count(&[2, 4], true, Strategy::Pdor), 3);
    assert_eq!(count(&[5, 3], false, Strategy::Dor), 3);
    assert_eq!(count(&[4, 2, 6], true, Strategy::Pdor), 12 + 2);
    assert_eq!(count(&[4, 4], true, Strategy::Stp), 1);
    // Odd sizes, which the paper leaves open: about as many as `dor` halved.
    for (dims, pdor, dor) in [
        (&[3, 3, 3][..], 14, 18),
        (&[5, 5, 5], 32, 50),
        (&[4, 3, 3], 14, 18),
        (&[3, 3, 5], 22, 30),
        (&[3, 5, 3], 22, 30),
        (&[4, 5, 3], 22, 30),
        (&[5, 3, 4], 18, 24),
        (&[3, 5], 8, 10),
        (&[7, 5], 8, 10),
        (&[3, 3, 3, 3], 38, 54),
        (&[5, 7, 5], 44, 70),
    ] {
        assert_eq!(count(dims, true, Strategy::Pdor), pdor, "{dims:?}");
        assert_eq!(count(dims, true, Strategy::Dor), dor, "{dims:?}");
    }
}

/// vlan-minimal-paths, theorems 2.1, 2.2, 3.1, 3.2 and their generalisations: every tree spans, every
/// path is minimal.
#[test]
fn every_tree_spans_and_every_path_is_minimal() {
    let shapes: &[&[u32]] = &[
        &[1],
        &[2],
        &[3],
        &[5],
        &[8],
        &[2, 2],
        &[3, 3],
        &[4, 4],
        &[5, 5],
        &[2, 5],
        &[5, 2],
        &[7, 3],
        &[1, 4],
        &[4, 1],
        &[4, 4, 4],
        &[3, 2, 4],
        &[2, 4, 2],
        &[5, 4, 2],
        &[3, 3, 3],
        &[5, 5, 5],
        &[4, 3, 3],
        &[3, 5, 3],
        &[5, 3, 4],
        &[1, 3, 1, 5],
        &[3, 3, 3, 3],
        &[5, 7, 5],
        &[2, 2, 2, 2],
        &[3, 2, 2, 4],
        &[2, 2, 2, 2, 2],
        &[2, 2, 2, 2, 2, 2],
    ];
    for &dims in shapes {
        for torus in [false, true] {
            for strategy in [Strategy::Dor, Strategy::Pdor] {
                let plan = plan(dims, torus, strategy, 1);
                let grid = Grid::new(dims, torus);
                for t in 0..plan.specs().len() {
                    let tree = plan.tree(t.into());
                    let links = tree.links(plan.graph());
                    let ends: Vec<_> = links
                        .iter()
                        .map(|&l| {
                            let link = plan.cluster().link(l);
                            (l, link.a.switch.0, link.b.switch.0)
                        })
                        .collect();
                    Tree::of_links(plan.graph(), SwitchId(0), &ends).unwrap();
                }
                for (s, d) in plan.pairs() {
                    let segment = plan.primary(s, d)[0];
                    let want =
                        grid.distance(plan.sender(&segment).switch, plan.receiver(&segment).switch);
                    assert_eq!(plan.hops(&segment), want, "{dims:?} {torus} {strategy:?}");
                    let mut way = Vec::new();
                    plan.walk(&segment, &mut way);
                    assert_eq!(way.len() as u32, want);
                    assert_eq!(plan.graph().tail(way[0]), plan.sender(&segment).switch.0);
                    for pair in way.windows(2) {
                        assert_eq!(plan.graph().head(pair[0]), plan.graph().tail(pair[1]));
                    }
                }
            }
        }
    }
}

/// Under DOR a path visits the dimensions in order: 0 first.
#[test]
fn dor_paths_are_dimension_order() {
    for torus in [false, true] {
        let plan = plan(&[4, 3, 4], torus, Strategy::Dor, 1);
        let grid = Grid::new(&[4, 3, 4], torus);
        for (s, d) in plan.pairs() {
            let mut way = Vec::new();
            plan.walk(&plan.primary(s, d)[0], &mut way);
            let dims: Vec<_> = way
                .iter()
                .map(|&c| {
                    let a = grid.coordinates(plan.graph().tail(c).into_switch());
                    let b = grid.coordinates(plan.graph().head(c).into_switch());
                    (0..3).find(|&i| a[i] != b[i]).unwrap()
                })
                .collect();
            assert!(dims.is_sorted(), "{dims:?}");
        }
    }
}

trait IntoSwitch {
    fn into_switch(self) -> SwitchId;
}
impl IntoSwitch for u32 {
    fn into_switch(self) -> SwitchId {
        SwitchId(self)
    }
}

/// On a torus with backups every pair has a link-disjoint second path.
#[test]
fn backups_are_link_disjoint_where_the_fabric_allows() {
    for (dims, torus) in [(&[4, 4][..], true), (&[4, 4], false), (&[6], true), (&[3, 3, 3], true)] {
        for strategy in [Strategy::Dor, Strategy::Pdor, Strategy::Stp] {
            let plan = plan(dims, torus, strategy, 2);
            for (s, d) in plan.pairs() {
                let paths = plan.paths(s, d);
                assert_eq!(paths.len(), 2);
                let mut first = Vec::new();
                let mut second = Vec::new();
                plan.walk(&paths[0].segments[0], &mut first);
                plan.walk(&paths[1].segments[0], &mut second);
                for c in &second {
                    let link = plan.graph().link(*c);
                    assert!(
                        first.iter().all(|f| plan.graph().link(*f) != link),
                        "{dims:?} {torus} {strategy:?} {s:?} {d:?}"
                    );
                }
            }
        }
    }
}

/// The slice of n00 on the 4x4 torus: two VIDs to send on, all eight to receive on.
#[test]
fn slice_of_the_torus() {
    let plan = plan(&[4, 4], true, Strategy::Dor, 1);
    let slice = tresse_slice::Slice::of(&plan, NodeId(0));
    assert_eq!(slice.interfaces.len(), 8);
    assert!(slice.interfaces.values().all(|i| i.rank == 0));
    // Nobody in row 0 reaches x = 0 over the lines centred on a: n00 only sends there.
    let silent: Vec<_> = slice.interfaces.values().filter(|i| !i.announces).collect();
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0].tree, "VL(-:1,0)");
    assert_eq!(slice.wanted.links.len(), 9);
    assert_eq!(slice.wanted.routes.len(), 15);
    assert_eq!(slice.wanted.neighbours.len(), 15);
    assert!(slice.wanted.routes.values().all(|r| r.mtu == 1500 && r.advmss == 1460));
    let last = tresse_slice::Slice::of(&plan, NodeId(15));
    assert!(last.interfaces.values().all(|i| i.rank == 4));
}
