use std::collections::HashSet;

use tresse_topology::cluster::{NicEnd, TopologyShape};

use super::*;

fn of(kind: &TopologyShape) -> Xy {
    Xy::new(Layout::of(kind).unwrap())
}

fn pmesh(dims: &[u32]) -> Xy {
    of(&TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch: 1 })
}

fn torus(dims: &[u32]) -> Xy {
    of(&TopologyShape::DirectTorus { dims: dims.into() })
}

fn mesh(dims: &[u32]) -> Xy {
    of(&TopologyShape::DirectMesh { dims: dims.into() })
}

fn ring(nodes: u32) -> Xy {
    of(&TopologyShape::Ring { nodes })
}

fn full(nodes: u32) -> Xy {
    of(&TopologyShape::FullMesh { nodes })
}

fn nodes(xy: &Xy) -> impl Iterator<Item = NodeId> + Clone + use<> {
    (0..xy.layout.nodes()).map(NodeId::from)
}

fn pairs(xy: &Xy) -> impl Iterator<Item = (NodeId, NodeId)> + use<> {
    let all = nodes(xy);
    all.clone().flat_map(move |s| all.clone().filter(move |d| *d != s).map(move |d| (s, d)))
}

/// Something that carries packets between NICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Switch(usize),
    Nic(NicEnd),
}

/// The parts that a hop needs; a cable between nodes fails with either of its NICs.
fn needs(xy: &Xy, from: NicEnd, hop: &Hop) -> [Option<Part>; 3] {
    let switch =
        xy.layout.has_switches().then(|| Part::Switch(xy.layout.line(from.node, from.nic)));
    [Some(Part::Nic(from)), Some(Part::Nic(NicEnd { node: hop.to, nic: hop.to_nic })), switch]
}

fn parts(xy: &Xy) -> HashSet<Part> {
    let hops = nodes(xy).flat_map(|n| {
        xy.layout.neighbours(n).into_iter().map(move |hop| (NicEnd { node: n, nic: hop.nic }, hop))
    });
    hops.flat_map(|(from, hop)| needs(xy, from, &hop)).flatten().collect()
}

/// Nodes in reach of `from` over what is whole.
fn reach(xy: &Xy, from: NodeId, failed: &[Part]) -> Vec<bool> {
    let mut seen = vec![false; xy.layout.nodes()];
    let mut queue = vec![from];
    seen[from.index()] = true;
    while let Some(node) = queue.pop() {
        for hop in xy.layout.neighbours(node) {
            let used = needs(xy, NicEnd { node, nic: hop.nic }, &hop);
            let whole = !used.iter().flatten().any(|part| failed.contains(part));
            if whole && !std::mem::replace(&mut seen[hop.to.index()], true) {
                queue.push(hop.to);
            }
        }
    }
    seen
}

/// Every pair that the failure leaves a way for arrives by `next_alive`; gives the most hops.
fn all_arrive(xy: &Xy, failed: Part) -> usize {
    let alive = |from: NicEnd, hop: &Hop| !needs(xy, from, hop).contains(&Some(failed));
    let mut most = 0;
    for src in nodes(xy) {
        let seen = reach(xy, src, &[failed]);
        for dst in nodes(xy).filter(|dst| *dst != src && seen[dst.index()]) {
            let (mut at, mut came, mut hops) = (src, None, 0);
            while at != dst {
                let hop = xy.next_alive(at, came, dst, &alive);
                let hop =
                    hop.unwrap_or_else(|| panic!("{src:?} to {dst:?} ends at {at:?}, {failed:?}"));
                assert!(alive(NicEnd { node: at, nic: hop.nic }, &hop));
                (at, came, hops) = (hop.to, Some(hop.to_nic), hops + 1);
                assert!(hops <= 2 * xy.layout.nodes(), "{src:?} to {dst:?} loops, {failed:?}");
            }
            most = most.max(hops);
        }
    }
    most
}

