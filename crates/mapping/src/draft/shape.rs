//! Recognises the kind of topology (full mesh, ring, direct torus or direct mesh) that the cables form if all of them
//! join nodes directly. Tries the kinds that are possible with this number of nodes one after the other, the simplest
//! first. What forms none is listed as it is.

use std::collections::BTreeMap;

use tresse_topology::cluster::TopologyShape;
use tresse_topology::{Hop, Layout};

use super::{At, Discovered, End};

/// Largest number of steps of one search, far more than these symmetric graphs need.
const STEPS: usize = 100_000;

/// The NIC by which one host is cabled to another. No kind has two cables between the same nodes.
type Cables = BTreeMap<(usize, usize), usize>;

/// The recognised kind, and the host that corresponds to each of its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// The `topology` of the cluster file.
    pub topology: String,
    /// For each node the host, and for each NIC of the node the NIC of the host.
    pub nodes: Vec<(usize, Vec<usize>)>,
}

/// Returns the kind, if all cables are between nodes and match one.
pub(super) fn recognise(found: &Discovered<'_>) -> Option<Shape> {
    let mut cables = Cables::new();
    for (at, end) in &found.ends {
        match end {
            End::Peer(peer) if found.ends.get(peer) == Some(&End::Peer(*at)) => {
                if cables.insert((at.0, peer.0), at.1).is_some() {
                    return None;
                }
            }
            End::Unplugged | End::LeftOut(_) => {}
            _ => return None,
        }
    }
    let nodes = found.hosts.len() as u32;
    let candidates = kinds(nodes).into_iter();
    candidates.filter_map(|(topology, kind)| fit(&topology, &kind, &cables)).next()
}

/// Returns the kinds with this many nodes, the simplest first.
fn kinds(nodes: u32) -> Vec<(String, TopologyShape)> {
    let mut all = Vec::new();
    if nodes >= 2 {
        all.push((
            format!("kind = \"full-mesh\", nodes = {nodes}"),
            TopologyShape::FullMesh { nodes },
        ));
        all.push((format!("kind = \"ring\", nodes = {nodes}"), TopologyShape::Ring { nodes }));
    }
    for dims in factors(nodes, 2) {
        let words = |kind: &str| format!("kind = \"{kind}\", dims = {dims:?}");
        all.push((words("direct-torus"), TopologyShape::DirectTorus { dims: dims.clone() }));
        all.push((words("direct-mesh"), TopologyShape::DirectMesh { dims: dims.clone() }));
    }
    all
}

/// `product` as products of 1 to 3 numbers from `least` on, in order.
fn factors(product: u32, least: u32) -> Vec<Vec<u32>> {
    fn into(product: u32, least: u32, left: usize, so_far: &mut Vec<u32>, all: &mut Vec<Vec<u32>>) {
        if product >= least {
            all.push([&so_far[..], &[product]].concat());
        }
        if left == 1 {
            return;
        }
        for factor in (least..).take_while(|f| f * f <= product) {
            if product.is_multiple_of(factor) {
                so_far.push(factor);
                into(product / factor, factor, left - 1, so_far, all);
                so_far.pop();
            }
        }
    }
    let mut all = Vec::new();
    into(product, least, 3, &mut Vec::new(), &mut all);
    all.sort_by_key(Vec::len);
    all
}

fn fit(topology: &str, kind: &TopologyShape, cables: &Cables) -> Option<Shape> {
    let layout = Layout::of(kind)?;
    let hops: Vec<Vec<Hop>> =
        (0..layout.nodes()).map(|node| layout.neighbours(node.into())).collect();
    if hops.iter().map(Vec::len).sum::<usize>() != cables.len() {
        return None;
    }
    let mut hosts = vec![None; hops.len()];
    let mut steps = STEPS;
    let order = in_reach(&hops)?;
    place(&hops, cables, &order, 0, &mut hosts, &mut steps).then_some(())?;
    let hosts: Vec<usize> = hosts.into_iter().flatten().collect();
    let nics = |node: usize| -> Option<Vec<usize>> {
        let mut nics = vec![None; hops[node].len()];
        for hop in &hops[node] {
            let nic = cables.get(&(hosts[node], hosts[hop.to.index()]))?;
            *nics.get_mut(hop.nic)? = Some(*nic);
        }
        nics.into_iter().collect()
    };
    let nodes: Option<Vec<_>> =
        (0..hosts.len()).map(|node| Some((hosts[node], nics(node)?))).collect();
    Some(Shape { topology: topology.to_owned(), nodes: nodes? })
}

/// Returns the nodes in an order in which each but the first has an earlier neighbour.
fn in_reach(hops: &[Vec<Hop>]) -> Option<Vec<usize>> {
    let mut order = vec![0];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        let fresh: Vec<usize> = hops[node].iter().map(|hop| hop.to.index()).collect();
        for to in fresh {
            if !order.contains(&to) {
                order.push(to);
            }
        }
        next += 1;
    }
    (order.len() == hops.len()).then_some(order)
}

/// Assigns a host to each node from the `at`-th of `order` on, so that the cables match.
fn place(
    hops: &[Vec<Hop>],
    cables: &Cables,
    order: &[usize],
    at: usize,
    hosts: &mut Vec<Option<usize>>,
    steps: &mut usize,
) -> bool {
    let Some(&node) = order.get(at) else { return true };
    let known: Vec<usize> = hops[node].iter().filter_map(|hop| hosts[hop.to.index()]).collect();
    let beside = |host: usize| cables.range((host, 0)..(host + 1, 0)).map(|((_, to), _)| *to);
    let tried: Vec<usize> = match known.first() {
        Some(neighbour) => beside(*neighbour).collect(),
        None => (0..hosts.len()).collect(),
    };
    for host in tried {
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            return false;
        }
        let fits = known.iter().all(|to| cables.contains_key(&(host, *to)))
            && beside(host).count() == hops[node].len();
        if hosts.contains(&Some(host)) || !fits {
            continue;
        }
        hosts[node] = Some(host);
        if place(hops, cables, order, at + 1, hosts, steps) {
            return true;
        }
        hosts[node] = None;
    }
    false
}

/// Returns the cables between NICs of two hosts that hear each other, each once.
pub(super) fn mutual(found: &Discovered<'_>) -> Vec<(At, At)> {
    let both = |(at, end): (&At, &End)| match end {
        End::Peer(peer) if at.0 < peer.0 && found.ends.get(peer) == Some(&End::Peer(*at)) => {
            Some((*at, *peer))
        }
        _ => None,
    };
    found.ends.iter().filter_map(both).collect()
}

/// Returns the NICs that the other end of their cable does not hear.
pub(super) fn one_sided(found: &Discovered<'_>) -> Vec<(At, At)> {
    let alone = |(at, end): (&At, &End)| match end {
        End::Peer(peer) if found.ends.get(peer) != Some(&End::Peer(*at)) => Some((*at, *peer)),
        _ => None,
    };
    found.ends.iter().filter_map(alone).collect()
}
