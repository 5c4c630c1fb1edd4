//! The parts of a slice that do not depend on how its paths are chosen: untagged NICs, the
//! interface that holds the node's own addresses, and sysctls, never those that act on `all`
//! interfaces (K2, K6, K7, K16).

use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::kernel::{ALIAS_PREFIX, NODE_INTERFACE};
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_reconcile::{GuardRule, LinkKind, Wanted, WantedLink, force_forwarding};
use tresse_topology::cluster::{Addressing, Nic};

/// Adds a NIC that carries untagged frames: its addresses, its MTU in bytes and its sysctls.
pub(super) fn add_nic(wanted: &mut Wanted, nic: &Nic, addresses: &[IpAddr], mtu: u32, ipv6: bool) {
    wanted.addresses.extend(addresses.iter().map(|address| (nic.name.clone(), *address)));
    wanted.nics.insert(nic.name.clone(), (nic.mac, mtu));
    untagged_sysctls(wanted, &nic.name, ipv6);
}

/// Adds the interface with the node's own addresses. `mtu` is in bytes. Also makes the kernel
/// choose the member of a nexthop group by addresses and ports (K6), and refuse packets to addresses
/// of the fabric that no route leads to.
pub(super) fn add_node(wanted: &mut Wanted, plan: &Plan, node: NodeId, mtu: u32) {
    let own = &plan.addresses().node[node.index()];
    let alias = format!("{ALIAS_PREFIX}node");
    let link = WantedLink { kind: LinkKind::Dummy, mtu, alias, up: true, mac: None };
    wanted.links.insert(NODE_INTERFACE.into(), link);
    wanted.addresses.extend(own.iter().map(|address| (NODE_INTERFACE.to_owned(), *address)));
    let ipv6 = own.iter().any(IpAddr::is_ipv6);
    let Addressing { nodes, nics, .. } = &plan.cluster().addressing;
    let prefixes = nodes.iter().chain(nics).filter(|prefix| {
        let host = Prefix::host(prefix.address).len;
        prefix.len < host && own.iter().any(|own| own.is_ipv4() == prefix.address.is_ipv4())
    });
    wanted.unreachable.extend(prefixes);
    // Without a route of its own to what is behind it a node must not send there by a default route either.
    wanted.networks = plan.networks().collect();
    wanted.unreachable.extend(&wanted.networks);
    wanted.behind = plan.behind(node);
    wanted.open = plan.cluster().node(node).gateway;
    for family in ["ipv4", "ipv6"].into_iter().filter(|family| *family == "ipv4" || ipv6) {
        set(wanted, format!("net/{family}/fib_multipath_hash_policy"), "1");
    }
}

/// Makes the kernel forward what arrives by an interface, and adds the rules that keep packets of the fabric inside it and
/// what is behind nodes. Never for `all` interfaces, but for IPv6 before Linux 6.17, as reconciling decides (K7).
pub(super) fn forward(wanted: &mut Wanted, plan: &Plan, node: NodeId, interface: &str) {
    let own = &plan.addresses().node[node.index()];
    if own.iter().any(IpAddr::is_ipv4) {
        set(wanted, format!("net/ipv4/conf/{interface}/forwarding"), "1");
    }
    if own.iter().any(IpAddr::is_ipv6) {
        set(wanted, force_forwarding(interface), "1");
    }
    let Addressing { nodes, nics, .. } = &plan.cluster().addressing;
    let fabric: Vec<Prefix> = nodes.iter().chain(nics).copied().collect();
    let networks: Vec<Prefix> = plan.networks().collect();
    let is_gateway = plan.cluster().node(node).gateway;
    let rules = GuardRule::of_all(interface, &fabric, &networks, is_gateway);
    wanted.guard.extend(match plan.node_routes() {
        Some(_) if is_gateway => GuardRule::with_tunnel(rules),
        _ => rules,
    });
    // What comes by a gateway may come from anywhere.
    let prefixes = &plan.cluster().node(node).prefixes;
    if !prefixes.is_empty() && plan.behind(node).keys().any(|prefix| prefix.len == 0) {
        wanted.guard.extend(prefixes.iter().map(|to| GuardRule::Into { to: *to }));
    }
}

/// Adds the sysctls of a VLAN interface. Nothing else uses such an interface.
pub(super) fn vlan_sysctls(wanted: &mut Wanted, interface: &str, ipv6: bool) {
    common_sysctls(wanted, interface);
    set(wanted, format!("net/ipv4/neigh/{interface}/mcast_solicit"), "0");
    let conf = format!("net/ipv6/conf/{interface}");
    if ipv6 {
        set(wanted, format!("{conf}/accept_ra"), "0");
        set(wanted, format!("{conf}/accept_redirects"), "0");
        set(wanted, format!("{conf}/router_solicitations"), "0");
        set(wanted, format!("net/ipv6/neigh/{interface}/mcast_solicit"), "0");
    } else {
        set(wanted, format!("{conf}/disable_ipv6"), "1");
    }
}

/// Adds the sysctls of a NIC. Others may use it too, so this is less than [`vlan_sysctls`] sets.
fn untagged_sysctls(wanted: &mut Wanted, interface: &str, ipv6: bool) {
    common_sysctls(wanted, interface);
    set(wanted, format!("net/ipv4/conf/{interface}/ignore_routes_with_linkdown"), "1");
    // Without IPv6 of the plan too: the kernel would take a default route from anybody on the cable.
    let conf = format!("net/ipv6/conf/{interface}");
    set(wanted, format!("{conf}/accept_ra"), "0");
    set(wanted, format!("{conf}/accept_redirects"), "0");
    if ipv6 {
        set(wanted, format!("{conf}/ignore_routes_with_linkdown"), "1");
    }
}

fn common_sysctls(wanted: &mut Wanted, interface: &str) {
    let conf = format!("net/ipv4/conf/{interface}");
    set(wanted, format!("{conf}/rp_filter"), "2");
    set(wanted, format!("{conf}/arp_ignore"), "1");
    set(wanted, format!("{conf}/arp_announce"), "2");
    set(wanted, format!("{conf}/accept_redirects"), "0");
    set(wanted, format!("{conf}/send_redirects"), "0");
}

/// Adds a sysctl, named by its path under `/proc/sys`.
pub(super) fn set(wanted: &mut Wanted, key: String, value: &str) {
    wanted.sysctls.insert(key, value.into());
}
