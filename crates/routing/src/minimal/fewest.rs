//! Fewer VLAN trees in which every pair of switches has one of its shortest paths.

use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::Graph;
use tresse_topology::cluster::Prefer;

use super::forest::{AnyRoute, Packer};
use super::ready::TreeSet;
use crate::fold::{ROUTES, TreeRoute, busiest, even_out, fold};
use crate::left::build;
use crate::packing::{FEW, FirstFit, RouteList};

/// With more switches than these, paths are not chosen while trees are packed.
const MANY: usize = 256;

/// Trees, and in which of them each route is.
pub(super) type Packing = (Vec<Vec<LinkId>>, Vec<TreeRoute>);

/// Of several sets of trees the smallest, then the one with the lowest load: those of `packed`, which hold the balanced
/// routes; those that are packed with any shortest routes; and `others`, such as those of a strategy for grids. Routes
/// move to other trees in each of them. `list`: shortest routes between the same ends as those of `packed`.
pub(super) fn fewest(
    graph: &Graph,
    slowness: &[u64],
    packed: Packing,
    list: &RouteList,
    others: Vec<TreeSet>,
    most: usize,
) -> Packing {
    let distances = distances(graph);
    let mut sets: Vec<_> = others.into_iter().map(|set| set.links).collect();
    if graph.switches() <= MANY {
        let new = || AnyRoute::new(graph, most, &distances);
        sets.push(list.pack(graph.switches() as u32, new, None).0.finish());
    }
    let routes = packed.1.clone();
    let mut tried = vec![packed];
    for links in sets.into_iter().filter(|links| links.len() <= most) {
        if let Some(mut routes) = assigned(graph, &links, &distances, &routes) {
            // Otherwise they are evened out when trees are given up.
            if routes.len() > ROUTES {
                even_out(graph, &links, (slowness, &[]), &mut routes);
            }
            tried.push((links, routes));
        }
    }
    let folded = tried.into_iter().map(|(links, mut routes)| {
        let links = fold(graph, links, (slowness, &[]), &mut routes, Prefer::FewestVlans);
        (links, routes)
    });
    let rank = |(links, routes): &Packing| (links.len(), busiest(graph, links, slowness, routes));
    folded.min_by_key(rank).expect("one set is packed")
}

/// The trees of `packed`, or a smaller set of `others` in which routes as short load no link more than the busiest there.
pub(super) fn as_even(
    graph: &Graph,
    slowness: &[u64],
    (links, mut routes): Packing,
    others: impl FnOnce() -> Vec<TreeSet>,
    most: usize,
) -> Packing {
    let links = fold(graph, links, (slowness, &[]), &mut routes, Prefer::Balance);
    if routes.len() > ROUTES {
        return (links, routes);
    }
    let time = busiest(graph, &links, slowness, &routes);
    let mut best = (links, routes);
    let mut hops = None;
    for TreeSet { links, .. } in others() {
        if links.len() > most || links.len() >= best.0.len() {
            continue;
        }
        let distances = hops.get_or_insert_with(|| distances(graph));
        let Some(mut routes) = assigned(graph, &links, distances, &best.1) else { continue };
        even_out(graph, &links, (slowness, &[]), &mut routes);
        if busiest(graph, &links, slowness, &routes) <= time {
            let links = fold(graph, links, (slowness, &[]), &mut routes, Prefer::Balance);
            best = (links, routes);
        }
    }
    best
}

/// The same routes, if few, packed anew, if they then need fewer trees: those that are left when trees were given up are not those
/// that were packed first.
pub(super) fn again(graph: &Graph, (links, mut routes): Packing, most: usize) -> Packing {
    if routes.len() > FEW {
        return (links, routes);
    }
    let trees = build(graph, &links);
    let channels = |route: &TreeRoute| {
        let mut channels = Vec::new();
        let (s, d) = (SwitchId(route.ends.0), SwitchId(route.ends.1));
        trees[route.tree].walk(graph, s, d, &mut channels);
        channels
    };
    let (with, without): (Vec<usize>, Vec<usize>) =
        (0..routes.len()).partition(|at| routes[*at].pairs > 0);
    let mut list = RouteList::default();
    with.iter().for_each(|at| list.add(routes[*at].ends, &channels(&routes[*at])));
    let (mut packer, mut placed) =
        list.pack(graph.switches() as u32, || Packer::new(graph, most), None);
    placed.extend(without.iter().map(|at| packer.place(&channels(&routes[*at]))));
    if packer.trees() >= links.len() || placed.contains(&None) {
        return (links, routes);
    }
    for (at, tree) in with.into_iter().chain(without).zip(placed.into_iter().flatten()) {
        routes[at].tree = tree;
    }
    (packer.finish(), routes)
}

/// By two switches, the hops between them.
fn distances(graph: &Graph) -> Vec<Vec<u32>> {
    let mut distances = vec![Vec::new(); graph.switches()];
    let mut queue = Vec::new();
    for (s, distance) in (0..).zip(&mut distances) {
        graph.distances(s, distance, &mut queue);
    }
    distances
}

/// The same routes, each in the first of these trees that has a shortest path; `None` where one has it in none.
fn assigned(
    graph: &Graph,
    links: &[Vec<LinkId>],
    distances: &[Vec<u32>],
    routes: &[TreeRoute],
) -> Option<Vec<TreeRoute>> {
    let trees = build(graph, links);
    let assign = |route: &TreeRoute| {
        let (s, d) = route.ends;
        let hops = distances[s as usize][d as usize];
        let fits =
            |tree: &tresse_topology::vlan::Tree| tree.distance(SwitchId(s), SwitchId(d)) == hops;
        Some(TreeRoute { tree: trees.iter().position(fits)?, ..*route })
    };
    routes.iter().map(assign).collect()
}
