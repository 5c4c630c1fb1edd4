//! The tunnel between nodes and gateways where nodes route (VXLAN, RFC 7348): a packet for elsewhere, or from there, goes from
//! one node to the other in a UDP packet between their addresses. So the node that sends it chooses the gateway, and nodes
//! between, which may know other failures and have ways out of their own, see addresses of the fabric alone.
//!
//! One interface on each node, with the gateways as the other ends; on a gateway, with all nodes. Nothing is learned or
//! flooded: the ends are permanent neighbours with permanent forwarding entries.

use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::kernel::{ALIAS_PREFIX, TUNNEL_INTERFACE, TUNNEL_INTERFACE_IPV6};
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_reconcile::{LinkKind, Nexthop, TunnelEnd, Wanted, WantedLink};

use super::host;

/// Bytes of the headers that the tunnel adds to a packet: Ethernet, VXLAN and UDP (RFC 7348 section 5).
const HEADERS: u32 = 14 + 8 + 8;
/// The least MTU of IPv6 (RFC 8200 section 5). A tunnel with less room has its packets fragmented.
const IPV6_MTU: u32 = 1280;

/// Adds the tunnel to a slice, if the node is an end of it. `mtu`: of the fabric, in bytes.
pub(super) fn add(wanted: &mut Wanted, plan: &Plan, node: NodeId, mtu: u32) {
    let addresses = &plan.addresses().node;
    let own = &addresses[node.index()];
    let Some(outer) = own.first().filter(|_| plan.tunnels(node).next().is_some()) else { return };
    let (name, ip_header) = match outer {
        IpAddr::V4(_) => (TUNNEL_INTERFACE, 20),
        IpAddr::V6(_) => (TUNNEL_INTERFACE_IPV6, 40),
    };
    let link = WantedLink {
        kind: LinkKind::Vxlan { ipv6: outer.is_ipv6() },
        mtu: mtu.saturating_sub(HEADERS + ip_header).max(IPV6_MTU),
        alias: format!("{ALIAS_PREFIX}gateways"),
        up: true,
        mac: Some(plan.tunnel_mac(node)),
    };
    wanted.links.insert(name.into(), link);
    // Without any, rp_filter drops all to which another interface leads, also where it is loose.
    wanted
        .addresses
        .extend(own.iter().filter(|own| own.is_ipv4()).map(|own| (name.to_owned(), *own)));
    host::vlan_sysctls(wanted, name, own.iter().any(IpAddr::is_ipv6));
    // Packets out of it are forwarded at a gateway, and to what is behind a node.
    host::forward(wanted, plan, node, name);
    for end in plan.tunnels(node) {
        let at = addresses[end.index()].iter().find(|at| at.is_ipv4() == outer.is_ipv4());
        let Some(&at) = at else { continue };
        for address in &addresses[end.index()] {
            wanted.ends.insert(*address, TunnelEnd { mac: plan.tunnel_mac(end), at });
        }
    }
    if plan.cluster().node(node).gateway {
        let nodes = wanted.ends.keys().map(|node| (Prefix::host(*node), node));
        let networks = wanted.behind.iter().filter_map(|(to, nodes)| Some((*to, nodes.first()?)));
        let back = nodes.chain(networks).filter_map(|(to, node)| {
            let via = wanted.ends.get(node)?.via(*node);
            let interface = name.to_owned();
            Some((to, Nexthop { interface, via, labels: Vec::new(), weight: 1 }))
        });
        wanted.back = back.collect();
    }
}
