//! Where packets for one destination go after a failure, by the routes that nodes have anyway: nobody is told.
//!
//! The next hops of all nodes form a tree with the destination as its root. If the hop of a node u is lost, the nodes
//! whose packets come through u, the subtree of u, must leave it by another cable than that hop. Below, a cable between two
//! nodes that is no hop of the tree is a *cross* cable. A cross cable from w to x leads out of all subtrees that hold w and
//! not x: of those whose u is deeper than the meeting point of w and x, the deepest node that both send through.
//!
//! u therefore sends the packet down its subtree, to a node with such a cross cable. On this way each node gets the packet
//! by the NIC of its own next hop, which never happens while nothing has failed, so it is `redirected`: further down, or out
//! (interface-specific forwarding, as in Nelakuditi et al., "Fast local rerouting for handling transient link failures",
//! 2007). x, outside, sends on as planned. No other way is shorter, as a node is as many hops from u as it is deeper.
//!
//! A node has one redirection, for the failures of all hops above it. The nodes near the root choose first: what leads out of
//! their subtree leads out of every smaller one in it too, so whoever comes later can follow it. So after any one failure
//! of a cable every packet arrives, if any way is left.
//!
//! If the next *node* has failed, the packet must meet above it: such a way is taken if it is at most [`ASIDE`] hops longer. Where
//! there is none, what the nodes tell each other heals it.

use tresse_base::id::NodeId;
use tresse_topology::{Hop, Layout};

use super::toward::NONE;

/// Hops that a way round the next node may be longer than one round its cable alone.
const ASIDE: u16 = 2;

/// A way out of a subtree, from one of its nodes.
#[derive(Debug, Clone, Copy)]
struct Out {
    /// The depth of its meeting point.
    meets: u16,
    /// The number of hops to the destination.
    hops: u16,
    /// The NIC that it begins with.
    nic: u16,
}

/// A way out of the subtree of a node u.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// The whole way, from u.
    out: Out,
    /// The node whose redirection or cross cable leads out; u itself, or one in its subtree.
    last: usize,
    /// The way out from there.
    from_last: Out,
}

/// Returns by node the NIC of the spare and that of the redirection to one destination; [`NONE`] where there is none.
/// `hop`: by node, the NIC of the next hop; `depth`: by node, the number of hops. O(cables x hops).
pub(super) fn escapes(
    layout: &Layout,
    to: NodeId,
    hop: &[u16],
    depth: &[u16],
) -> (Vec<u16>, Vec<u16>) {
    let mut escapes = Escapes::new(layout, to, hop, depth);
    let mut nodes: Vec<usize> = (0..hop.len()).filter(|node| *node != to.index()).collect();
    nodes.sort_by_key(|node| (depth[*node], *node));
    let mut spare = vec![NONE; hop.len()];
    for node in nodes {
        if let Some(found) = escapes.choose(node) {
            spare[node] = found.out.nic;
            escapes.redirect(node, found);
        }
    }
    let redirected = escapes.redirected.iter().map(|out| out.map_or(NONE, |out| out.nic));
    (spare, redirected.collect())
}

/// The tree of the next hops to one destination, and what was chosen so far.
struct Escapes<'a> {
    layout: &'a Layout,
    to: NodeId,
    hop: &'a [u16],
    depth: &'a [u16],
    /// By node: the nodes that send to it, each with the NIC towards it.
    children: Vec<Vec<(u16, usize)>>,
    /// By node: its cross cables that lead out of its own subtree.
    cross: Vec<Vec<Out>>,
    redirected: Vec<Option<Out>>,
}

impl<'a> Escapes<'a> {
    fn new(layout: &'a Layout, to: NodeId, hop: &'a [u16], depth: &'a [u16]) -> Self {
        let mut escapes = Self {
            layout,
            to,
            hop,
            depth,
            children: vec![Vec::new(); hop.len()],
            cross: vec![Vec::new(); hop.len()],
            redirected: vec![None; hop.len()],
        };
        for node in 0..hop.len() {
            for out in layout.listed_hops(NodeId::from(node)) {
                escapes.sort(node, out);
            }
        }
        escapes
    }

