//! Backup trees for up*/down* routing. They hold routes that avoid the links of a primary and are legal (they go up
//! the levels of a tree and then down, never up again), so backups add no cycle to the channel dependency graph.

use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::{Channel, Graph};

use super::{Order, Packer};

/// A pair of switches without a backup that is disjoint from its primary: source, destination, and the links that a
/// backup must avoid.
pub type Open = (SwitchId, SwitchId, Vec<LinkId>);

/// Returns the links of at most `most` backup trees for the pairs of switches in `open`. The trees hold, for each
/// pair, a shortest legal up*/down* route that avoids the links listed for it; a pair without such a route gets none.
#[must_use]
pub fn detour_trees(graph: &Graph, order: &Order, open: &[Open], most: usize) -> Vec<Vec<LinkId>> {
    let mut detours: Vec<_> =
        open.iter().filter_map(|(s, d, links)| detour(graph, order, *s, *d, links)).collect();
    if detours.is_empty() || most == 0 {
        return Vec::new();
    }
    detours.sort_by_key(|detour| std::cmp::Reverse(detour.len()));
    let mut packer = Packer::new(graph, order, most);
    for detour in detours {
        packer.place(&detour);
    }
    packer.finish()
}

/// A shortest legal route from `s` to `d` without `links`.
fn detour(
    graph: &Graph,
    order: &Order,
    s: SwitchId,
    d: SwitchId,
    links: &[LinkId],
) -> Option<Vec<Channel>> {
    // How each state was entered: switch v still going up is 2v, going down 2v + 1.
    let mut entered: Vec<Option<(Channel, usize)>> = vec![None; 2 * graph.switches()];
    let mut queue = vec![2 * s.index()];
    let mut next = 0;
    while let Some(&state) = queue.get(next) {
        next += 1;
        if state / 2 == d.index() {
            let back = std::iter::successors(entered[state], |(_, before)| entered[*before]);
            let mut channels: Vec<_> = back.map(|(channel, _)| channel).collect();
            channels.reverse();
            return Some(channels);
        }
        for c in graph.out(state as u32 / 2).filter(|c| !links.contains(&graph.link(*c))) {
            let up = order.is_up(graph, c);
            let to = 2 * graph.head(c) as usize + usize::from(!up);
            if !(up && state % 2 == 1) && to != 2 * s.index() && entered[to].is_none() {
                entered[to] = Some((c, state));
                queue.push(to);
            }
        }
    }
    None
}
