//! Computes a node's slice: the kernel state that the plan asks for on this node (DESIGN section
//! 5).
//!
//! Cost: O(nodes x paths per pair); no other node's slice is needed.

#[cfg(test)]
mod behind;
mod builder;
mod host;
mod mptcp;
mod routed;
mod tunnel;
mod value;

pub use builder::first_hop;
pub use value::{Slice, SliceInterface};

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tresse_base::id::{NodeId, TreeId};
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_plan::label::TransitForwarding;
use tresse_reconcile::{
    ALIAS_PREFIX, LinkKind, METRIC_BACKUP, METRIC_PRIMARY, Nexthop, Wanted, WantedLabel,
    WantedLink, WantedNeighbour, WantedRoute, XyBackups, label_sysctls,
};
use tresse_topology::path::{Path, Segment};

use self::builder::Builder;

impl Slice {
    /// The kernel state for a host that runs no daemon and whose kernel forwards labelled frames
    /// itself: backups are plain routes with a higher metric, and the sysctls that label routes
    /// need are set.
    #[must_use]
    pub fn without_daemon(&self) -> Wanted {
        let Wanted { labels, label_sources, .. } = &self.wanted;
        let highest = labels.last_key_value().map(|(label, _)| *label);
        let mut sysctls = self.wanted.sysctls.clone();
        sysctls.extend(label_sysctls(highest, label_sources.keys()));
        let tables = self.wanted.xy.tables.clone();
        let wanted = Wanted {
            routes: self.wanted.all_routes(),
            sysctls,
            xy: XyBackups { backups: BTreeMap::new(), tables },
            ..self.wanted.clone()
        };
        wanted.followed().folded([])
    }

    /// The slice as it is installed while nothing has failed: with routes to what is behind nodes, and routes folded into
    /// prefixes where the plan asks for it.
    #[must_use]
    pub fn folded(self) -> Self {
        Self { wanted: self.wanted.followed().folded([]), ..self }
    }
}

/// How many nodes, lowest index first, are counted for [`SliceInterface::rank`]: a canary needs one
/// sender and a few successors, not an order of all nodes.
const SCANNED: u32 = 4;

impl Slice {
    /// Computes the slice of `node`.
    #[must_use]
    pub fn of(plan: &Plan, node: NodeId) -> Self {
        if let Some(routed) = plan.node_routes().zip(plan.layout()) {
            return routed::slice(plan, routed, node);
        }
        let (wanted, alternatives) = (Wanted::default(), BTreeMap::new());
        let mut builder = Builder { plan, node, wanted, alternatives };
        builder.peers();
        builder.subflows();
        builder.finish()
    }
}

