//! Writes the `ip` commands that create a node's wanted kernel state: interfaces, addresses, neighbours
//! and routes, one command per line, as `ip -batch` reads them.
//!
//! `tresse export iproute2` puts the commands into a node's script; a lab without daemons runs them
//! itself. Each function returns one batch. Run the batches in this order: links; sysctls, which must be
//! set before anything can be sent (K5); addresses; neighbours, before the routes that need them (K16);
//! routes; table routes; policy rules, which lead to tables that are full by then; MPTCP endpoints. The
//! limit of subflows and the label routes may come at any time after the links.

use std::collections::BTreeMap;

use tresse_base::kernel::{TUNNEL_PORT, TUNNEL_VNI};
use tresse_reconcile::{
    ENDPOINT_IDS, LinkKind, METRIC_PRIMARY, METRIC_UNREACHABLE, Nexthop, PROTOCOL, Rule, Wanted,
    WantedRoute,
};

use crate::nexthops::{FIRST_GROUP, Nexthops};
use crate::spell::shell;

/// Returns the arguments of `ip link add` that create an interface, as a list of alternatives: if the
/// kernel refuses the first, try the next (K8: a bridge in place of a dummy interface). The list is
/// empty for a TUN interface, which only the daemon creates.
#[must_use]
pub fn link(name: &str, kind: &LinkKind) -> Vec<String> {
    let name = shell(name);
    match kind {
        LinkKind::Vlan { parent, vid } => {
            vec![format!("link {} name {name} type vlan id {vid}", shell(parent))]
        }
        LinkKind::Dummy => {
            ["dummy", "bridge"].map(|kind| format!("name {name} type {kind}")).into()
        }
        LinkKind::Tun => Vec::new(),
        LinkKind::Vxlan { ipv6 } => {
            let local = if *ipv6 { " local ::" } else { "" };
            vec![format!(
                "name {name} type vxlan id {TUNNEL_VNI} dstport {TUNNEL_PORT}{local} nolearning"
            )]
        }
    }
}

/// Returns the `ip` commands that add all addresses of `wanted` (the kernel state that a node should
/// have), and that then set the interfaces created by Tresse up or down.
#[must_use]
pub fn addresses(wanted: &Wanted) -> String {
    let mut out = String::new();
    for (interface, address) in &wanted.addresses {
        let (len, flags) = if address.is_ipv4() { (32, "") } else { (128, " nodad") };
        let scope = if wanted.links.get(interface).is_some_and(|l| l.kind == LinkKind::Dummy) {
            ""
        } else {
            " scope link"
        };
        line!(
            out,
            "address replace {address}/{len} dev {}{scope}{flags} noprefixroute",
            shell(interface)
        );
    }
    for (name, link) in &wanted.links {
        if let Some(mac) = link.mac {
            line!(out, "link set dev {} address {mac}", shell(name));
        }
        line!(out, "link set dev {} {}", shell(name), if link.up { "up" } else { "down" });
    }
    out
}

/// Returns the `ip` commands that add permanent neighbour entries: which MAC address an IP address on an
/// interface has.
#[must_use]
pub fn neighbours(wanted: &Wanted) -> String {
    let mut out = String::new();
    for ((interface, address), neighbour) in &wanted.neighbours {
        line!(
            out,
            "neigh replace {address} lladdr {} dev {} nud permanent protocol {PROTOCOL}",
            neighbour.mac,
            shell(interface)
        );
    }
    out
}

/// Returns the `bridge` commands that add the forwarding entries of the tunnel to gateways.
#[must_use]
pub fn fdb(wanted: &Wanted) -> String {
    let mut out = String::new();
    for ((interface, mac), at) in &wanted.fdb {
        line!(out, "fdb replace {mac} dev {} dst {at} self permanent", shell(interface));
    }
    out
}

