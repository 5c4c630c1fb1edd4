//! Checks of the kernel: modules, packet filters, IPv6, flow control, the clock.

use tresse_plan::remaining::joins_paths;
use tresse_slice::Slice;
use tresse_verify as verify;

use crate::finding::{Check, Finding};
use crate::host;
use crate::seen::Seen;

pub(super) fn modules(_: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("kernel");
    let mut findings = Vec::new();
    let vlans = slice.interfaces.values().any(|interface| interface.vid.is_some());
    if vlans && !host::has_module("8021q") {
        let effect = "no VLAN interface can be made: nothing of the plan works here";
        let fix = "a kernel with CONFIG_VLAN_8021Q (the distribution's)";
        findings.push(check.fails("8021q", "this kernel has no such module", effect, fix));
    }
    if !slice.wanted.ends.is_empty() && !host::has_module("vxlan") {
        let effect = "no tunnel to gateways can be made: nothing of the plan works here";
        let fix = "a kernel with CONFIG_VXLAN (the distribution's), or leave out `gateway`";
        findings.push(check.fails("vxlan", "this kernel has no such module", effect, fix));
    }
    let forwards = !slice.wanted.labels.is_empty();
    let nexthops = slice.wanted.routes.values().flat_map(|route| &route.nexthops);
    let pushes = nexthops.into_iter().any(|nexthop| !nexthop.labels.is_empty());
    for (needed, module, effect) in [
        (
            forwards,
            "mpls_router",
            "tressed forwards for others by raw sockets, and only while it runs",
        ),
        (
            pushes,
            "mpls_iptunnel",
            "tressed pushes labels by a TUN interface, and only while it runs",
        ),
    ] {
        if needed && !host::has_module(module) {
            let fix = "a kernel with CONFIG_MPLS_ROUTING, or leave it so (`engine`, `source` in tressed.toml)";
            findings.push(check.warns(module, "this kernel has no such module", effect, fix));
        }
    }
    check.or_fine(findings, "has what the plan needs")
}

pub(super) fn reverse_paths(_: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("rp-filter");
    let value = |of: &str| {
        let text = host::sysctl(&format!("net/ipv4/conf/{of}/rp_filter"))?;
        text.parse::<u8>().ok()
    };
    let all = value("all").unwrap_or(0);
    let strict = |name: &&String| value(name).is_some_and(|own| own.max(all) == 1);
    let findings = slice.interfaces.keys().filter(strict).map(|name| {
        let scope = if all == 1 { "all" } else { name };
        check.fails(
            name,
            format!("the effective rp_filter is 1 (the greater of all = {all} and the interface's own)"),
            "packets that arrive on another interface than the reply would leave by are dropped silently",
            format!("sysctl -w net.ipv4.conf.{scope}.rp_filter=2, and in /etc/sysctl.d"),
        )
    });
    check.or_fine(findings.collect(), "no interface of the plan is strict")
}

pub(super) fn forwarding(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("forward");
    let routes = seen.plan.layout().is_some();
    if !routes && !joins_paths(seen.plan.cluster()) {
        return vec![check.fine("this node routes for no other node")];
    }
    let mut findings = Vec::new();
    for ipv4 in seen.families() {
        for chain in host::forward_drops(ipv4) {
            let effect = "packets that other nodes send through this node are dropped, as if a cable were dead";
            let fix = match ipv4 {
                true => {
                    "iptables -I FORWARD -i eth+ -o eth+ -j ACCEPT for the NICs of the plan (Docker sets the policy: its `ip-forward-no-drop`)"
                }
                false => "the same by ip6tables or nft",
            };
            let cause = "drops packets that no rule accepts";
            let later = "once all planned paths of two others are broken, what they send over this node is dropped";
            findings.push(match routes {
                true => check.fails(&chain, cause, effect, fix),
                false => check.warns(&chain, cause, later, fix),
            });
        }
    }
    check.or_fine(findings, "no chain drops forwarded packets")
}

pub(super) fn ipv6(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("ipv6");
    if !seen.families().contains(&false) {
        return vec![check.fine("the plan has no IPv6 addresses")];
    }
    let Some(_) = host::sysctl("net/ipv6/conf/all/disable_ipv6") else {
        let effect = "the plan's IPv6 addresses do not work here";
        let fix = "remove ipv6.disable=1 from the kernel's command line";
        return vec![check.fails("", "this kernel has no IPv6", effect, fix)];
    };
    let off = |name: &&String| {
        host::sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6")).is_some_and(|v| v == "1")
    };
    let findings = slice.interfaces.keys().filter(off).map(|name| {
        let effect = "the interface has no IPv6 address, so its paths carry no IPv6";
        let fix = format!("sysctl -w net.ipv6.conf.{name}.disable_ipv6=0, and in /etc/sysctl.d");
        check.fails(name, "disable_ipv6 is 1", effect, fix)
    });
    check.or_fine(findings.collect(), "is on where the plan needs it")
}

pub(super) fn pause(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("pause");
    let cyclic = verify::check(seen.plan).cycle.is_some();
    if !cyclic {
        return vec![check.fine("the plan's dependencies are acyclic: flow control does no harm")];
    }
    let on = seen.nics().iter().filter(|nic| host::pauses(&nic.name) == Some(true));
    let findings = on.map(|nic| {
        let effect =
            "the plan's channel dependencies have a cycle: switches that pause each other deadlock";
        let fix =
            format!("ethtool -A {} rx off tx off, and on the switches (`tresse export`)", nic.name);
        check.fails(&nic.name, "flow control (802.3x) is on", effect, fix)
    });
    check.or_fine(findings.collect(), "flow control is off")
}

pub(super) fn clock(_: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("clock");
    match host::clock_synchronised() {
        Some(true) => vec![check.fine("is set by the network")],
        Some(false) => {
            let effect = "the times in the logs of nodes cannot be compared";
            let fix = "timedatectl set-ntp true, over the management network";
            vec![check.warns("", "is not set by the network", effect, fix)]
        }
        None => Vec::new(),
    }
}