#[test]
fn primaries_are_minimal_and_in_the_order_of_dimensions() {
    let all = [
        pmesh(&[4, 4]),
        pmesh(&[2, 3, 4]),
        torus(&[4, 4]),
        torus(&[2, 3, 6]),
        mesh(&[3, 4, 2]),
        ring(8),
        ring(2),
        ring(3),
        full(6),
    ];
    for xy in all {
        for (src, dst) in pairs(&xy) {
            let segments = xy.primary(src, dst);
            assert_eq!(segments.len() as u32, xy.layout.distance(src, dst));
            let moved = segments.iter().map(|s| xy.differing(s.from, s.to).next().unwrap());
            assert!(moved.is_sorted(), "{segments:?}");
            for segment in &segments {
                let hop = Hop { nic: segment.nic, to: segment.to, to_nic: segment.to_nic };
                assert!(xy.layout.neighbours(segment.from).contains(&hop));
            }
        }
    }
}

#[test]
fn hops_to_a_node_are_those_from_each() {
    for xy in [pmesh(&[4, 3]), pmesh(&[2, 3, 4]), torus(&[3, 4]), ring(5)] {
        let mut hops = Vec::new();
        for to in nodes(&xy) {
            xy.hops_to(to, &mut hops);
            assert!(nodes(&xy).filter(|at| *at != to).all(|at| hops[at.index()] == xy.hop(at, to)));
        }
    }
}

#[test]
fn a_backup_leaves_by_another_nic_and_arrives() {
    for xy in [
        pmesh(&[4, 4]),
        pmesh(&[2, 2]),
        torus(&[4, 4]),
        torus(&[2, 2]),
        mesh(&[3, 3]),
        ring(8),
        full(4),
    ] {
        for (src, dst) in pairs(&xy) {
            let (primary, backup) = (xy.primary(src, dst), xy.backup(src, dst).unwrap());
            assert_ne!(primary[0].nic, backup[0].nic);
            assert_eq!(backup.last().unwrap().to, dst);
        }
    }
    assert!(pairs(&mesh(&[4])).all(|(s, d)| mesh(&[4]).backup(s, d).is_none()));
    assert!(pairs(&pmesh(&[4])).all(|(s, d)| pmesh(&[4]).backup(s, d).is_none()));
}

/// Fabrics of every kind whose nodes route.
fn every_kind() -> Vec<Xy> {
    vec![
        pmesh(&[4, 4]),
        pmesh(&[3, 3, 3]),
        pmesh(&[2, 5]),
        pmesh(&[2, 2]),
        pmesh(&[2, 3, 4]),
        torus(&[4, 4]),
        torus(&[3, 3, 3]),
        torus(&[2, 4]),
        torus(&[2, 2, 2]),
        torus(&[5, 6]),
        mesh(&[3, 4]),
        mesh(&[2, 3, 3]),
        full(6),
        pmesh(&[5]),
        mesh(&[5]),
        ring(5),
        ring(8),
        by_column(&[4, 4]),
        by_column(&[2, 2]),
        by_column(&[3, 3]),
        by_column(&[5, 4]),
        by_column(&[5, 2]),
        by_column(&[2, 5]),
        by_column(&[3, 4]),
        by_column(&[3, 7]),
    ]
    .into_iter()
    .chain(along_cables())
    .collect()
}

/// Direct tori and meshes whose spares depend on the destination's column.
fn along_cables() -> Vec<Xy> {
    let all: [&[u32]; 10] =
        [&[4, 4], &[2, 2], &[3, 3], &[5, 4], &[5, 6], &[2, 5], &[5, 2], &[4, 3], &[8, 3], &[3, 8]];
    let both = all.iter().flat_map(|dims| [torus(dims), mesh(dims)]);
    both.map(Xy::with_spares_by_column).collect()
}

/// A P-Mesh whose spares depend on the destination's column.
fn by_column(dims: &[u32]) -> Xy {
    let xy = pmesh(dims).with_spares_by_column();
    assert!(xy.by_column);
    xy
}

