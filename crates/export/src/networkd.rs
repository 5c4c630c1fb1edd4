//! Export for a node without the daemon: systemd-networkd units (systemd.netdev(5), systemd.network(5),
//! version 253 or later) and a sysctl.d file.
//!
//! networkd restores the nexthops and routes of an interface when its carrier returns. It supports no
//! MPLS labels. It sets no alias on interfaces, so the daemon `tressed` treats them as foreign: not
//! created by Tresse. In fabrics without VLANs everything is configured on the NICs themselves.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::kernel::{TUNNEL_PORT, TUNNEL_VNI};
use tresse_plan::Plan;
use tresse_reconcile::{
    ALL_FORWARDING, GuardRule, LinkKind, METRIC_PRIMARY, METRIC_UNREACHABLE, NODE_INTERFACE,
    Nexthop, PROTOCOL, Rule, Wanted,
};
use tresse_slice::Slice;

use super::nexthops::{FIRST_GROUP, Nexthops};
use super::{ExportError, ExportFile};

/// Priority after the rules of all our tables.
const AFTER_TABLES: u32 = 7992;

pub(super) fn render(plan: &Plan, slice: &Slice) -> Result<Vec<ExportFile>, ExportError> {
    let wanted = &slice.without_daemon();
    let pushes =
        wanted.routes.values().flat_map(|r| &r.nexthops).any(|nexthop| !nexthop.labels.is_empty());
    if pushes || !wanted.labels.is_empty() {
        return Err(ExportError::Labels { format: "networkd", node: slice.node.clone() });
    }
    let head = format!(
        "# node {} of fabric {}, generation {}\n",
        slice.node,
        plan.cluster().name,
        slice.generation
    );
    let unit = |name: String, text: &str| ExportFile {
        name: format!("{}/systemd/network/{name}", slice.node),
        text: format!("{head}{text}"),
    };
    let (nexthops, routes) = per_interface(wanted);
    let whole = |name: &str| {
        let sections = [nexthops.get(name), routes.get(name)].into_iter().flatten();
        sections.fold(network(wanted, name), |text, sections| text + sections)
    };
    let untagged = plan.cluster().is_untagged();
    let of_nic = |nic: &String| if untagged { whole(nic) } else { parent(wanted, nic) };
    let mut files: Vec<_> = wanted
        .nics
        .keys()
        .map(|nic| unit(format!("10-tresse-{nic}.network"), &of_nic(nic)))
        .collect();
    for (name, link) in &wanted.links {
        let mut text = String::new();
        line!(text, "[NetDev]\nName={name}");
        match &link.kind {
            LinkKind::Vlan { vid, .. } => {
                line!(text, "Kind=vlan\nMTUBytes={}\n\n[VLAN]\nId={vid}", link.mtu);
            }
            LinkKind::Dummy => line!(text, "Kind=dummy\nMTUBytes={}", link.mtu),
            LinkKind::Tun => line!(text, "Kind=tun\nMTUBytes={}", link.mtu),
            LinkKind::Vxlan { ipv6 } => {
                line!(text, "Kind=vxlan\nMTUBytes={}", link.mtu);
                link.mac.iter().for_each(|mac| line!(text, "MACAddress={mac}"));
                line!(text, "\n[VXLAN]\nVNI={TUNNEL_VNI}\nDestinationPort={TUNNEL_PORT}");
                line!(text, "MacLearning=no\nIndependent=yes");
                if *ipv6 {
                    line!(text, "Local=::");
                }
            }
        }
        files.push(unit(format!("20-tresse-{name}.netdev"), &text));
        files.push(unit(format!("20-tresse-{name}.network"), &whole(name)));
    }
    let mut text = String::new();
    let forced = |key: &str| key.ends_with("/force_forwarding");
    if wanted.sysctls.keys().any(|key| forced(key)) {
        line!(text, "# Before Linux 6.17 IPv6 is forwarded by all interfaces or none: there, set");
        line!(text, "# {ALL_FORWARDING} = 1, and accept_ra = 2 where routers are to be heard.");
    }
    for (key, value) in &wanted.sysctls {
        // A file whose name starts with a dash may be missing.
        line!(text, "{}{key} = {value}", if forced(key) { "-" } else { "" });
    }
    files.push(ExportFile {
        name: format!("{}/sysctl.d/60-tresse.conf", slice.node),
        text: format!("{head}{text}"),
    });
    Ok(files)
}

