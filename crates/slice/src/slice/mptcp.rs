//! What `[routing] mptcp = true` adds to a slice: MPTCP endpoints (the addresses from which a
//! connection starts further subflows), routing tables for packets whose source is an endpoint, and
//! routes to the endpoints of other nodes.
//!
//! A subflow goes from a NIC's address to the peer's node address, along the first one-segment path
//! that begins at that NIC. On a flat neighbourhood (switches without cables between them) that
//! path crosses the one switch that both nodes are on. The peer answers to the NIC's address, along
//! a path that ends at that NIC if there is one.

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_reconcile::{
    ENDPOINTS_MAX, METRIC_BACKUP, METRIC_PRIMARY, MPTCP_ENABLED, Nexthop, WantedRoute,
};
use tresse_topology::path::Path;

use super::builder::Builder;

impl Builder<'_> {
    pub(super) fn subflows(&mut self) {
        let plan = self.plan;
        if !plan.cluster().routing.mptcp {
            return;
        }
        self.wanted.sysctls.insert(MPTCP_ENABLED.into(), "1".into());
        self.endpoints();
        let me = self.node;
        for peer in (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|peer| *peer != me) {
            let paths = plan.paths(me, peer);
            self.tables(peer, &paths);
            self.ways_back(peer, &paths);
        }
    }

    /// Adds an endpoint per NIC, up to the kernel's limit. A node with one NIC needs none.
    fn endpoints(&mut self) {
        let nics = &self.plan.cluster().node(self.node).nics;
        if nics.len() < 2 {
            return;
        }
        let addresses = &self.plan.addresses().nic[self.node.index()];
        let all = nics.iter().zip(addresses);
        let all = all.flat_map(|(nic, own)| own.iter().map(|address| (*address, nic.name.clone())));
        self.wanted.mptcp.endpoints.extend(all.take(ENDPOINTS_MAX));
    }

    /// Adds, for each NIC, the table route to `peer` for packets whose source is that NIC's
    /// address.
    fn tables(&mut self, peer: NodeId, paths: &[Path]) {
        let nics = &self.plan.cluster().node(self.node).nics;
        for (index, nic) in nics.iter().enumerate() {
            let begins = |path: &&Path| path.segments.len() == 1 && path.segments[0].nic == index;
            let Some(path) = paths.iter().find(begins) else { continue };
            for &dst in &self.plan.addresses().node[peer.index()] {
                let nexthop = self.single(path, dst.is_ipv4());
                let route = nexthop.map(|nexthop| ((nic.name.clone(), Prefix::host(dst)), nexthop));
                self.wanted.mptcp.tables.extend(route);
            }
        }
    }

    /// Adds routes to the NIC addresses of a peer: along a path that ends at that NIC; if there is
    /// none or it fails (K1), along the pair's primary or a backup.
    fn ways_back(&mut self, peer: NodeId, paths: &[Path]) {
        let addresses = self.plan.addresses();
        let mtus = paths.iter().map(|path| self.plan.path_mtu(&path.segments));
        let mtu = mtus.min().unwrap_or(1280);
        for (index, own) in addresses.nic[peer.index()].iter().enumerate() {
            let ends = |path: &&Path| path.segments.len() == 1 && path.segments[0].to_nic == index;
            let path = paths.iter().find(ends);
            for &dst in own {
                let ipv4 = dst.is_ipv4();
                let Some(src) = addresses.of_node(self.node, ipv4) else { continue };
                let first = path.and_then(|path| self.single(path, ipv4));
                let nic = path.map(|path| path.segments[0].nic);
                let others = || paths.iter().filter(|path| Some(path.segments[0].nic) != nic);
                let carriers = others().filter(|path| path.weight > 0);
                let mut rest: Vec<Nexthop> =
                    carriers.filter_map(|p| self.nexthop(p, ipv4)).collect();
                if rest.is_empty() {
                    rest.extend(others().next().and_then(|path| self.single(path, ipv4)));
                }
                rest.sort_unstable();
                let first = first.into_iter().collect();
                for (metric, nexthops) in [(METRIC_PRIMARY, first), (METRIC_BACKUP, rest)] {
                    if !nexthops.is_empty() {
                        let route = WantedRoute::new(src, mtu, nexthops);
                        self.wanted.routes.insert((Prefix::host(dst), metric), route);
                    }
                }
            }
        }
    }

    fn single(&self, path: &Path, ipv4: bool) -> Option<Nexthop> {
        Some(Nexthop { weight: 1, ..self.nexthop(path, ipv4)? })
    }
}
