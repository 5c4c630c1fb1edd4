//! The checks, one function each: what the plan needs of this host beside what the host says.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use tresse_control::Status;
use tresse_fabric::cluster::{self, Nic};
use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::reconcile::METRIC_PRIMARY;
use tresse_fabric::slice::Slice;
use tresse_fabric::units::Mac;
use tresse_fabric::verify;

use super::host::{self, Link};
use super::{Finding, Verdict};
use crate::fail::{Code, Failure};

/// Peers whose paths are tried: those spread evenly over the cluster where there are more.
const PEERS: usize = 64;

/// What all checks look at.
pub struct Seen<'a> {
    pub plan: &'a Plan,
    pub node: NodeId,
    pub links: BTreeMap<String, Link>,
    pub status: Result<Status, Failure>,
    pub local: bool,
}

/// Which node of the plan this host is.
pub fn which(
    plan: &Plan,
    links: &BTreeMap<String, Link>,
    name: Option<&str>,
    file: &Path,
) -> Result<NodeId, Failure> {
    let cluster = plan.cluster();
    if let Some(name) = name {
        return cluster
            .node_named(name)
            .ok_or_else(|| Failure::new(Code::Usage, format!("the cluster has no node `{name}`")));
    }
    let macs: BTreeSet<Mac> = links.values().filter_map(Link::mac).collect();
    let has = |node: &cluster::Node| {
        node.nics.iter().any(|nic| !nic.mac_derived && macs.contains(&nic.mac))
    };
    cluster.nodes.iter().position(has).map(NodeId::from).ok_or_else(|| {
        let message = format!(
            "no node of {} has a NIC of this host: say which with --node, or run `tresse macs`",
            file.display()
        );
        Failure::new(Code::BadFile, message)
    })
}

/// All of them, in the order in which one depends on the other.
pub fn all(seen: &Seen<'_>) -> Vec<Finding> {
    let slice = seen.plan.slice(seen.node);
    let checks: [fn(&Seen<'_>, &Slice) -> Vec<Finding>; 12] = [
        daemon,
        modules,
        nics,
        masters,
        managers,
        reverse_paths,
        forwarding,
        ipv6,
        pause,
        watched,
        clock,
        paths,
    ];
    let mut findings = Vec::new();
    for check in checks {
        findings.extend(check(seen, &slice));
    }
    findings
}

impl Seen<'_> {
    fn nics(&self) -> &[Nic] {
        &self.plan.cluster().node(self.node).nics
    }
}

