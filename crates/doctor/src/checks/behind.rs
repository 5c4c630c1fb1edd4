//! Do packets get from the fabric to what is behind this node, and back? The daemon does not set up that side.

use tresse_base::units::Prefix;
use tresse_reconcile::{ALL_FORWARDING, force_forwarding};
use tresse_slice::Slice;

use crate::finding::{Check, Finding};
use crate::host;
use crate::seen::Seen;

/// Looks at the other side of a gateway and of networks behind this node.
pub(super) fn other_side(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("behind");
    let node = seen.plan.cluster().node(seen.node);
    if !node.gateway && node.prefixes.is_empty() {
        return vec![check.fine("nothing is behind this node")];
    }
    let families = seen.families();
    let gateway = families.iter().filter(|_| node.gateway);
    let everything = gateway.map(|ipv4| Prefix::everything(*ipv4));
    let networks: Vec<Prefix> = everything.chain(node.prefixes.iter().copied()).collect();
    let ways: Vec<(Prefix, Vec<String>)> =
        networks.into_iter().map(|network| (network, host::ways_to(&network))).collect();
    // Many have IPv6 inside alone.
    let leads_out = ways.iter().any(|(network, ways)| network.len == 0 && !ways.is_empty());
    let mut findings = Vec::new();
    for (network, ways) in &ways {
        let object = network.to_string();
        if ways.is_empty() {
            let effect = "what other nodes send there by this node ends here";
            let fix = match network.len {
                0 => "a default route of this node's own, or leave out `gateway`",
                _ => "an interface with an address in it, or leave it out of `prefixes`",
            };
            let message = "no route of this node leads there";
            findings.push(match network.len == 0 && leads_out {
                true => check.warns(&object, message, effect, fix),
                false => check.fails(&object, message, effect, fix),
            });
        }
        for interface in ways.iter().filter(|way| !forwards(way, network.address.is_ipv4())) {
            let family = if network.address.is_ipv4() { "IPv4" } else { "IPv6" };
            let fix = match network.address.is_ipv4() {
                true => format!(
                    "sysctl -w net.ipv4.conf.{interface}.forwarding=1, and in /etc/sysctl.d"
                ),
                false => format!(
                    "sysctl -w net.ipv6.conf.{interface}.force_forwarding=1 (before Linux 6.17 \
                     net.ipv6.conf.all.forwarding=1), and in /etc/sysctl.d"
                ),
            };
            let message = format!("does not forward {family}, and leads to {network}");
            findings.push(check.fails(
                interface,
                message,
                "nothing that comes from there gets to the fabric",
                fix,
            ));
        }
    }
    check.or_fine(findings, "routes lead to it, and interfaces forward what comes from there")
}

/// Does what arrives by an interface get forwarded?
fn forwards(interface: &str, ipv4: bool) -> bool {
    let is_on = |key: &str| host::sysctl(key).is_some_and(|value| value != "0");
    match ipv4 {
        true => is_on(&format!("net/ipv4/conf/{interface}/forwarding")),
        false => is_on(&force_forwarding(interface)) || is_on(ALL_FORWARDING),
    }
}
