//! The slice of a node on a node-routed fabric, whose nodes forward plain IP packets (DESIGN
//! sections 3 to 5, strategies `xy` and `shortest`): no VLAN interfaces; NIC addresses on the NICs themselves,
//! permanent neighbours one hop away, subnet routes, a route per node address, and forwarding on
//! fabric interfaces only (K7).
//!
//! On a P-Mesh every line, that is, the nodes that share a switch in one dimension, is a subnet
//! (p-mesh, section 4.2). The paper names a subnet k.[s]: its line lies along dimension k, and the
//! vector s has the coordinates of the line in the d - 1 other dimensions. Its pseudo-code sends a
//! packet for subnet k.[s] along the first dimension i in which s and m, the coordinates of the
//! present node, differ. This code does the same, with two corrections of the paper:
//!
//! - its comparison "if (m_i != s_i)" takes the i-th field of the vector for coordinate i, which is
//!   right for k = d - 1 alone, as the vector of subnet k leaves coordinate k out;
//! - its "k.[s_0 ... s_{d-2}]" writes the vector in reverse, which shows where d >= 3: addresses
//!   are [m_{d-1} ... m_0].
//!
//! Here each coordinate is compared with that in the subnet's addresses, so every address of a node
//! is reached in as few hops as possible; dimension k, which the name of a subnet leaves out, comes
//! last. Node addresses have routes of their own, always in dimension order. Only they have
//! backups, because the address of a NIC stands for that one NIC.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_plan::{NodeRoutes, Plan};
use tresse_reconcile::{
    METRIC_BACKUP, METRIC_PRIMARY, Nexthop, Wanted, WantedNeighbour, WantedRoute,
};
use tresse_topology::cluster::{AddressLayout, TopologyShape};
use tresse_topology::pmesh::Encoding;
use tresse_topology::{Hop, Layout};

use super::host;
use super::tunnel;
use super::value::{Slice, SliceInterface};

/// Computes the slice of `node`: the plan's `routes`, as they are. Where node addresses carry the coordinates they are
/// folded into prefixes when they are installed, and a line of this node is one route.
pub(super) fn slice(
    plan: &Plan,
    (routes, layout): (NodeRoutes<'_>, &Layout),
    node: NodeId,
) -> Slice {
    let mtu = plan.cluster().nodes.iter().flat_map(|n| &n.nics).map(|nic| plan.nic_mtu(nic)).min();
    let mtu = mtu.unwrap_or(1500);
    let folds = plan.cluster().addressing.layout == Some(AddressLayout::Coordinates);
    let wanted = Wanted { folds, ..Wanted::default() };
    let mut builder = Builder { plan, routes, layout, node, mtu, wanted };
    builder.nics();
    builder.neighbours();
    for peer in (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|peer| *peer != node) {
        builder.node_routes(peer);
    }
    match &plan.cluster().kind {
        TopologyShape::Pmesh { grow_to, .. } => builder.subnet_routes(&Encoding::new(grow_to)),
        _ => builder.nic_routes(),
    }
    let own = &plan.cluster().node(node).name;
    let nics = plan.cluster().node(node).nics.iter().enumerate();
    // NICs on cables between nodes too: the announcement heard there shows whether the cable is the
    // planned one.
    let interfaces =
        nics.map(|(index, nic)| (nic.name.clone(), SliceInterface::untagged(index, nic)));
    Slice {
        id: node,
        node: own.clone(),
        generation: plan.generation().into(),
        interfaces: interfaces.collect(),
        wanted: builder.wanted,
        alternatives: BTreeMap::new(),
    }
}

struct Builder<'a> {
    plan: &'a Plan,
    routes: NodeRoutes<'a>,
    layout: &'a Layout,
    node: NodeId,
    /// The smallest MTU of any NIC and switch, in bytes: after a failure a path may cross any of
    /// them.
    mtu: u32,
    wanted: Wanted,
}