/// Begins a finding of one check.
struct Check(&'static str);

impl Check {
    fn fine(&self, cause: impl Into<String>) -> Finding {
        self.says(Verdict::Fine, "", cause, "", "")
    }

    fn warns(
        &self,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        self.says(Verdict::Warning, object, cause, effect, fix)
    }

    fn fails(
        &self,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        self.says(Verdict::Fault, object, cause, effect, fix)
    }

    fn says(
        &self,
        verdict: Verdict,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        Finding {
            check: self.0,
            verdict,
            object: object.into(),
            cause: cause.into(),
            effect: effect.into(),
            fix: fix.into(),
        }
    }

    /// The findings, or that there are none.
    fn or_fine(&self, findings: Vec<Finding>, cause: &str) -> Vec<Finding> {
        if findings.is_empty() { vec![self.fine(cause)] } else { findings }
    }
}

fn daemon(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("daemon");
    let status = match &seen.status {
        Ok(status) => status,
        Err(failure) => {
            let cause = failure.message.lines().next().unwrap_or_default();
            let effect = "the kernel stays as it is: nothing is installed, repaired or watched";
            let fix = "systemctl start tressed; `journalctl -u tressed` says why it does not run";
            return vec![check.fails("tressed", cause, effect, fix)];
        }
    };
    let mut findings = Vec::new();
    let own = env!("CARGO_PKG_VERSION");
    if status.version != own {
        let cause = format!("the daemon is {}, this program {own}", status.version);
        let effect = "what one of them says the other may not understand";
        findings.push(check.warns("tressed", cause, effect, "systemctl restart tressed (hitless)"));
    }
    let planned = seen.plan.generation();
    match &status.generation {
        Some(generation) if generation == planned => {}
        Some(generation) => findings.push(check.warns(
            "plan",
            format!("the daemon has generation {generation}, the file is {planned}"),
            "this node sends by another plan than those that have this one",
            "tresse apply, on this node or on the others",
        )),
        None => findings.push(check.fails(
            "plan",
            "the daemon has none",
            "no fabric address works on this node",
            "tresse apply FILE",
        )),
    }
    if let Some(fault) = &status.fault {
        let effect = "the kernel is not as planned";
        findings.push(check.fails(
            "tressed",
            fault.clone(),
            effect,
            "what its words say, then tresse reload",
        ));
    }
    check.or_fine(findings, "runs, with the plan of this file")
}

fn modules(_: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("kernel");
    let mut findings = Vec::new();
    let vlans = slice.interfaces.values().any(|interface| interface.vid.is_some());
    if vlans && !host::has_module("8021q") {
        let effect = "no VLAN interface can be made: nothing of the plan works here";
        let fix = "a kernel with CONFIG_VLAN_8021Q (the distribution's)";
        findings.push(check.fails("8021q", "this kernel has no such module", effect, fix));
    }
    let forwards = !slice.wanted.labels.is_empty();
    let legs = slice.wanted.routes.values().flat_map(|route| &route.legs);
    let pushes = legs.into_iter().any(|leg| !leg.labels.is_empty());
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

fn nics(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("nic");
    let mut findings = Vec::new();
    for nic in seen.nics() {
        let name = nic.name.as_str();
        let lost = "what would go by it goes by other NICs, or nowhere";
        let Some(link) = seen.links.get(name) else {
            let fix = "plug it in, or correct its name in the cluster file (`tresse macs`)";
            findings.push(check.fails(name, "there is no such interface", lost, fix));
            continue;
        };
        if !nic.mac_derived && link.mac() != Some(nic.mac) {
            let cause = format!("its MAC is {}, the file says {}", link.address, nic.mac);
            let effect = "others send to the MAC of the file: this NIC hears nothing";
            findings.push(check.fails(name, cause, effect, "tresse macs, and the cluster file"));
        }
        if !link.is_up() {
            let fix = format!("ip link set {name} up, and see who sets it down");
            findings.push(check.fails(name, "it is down", lost, fix));
        } else if !link.has_carrier() {
            let fix = "the cable, the port of the switch, the transceiver (`tresse cables`)";
            findings.push(check.fails(name, "it has no carrier", lost, fix));
        }
        let wanted = slice.wanted.nics.get(name).map_or(0, |(_, mtu)| *mtu);
        if link.mtu < wanted {
            let cause = format!("its MTU is {}, the plan needs {wanted}", link.mtu);
            let effect = "packets of the planned size are dropped";
            let fix = format!("ip link set {name} mtu {wanted}, and where its MTU is configured");
            findings.push(check.fails(name, cause, effect, fix));
        }
        if link.of_others() > 1000 {
            let cause = format!("{} frames for other hosts came in", link.of_others());
            let effect = "a switch floods: it does not know addresses, or forgets them too soon";
            let fix = "`fdb_age_seconds` and `fdb_size` of the switch beside `tresse check`; is tressed announcing on all nodes?";
            findings.push(check.warns(name, cause, effect, fix));
        }
    }
    let macs = seen.links.values().filter(|link| link.kind().is_none());
    let mut of_mac: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in macs.filter(|link| link.mac().is_some_and(|mac| mac.0 != [0; 6])) {
        of_mac.entry(&link.address).or_default().push(&link.ifname);
    }
    for (mac, names) in of_mac.iter().filter(|(_, names)| names.len() > 1) {
        let planned = |name: &&&str| seen.nics().iter().any(|nic| nic.name == **name);
        if names.iter().any(|name| planned(&name)) {
            let effect = "switches send to one of them what is for the other";
            let cause = format!("{} have the MAC {mac}", names.join(" and "));
            findings.push(check.fails(names[0], cause, effect, "a MAC of its own for each"));
        }
    }
    check.or_fine(findings, "all NICs of the plan are there, with carrier")
}

fn masters(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("master");
    let mut findings = Vec::new();
    let mut of_master: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for nic in seen.nics() {
        let master = seen.links.get(&nic.name).and_then(|link| link.master.as_deref());
        if let Some(master) = master {
            of_master.entry(master).or_default().push(&nic.name);
        }
    }
    for (master, nics) in of_master {
        let kind = seen.links.get(master).and_then(Link::kind).unwrap_or("device");
        let (effect, cause) = match (kind, nics.len()) {
            ("bridge", 2..) => (
                "this host is a loop between switches: frames circle",
                format!("{} are ports of the bridge {master}", nics.join(" and ")),
            ),
            _ => (
                "tressed refuses it: what arrives there is its master's",
                format!("it belongs to the {kind} {master}"),
            ),
        };
        let fix = format!("ip link set {} nomaster, and where that is configured", nics[0]);
        findings.push(check.fails(nics[0], cause, effect, fix));
    }
    check.or_fine(findings, "no NIC of the plan belongs to a bridge, bond or the like")
}

fn managers(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("manager");
    let managed = host::managed();
    let ours = slice.interfaces.keys().chain(seen.nics().iter().map(|nic| &nic.name));
    let ours: BTreeSet<&String> = ours.collect();
    let finding = |name: &&String| {
        let manager = *managed.get(*name)?;
        let fix = match manager {
            "NetworkManager" => {
                "/etc/NetworkManager/conf.d/50-tresse.conf of the package, then nmcli general reload"
            }
            _ => "a .network file for it with Unmanaged=yes, then networkctl reload",
        };
        let effect = "two programs change the same interface: addresses and routes come and go";
        Some(check.warns(name, format!("{manager} manages it too"), effect, fix))
    };
    let findings = ours.iter().filter_map(finding).collect();
    check.or_fine(findings, "no network manager has an interface of the plan")
}

fn reverse_paths(_: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
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
            format!("its effective rp_filter is 1 (the greater of all = {all} and its own)"),
            "packets that come by another interface than the way back are dropped, without a word",
            format!("sysctl -w net.ipv4.conf.{scope}.rp_filter=2, and in /etc/sysctl.d"),
        )
    });
    check.or_fine(findings.collect(), "no interface of the plan is strict")
}

