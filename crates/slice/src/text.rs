//! A slice as text for people.

use std::fmt::{self, Write as _};

use tresse_reconcile::Nexthop;

use crate::slice::Slice;

/// The objects of a slice, a line each.
#[must_use]
pub fn text(slice: &Slice) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, slice);
    text
}

fn write(out: &mut String, slice: &Slice) -> fmt::Result {
    let wanted = &slice.wanted;
    writeln!(out, "node {}, generation {}", slice.node, slice.generation)?;
    for (name, link) in &wanted.links {
        writeln!(out, "link {name} mtu {} ({})", link.mtu, link.alias)?;
    }
    for (interface, address) in &wanted.addresses {
        writeln!(out, "address {address} on {interface}")?;
    }
    for ((interface, address), neighbour) in &wanted.neighbours {
        writeln!(out, "neighbour {address} on {interface} is {}", neighbour.mac)?;
    }
    for ((dst, metric), route) in &wanted.all_routes() {
        let nexthop = |l: &Nexthop| match l.is_on_link() {
            true => format!("on {}", l.interface),
            false => format!("via {} on {}", l.via, l.interface),
        };
        let nexthops: Vec<_> = route.nexthops.iter().map(nexthop).collect();
        writeln!(out, "route {dst} metric {metric} mtu {} {}", route.mtu, nexthops.join(", "))?;
    }
    for ((table, dst), nexthop) in wanted.table_routes() {
        writeln!(out, "route {dst} table {table} via {} on {}", nexthop.via, nexthop.interface)?;
    }
    for rule in wanted.rules() {
        writeln!(out, "rule {rule}")?;
    }
    for rule in wanted.source_rules() {
        writeln!(out, "rule {rule}")?;
    }
    for rule in &wanted.guard {
        writeln!(out, "rule {rule}")?;
    }
    for (address, nic) in &wanted.mptcp.endpoints {
        writeln!(out, "endpoint {address} subflow, on {nic}")?;
    }
    for (key, value) in &wanted.sysctls {
        writeln!(out, "sysctl {key} = {value}")?;
    }
    Ok(())
}