/// Returns the `ip` commands that add nexthop objects, the nexthop groups made of them, and the routes
/// through these groups, and the unreachable routes. The kernel refuses a nexthop on an interface without
/// carrier, and then also the groups and routes that need this nexthop.
#[must_use]
pub fn routes(wanted: &Wanted) -> String {
    let nexthops = Nexthops::of(wanted);
    let mut groups: BTreeMap<&[Nexthop], u32> = BTreeMap::new();
    let on_link = |route: &WantedRoute| {
        route.nexthops.first().filter(|nexthop| nexthop.is_on_link()).cloned()
    };
    for route in wanted.routes.values().filter(|route| on_link(route).is_none()) {
        groups.insert(&route.nexthops, 0);
    }
    for (id, group) in (FIRST_GROUP..).zip(groups.values_mut()) {
        *group = id;
    }
    let mut out = String::new();
    for (nexthop, id) in nexthops.iter() {
        let labels: Vec<_> = nexthop.labels.iter().map(|l| l.0.to_string()).collect();
        let encap = if labels.is_empty() {
            String::new()
        } else {
            format!("encap mpls {} ", labels.join("/"))
        };
        line!(
            out,
            "nexthop replace id {id} {encap}via {} dev {} onlink protocol {PROTOCOL}",
            nexthop.via,
            shell(&nexthop.interface)
        );
    }
    for (group, id) in &groups {
        let members: Vec<_> = group
            .iter()
            .map(|nexthop| format!("{},{}", nexthops.number(nexthop), nexthop.weight))
            .collect();
        line!(out, "nexthop replace id {id} group {} protocol {PROTOCOL}", members.join("/"));
    }
    for ((dst, metric), route) in &wanted.routes {
        let to = match on_link(route) {
            Some(nexthop) => format!("dev {}", shell(&nexthop.interface)),
            None => format!("nhid {}", groups[route.nexthops.as_slice()]),
        };
        line!(
            out,
            "route replace {dst} {to} src {} metric {metric} mtu {} advmss {} protocol {PROTOCOL}",
            route.src,
            route.mtu,
            route.advmss
        );
    }
    for dst in &wanted.unreachable {
        line!(
            out,
            "route replace unreachable {dst} metric {METRIC_UNREACHABLE} protocol {PROTOCOL}"
        );
    }
    out
}

/// Returns the commands, for `ip -f mpls`, that add the label routes of a transit node: each pops one
/// MPLS label and says to which neighbour the packet goes next.
#[must_use]
pub fn labels(wanted: &Wanted) -> String {
    let mut out = String::new();
    for (label, nexthop) in &wanted.labels {
        let family = if nexthop.via.is_ipv4() { "inet" } else { "inet6" };
        let (via, interface) = (nexthop.via, shell(&nexthop.interface));
        line!(
            out,
            "route replace {} via {family} {via} dev {interface} protocol {PROTOCOL}",
            label.0
        );
    }
    out
}

/// Returns the `ip` commands that add the table routes: routes in routing tables of Tresse's own, which
/// only packets that match a policy rule use.
#[must_use]
pub fn table_routes(wanted: &Wanted) -> String {
    let mut out = String::new();
    for ((table, to), nexthop) in wanted.table_routes() {
        line!(
            out,
            "route replace {to} via {} dev {} onlink table {table} metric {METRIC_PRIMARY} protocol \
             {PROTOCOL}",
            nexthop.via,
            shell(&nexthop.interface)
        );
    }
    out
}

/// Returns the commands that add the policy rules of one address family, for `ip -4` or `ip -6`. The
/// commands do not check which rules exist: run them in a network namespace that has no rules of Tresse
/// yet.
#[must_use]
pub fn rules(wanted: &Wanted, ipv4: bool) -> String {
    let mut out = String::new();
    for rule in wanted.guard.iter().filter(|rule| rule.is_ipv4() == ipv4) {
        line!(out, "rule add {} priority {} protocol {PROTOCOL}", rule.words(), rule.priority());
    }
    for Rule { table, interface, .. } in wanted.rules().iter().filter(|rule| rule.ipv4 == ipv4) {
        let interface = shell(interface);
        line!(out, "rule add iif {interface} lookup {table} priority {table} protocol {PROTOCOL}");
    }
    for rule in wanted.source_rules().iter().filter(|rule| rule.source.is_ipv4() == ipv4) {
        line!(out, "rule add {} priority {} protocol {PROTOCOL}", rule.words(), rule.priority());
    }
    out
}

/// Returns the `ip` commands that add the MPTCP endpoints: the NIC addresses from which a connection may
/// start subflows. Run them after the commands of [`rules`], which add the policy rules for these
/// addresses.
#[must_use]
pub fn endpoints(wanted: &Wanted) -> String {
    let mut out = String::new();
    for (address, id) in wanted.mptcp.endpoints.keys().zip(ENDPOINT_IDS) {
        line!(out, "mptcp endpoint add {address} id {id} subflow");
    }
    out
}

/// Returns the `ip` command that sets how many MPTCP subflows a connection may have beside its first;
/// `None` if the node has no MPTCP endpoints, so that the limit need not change.
#[must_use]
pub fn subflows(wanted: &Wanted) -> Option<String> {
    (wanted.subflows() > 0).then(|| format!("mptcp limits set subflows {}", wanted.subflows()))
}
