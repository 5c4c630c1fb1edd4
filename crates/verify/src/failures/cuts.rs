//! Finds links and switches without which no cables join two nodes: what all paths of the two need whatever is planned.

use std::sync::OnceLock;

use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_plan::Plan;
use tresse_topology::Graph;

/// A fabric without one of its links or switches: by switch, the part that it is in then. `None`: nothing falls apart.
type Parts = OnceLock<Option<Vec<u32>>>;

/// The links and switches of a graph, each tried when it is first asked for.
pub(crate) struct Cuts<'a> {
    graph: &'a Graph,
    links: Vec<Parts>,
    switches: Vec<Parts>,
}

impl<'a> Cuts<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        let none = |count| (0..count).map(|_| Parts::new()).collect();
        Self { graph, links: none(graph.channels() / 2), switches: none(graph.switches()) }
    }

    /// Whether a link or a switch, not their own, is on every way of two nodes, on whichever of their NICs. O(channels)
    /// where it was not looked at before, then O(NICs squared).
    pub(crate) fn parts_at_link(&self, plan: &Plan, pair: (NodeId, NodeId), link: LinkId) -> bool {
        are_apart(plan, pair, self.without_link(link))
    }

    /// As [`Self::parts_at_link`].
    pub(crate) fn parts_at_switch(
        &self,
        plan: &Plan,
        pair: (NodeId, NodeId),
        switch: SwitchId,
    ) -> bool {
        are_apart(plan, pair, self.without_switch(switch))
    }

    fn without_link(&self, link: LinkId) -> &Option<Vec<u32>> {
        self.links[link.index()].get_or_init(|| {
            let channels = 0..self.graph.channels() as u32;
            let channel = channels.into_iter().find(|c| self.graph.link(*c) == link)?;
            let ends = [self.graph.tail(channel), self.graph.head(channel)];
            self.parts(&ends, Some(link), None)
        })
    }

    fn without_switch(&self, switch: SwitchId) -> &Option<Vec<u32>> {
        self.switches[switch.index()].get_or_init(|| {
            let near: Vec<u32> = self.graph.out(switch.0).map(|c| self.graph.head(c)).collect();
            self.parts(&near, None, Some(switch.0))
        })
    }

    /// The parts that these switches are in without a link or a switch; `None` if it is one. Part 0: what is in none, and the
    /// switch itself.
    fn parts(&self, of: &[u32], link: Option<LinkId>, switch: Option<u32>) -> Option<Vec<u32>> {
        let mut parts = vec![0; self.graph.switches()];
        let mut count = 0;
        for start in of {
            if parts[*start as usize] > 0 {
                continue;
            }
            count += 1;
            parts[*start as usize] = count;
            let mut open = vec![*start];
            while let Some(u) = open.pop() {
                for c in self.graph.out(u).filter(|c| Some(self.graph.link(*c)) != link) {
                    let v = self.graph.head(c);
                    if parts[v as usize] == 0 && Some(v) != switch {
                        parts[v as usize] = count;
                        open.push(v);
                    }
                }
            }
        }
        (count > 1).then_some(parts)
    }
}

fn are_apart(plan: &Plan, (s, d): (NodeId, NodeId), parts: &Option<Vec<u32>>) -> bool {
    let homes = |node| plan.cluster().node(node).nics.iter().map(|nic| nic.switch.index());
    let parts = parts.as_ref();
    parts.is_some_and(|parts| homes(s).all(|a| homes(d).all(|b| parts[a] != parts[b])))
}
