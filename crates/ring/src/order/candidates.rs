//! Initial orders of the members of a ring, from which the search for a better order starts.

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::Grid;
use tresse_topology::cluster::TopologyShape;

use crate::search::RingSearch;

/// Returns initial orders of the members of a ring: by node number; from each member to the nearest
/// that is left; and, if the fabric has dimensions, back and forth along the lines of each
/// dimension.
pub fn candidates(
    plan: &Plan,
    members: &[NodeId],
    search: &mut RingSearch<'_>,
) -> Vec<Vec<NodeId>> {
    let mut all = vec![members.to_vec(), by_nearest(members, search)];
    let Some(dims) = &dims(&plan.cluster().kind) else { return all };
    let sites: usize = dims.iter().map(|n| *n as usize).product();
    let per_site = (plan.cluster().nodes.len() / sites).max(1);
    let mut along = |way: Vec<usize>| {
        let mut rank = vec![0; sites];
        (0..).zip(way).for_each(|(i, site)| rank[site] = i);
        let mut order = members.to_vec();
        order.sort_by_key(|node| (rank[node.index() / per_site], *node));
        all.push(order);
    };
    for (from_last, modular) in [(false, false), (false, true), (true, false), (true, true)] {
        along((0..sites).map(|i| gray(dims, i, from_last, modular)).collect());
    }
    (0..dims.len()).filter_map(|lane| there_and_back(dims, lane)).for_each(along);
    all
}

/// Returns all sites of a mesh in a circle: back and forth in dimension `lane` on every line,
/// except for the first site of each line, over which the circle closes. `None` if the number of
/// lines is odd.
fn there_and_back(dims: &[u32], lane: usize) -> Option<Vec<usize>> {
    let others: Vec<u32> = [&dims[..lane], &dims[lane + 1..]].concat();
    let lines: usize = others.iter().map(|n| *n as usize).product();
    if lines % 2 == 1 || dims[lane] < 2 {
        return None;
    }
    let stride: usize = dims[..lane].iter().map(|n| *n as usize).product();
    let long = dims[lane] as usize;
    let site = |line: usize, x: usize| {
        let of_line = gray(&others, line, false, false);
        of_line % stride + x * stride + of_line / stride * stride * long
    };
    let mut way = vec![site(0, 0)];
    for line in 0..lines {
        let out = (1..long).map(|x| if line % 2 == 0 { x } else { long - x });
        way.extend(out.map(|x| site(line, x)));
    }
    way.extend((1..lines).rev().map(|line| site(line, 0)));
    Some(way)
}

/// Returns the dimensions of a fabric whose nodes are numbered by coordinates, the fastest first.
fn dims(kind: &TopologyShape) -> Option<Vec<u32>> {
    match kind {
        TopologyShape::DirectMesh { dims }
        | TopologyShape::DirectTorus { dims }
        | TopologyShape::Pmesh { dims, .. } => Some(dims.clone()),
        _ => Some(Grid::of(kind)?.dims().to_vec()),
    }
}

/// Returns the `i`-th site of a walk whose neighbours differ by one step in one dimension: back and
/// forth, or (`modular`) around, as a torus allows.
fn gray(dims: &[u32], i: usize, from_last: bool, modular: bool) -> usize {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if from_last {
        order.reverse();
    }
    // Digits of i, the fastest first.
    let mut rest = i;
    let digits: Vec<usize> = order
        .iter()
        .map(|dim| {
            let n = dims[*dim] as usize;
            let digit = rest % n;
            rest /= n;
            digit
        })
        .collect();
    let mut at = vec![0; dims.len()];
    let mut above = 0;
    for (place, dim) in order.iter().enumerate().rev() {
        let n = dims[*dim] as usize;
        let digit = digits[place];
        at[*dim] = match modular {
            // Shifted by one for each step of all slower digits.
            true => (digit + n - above % n) % n,
            // Backwards in every second line.
            false if above % 2 == 1 => n - 1 - digit,
            false => digit,
        };
        above = above * n + digit;
    }
    dims.iter().zip(&at).rev().fold(0, |site, (n, x)| site * *n as usize + x)
}

fn by_nearest(members: &[NodeId], search: &mut RingSearch<'_>) -> Vec<NodeId> {
    let mut left = members.to_vec();
    let mut order = Vec::new();
    while !left.is_empty() {
        let near = |search: &mut RingSearch<'_>, to: NodeId| match order.last() {
            Some(last) => search.hops(*last, to),
            None => 0,
        };
        let at = (0..left.len()).min_by_key(|at| near(search, left[*at])).unwrap_or(0);
        order.push(left.remove(at));
    }
    order
}