impl Builder<'_> {
    fn nics(&mut self) {
        let plan = self.plan;
        let ipv6 = plan.addresses().node[self.node.index()].iter().any(IpAddr::is_ipv6);
        let nics = &plan.cluster().node(self.node).nics;
        for (nic, addresses) in nics.iter().zip(&plan.addresses().nic[self.node.index()]) {
            host::add_nic(&mut self.wanted, nic, addresses, self.mtu, ipv6);
            host::forward(&mut self.wanted, plan, self.node, &nic.name);
            // A packet that is sent back may arrive through the node that sent it.
            let accept_local = format!("net/ipv4/conf/{}/accept_local", nic.name);
            host::set(&mut self.wanted, accept_local, "1");
        }
        host::add_node(&mut self.wanted, plan, self.node, self.mtu);
        tunnel::add(&mut self.wanted, plan, self.node, self.mtu);
    }

    fn neighbours(&mut self) {
        for hop in self.layout.neighbours(self.node) {
            let interface = &self.plan.cluster().node(self.node).nics[hop.nic].name;
            let mac = self.plan.cluster().node(hop.to).nics[hop.to_nic].mac;
            for via in &self.plan.addresses().nic[hop.to.index()][hop.to_nic] {
                let key = (interface.clone(), *via);
                self.wanted.neighbours.insert(key, WantedNeighbour { mac });
            }
        }
    }

    /// Adds the route to a node, and the route that replaces it when that nexthop fails.
    fn node_routes(&mut self, peer: NodeId) {
        let hop = self.routes.main(self.node, peer);
        let spare = self.routes.backup(self.node, peer);
        let needs_table_routes =
            spare.is_some() && self.routes.backup_needs_table_routes(self.node, peer);
        let table_route = self.routes.table_route(self.node, peer);
        for &dst in &self.plan.addresses().node[peer.index()] {
            let to = Prefix::host(dst);
            self.routes(to, hop, spare.filter(|_| !needs_table_routes));
            let backup = spare.filter(|_| needs_table_routes).and_then(|hop| self.route(to, hop));
            self.wanted.xy.backups.extend(backup.map(|route| (to, route)));
            let table_route = table_route.and_then(|(came, hop)| {
                let came = &self.plan.cluster().node(self.node).nics[came].name;
                Some(((came.clone(), to), self.nexthop(hop, dst.is_ipv4())?))
            });
            self.wanted.xy.tables.extend(table_route);
        }
    }

    /// On cables between nodes, routes each NIC address like the address of its node.
    fn nic_routes(&mut self) {
        let (plan, me) = (self.plan, self.node);
        for peer in (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|p| *p != me) {
            let main = self.routes.main(me, peer);
            let own = self.layout.neighbours(me).into_iter().filter(|hop| hop.to == peer);
            let own: Vec<Hop> = own.collect();
            for (nic, addresses) in plan.addresses().nic[peer.index()].iter().enumerate() {
                // Of several cables between two nodes that to the NIC itself.
                let hop = own.iter().find(|hop| hop.to_nic == nic).unwrap_or(&main);
                addresses.iter().for_each(|dst| self.routes(Prefix::host(*dst), *hop, None));
            }
        }
    }

    /// Adds a route to every line of a P-Mesh; lines of this node have a route per member instead.
    fn subnet_routes(&mut self, encoding: &Encoding) {
        let (plan, layout) = (self.plan, self.layout);
        for dim in 0..layout.rank() {
            let size = layout.dims()[dim];
            // One node represents its line: the node that differs from this one in the line's own
            // fields.
            let own = layout.coordinates(self.node)[dim];
            let all = (0..layout.nodes()).map(NodeId::from);
            for there in all.filter(|n| layout.coordinates(*n)[dim] == own) {
                if there == self.node && self.wanted.folds {
                    self.own_line(encoding, dim);
                    continue;
                }
                if there == self.node {
                    (0..size).filter(|x| *x != own).for_each(|x| self.member(dim, x));
                    continue;
                }
                let hop = self.routes.main(self.node, there);
                for base in &plan.cluster().addressing.nics {
                    let subnet = encoding.subnet(base, dim, layout.coordinates(there));
                    subnet.into_iter().for_each(|subnet| self.routes(subnet, hop, None));
                }
            }
        }
    }

    /// Adds the route to all members of this node's own line, which are on the link; each has a permanent neighbour.
    fn own_line(&mut self, encoding: &Encoding, dim: usize) {
        for base in &self.plan.cluster().addressing.nics {
            let coordinates = self.layout.coordinates(self.node);
            let Some(subnet) = encoding.subnet(base, dim, coordinates) else { continue };
            let interface = self.plan.cluster().node(self.node).nics[dim].name.clone();
            let nexthop = Nexthop::on_link(interface, subnet.address.is_ipv4());
            let route = self.route_by(subnet, nexthop);
            self.wanted.routes.extend(route.map(|route| ((subnet, METRIC_PRIMARY), route)));
        }
    }

    /// Adds the routes to the member at coordinate `x` of this node's own line.
    fn member(&mut self, dim: usize, x: u32) {
        let member = self.layout.moved(self.node, dim, x);
        let hop = self.routes.main(self.node, member);
        for &dst in &self.plan.addresses().nic[member.index()][dim] {
            self.routes(Prefix::host(dst), hop, None);
        }
    }

    /// Adds the route to `dst` through `hop`, and one with a higher metric through `spare` (K1).
    fn routes(&mut self, dst: Prefix, hop: Hop, spare: Option<Hop>) {
        for (metric, hop) in [(METRIC_PRIMARY, Some(hop)), (METRIC_BACKUP, spare)] {
            let route = hop.and_then(|hop| self.route(dst, hop));
            self.wanted.routes.extend(route.map(|route| ((dst, metric), route)));
        }
    }

    fn route(&self, dst: Prefix, hop: Hop) -> Option<WantedRoute> {
        self.route_by(dst, self.nexthop(hop, dst.address.is_ipv4())?)
    }

    fn route_by(&self, dst: Prefix, nexthop: Nexthop) -> Option<WantedRoute> {
        let ipv4 = dst.address.is_ipv4();
        let src = self.plan.addresses().of_node(self.node, ipv4)?;
        Some(WantedRoute::new(src, self.mtu, vec![nexthop]))
    }

    fn nexthop(&self, hop: Hop, ipv4: bool) -> Option<Nexthop> {
        let via = self.plan.addresses().of_nic(hop.to, hop.to_nic, ipv4)?;
        let interface = self.plan.cluster().node(self.node).nics[hop.nic].name.clone();
        Some(Nexthop { interface, via, labels: Vec::new(), weight: 1 })
    }
}