fn parent(wanted: &Wanted, nic: &str) -> String {
    let mut text = String::new();
    line!(text, "[Match]\nName={nic}\n\n[Network]");
    for (name, link) in &wanted.links {
        if matches!(&link.kind, LinkKind::Vlan { parent, .. } if parent == nic) {
            line!(text, "VLAN={name}");
        }
    }
    line!(text, "# Where this NIC has another unit already, add the VLAN= lines to that one.");
    line!(text, "LinkLocalAddressing=no\nIPv6AcceptRA=no");
    text
}

fn network(wanted: &Wanted, name: &str) -> String {
    let mut text = String::new();
    line!(text, "[Match]\nName={name}\n\n[Network]");
    line!(text, "LinkLocalAddressing=no\nIPv6AcceptRA=no\nLLDP=no\nEmitLLDP=no");
    let dummy = wanted.links.get(name).is_some_and(|l| l.kind == LinkKind::Dummy);
    if !dummy {
        line!(text, "IPv4ReversePathFilter=loose");
    }
    for (_, address) in wanted.addresses.iter().filter(|(interface, _)| interface == name) {
        let len = if address.is_ipv4() { 32 } else { 128 };
        line!(text, "\n[Address]\nAddress={address}/{len}\nAddPrefixRoute=no");
        line!(text, "DuplicateAddressDetection=none");
        if !dummy {
            line!(text, "Scope=link");
        }
    }
    for ((interface, address), neighbour) in &wanted.neighbours {
        if interface == name {
            line!(text, "\n[Neighbor]\nAddress={address}\nLinkLayerAddress={}", neighbour.mac);
        }
    }
    for ((interface, mac), at) in &wanted.fdb {
        if interface == name {
            line!(text, "\n[BridgeFDB]\nMACAddress={mac}\nDestination={at}");
        }
    }
    text
}

/// [NextHop] sections of nexthops and groups, and [Route] and [RoutingPolicyRule] sections, by interface. A
/// group and its routes go to the interface of its first nexthop.
fn per_interface(wanted: &Wanted) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let numbered = Nexthops::of(wanted);
    let (mut nexthops, mut routes) = (BTreeMap::<_, String>::new(), BTreeMap::<_, String>::new());
    for (nexthop, number) in numbered.iter() {
        let text = nexthops.entry(nexthop.interface.clone()).or_default();
        line!(text, "\n[NextHop]\nId={number}\nGateway={}\nOnLink=yes", nexthop.via);
    }
    let mut groups: BTreeMap<&[Nexthop], u32> = BTreeMap::new();
    let mut next = FIRST_GROUP;
    for ((dst, metric), route) in &wanted.routes {
        let members = route.nexthops.as_slice();
        let Some(first) = members.first() else { continue };
        if first.is_on_link() {
            let text = routes.entry(first.interface.clone()).or_default();
            line!(text, "\n[Route]\nDestination={dst}\nMetric={metric}");
            line!(text, "PreferredSource={}\nMTUBytes={}", route.src, route.mtu);
            line!(text, "TCPAdvertisedMaximumSegmentSize={}\nProtocol={PROTOCOL}", route.advmss);
            continue;
        }
        let nexthop = if members.len() == 1 {
            numbered.number(first)
        } else {
            *groups.entry(members).or_insert_with(|| {
                let members: Vec<_> = members
                    .iter()
                    .map(|l| format!("{}:{}", numbered.number(l), l.weight))
                    .collect();
                let text = nexthops.entry(first.interface.clone()).or_default();
                line!(text, "\n[NextHop]\nId={next}\nGroup={}", members.join(" "));
                next += 1;
                next - 1
            })
        };
        let text = routes.entry(first.interface.clone()).or_default();
        line!(text, "\n[Route]\nDestination={dst}\nNextHop={nexthop}\nMetric={metric}");
        line!(text, "PreferredSource={}\nMTUBytes={}", route.src, route.mtu);
        line!(text, "TCPAdvertisedMaximumSegmentSize={}\nProtocol={PROTOCOL}", route.advmss);
    }
    for dst in &wanted.unreachable {
        let text = routes.entry(NODE_INTERFACE.into()).or_default();
        line!(text, "\n[Route]\nDestination={dst}\nType=unreachable\nMetric={METRIC_UNREACHABLE}");
        line!(text, "Protocol={PROTOCOL}");
    }
    for ((table, to), nexthop) in wanted.table_routes() {
        let text = routes.entry(nexthop.interface.clone()).or_default();
        line!(text, "\n[Route]\nDestination={to}\nGateway={}\nGatewayOnLink=yes", nexthop.via);
        line!(text, "Table={table}\nMetric={METRIC_PRIMARY}\nProtocol={PROTOCOL}");
    }
    for Rule { table, ipv4, interface } in wanted.rules() {
        let family = if ipv4 { "ipv4" } else { "ipv6" };
        let text = routes.entry(interface.clone()).or_default();
        line!(text, "\n[RoutingPolicyRule]\nFamily={family}\nIncomingInterface={interface}");
        line!(text, "Table={table}\nPriority={table}");
    }
    for rule in wanted.guard.iter().flat_map(|rule| without_goto(rule, &wanted.guard)) {
        guard(&rule, &mut routes);
    }
    (nexthops, routes)
}