fn forwarding(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("forward");
    if seen.plan.xy().is_none() {
        return vec![check.fine("this node routes for nobody")];
    }
    let mut findings = Vec::new();
    for ipv4 in families(seen) {
        for chain in host::forward_drops(ipv4) {
            let effect =
                "what others send through this node is dropped: it looks like a dead cable";
            let fix = match ipv4 {
                true => {
                    "iptables -I FORWARD -i eth+ -o eth+ -j ACCEPT for the NICs of the plan (Docker sets the policy: its `ip-forward-no-drop`)"
                }
                false => "the same by ip6tables or nft",
            };
            findings.push(check.fails(&chain, "drops what no rule takes", effect, fix));
        }
    }
    check.or_fine(findings, "no chain drops what is forwarded")
}

fn ipv6(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("ipv6");
    if !families(seen).contains(&false) {
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
        let effect = "it has no IPv6 address, and paths over it none for IPv6";
        let fix = format!("sysctl -w net.ipv6.conf.{name}.disable_ipv6=0, and in /etc/sysctl.d");
        check.fails(name, "disable_ipv6 is 1", effect, fix)
    });
    check.or_fine(findings.collect(), "is on where the plan needs it")
}

fn pause(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
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

fn watched(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("bfd");
    let Ok(status) = &seen.status else { return Vec::new() };
    if status.sessions > 0 && status.sessions_up == 0 {
        let cause = format!("none of {} sessions is up", status.sessions);
        let effect = "failures that no carrier shows are not found";
        let fix =
            "let UDP ports 3784 and 4784 in from the nodes; does tressed run there, with `bfd`?";
        return vec![check.warns("", cause, effect, fix)];
    }
    let broken = status.broken.iter().map(|path| {
        let effect = "it is not used while it is broken";
        let fix = "the cables and ports on it (`tresse trace`, `tresse cables`)";
        check.warns(path, "the path is broken", effect, fix)
    });
    let up = format!("{} of {} sessions are up", status.sessions_up, status.sessions);
    check.or_fine(broken.collect(), &up)
}

fn clock(_: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("clock");
    match host::clock_synchronised() {
        Some(true) => vec![check.fine("is set by the network")],
        Some(false) => {
            let effect = "logs of nodes cannot be laid beside each other";
            let fix = "timedatectl set-ntp true, over the management network";
            vec![check.warns("", "is not set by the network", effect, fix)]
        }
        None => Vec::new(),
    }
}

/// Packets of the size that the plan promises, to other nodes, by the routes in force.
fn paths(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("path");
    if seen.local {
        return Vec::new();
    }
    let peers: Vec<NodeId> = (0..seen.plan.cluster().nodes.len())
        .map(NodeId::from)
        .filter(|n| *n != seen.node)
        .collect();
    let step = peers.len().div_ceil(PEERS).max(1);
    let mut asked = 0;
    let mut findings = Vec::new();
    for peer in peers.into_iter().step_by(step) {
        let name = &seen.plan.cluster().node(peer).name;
        for &to in &seen.plan.addresses().node[peer.index()] {
            let key = (tresse_fabric::units::Prefix::host(to), METRIC_PRIMARY);
            let Some(route) = slice.wanted.routes.get(&key) else { continue };
            asked += 1;
            let least = if to.is_ipv4() { 100 } else { 1280 };
            if host::answers(to, route.mtu) {
                continue;
            }
            findings.push(if host::answers(to, least) {
                let cause = format!("{to} answers small packets and none of {} bytes", route.mtu);
                let effect = "connections hang as soon as they send full packets";
                let fix =
                    "the MTU of the switches between (jumbo frames), or `mtu` in the cluster file";
                check.fails(name, cause, effect, fix)
            } else {
                let effect = "nothing that is sent there arrives, or nothing comes back";
                let fix = "`tresse doctor` there; `tresse trace` shows the switches between";
                check.fails(name, format!("{to} does not answer"), effect, fix)
            });
        }
    }
    check.or_fine(findings, &format!("{asked} addresses answer packets of the planned size"))
}

/// The families of the plan's addresses: is it IPv4?
fn families(seen: &Seen<'_>) -> BTreeSet<bool> {
    seen.plan.addresses().node[seen.node.index()].iter().map(IpAddr::is_ipv4).collect()
}