    /// Enters a hop as one to a node that sends by it, or as a cross cable.
    fn sort(&mut self, node: usize, out: &Hop) {
        let (nic, there) = (out.nic as u16, out.to.index());
        let next = self.next(there);
        if nic == self.hop[node] {
            return;
        }
        if next.is_some_and(|next| next.to.index() == node && next.to_nic == out.nic) {
            self.children[node].push((nic, there));
            return;
        }
        let out = Out { meets: self.meeting(node, there), hops: self.depth[there] + 1, nic };
        if out.meets < self.depth[node] {
            self.cross[node].push(out);
        }
    }

    /// The next hop of a node; `None` at the root.
    fn next(&self, node: usize) -> Option<Hop> {
        self.layout.by_nic(NodeId::from(node), self.hop[node].into())
    }

    /// The depth of the deepest node that both send through; either may be that node itself.
    fn meeting(&self, mut a: usize, mut b: usize) -> u16 {
        while a != b {
            let deeper = if self.depth[a] >= self.depth[b] { &mut a } else { &mut b };
            let Some(next) = self.next(*deeper) else { break };
            *deeper = next.to.index();
        }
        self.depth[a].min(self.depth[b])
    }

    /// The best way out of the subtree of a node.
    fn choose(&self, node: usize) -> Option<Found> {
        let ways = self.ways(node);
        let own = self.layout.listed_cable(NodeId::from(node), self.hop[node].into());
        // What fails with the next hop serves only where there is nothing else.
        let fails_too = |way: &Found| {
            let cable = self.layout.listed_cable(NodeId::from(node), way.out.nic.into());
            own.is_some() && cable == own
        };
        let depth = self.depth[node];
        let passes_next = |way: &Found| depth > 1 && way.out.meets + 1 >= depth;
        let fewest = ways.iter().filter(|way| !fails_too(way)).map(|way| way.out.hops).min();
        let far = |way: &Found| fewest.is_some_and(|fewest| way.out.hops > fewest + ASIDE);
        // Equal ones in turn, so that not all nodes use the same cable.
        let turn = |way: &Found| (usize::from(way.out.nic) + self.to.index()) % 8;
        ways.iter()
            .min_by_key(|way| {
                let second = far(way) || passes_next(way);
                (fails_too(way), second, way.out.hops, turn(way), way.out.nic)
            })
            .copied()
    }

    /// All ways out of the subtree of a node, down the tree as far as no node on it is redirected yet.
    fn ways(&self, node: usize) -> Vec<Found> {
        let own = |out: &Out| Found { out: *out, last: node, from_last: *out };
        let mut ways: Vec<Found> = self.cross[node].iter().map(own).collect();
        let mut open: Vec<(u16, usize)> = self.children[node].clone();
        while let Some((nic, at)) = open.pop() {
            let down = self.depth[at] - self.depth[node];
            let outs = match &self.redirected[at] {
                Some(out) => std::slice::from_ref(out),
                None => {
                    open.extend(self.children[at].iter().map(|(_, child)| (nic, *child)));
                    &self.cross[at][..]
                }
            };
            let out = outs.iter().filter(|out| out.meets < self.depth[node]);
            ways.extend(out.map(|from_last| {
                let out = Out { hops: from_last.hops + down, nic, ..*from_last };
                Found { out, last: at, from_last: *from_last }
            }));
        }
        ways
    }

    /// Redirects the nodes between `node` and the last one of its way out, and that one.
    fn redirect(&mut self, node: usize, found: Found) {
        let (mut at, mut out) = (found.last, found.from_last);
        while at != node {
            self.redirected[at] = Some(out);
            let Some(next) = self.next(at) else { break };
            out = Out { nic: next.to_nic as u16, hops: out.hops + 1, ..out };
            at = next.to.index();
        }
    }
}
