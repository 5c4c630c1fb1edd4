//! Blocks of a fabric (its biconnected components): two links are in one block if some circle of cables crosses both. A
//! link that is alone in its block is a bridge. Where a path comes to a switch by one block and leaves by another, every
//! path between its ends crosses that switch.

use tresse_base::id::LinkId;
use tresse_topology::{Channel, Graph};

/// The block of each link, by number, by depth-first search (Hopcroft and Tarjan 1973). O(channels).
pub(super) fn blocks(graph: &Graph) -> Vec<u32> {
    let n = graph.switches();
    let mut blocks = vec![u32::MAX; graph.channels() / 2];
    // When a switch was found, and the earliest switch that what is behind it has a cable to.
    let (mut found, mut low) = (vec![u32::MAX; n], vec![u32::MAX; n]);
    // Links whose block is not known.
    let mut open: Vec<LinkId> = Vec::new();
    let (mut next, mut block) = (0, 0);
    for root in (0..n as u32).filter(|root| !graph.out(*root).is_empty()) {
        if found[root as usize] != u32::MAX {
            continue;
        }
        (found[root as usize], low[root as usize]) = (next, next);
        next += 1;
        // A switch, the channel that led to it, and its channels that were not looked at.
        let mut path = vec![(root, Channel::MAX, graph.out(root))];
        while let Some((u, came, rest)) = path.last_mut() {
            let (u, came) = (*u, *came);
            if let Some(c) = rest.next() {
                let v = graph.head(c);
                if came != Channel::MAX && c == graph.reverse(came) {
                    continue;
                }
                if found[v as usize] == u32::MAX {
                    (found[v as usize], low[v as usize]) = (next, next);
                    next += 1;
                    open.push(graph.link(c));
                    path.push((v, c, graph.out(v)));
                } else if found[v as usize] < found[u as usize] {
                    open.push(graph.link(c));
                    low[u as usize] = low[u as usize].min(found[v as usize]);
                }
                continue;
            }
            path.pop();
            let Some((before, ..)) = path.last() else { break };
            let before = *before as usize;
            low[before] = low[before].min(low[u as usize]);
            if low[u as usize] >= found[before] {
                let last = open.iter().rposition(|link| *link == graph.link(came));
                for link in open.drain(last.expect("it was put there")..) {
                    blocks[link.index()] = block;
                }
                block += 1;
            }
        }
    }
    blocks
}
