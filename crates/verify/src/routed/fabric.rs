//! A node-routed fabric (its nodes forward plain IP) in which some parts (NICs, cables, nodes or
//! switches) have failed, and whether a packet still arrives over the parts that work.

use tresse_base::id::NodeId;
use tresse_plan::{Plan, Xy};
use tresse_topology::Hop;
use tresse_topology::cluster::NicEnd;

/// Most nodes of a fabric whose failures are walked for every destination.
pub(super) const WALKED: usize = 1024;

/// A plan whose nodes route, with its NICs numbered.
pub(super) struct Fabric<'a> {
    pub plan: &'a Plan,
    pub xy: &'a Xy,
    pub nodes: usize,
    /// First NIC number of each node.
    pub first: Vec<usize>,
    pub nics: usize,
}

impl<'a> Fabric<'a> {
    pub fn of(plan: &'a Plan, xy: &'a Xy) -> Self {
        let nodes = &plan.cluster().nodes;
        let nics = nodes.iter().map(|n| n.nics.len()).sum();
        Self { plan, xy, nodes: nodes.len(), first: plan.first_nics(), nics }
    }

    pub fn nic(&self, end: NicEnd) -> usize {
        self.first[end.node.index()] + end.nic
    }

    /// Returns whether a packet arrives over parts that are `alive`. The next hop depends only on
    /// the node and the NIC of arrival, so a packet that repeats such a state never arrives
    /// (Brent's cycle search).
    pub fn arrives(&self, from: NodeId, to: NodeId, alive: &dyn Fn(NicEnd, &Hop) -> bool) -> bool {
        let (mut at, mut came) = (from, None);
        let (mut mark, mut hops, mut lap) = ((from, None), 0_u64, 1);
        while let Some(hop) = self.xy.next_alive(at, came, to, &|end, hop: &Hop| alive(end, hop)) {
            (at, came) = (hop.to, Some(hop.to_nic));
            if at == to || (at, came) == mark {
                return at == to;
            }
            hops += 1;
            if hops == lap {
                (mark, lap) = ((at, came), 2 * lap);
            }
        }
        false
    }
}
