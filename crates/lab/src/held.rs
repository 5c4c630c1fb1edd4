//! The addresses that the nodes of a lab have now. A plan that their daemons have got since the lab was built may give
//! them others.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use tresse_reconcile::NODE_INTERFACE;

use crate::netns::{self, NetnsError};
use crate::run;
use crate::state::{Directory, LabState};

/// The record of a lab with the addresses that its nodes have now. A node that has none keeps those by which the lab was
/// built, so that it is found not to answer.
///
/// # Errors
/// If a namespace cannot be entered.
pub(crate) fn now(directory: &Directory, record: &LabState) -> Result<LabState, NetnsError> {
    let mut record = record.clone();
    let nodes = &record.blueprint.nodes;
    let held = run::parallel(nodes, run::workers(), |node| {
        netns::inside(&directory.netns(&node.name), on_node_interface)
    });
    for (node, held) in record.blueprint.nodes.iter_mut().zip(held) {
        node.addresses = merged(&node.addresses, held?);
    }
    Ok(record)
}

/// What the calling thread's namespace has on the node interface; nothing if that cannot be read.
fn on_node_interface() -> Vec<IpAddr> {
    let Ok(all) = getifaddrs() else { return Vec::new() };
    let ours = all.filter(|entry| entry.interface_name == NODE_INTERFACE);
    let address = |entry: nix::ifaddrs::InterfaceAddress| {
        let address = entry.address?;
        let v4 = address.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())))
    };
    let is_link_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    ours.filter_map(address).filter(|ip| !is_link_local(ip)).collect()
}

/// The addresses of a node: of each family those of the plan of which it was built if it has one of them, else those that
/// it has. While plans change it has both.
fn merged(built: &[IpAddr], held: Vec<IpAddr>) -> Vec<IpAddr> {
    let of = |all: &[IpAddr], v4: bool| -> Vec<IpAddr> {
        all.iter().copied().filter(|ip| ip.is_ipv4() == v4).collect()
    };
    let family = |v4: bool| {
        let (built, held) = (of(built, v4), of(&held, v4));
        let kept = built.iter().any(|ip| held.contains(ip)) || held.is_empty();
        if kept { built } else { held }
    };
    let v4_first = built.first().is_none_or(IpAddr::is_ipv4);
    [family(v4_first), family(!v4_first)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_nodes_have_now() {
        let ips = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|ip| ip.parse().unwrap()).collect()
        };
        let built = ips(&["10.77.0.1", "fd77::1"]);
        // As built, with what a change brings beside it; renumbered in one family; nothing at all; a new family.
        assert_eq!(merged(&built, ips(&["10.79.0.1", "10.77.0.1", "fd77::1"])), built);
        assert_eq!(merged(&built, ips(&["10.79.0.1", "fd77::1"])), ips(&["10.79.0.1", "fd77::1"]));
        assert_eq!(merged(&built, vec![]), built);
        assert_eq!(merged(&ips(&["10.77.0.1"]), ips(&["10.77.0.1", "fd77::1"])), built);
    }
}
