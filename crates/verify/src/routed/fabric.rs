//! A node-routed fabric (its nodes forward plain IP) as the verifier sees it: the routes that nodes hold, and the wires
//! (cables and lines) over which packets really go. It follows packets itself, also while some parts (NICs, cables,
//! nodes or switches) have failed.

use tresse_base::id::NodeId;
use tresse_plan::{FoundRoutes, NodeRoutes, Plan};
use tresse_topology::Hop;
use tresse_topology::cluster::NicEnd;

use super::wires::Wires;

/// Most nodes of a fabric whose failures are walked for every destination.
pub(super) const WALKED: usize = 1024;

/// The lookups of single nodes, which are all that is taken from the plan. They are values to judge: a nexthop may be
/// wrong in any way. Tests put wrong ones in their place.
pub trait Lookup: Sync {
    /// The routes of the main table of all nodes to `to`, by node.
    fn main_of_all(&self, to: NodeId, hops: &mut Vec<Hop>);

    /// The routes of `at` for a packet to `to` that came by a NIC.
    fn find(&self, at: NodeId, came: Option<usize>, to: NodeId) -> FoundRoutes;

    /// The backup route of `at` to `to`.
    fn backup(&self, at: NodeId, to: NodeId) -> Option<Hop>;
}

impl Lookup for NodeRoutes<'_> {
    fn main_of_all(&self, to: NodeId, hops: &mut Vec<Hop>) {
        NodeRoutes::main_of_all(self, to, hops);
    }

    fn find(&self, at: NodeId, came: Option<usize>, to: NodeId) -> FoundRoutes {
        NodeRoutes::find(self, at, came, to)
    }

    fn backup(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        NodeRoutes::backup(self, at, to)
    }
}

/// A plan whose nodes route, with its NICs numbered.
pub(super) struct Fabric<'a> {
    pub plan: &'a Plan,
    pub routes: &'a dyn Lookup,
    pub wires: Wires,
    pub nodes: usize,
    pub nics: usize,
}

impl<'a> Fabric<'a> {
    pub fn of(plan: &'a Plan, routes: &'a dyn Lookup) -> Self {
        let wires = Wires::of(plan);
        Self { plan, routes, nodes: plan.cluster().nodes.len(), nics: wires.of.len(), wires }
    }

    pub fn nic(&self, end: NicEnd) -> usize {
        self.wires.first[end.node.index()] + end.nic
    }

    /// The wire of a NIC.
    pub fn wire(&self, end: NicEnd) -> u32 {
        self.wires.of[self.nic(end)]
    }

    /// Returns the next hop of a packet if only `alive` hops carry packets, as the kernel chooses it: the table route
    /// for the NIC of arrival, else the route with the best metric that is left. `None` if the node drops the packet,
    /// or sends it to a NIC that is not on the wire.
    pub fn next(
        &self,
        at: NodeId,
        came: Option<usize>,
        to: NodeId,
        alive: &dyn Fn(NicEnd, &Hop) -> bool,
    ) -> Option<Hop> {
        let found = self.routes.find(at, came, to);
        let live = |hop: &Hop| alive(NicEnd { node: at, nic: hop.nic }, hop);
        let hop = found
            .table
            .filter(live)
            .or_else(|| Some(found.main).filter(live))
            .or_else(|| self.routes.backup(at, to).filter(live))?;
        self.wires.lead(at, &hop).then_some(hop)
    }

    /// Returns whether a packet arrives over parts that are `alive`. The next hop depends only on
    /// the node and the NIC of arrival, so a packet that repeats such a state never arrives
    /// (Brent's cycle search).
    pub fn arrives(&self, from: NodeId, to: NodeId, alive: &dyn Fn(NicEnd, &Hop) -> bool) -> bool {
        let (mut at, mut came) = (from, None);
        let (mut mark, mut hops, mut lap) = ((from, None), 0_u64, 1);
        while let Some(hop) = self.next(at, came, to, alive) {
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
