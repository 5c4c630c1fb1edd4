//! A lower bound on the load of transit nodes, whatever minimal routes are chosen. A route needs a transit node at a
//! switch where it goes up after down, which up*/down* routing forbids. If all shortest paths of a pair do so at the
//! same switch, the pair loads the transit nodes of that switch in any case.

use tresse_base::id::SwitchId;
use tresse_topology::Graph;

use crate::order::Order;
use crate::routes::SwitchDemand;

/// The most switches for which all roots are examined if the file names none.
const ALL_ROOTS: usize = 32;

/// Returns a lower bound on the load of the busiest transit node, and whether the bound holds for every root of
/// up*/down* routing. The load is the number of node pairs whose frames the node forwards; the bound holds for any
/// choice of minimal routes. If `root` is given, or with more than 32 switches, it holds for the root of `order` only.
/// O(roots x switches^2 x channels).
#[must_use]
pub fn forced_turns(
    graph: &Graph,
    order: &Order,
    root: Option<SwitchId>,
    demand: &SwitchDemand,
) -> (u64, bool) {
    let any = root.is_none() && graph.switches() <= ALL_ROOTS;
    if !any {
        return (of(graph, order, demand), false);
    }
    let roots =
        (0..graph.switches() as u32).map(|root| of(graph, &Order::new(graph, root), demand));
    (roots.min().unwrap_or(0), true)
}

fn of(graph: &Graph, order: &Order, demand: &SwitchDemand) -> u64 {
    let up = order.ups(graph);
    let n = graph.switches() as u32;
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    let (mut hops, mut states) = (Vec::new(), Vec::new());
    let mut forced = vec![0; graph.switches()];
    for s in (0..n).filter(|s| demand.nodes[*s as usize] > 0) {
        graph.distances(s, &mut distance, &mut queue);
        for v in (0..n).filter(|v| demand.transit[*v as usize] > 0) {
            shortest_without(graph, &up, &demand.transit, (s, v), &mut hops, &mut states);
            let longer = (0..n as usize).filter(|d| hops[*d] > distance[*d]);
            let nodes: u64 = longer.map(|d| demand.nodes[d]).sum();
            forced[v as usize] += nodes * demand.nodes[s as usize];
        }
    }
    let each = forced.iter().zip(&demand.transit).filter(|(_, hosts)| **hosts > 0);
    each.map(|(forced, hosts)| forced.div_ceil(*hosts)).max().unwrap_or(0)
}

/// Hops from `s` to every switch by routes that do not go from down to up at `v`.
fn shortest_without(
    graph: &Graph,
    up: &[bool],
    transit: &[u64],
    (s, v): (u32, u32),
    hops: &mut Vec<u32>,
    queue: &mut Vec<(u32, u32)>,
) {
    hops.clear();
    hops.resize(graph.switches(), u32::MAX);
    // Switch u going up is 2u, going down 2u + 1.
    let mut seen = vec![false; 2 * graph.switches()];
    seen[2 * s as usize] = true;
    queue.clear();
    queue.push((2 * s, 0));
    let mut next = 0;
    while let Some(&(state, far)) = queue.get(next) {
        next += 1;
        let u = state / 2;
        hops[u as usize] = hops[u as usize].min(far);
        let may_transit = state.is_multiple_of(2) || transit[u as usize] > 0 && u != v;
        for c in graph.out(u).filter(|c| may_transit || !up[*c as usize]) {
            let to = 2 * graph.head(c) + u32::from(!up[c as usize]);
            if !std::mem::replace(&mut seen[to as usize], true) {
                queue.push((to, far + 1));
            }
        }
    }
}
