//! Small wanted states and a node to put them on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tresse_base::id::{Label, Vid};
use tresse_base::kernel::TUNNEL_INTERFACE;
use tresse_base::units::{Mac, Prefix};

use crate::model::KernelModel;
use crate::{
    LinkKind, NODE_INTERFACE, Nexthop, ObservedAddress, ObservedLink, ObservedRoute,
    PLATFORM_LABELS, Planned, Reconciliation, Saved, TunnelEnd, Wanted, WantedLabel, WantedLink,
    WantedNeighbour, WantedRoute, label_input, label_sysctls, reconcile,
};

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

pub const fn mac(node: u8, nic: u8) -> Mac {
    Mac([2, 0, 0, 0, node, nic])
}

/// The stable address of a node.
pub fn node_address(node: u8, v6: bool) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, node.into()).into()
    } else {
        Ipv4Addr::new(10, 77, 0, node).into()
    }
}

/// The address of a NIC of a node.
pub fn nic_address(node: u8, nic: u8, v6: bool) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, nic.into(), node.into()).into()
    } else {
        Ipv4Addr::new(10, 78, nic, node).into()
    }
}

pub fn nexthop(nic: u8, vid: u16, peer: u8, labels: &[u32], v6: bool) -> Nexthop {
    let interface = format!("eth{nic}.{vid}");
    let labels = labels.iter().map(|l| Label(*l)).collect();
    Nexthop { interface, via: nic_address(peer, nic, v6), labels, weight: 1 }
}

pub fn nic_link(index: u32, mac: Mac) -> ObservedLink {
    let (kind, alias, master, lower) = (None, None, None, None);
    let mac = Some(mac);
    ObservedLink { index, kind, mac, mtu: 1500, up: true, carrier: true, alias, master, lower }
}

/// A node with NICs eth0 to eth2 and a foreign route; nothing of ours.
pub fn node() -> KernelModel {
    let mut model = KernelModel { ifa_proto: true, ..KernelModel::default() };
    model.sysctls = vec![
        ("net/ipv4/conf/*/rp_filter".into(), "0".into()),
        ("net/ipv6/conf/*/accept_ra".into(), "1".into()),
        (label_input("*"), "0".into()),
    ];
    for nic in 0..3 {
        let name = format!("eth{nic}");
        model.observed.links.insert(name.clone(), nic_link(u32::from(nic) + 2, mac(1, nic)));
        let key = format!("net/ipv4/conf/{name}/rp_filter");
        model.observed.sysctls.insert(key, "1".into());
        model.observed.sysctls.insert(label_input(&name), "0".into());
    }
    model.observed.mpls = true;
    model.observed.sysctls.insert(PLATFORM_LABELS.into(), "0".into());
    let policy = "net/ipv4/fib_multipath_hash_policy";
    model.observed.sysctls.insert(policy.into(), "0".into());
    model.observed.routes.insert((prefix("0.0.0.0/0"), 100), foreign_route("eth2"));
    let lan = ObservedAddress { len: 24, protocol: 0 };
    model.observed.addresses.insert(("eth2".into(), ip("192.168.2.254")), lan);
    model
}

pub fn foreign_route(interface: &str) -> ObservedRoute {
    let interface = Some(interface.into());
    ObservedRoute { protocol: 4, nexthop: None, interface, src: None, mtu: None, advmss: None }
}

/// Node 1 with VLAN interfaces on the given (NIC, VID).
pub fn base(vlans: &[(u8, u16)], v6: bool) -> Wanted {
    let mut wanted = Wanted::default();
    let alias = "tresse:test".to_owned();
    let node =
        WantedLink { kind: LinkKind::Dummy, mtu: 1500, alias: alias.clone(), up: true, mac: None };
    wanted.links.insert(NODE_INTERFACE.into(), node);
    wanted.addresses.insert((NODE_INTERFACE.into(), node_address(1, false)));
    if v6 {
        wanted.addresses.insert((NODE_INTERFACE.into(), node_address(1, true)));
    }
    wanted.sysctls.insert("net/ipv4/fib_multipath_hash_policy".into(), "1".into());
    for (nic, vid) in vlans {
        let parent = format!("eth{nic}");
        let name = format!("{parent}.{vid}");
        wanted.nics.insert(parent.clone(), (mac(1, *nic), 1500));
        let kind = LinkKind::Vlan { parent: parent.clone(), vid: Vid(*vid) };
        let link = WantedLink { kind, mtu: 1500, alias: alias.clone(), up: true, mac: None };
        wanted.links.insert(name.clone(), link);
        wanted.addresses.insert((name.clone(), nic_address(1, *nic, false)));
        if v6 {
            wanted.addresses.insert((name.clone(), nic_address(1, *nic, true)));
        }
        wanted.sysctls.insert(format!("net/ipv4/conf/{name}/rp_filter"), "2".into());
        wanted.sysctls.insert(format!("net/ipv6/conf/{name}/accept_ra"), "0".into());
        wanted.sysctls.insert(format!("net/ipv4/conf/{parent}/rp_filter"), "2".into());
    }
    wanted
}

