//! Writes the `ip` commands that create a node's kernel objects, one per line, as `ip -batch` reads
//! them.
//!
//! `tresse export iproute2` puts them into a node's script; a lab without daemons runs them itself.
//! Each function returns one batch. The order is: links, then sysctls (K5: nothing may be sent
//! before they are set), then the batches in the order of this file.

use std::collections::BTreeMap;

use tresse_reconcile::{ENDPOINT_IDS, Leg, LinkKind, METRIC_PRIMARY, PROTOCOL, Rule, Wanted};

use crate::nexthops::{FIRST_GROUP, Nexthops};
use crate::spell::shell;

/// Returns the arguments of `ip link add` that create an interface, in alternatives: if a kernel
/// refuses the first, the next is tried (K8). Empty for an interface that only the daemon creates.
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
    }
}

/// Returns the commands that add addresses and set our interfaces up.
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
        line!(out, "link set dev {} {}", shell(name), if link.up { "up" } else { "down" });
    }
    out
}

/// Returns the commands that add permanent neighbours.
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

/// Returns the commands that add nexthops, their groups and the routes through them. A nexthop on
/// an interface without carrier is refused by the kernel, together with everything that needs it.
#[must_use]
pub fn routes(wanted: &Wanted) -> String {
    let nexthops = Nexthops::of(wanted);
    let mut groups: BTreeMap<&[Leg], u32> = BTreeMap::new();
    for route in wanted.routes.values() {
        groups.insert(&route.legs, 0);
    }
    for (id, group) in (FIRST_GROUP..).zip(groups.values_mut()) {
        *group = id;
    }
    let mut out = String::new();
    for (leg, id) in nexthops.iter() {
        let labels: Vec<_> = leg.labels.iter().map(|l| l.0.to_string()).collect();
        let encap = if labels.is_empty() {
            String::new()
        } else {
            format!("encap mpls {} ", labels.join("/"))
        };
        line!(
            out,
            "nexthop replace id {id} {encap}via {} dev {} onlink protocol {PROTOCOL}",
            leg.via,
            shell(&leg.interface)
        );
    }
    for (legs, id) in &groups {
        let members: Vec<_> =
            legs.iter().map(|leg| format!("{},{}", nexthops.number(leg), leg.weight)).collect();
        line!(out, "nexthop replace id {id} group {} protocol {PROTOCOL}", members.join("/"));
    }
    for ((dst, metric), route) in &wanted.routes {
        line!(
            out,
            "route replace {dst} nhid {} src {} metric {metric} mtu {} advmss {} protocol {PROTOCOL}",
            groups[route.legs.as_slice()],
            route.src,
            route.mtu,
            route.advmss
        );
    }
    out
}

/// Returns the commands that add label routes, for `ip -f mpls`.
#[must_use]
pub fn labels(wanted: &Wanted) -> String {
    let mut out = String::new();
    for (label, way) in &wanted.labels {
        let family = if way.via.is_ipv4() { "inet" } else { "inet6" };
        let (via, interface) = (way.via, shell(&way.interface));
        line!(
            out,
            "route replace {} via {family} {via} dev {interface} protocol {PROTOCOL}",
            label.0
        );
    }
    out
}

/// Returns the commands that add the table routes.
#[must_use]
pub fn table_routes(wanted: &Wanted) -> String {
    let mut out = String::new();
    for ((table, to), leg) in wanted.table_routes() {
        line!(
            out,
            "route replace {to} via {} dev {} onlink table {table} metric {METRIC_PRIMARY} protocol \
             {PROTOCOL}",
            leg.via,
            shell(&leg.interface)
        );
    }
    out
}

/// Returns the commands that add the policy rules of one family, for `ip -4` or `ip -6`. They check
/// nothing: the namespace must not have rules of ours yet.
#[must_use]
pub fn rules(wanted: &Wanted, ipv4: bool) -> String {
    let mut out = String::new();
    for Rule { table, interface, .. } in wanted.rules().iter().filter(|rule| rule.ipv4 == ipv4) {
        let interface = shell(interface);
        line!(out, "rule add iif {interface} lookup {table} priority {table} protocol {PROTOCOL}");
    }
    for rule in wanted.from_rules().iter().filter(|rule| rule.source.is_ipv4() == ipv4) {
        line!(out, "rule add {} priority {} protocol {PROTOCOL}", rule.words(), rule.priority());
    }
    out
}

/// Returns the commands that add MPTCP endpoints, after the rules for their addresses.
#[must_use]
pub fn endpoints(wanted: &Wanted) -> String {
    let mut out = String::new();
    for (address, id) in wanted.mptcp.endpoints.keys().zip(ENDPOINT_IDS) {
        line!(out, "mptcp endpoint add {address} id {id} subflow");
    }
    out
}

/// Returns the command that sets the limit of subflows of a connection; `None` if it need not
/// change.
#[must_use]
pub fn subflows(wanted: &Wanted) -> Option<String> {
    (wanted.subflows() > 0).then(|| format!("mptcp limits set subflows {}", wanted.subflows()))
}
