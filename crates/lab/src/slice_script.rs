//! A node's slice by iproute2, for labs without daemons.
//!
//! Takes the same wanted state as the daemon, leaves out groups: one plain route per destination
//! and metric.

use std::fmt::Write;

use tresse_fabric::reconcile::{LinkKind, Wanted};

use crate::netns;
use crate::run::{self, RunError};

/// Installs a slice into a fresh namespace.
pub fn install(netns: &str, wanted: &Wanted) -> Result<(), RunError> {
    run::batch(Some(netns), "ip", &links(wanted))?;
    netns::inside(netns, || {
        for (key, value) in &wanted.sysctls {
            // A key that this kernel does not have cannot be in the way either.
            let _ = std::fs::write(format!("/proc/sys/{key}"), value);
        }
    })?;
    run::batch(Some(netns), "ip", &addresses_and_routes(wanted))
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
    for ((interface, address), neighbour) in &wanted.neighbours {
        let mac = neighbour.mac;
        let _ = writeln!(text, "neigh add {address} lladdr {mac} dev {interface} nud permanent");
    }
    for ((destination, metric), route) in &wanted.routes {
        let Some(leg) = route.legs.first() else { continue };
        let _ = writeln!(
            text,
            "route add {destination} via {} dev {} onlink src {} metric {metric} proto 78 \
             mtu {} advmss {}",
            leg.via, leg.interface, route.src, route.mtu, route.advmss
        );
    }
    text
}