/// Adds a route to a node, with the neighbours that its nexthops need.
pub fn add_route(wanted: &mut Wanted, peer: u8, metric: u32, mut nexthops: Vec<Nexthop>) {
    let v6 = nexthops[0].via.is_ipv6();
    for nexthop in &nexthops {
        let key = (nexthop.interface.clone(), nexthop.via);
        wanted.neighbours.insert(key, WantedNeighbour { mac: mac(peer, 0) });
    }
    nexthops.sort();
    let src = node_address(1, v6);
    let route = WantedRoute { src, mtu: 1500, advmss: 1460, nexthops };
    wanted.routes.insert((Prefix::host(node_address(peer, v6)), metric), route);
}

/// Adds a label that leads to a peer, with its neighbour, taken from that peer on its interface.
pub fn add_label(wanted: &mut Wanted, label: u32, (nic, vid): (u8, u16), peer: u8) {
    let (interface, via) = (format!("eth{nic}.{vid}"), nic_address(peer, nic, false));
    let mac = mac(peer, 0);
    wanted.neighbours.insert((interface.clone(), via), WantedNeighbour { mac });
    wanted.label_sources.entry(interface.clone()).or_default().insert(mac);
    wanted.labels.insert(Label(label), WantedLabel { interface, via });
    by_kernel(wanted);
}

/// The kernel forwards the labels.
pub fn by_kernel(wanted: &mut Wanted) {
    let highest = wanted.labels.last_key_value().map(|(label, _)| *label);
    wanted.sysctls.extend(label_sysctls(highest, wanted.label_sources.keys()));
}

/// What arrives by a NIC for a peer goes on to the peer itself by another.
pub fn add_table_route(wanted: &mut Wanted, (came, out): (u8, u8), peer: u8, v6: bool) {
    let key = (format!("eth{came}"), Prefix::host(node_address(peer, v6)));
    let (interface, via) = (format!("eth{out}"), nic_address(peer, out, v6));
    wanted.nics.insert(key.0.clone(), (mac(1, came), 1500));
    wanted.xy.tables.insert(key, Nexthop { interface, via, labels: Vec::new(), weight: 1 });
}

/// A tunnel to gateways with two other ends and a route back. `mac`: of this end and of the first other one.
pub fn add_tunnel(wanted: &mut Wanted, mac: Mac) {
    let kind = LinkKind::Vxlan { ipv6: false };
    let link =
        WantedLink { kind, mtu: 1450, alias: "tresse:test".into(), up: true, mac: Some(mac) };
    let interface = TUNNEL_INTERFACE.to_owned();
    wanted.links.insert(interface.clone(), link);
    wanted.sysctls.insert(format!("net/ipv4/conf/{interface}/rp_filter"), "2".into());
    for (peer, mac) in [(2, mac), (3, self::mac(3, 9))] {
        let at = node_address(peer, false);
        wanted.ends.insert(at, TunnelEnd { mac, at });
        let by_tunnel =
            Nexthop { interface: interface.clone(), via: at, labels: Vec::new(), weight: 1 };
        wanted.back.insert(Prefix::host(at), by_tunnel);
    }
    wanted.behind.insert(prefix("0.0.0.0/0"), vec![node_address(2, false)]);
}

/// Two NICs, two VLANs, two peers with primary and backup.
pub fn two_nics() -> Wanted {
    let mut wanted = base(&[(0, 100), (1, 101)], false);
    for peer in 2..4 {
        add_route(&mut wanted, peer, 7800, vec![nexthop(0, 100, peer, &[], false)]);
        add_route(&mut wanted, peer, 7801, vec![nexthop(1, 101, peer, &[], false)]);
    }
    wanted
}

/// Executes everything; the model must accept it.
pub fn execute(model: &mut KernelModel, operations: &[Planned]) {
    for planned in operations {
        model.apply(&planned.operation).unwrap_or_else(|e| panic!("{e}\nof {operations:#?}"));
    }
}

/// Reconciles once, keeping the state file as the daemon does.
pub fn converge(model: &mut KernelModel, wanted: &Wanted, saved: &mut Saved) -> Reconciliation {
    let outcome = reconcile(wanted, &model.observed, saved);
    *saved = saved.before(&outcome.operations, &model.observed);
    execute(model, &outcome.operations);
    *saved = saved.clone().settled(wanted, &model.observed);
    outcome
}

/// What `wanted` on a fresh node looks like.
pub fn installed(wanted: &Wanted) -> (KernelModel, Saved) {
    let (mut model, mut saved) = (node(), Saved::default());
    converge(&mut model, wanted, &mut saved);
    let again = reconcile(wanted, &model.observed, &saved);
    assert!(again.in_sync() && again.drift.is_empty(), "{again:#?}");
    (model, saved)
}