impl Builder<'_> {
    fn peers(&mut self) {
        let me = self.node;
        for peer in (0..self.plan.cluster().nodes.len()).map(NodeId::from) {
            if peer == me {
                continue;
            }
            self.routes(peer, &self.plan.paths(me, peer));
        }
        self.transit();
    }

    /// Adds the routes to one peer. The primary and its weighted siblings form one nexthop group.
    /// The first backup on another NIC gets a route with a higher metric, which the kernel uses by
    /// itself on carrier loss (K1).
    fn routes(&mut self, peer: NodeId, paths: &[Path]) {
        let addresses = self.plan.addresses();
        let carriers: Vec<&Path> = paths.iter().filter(|path| path.weight > 0).collect();
        let other_nic = |path: &&Path| path.segments[0].nic != paths[0].segments[0].nic;
        let backup: Vec<&Path> = paths[1..].iter().filter(other_nic).take(1).collect();
        let mtus = paths.iter().map(|path| self.plan.path_mtu(&path.segments));
        let mtu = mtus.min().unwrap_or(1280);
        for &dst in &addresses.node[peer.index()] {
            let ipv4 = dst.is_ipv4();
            let Some(src) = addresses.of_node(self.node, ipv4) else { continue };
            let routes = [(METRIC_PRIMARY, &carriers), (METRIC_BACKUP, &backup)];
            for (metric, paths) in routes {
                let mut nexthops: Vec<Nexthop> =
                    paths.iter().filter_map(|path| self.nexthop(path, ipv4)).collect();
                if nexthops.is_empty() {
                    continue;
                }
                nexthops.sort_unstable();
                let route = WantedRoute::new(src, mtu, nexthops);
                self.wanted.routes.insert((Prefix::host(dst), metric), route);
            }
            let alone = |path: &Path| Some(Nexthop { weight: 1, ..self.nexthop(path, ipv4)? });
            let others: Vec<Nexthop> = paths[1..].iter().filter_map(alone).collect();
            if !others.is_empty() {
                self.alternatives.insert(Prefix::host(dst), others);
            }
            paths.iter().for_each(|path| self.neighbour(&path.segments[0], ipv4));
        }
    }

    /// Adds what this node forwards: one label route for each segment that continues here, and for
    /// each interface the MAC addresses that may send labelled frames to it.
    fn transit(&mut self) {
        let plan = self.plan;
        let TransitForwarding { labels, arrivals } = &plan.transits()[self.node.index()];
        for (segment, &label) in labels {
            // The packet under the label may be of either family; one family is enough to name the
            // neighbour.
            let ipv4 = plan.addresses().of_nic(segment.to, segment.to_nic, true).is_some();
            self.neighbour(segment, ipv4);
            let interface = self.interface(segment.nic, segment.tree);
            let via = plan.addresses().of_nic(segment.to, segment.to_nic, ipv4);
            self.wanted.labels.extend(via.map(|via| (label, WantedLabel { interface, via })));
        }
        for segment in arrivals {
            let interface = self.interface(segment.to_nic, segment.tree);
            let sources = self.wanted.label_sources.entry(interface).or_default();
            sources.insert(plan.sender(segment).mac);
        }
    }

    fn neighbour(&mut self, segment: &Segment, ipv4: bool) {
        let via = self.plan.addresses().of_nic(segment.to, segment.to_nic, ipv4);
        let interface = self.interface(segment.nic, segment.tree);
        let mac = self.plan.receiver(segment).mac;
        self.wanted.neighbours.extend(via.map(|via| ((interface, via), WantedNeighbour { mac })));
    }

    /// Adds the node's NICs as interfaces of fabrics without VLANs.
    fn untagged(&mut self, ipv6: bool) -> BTreeMap<String, SliceInterface> {
        let plan = self.plan;
        let nics = &plan.cluster().node(self.node).nics;
        let mut interfaces = BTreeMap::new();
        for (index, (nic, addresses)) in
            nics.iter().zip(&plan.addresses().nic[self.node.index()]).enumerate()
        {
            host::add_nic(&mut self.wanted, nic, addresses, plan.nic_mtu(nic), ipv6);
            interfaces.insert(nic.name.clone(), SliceInterface::untagged(index, nic));
        }
        interfaces
    }

    fn finish(mut self) -> Slice {
        let plan = self.plan;
        let node = plan.cluster().node(self.node);
        let ipv6 = plan.addresses().node[self.node.index()].iter().any(IpAddr::is_ipv6);
        let uses = plan.uses(self.node);
        let earlier: Vec<BTreeSet<TreeId>> = (0..self.node.0.min(SCANNED))
            .map(|n| plan.uses(NodeId(n)).into_keys().map(|(_, tree)| tree).collect())
            .collect();
        let mut interfaces = match plan.direct() {
            Some(_) => self.untagged(ipv6),
            None => BTreeMap::new(),
        };
        for (&(index, tree), &announces) in &uses {
            let nic = &node.nics[index];
            let vid = plan.vid(tree);
            let name = nic.vlan_interface(index, vid);
            let mtu = plan.nic_mtu(nic);
            let spec = &plan.specs()[tree.index()];
            self.wanted.links.insert(
                name.clone(),
                WantedLink {
                    kind: LinkKind::Vlan { parent: nic.name.clone(), vid },
                    mtu,
                    alias: format!("{ALIAS_PREFIX}{}", spec.name),
                    up: true,
                    mac: None,
                },
            );
            for address in &plan.addresses().nic[self.node.index()][index] {
                self.wanted.addresses.insert((name.clone(), *address));
            }
            host::vlan_sysctls(&mut self.wanted, &name, ipv6);
            self.wanted.nics.insert(nic.name.clone(), (nic.mac, mtu));
            let rank = earlier.iter().filter(|trees| trees.contains(&tree)).count() as u32;
            interfaces.insert(
                name,
                SliceInterface {
                    nic: index,
                    parent: nic.name.clone(),
                    vid: Some(vid),
                    tree: spec.name.clone(),
                    digest: plan.tree_digest(tree),
                    announces,
                    rank,
                },
            );
        }
        if node.gateway || !node.prefixes.is_empty() {
            for interface in interfaces.keys() {
                host::forward(&mut self.wanted, plan, self.node, interface);
            }
        }
        let mtu = self.wanted.nics.values().map(|(_, mtu)| *mtu).min().unwrap_or(1500);
        host::add_node(&mut self.wanted, plan, self.node, mtu);
        Slice {
            id: self.node,
            node: node.name.clone(),
            generation: plan.generation().into(),
            interfaces,
            wanted: self.wanted,
            alternatives: self.alternatives,
        }
    }
}
