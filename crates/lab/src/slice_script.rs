//! Installs a node's slice by iproute2, in labs without daemons.
//!
//! Installs the same wanted state as the daemon, with two differences: nexthop groups are written
//! into the routes, and there is no filter on labelled frames. The kernel forwards labels.

use std::fmt::Write;

use tresse_reconcile::{ENDPOINT_IDS, Leg, LinkKind, METRIC_PRIMARY, Rule, Wanted, WantedRoute};

use crate::netns;
use crate::run::{self, RunError};

/// Installs a slice into a fresh namespace: what it asks of a host without a daemon.
pub fn install(netns: &str, wanted: &Wanted) -> Result<(), RunError> {
    run::batch(Some(netns), "ip", &links(wanted))?;
    netns::inside(netns, || {
        for (key, value) in &wanted.sysctls {
            // A key that this kernel does not have cannot be in the way either.
            let _ = std::fs::write(format!("/proc/sys/{key}"), value);
        }
    })?;
    run::batch(Some(netns), "ip", &addresses_and_routes(wanted))?;
    run::batch(Some(netns), "ip", &table_routes(wanted))?;
    for (ipv4, family) in [(true, "-4"), (false, "-6")] {
        let rules = rules(wanted, ipv4);
        if !rules.is_empty() {
            run::read(netns, "ip", &[family, "-batch", "-"], &rules)?;
        }
    }
    // A kernel without MPTCP refuses: one connection uses one NIC there.
    let _ = run::batch(Some(netns), "ip", &endpoints(wanted));
    let text = labels(wanted);
    if text.is_empty() {
        return Ok(());
    }
    run::read(netns, "ip", &["-f", "mpls", "-batch", "-"], &text).map(drop)
}

/// The rules that lead what arrives by each NIC to its table, of one family.
fn rules(wanted: &Wanted, of_ipv4: bool) -> String {
    let mut text = String::new();
    for Rule { table, interface, .. } in wanted.rules().iter().filter(|r| r.ipv4 == of_ipv4) {
        let _ =
            writeln!(text, "rule add iif {interface} lookup {table} priority {table} protocol 78");
    }
    for rule in wanted.from_rules().iter().filter(|rule| rule.source.is_ipv4() == of_ipv4) {
        let _ = writeln!(text, "rule add {} protocol 78", rule.words());
    }
    text
}

/// MPTCP endpoints and the limit of subflows, after the rules by source.
fn endpoints(wanted: &Wanted) -> String {
    let mut text = String::new();
    for (address, id) in wanted.mptcp.endpoints.keys().zip(ENDPOINT_IDS) {
        let _ = writeln!(text, "mptcp endpoint add {address} id {id} subflow");
    }
    if wanted.subflows() > 0 {
        let _ = writeln!(text, "mptcp limits set subflows {}", wanted.subflows());
    }
    text
}

fn table_routes(wanted: &Wanted) -> String {
    let mut text = String::new();
    for ((table, to), Leg { interface, via, .. }) in wanted.table_routes() {
        let _ = writeln!(
            text,
            "route replace {to} via {via} dev {interface} onlink table {table} metric \
             {METRIC_PRIMARY} proto 78"
        );
    }
    text
}

fn labels(wanted: &Wanted) -> String {
    let mut text = String::new();
    for (label, way) in &wanted.labels {
        let family = if way.via.is_ipv4() { "inet" } else { "inet6" };
        let _ = writeln!(
            text,
            "route add {} via {family} {} dev {} proto 78",
            label.0, way.via, way.interface
        );
    }
    text
}

fn encap(leg: &Leg) -> String {
    let labels: Vec<_> = leg.labels.iter().map(|l| l.0.to_string()).collect();
    if labels.is_empty() { String::new() } else { format!("encap mpls {} ", labels.join("/")) }
}

fn links(wanted: &Wanted) -> String {
    let mut text = String::new();
    for (name, link) in &wanted.links {
        let _ = match &link.kind {
            LinkKind::Vlan { parent, vid } => writeln!(
                text,
                "link add link {parent} name {name} mtu {} type vlan id {vid}\n\
                 link set dev {name} addrgenmode none",
                link.mtu
            ),
            // A bridge without ports is there on every kernel that labs run on (K8).
            LinkKind::Dummy => writeln!(text, "link add name {name} mtu {} type bridge", link.mtu),
            LinkKind::Tun => Ok(()),
        };
    }
    text
}

fn addresses_and_routes(wanted: &Wanted) -> String {
    let mut text = String::new();
    for (interface, address) in &wanted.addresses {
        let more = if address.is_ipv6() { " nodad" } else { " scope link noprefixroute" };
        let len = if address.is_ipv6() { 128 } else { 32 };
        let node = wanted.links.get(interface).is_some_and(|l| l.kind == LinkKind::Dummy);
        let more = if node && address.is_ipv4() { "" } else { more };
        let _ = writeln!(text, "address add {address}/{len} dev {interface}{more}");
    }
    for (name, link) in &wanted.links {
        if link.up {
            let _ = writeln!(text, "link set dev {name} up");
        }
    }
    text.push_str(&neighbours_and_routes(wanted));
    text
}

/// Returns the commands that restore what an interface loses by going down.
#[must_use]
pub fn again(wanted: &Wanted) -> String {
    neighbours_and_routes(wanted) + &table_routes(wanted)
}

fn neighbours_and_routes(wanted: &Wanted) -> String {
    let mut text = String::new();
    for ((interface, address), neighbour) in &wanted.neighbours {
        let mac = neighbour.mac;
        let _ =
            writeln!(text, "neigh replace {address} lladdr {mac} dev {interface} nud permanent");
    }
    for ((destination, metric), route) in &wanted.routes {
        let WantedRoute { src, mtu, advmss, legs } = route;
        let _ = write!(
            text,
            "route replace {destination} src {src} metric {metric} proto 78 mtu {mtu} advmss {advmss}"
        );
        for leg in legs {
            let Leg { interface, via, weight, .. } = leg;
            // A way alone is no group of one.
            let _ = if legs.len() == 1 {
                write!(text, " {}via {via} dev {interface} onlink", encap(leg))
            } else {
                write!(
                    text,
                    " nexthop {}via {via} dev {interface} weight {weight} onlink",
                    encap(leg)
                )
            };
        }
        text.push('\n');
    }
    text
}