/// So that one route serves a whole column, also for what arrives by the row.
#[test]
fn spares_by_column_are_one_for_all_nodes_of_another_column() {
    for xy in [by_column(&[4, 4]), by_column(&[5, 3])] {
        for (at, to) in
            pairs(&xy).filter(|(at, to)| xy.pair(*at).unwrap()[0] != xy.pair(*to).unwrap()[0])
        {
            let first = xy.layout.moved(to, 1, 0);
            assert_eq!(xy.hop(at, to), xy.hop(at, first));
            assert_eq!(xy.spare(at, to), xy.spare(at, first));
            assert_eq!(xy.redirected(at, to), xy.redirected(at, first));
        }
    }
}

/// Along cables too, but for the next column, where the row says the direction; so a range of columns has one route.
#[test]
fn spares_along_cables_are_one_for_all_nodes_of_a_column_beyond_the_next() {
    for xy in along_cables().into_iter().filter(|xy| xy.layout.nodes() > 20) {
        for (at, to) in pairs(&xy) {
            let column = |node: NodeId| xy.pair(node).unwrap()[0];
            let (hop, spare) = (xy.hop(at, to), xy.spare(at, to).unwrap());
            if ![column(at), column(hop.to)].contains(&column(to)) {
                let others = pairs(&xy).filter(|(from, _)| *from == at).map(|(_, to)| to);
                let alike = others.filter(|other| {
                    xy.hop(at, *other) == hop
                        && ![column(at), column(hop.to)].contains(&column(*other))
                });
                assert!(alike.into_iter().all(|other| xy.spare(at, other) == Some(spare)));
                assert_eq!(xy.redirected(at, to), None);
            }
        }
    }
}

/// The pairs that a dead node costs beside its own.
fn lost_beside(xy: &Xy, dead: NodeId) -> Vec<(NodeId, NodeId)> {
    let alive = |_: NicEnd, hop: &Hop| hop.to != dead;
    let arrives = |src: NodeId, dst: NodeId| {
        let (mut at, mut came, mut hops) = (src, None, 0);
        while at != dst && hops < 64 {
            let Some(hop) = xy.next_alive(at, came, dst, &alive) else { return false };
            (at, came, hops) = (hop.to, Some(hop.to_nic), hops + 1);
        }
        at == dst
    };
    let of = pairs(xy).filter(|(src, dst)| *src != dead && *dst != dead);
    of.filter(|(src, dst)| !arrives(*src, *dst)).collect()
}

/// What goes by the column alone is no worse than what goes by the destination, where a node fails.
#[test]
fn a_node_that_fails_costs_no_more_pairs_by_columns() {
    for xy in along_cables() {
        let before = Xy { by_column: false, ..xy.clone() };
        for dead in nodes(&xy) {
            let (old, new) = (lost_beside(&before, dead), lost_beside(&xy, dead));
            assert!(new.len() <= old.len(), "{:?} {dead:?}: {old:?}, {new:?}", xy.layout.dims());
        }
    }
}

#[test]
fn other_shapes_keep_their_spares() {
    for xy in
        [pmesh(&[1, 5]), pmesh(&[3, 3, 3]), torus(&[4, 3, 2]), torus(&[1, 4]), pmesh(&[5]), ring(4)]
    {
        assert_eq!(xy.clone().with_spares_by_column(), xy);
    }
}

#[test]
fn after_any_one_failure_every_packet_arrives_where_a_way_is_left() {
    for xy in every_kind() {
        let dims = xy.layout.dims();
        let farthest = pairs(&xy).map(|(a, b)| xy.layout.distance(a, b)).max().unwrap() as usize;
        // Two hops more than the fewest; a ring is gone back round.
        let ring = xy.layout.rank() == 1 && xy.layout.is_closed();
        let most = if ring { farthest - 1 + dims[0] as usize - 1 } else { farthest + 2 };
        for failed in parts(&xy) {
            let hops = all_arrive(&xy, failed);
            assert!(hops <= most, "{dims:?}: {hops} hops after {failed:?}");
        }
    }
}