/// The rule as others that need no second `goto`: not every networkd knows it. A rule for each pair of a source and a
/// destination takes the place of rules for each of them.
fn without_goto(rule: &GuardRule, all: &BTreeSet<GuardRule>) -> Vec<GuardRule> {
    match rule {
        GuardRule::Source { from } => {
            let to = all.iter().filter_map(|rule| match rule {
                GuardRule::Destination { to } => Some(*to),
                _ => None,
            });
            let to = to.filter(|to| to.address.is_ipv4() == from.address.is_ipv4());
            let pass = to.map(|to| GuardRule::Pass { from: *from, to });
            pass.filter(|pass| !all.contains(pass)).collect()
        }
        GuardRule::Enter { interface, ipv4 } => {
            vec![GuardRule::Drop { interface: interface.clone(), ipv4: *ipv4 }]
        }
        other => vec![other.clone()],
    }
}

/// Adds a rule that keeps packets of the fabric inside it: what passes asks the main table at once, after the tables of NICs.
fn guard(rule: &GuardRule, routes: &mut BTreeMap<String, String>) {
    let family = if rule.is_ipv4() { "ipv4" } else { "ipv6" };
    let mut pass = |matches: String| {
        let text = routes.entry(NODE_INTERFACE.into()).or_default();
        line!(text, "\n[RoutingPolicyRule]\nFamily={family}\n{matches}");
        line!(text, "Table=main\nPriority={AFTER_TABLES}");
    };
    match rule {
        GuardRule::Resume { .. }
        | GuardRule::Past { .. }
        | GuardRule::Enter { .. }
        | GuardRule::Source { .. }
        | GuardRule::DropOutside { .. }
        | GuardRule::Destination { .. }
        | GuardRule::DropBeyond { .. } => {}
        // These are the daemon's alone: of its settings, and of what is cut off.
        GuardRule::Local { .. } | GuardRule::Hide { .. } | GuardRule::Icmp { .. } => {}
        GuardRule::Pass { from, to } => pass(format!("From={from}\nTo={to}")),
        GuardRule::Out { from } => pass(format!("From={from}")),
        GuardRule::In { to } | GuardRule::Into { to } => pass(format!("To={to}")),
        GuardRule::Own => pass("From=0.0.0.0/32\nIncomingInterface=lo".to_owned()),
        GuardRule::Back { from, to } => {
            let text = routes.entry(NODE_INTERFACE.into()).or_default();
            line!(text, "\n[RoutingPolicyRule]\nFamily={family}");
            from.iter().for_each(|from| line!(text, "From={from}"));
            line!(text, "To={to}");
            line!(text, "Table={}\nPriority={}", GuardRule::BACK_TABLE, AFTER_TABLES + 1);
        }
        GuardRule::Drop { interface, .. } => {
            let text = routes.entry(interface.clone()).or_default();
            line!(text, "\n[RoutingPolicyRule]\nFamily={family}\nIncomingInterface={interface}");
            line!(text, "Type=blackhole\nPriority={}", AFTER_TABLES + 1);
        }
    }
}
