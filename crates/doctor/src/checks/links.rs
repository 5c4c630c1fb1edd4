//! Checks of this machine's interfaces: NICs, the bridges or bonds and the network managers that hold
//! them, and duplicate addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_control::HeardLine;
use tresse_slice::Slice;

use crate::finding::{Check, Finding};
use crate::host::{self, Link};
use crate::seen::Seen;

/// So many frames to all stations in a minute are worth a word.
const BROADCASTS: u64 = 60;
/// Behind the filters of tressed, which drop labelled frames of strangers.
const FILTER: u32 = 7900;

pub(super) fn nics(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("nic");
    let mut findings = Vec::new();
    for nic in seen.nics() {
        let name = nic.name.as_str();
        let lost = "packets planned for the NIC leave by other NICs, or are not sent at all";
        let Some(link) = seen.links.get(name) else {
            let fix = "plug the NIC in, or correct its name in the cluster file (`tresse macs`)";
            findings.push(check.fails(name, "there is no such interface", lost, fix));
            continue;
        };
        if !nic.mac_derived && link.mac() != Some(nic.mac) {
            let cause =
                format!("the MAC of the NIC is {}, the file says {}", link.address, nic.mac);
            let effect = "other nodes send to the MAC in the file, so this NIC receives nothing";
            findings.push(check.fails(
                name,
                cause,
                effect,
                "correct the MAC in the cluster file (`tresse macs`)",
            ));
        }
        if !link.is_up() {
            let fix = format!("ip link set {name} up, and find out what sets it down");
            findings.push(check.fails(name, "the NIC is down", lost, fix));
        } else if !link.has_carrier() {
            let fix = "the cable, the port of the switch, the transceiver (`tresse cables`)";
            findings.push(check.fails(name, "the NIC has no carrier", lost, fix));
        }
        let wanted = slice.wanted.nics.get(name).map_or(0, |(_, mtu)| *mtu);
        if link.mtu < wanted {
            let cause = format!("the MTU of the NIC is {}, the plan needs {wanted}", link.mtu);
            let effect = "packets of the planned size are dropped";
            let fix = format!(
                "ip link set {name} mtu {wanted}, and the same in this machine's network configuration"
            );
            findings.push(check.fails(name, cause, effect, fix));
        }
        if link.of_others() > 1000 {
            let cause = format!("{} frames for other hosts arrived", link.of_others());
            let effect = "a switch floods: it does not know addresses, or forgets them too soon";
            let fix = "`fdb_age_seconds` and `fdb_size` of the switch beside `tresse check`; is tressed announcing on all nodes?";
            findings.push(check.warns(name, cause, effect, fix));
        }
    }
    // A VLAN, bridge or bond has the MAC of a lower interface.
    let own = |link: &&Link| matches!(link.kind(), None | Some("veth"));
    let macs = seen.links.values().filter(own);
    let mut of_mac: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in macs.filter(|link| link.mac().is_some_and(|mac| mac.0 != [0; 6])) {
        of_mac.entry(&link.address).or_default().push(&link.ifname);
    }
    for (mac, names) in of_mac.iter().filter(|(_, names)| names.len() > 1) {
        let planned = |name: &&&str| seen.nics().iter().any(|nic| nic.name == **name);
        if names.iter().any(|name| planned(&name)) {
            let effect = "switches deliver frames for one of them to the other";
            let cause = format!("{} have the MAC {mac}", names.join(" and "));
            findings.push(check.fails(names[0], cause, effect, "give each a MAC of its own"));
        }
    }
    check.or_fine(findings, "all NICs of the plan are there, with carrier")
}