/// A source that sends by the first hop of its backup although nothing keeps it from it (an operator pinned the pair to
/// it) decides the whole path: the others send the packet on along the backup.
#[test]
fn a_packet_sent_by_the_backups_first_hop_goes_along_the_backup() {
    for xy in every_kind() {
        for (src, dst) in pairs(&xy) {
            let Some(first) = xy.spare(src, dst) else { continue };
            let (mut at, mut came) = (first.to, first.to_nic);
            let mut nodes = vec![at];
            while at != dst {
                let hop = xy.next(at, Some(came), dst).unwrap();
                (at, came) = (hop.to, hop.to_nic);
                nodes.push(at);
            }
            let planned: Vec<_> = xy.backup(src, dst).unwrap().iter().map(|s| s.to).collect();
            assert_eq!(nodes, planned);
        }
    }
}

/// Also after any one failure elsewhere: the nodes on the way repair it as they do for what comes along the primary.
#[test]
fn after_any_one_failure_what_begins_by_the_backup_arrives_where_a_way_is_left() {
    for xy in every_kind() {
        for failed in parts(&xy) {
            let alive = |from: NicEnd, hop: &Hop| !needs(&xy, from, hop).contains(&Some(failed));
            for src in nodes(&xy) {
                let seen = reach(&xy, src, &[failed]);
                for dst in nodes(&xy).filter(|dst| *dst != src && seen[dst.index()]) {
                    let Some(first) = xy.spare(src, dst) else { continue };
                    if !alive(NicEnd { node: src, nic: first.nic }, &first) {
                        continue;
                    }
                    let (mut at, mut came, mut hops) = (first.to, first.to_nic, 1);
                    while at != dst {
                        let hop = xy.next_alive(at, Some(came), dst, &alive);
                        let hop = hop.unwrap_or_else(|| {
                            panic!("{src:?} to {dst:?} ends at {at:?}, {failed:?}")
                        });
                        (at, came, hops) = (hop.to, hop.to_nic, hops + 1);
                        assert!(
                            hops <= 2 * xy.layout.nodes() + 1,
                            "{src:?} to {dst:?} loops, {failed:?}"
                        );
                    }
                }
            }
        }
    }
}

/// p-mesh, section 4.0: "two switch failures will, at most, result in the loss of a single node"; it
/// holds where no dimension is below 3, and 2 x n is the counter-example: without both switches of the
/// dimension of n, nothing joins the n pairs of nodes.
#[test]
fn two_switch_failures_lose_at_most_one_node_where_no_dimension_is_below_three() {
    let lost = |dims: &[u32]| {
        let xy = pmesh(dims);
        let lines = xy.layout.lines();
        let both = (0..lines)
            .flat_map(|a| (a + 1..lines).map(move |b| [Part::Switch(a), Part::Switch(b)]));
        let apart = |failed: [Part; 2]| {
            let most =
                nodes(&xy).map(|n| reach(&xy, n, &failed).into_iter().filter(|r| *r).count()).max();
            xy.layout.nodes() - most.unwrap()
        };
        both.map(apart).max().unwrap()
    };
    assert_eq!((lost(&[3, 3]), lost(&[4, 4]), lost(&[8, 8]), lost(&[3, 3, 3])), (1, 1, 1, 0));
    assert_eq!((lost(&[2, 4]), lost(&[2, 2]), lost(&[5, 2])), (6, 2, 8));
}

#[test]
fn ties_are_shared_by_both_ways() {
    for xy in [ring(8), ring(4), torus(&[4, 4]), torus(&[6, 4])] {
        let mut loads = std::collections::HashMap::new();
        for (src, dst) in pairs(&xy) {
            for segment in xy.primary(src, dst) {
                *loads.entry((segment.from, segment.nic)).or_insert(0) += 1;
            }
        }
        let of = |dim: usize| {
            let here = loads.iter().filter(|((_, nic), _)| nic / 2 == dim).map(|(_, load)| *load);
            (here.clone().min().unwrap(), here.max().unwrap())
        };
        for dim in 0..xy.layout.rank() {
            assert!(of(dim).1 - of(dim).0 <= 1 + of(dim).0 / 10, "{xy:?} {:?}", of(dim));
        }
    }
}
