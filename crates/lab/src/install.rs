//! Installs a node's slice (its part of the plan) with `ip`, in labs without daemons.
//!
//! Runs the commands that `tresse export iproute2` writes into a node's script, as a few batches,
//! so that such a lab tests these commands. Two things differ from the script: nothing is checked
//! first, because the namespace is new, and labelled frames are not filtered. In such a lab the
//! kernel forwards labelled frames.

use std::fmt::Write;

use tresse_export::commands;
use tresse_reconcile::Wanted;

use crate::netns;
use crate::run::{self, RunError};

/// Installs the kernel objects that a node's slice (its part of the plan) wants into the node's new
/// network namespace: interfaces, sysctls, addresses, neighbours, routes, policy rules, MPTCP
/// endpoints and label routes. The node's NICs must be up and have carrier. `ipv6`: the kernel has
/// IPv6.
pub fn slice(netns: &str, wanted: &Wanted, ipv6: bool) -> Result<(), RunError> {
    run::batch(Some(netns), "ip", &links(wanted, ipv6))?;
    netns::inside(netns, || {
        for (key, value) in &wanted.sysctls {
            // A key that this kernel does not have cannot be in the way either.
            let _ = std::fs::write(format!("/proc/sys/{key}"), value);
        }
    })?;
    run::batch(Some(netns), "ip", &(commands::addresses(wanted) + &restoring(wanted)))?;
    run::batch(Some(netns), "bridge", &commands::fdb(wanted))?;
    for (family, of_ipv4) in [("-4", true), ("-6", false)] {
        let rules = commands::rules(wanted, of_ipv4);
        if !rules.is_empty() {
            run::read(netns, "ip", &[family, "-batch", "-"], &rules)?;
        }
    }
    // A kernel without MPTCP refuses: one connection uses one NIC there.
    let subflows = commands::subflows(wanted).unwrap_or_default();
    let _ = run::batch(Some(netns), "ip", &(commands::endpoints(wanted) + &subflows));
    let labels = commands::labels(wanted);
    if labels.is_empty() {
        return Ok(());
    }
    run::read(netns, "ip", &["-f", "mpls", "-batch", "-"], &labels).map(drop)
}

/// Returns the `ip -batch` input that adds a node's neighbours, routes and table routes again after
/// the kernel deleted them with an interface that went down.
#[must_use]
pub fn restoring(wanted: &Wanted) -> String {
    commands::neighbours(wanted) + &commands::routes(wanted) + &commands::table_routes(wanted)
}

/// The interfaces that are ours, marked, still down.
fn links(wanted: &Wanted, ipv6: bool) -> String {
    let mut text = String::new();
    for (name, link) in &wanted.links {
        // The last way is there on every kernel that labs run on (K8).
        let Some(way) = commands::link(name, &link.kind).pop() else { continue };
        let quiet = if ipv6 { " addrgenmode none" } else { "" };
        let _ = writeln!(
            text,
            "link add {way}\nlink set dev {name} alias '{}' mtu {}{quiet}",
            link.alias, link.mtu
        );
    }
    text
}