pub(super) fn masters(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
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
                "this machine is a loop between switches: frames circle",
                format!("{} are ports of the bridge {master}", nics.join(" and ")),
            ),
            _ => (
                "tressed refuses it: its master takes the packets that arrive",
                format!("it belongs to the {kind} {master}"),
            ),
        };
        let fix = format!(
            "ip link set {} nomaster, and the same in this machine's network configuration",
            nics[0]
        );
        findings.push(check.fails(nics[0], cause, effect, fix));
    }
    check.or_fine(findings, "no NIC of the plan belongs to a bridge, bond or the like")
}

/// Finds addresses of this machine that the plan gives to another node, and other hosts that announce
/// themselves as this node.
pub(super) fn twins(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("duplicate");
    let addresses = seen.plan.addresses();
    let others = (0..seen.plan.cluster().nodes.len()).map(NodeId::from).filter(|n| *n != seen.node);
    let of_others: BTreeMap<IpAddr, NodeId> = others
        .flat_map(|node| {
            let nics = addresses.nic[node.index()].iter().flatten();
            addresses.node[node.index()].iter().chain(nics).map(move |address| (*address, node))
        })
        .collect();
    let mut findings = Vec::new();
    for (interface, address) in host::addresses() {
        let Some(node) = of_others.get(&address) else { continue };
        let cause =
            format!("it has {address}, which is {}'s", seen.plan.cluster().node(*node).name);
        let effect = "packets from this machine to that node stay on this machine, and replies to this machine go to that node";
        let fix = format!(
            "ip addr del {address} dev {interface}, and the same in this machine's network configuration"
        );
        findings.push(check.fails(&interface, cause, effect, fix));
    }
    let own = |mac: &str| {
        let known = seen.nics().iter().any(|nic| nic.mac.to_string() == mac);
        known || seen.links.values().any(|link| link.address == mac)
    };
    for nic in seen.neighbours.iter().flat_map(|list| &list.nics) {
        let twin = |line: &&HeardLine| {
            !line.foreign && line.index as usize == seen.node.index() && !own(&line.mac)
        };
        for line in nic.heard.iter().filter(twin) {
            let name = &seen.plan.cluster().node(seen.node).name;
            let cause =
                format!("another machine, with MAC {}, announces itself as {name}, too", line.mac);
            let effect = "switches and peers take one machine for the other";
            let fix = "one of them has the wrong `node` in tressed.toml, or a cloned NIC address";
            findings.push(check.fails(&nic.name, cause, effect, fix));
        }
    }
    check.or_fine(findings, "no address and no name of the plan is taken twice")
}

/// Finds frames to all stations that keep coming, and who sends them: nothing of a plan does.
pub(super) fn broadcasts(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("broadcast");
    let mut findings = Vec::new();
    let planned = |name: &str| seen.nics().iter().any(|nic| nic.name == name);
    let nics = seen.neighbours.iter().flat_map(|list| &list.nics);
    for nic in nics.filter(|nic| planned(&nic.name) && nic.broadcasts_a_minute >= BROADCASTS) {
        let count = nic.broadcasts_a_minute;
        let recent = nic.broadcasters.iter().filter(|line| line.age_ms < 120_000);
        let Some(most) = recent.max_by_key(|line| line.read) else { continue };
        let whose = match (&most.node, &most.nic) {
            (Some(node), Some(nic)) => format!("{node}'s {nic}"),
            _ => "no part of the plan".to_owned(),
        };
        let cause = format!(
            "{count} frames to all stations in a minute, most from {} ({whose}): {}",
            most.mac, most.kind
        );
        let effect = "all switches send them to all nodes, and every node has to look at them";
        let (name, mac) = (&nic.name, &most.mac);
        let fix = format!(
            "stop what sends them; or drop them here: tc qdisc replace dev {name} clsact && tc filter add dev {name} ingress \
             pref {FILTER} protocol all flower src_mac {mac} dst_mac ff:ff:ff:ff:ff:ff action drop"
        );
        findings.push(check.warns(name, cause, effect, fix));
    }
    check.or_fine(findings, "few frames to all stations arrive")
}

pub(super) fn managers(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
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
