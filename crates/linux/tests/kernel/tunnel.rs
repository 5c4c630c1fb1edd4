//! The tunnel to gateways: a VXLAN interface, its neighbours and forwarding entries, and the routes back.

use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;
use tresse_base::kernel::{TUNNEL_INTERFACE, TUNNEL_INTERFACE_IPV6, TUNNEL_PORT, TUNNEL_VNI};
use tresse_base::units::{Mac, Prefix};
use tresse_linux::kernel::{KernelEvent, KernelEvents, execute, observe};
use tresse_namespace::{ip, ip_json, trial};
use tresse_reconcile::{
    GuardRule, LinkKind, Nexthop, Operation, Reconciliation, Saved, TunnelEnd, Wanted, WantedLink,
    reconcile,
};

use crate::events::{block_on, settled, without_ipv6};
use crate::interfaces::done;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("tunnels_come_and_go", &[], come_and_go),
        trial("tunnels_between_ipv6_addresses_come_and_go", &[], between_ipv6),
        trial("k15_a_foreign_tunnel_stays", &[], foreign_stays),
        trial("changes_of_tunnels_are_told", &[], || block_on(changes_are_told())),
    ]
}

const OWN: Mac = Mac([2, 0, 0, 0, 9, 1]);

/// A gateway with two other ends, a network behind the second.
fn wanted(interface: &str) -> Wanted {
    let mut wanted = Wanted::default();
    let ipv6 = interface == TUNNEL_INTERFACE_IPV6;
    let link = WantedLink {
        kind: LinkKind::Vxlan { ipv6 },
        mtu: 1430,
        alias: "tresse:gateways".into(),
        up: true,
        mac: Some(OWN),
    };
    wanted.links.insert(interface.into(), link);
    for k in 2..4 {
        let mac = Mac([2, 0, 0, 0, 9, k]);
        let both = [format!("10.77.0.{k}"), format!("fd77::{k}")];
        let [ipv4, other] = both.map(|address| address.parse().unwrap());
        let at = if ipv6 { other } else { ipv4 };
        for address in [ipv4, other] {
            let end = TunnelEnd { mac, at };
            let via = end.via(address);
            let nexthop =
                Nexthop { interface: interface.into(), via, labels: Vec::new(), weight: 1 };
            wanted.back.insert(Prefix::host(address), nexthop);
            wanted.ends.insert(address, end);
        }
    }
    let behind = wanted.back[&"10.77.0.3/32".parse().unwrap()].clone();
    wanted.back.insert("192.168.3.0/24".parse().unwrap(), behind);
    wanted.followed()
}

fn compare(wanted: &Wanted) -> Reconciliation {
    reconcile(wanted, &observe([]).unwrap(), &Saved::default())
}

fn converge(wanted: &Wanted) -> Vec<String> {
    let operations: Vec<_> = compare(wanted).operations.into_iter().map(|p| p.operation).collect();
    done(&operations);
    operations.iter().map(ToString::to_string).collect()
}

/// Runs `bridge` of iproute2.
fn bridge(words: &str) -> String {
    let output = Command::new("bridge").args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// MAC and address of each forwarding entry, as `bridge` shows them.
fn entries(interface: &str) -> Vec<(String, String)> {
    let shown = bridge(&format!("-j fdb show dev {interface}"));
    let shown: Vec<Value> = serde_json::from_str(&shown).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<_> = shown.iter().map(|of| (text(&of["mac"]), text(&of["dst"]))).collect();
    all.sort();
    all
}

fn come_and_go() {
    let found = converge(&wanted(TUNNEL_INTERFACE));
    assert!(found[0].starts_with("add link tresse-gw"), "{found:#?}");
    let shown = &ip_json(&format!("-d link show dev {TUNNEL_INTERFACE}"))[0];
    let data = &shown["linkinfo"]["info_data"];
    assert_eq!((&data["id"], &data["port"]), (&TUNNEL_VNI.into(), &TUNNEL_PORT.into()));
    assert_eq!((&data["learning"], &shown["mtu"]), (&false.into(), &1430.into()));
    assert_eq!(shown["address"], OWN.to_string());
    let pair = |k: u8| (format!("02:00:00:00:09:0{k}"), format!("10.77.0.{k}"));
    assert_eq!(entries(TUNNEL_INTERFACE), [pair(2), pair(3)]);
    let table = GuardRule::BACK_TABLE;
    assert_eq!(ip_json(&format!("route show table {table}")).len(), 3);
    assert_eq!(ip_json(&format!("-6 route show table {table}")).len(), 2);
    let wanted = wanted(TUNNEL_INTERFACE);
    assert!(compare(&wanted).in_sync(), "applied twice is a no-op");

    // Somebody takes one, bends another, and makes more.
    bridge("fdb del 02:00:00:00:09:02 dev tresse-gw");
    bridge("fdb replace 02:00:00:00:09:03 dev tresse-gw dst 10.77.0.9 self permanent");
    bridge("fdb add 02:00:00:00:09:07 dev tresse-gw dst 10.77.0.7 self permanent");
    let found = converge(&wanted);
    let expected = [
        "add fdb 02:00:00:00:09:02 dev tresse-gw dst 10.77.0.2",
        "replace fdb 02:00:00:00:09:03 dev tresse-gw dst 10.77.0.3",
        "delete fdb 02:00:00:00:09:07 dev tresse-gw",
    ];
    assert_eq!(found, expected);
    assert!(compare(&wanted).in_sync());
    assert_eq!(entries(TUNNEL_INTERFACE), [pair(2), pair(3)]);
    // The kernel forgets all neighbours of an interface with another MAC address.
    ip("link set dev tresse-gw address 02:00:00:00:09:66");
    let found = converge(&wanted);
    assert_eq!(
        (found.len(), found[0].as_str()),
        (5, "change link tresse-gw mtu 1430 address 02:00:00:00:09:01")
    );
    assert!(compare(&wanted).in_sync());
    converge(&Wanted::default());
    assert!(ip_json("link show").iter().all(|link| link["ifname"] != TUNNEL_INTERFACE));
    assert!(compare(&Wanted::default()).in_sync());
}

fn between_ipv6() {
    let wanted = wanted(TUNNEL_INTERFACE_IPV6);
    converge(&wanted);
    let pair = |k: u8| (format!("02:00:00:00:09:0{k}"), format!("fd77::{k}"));
    assert_eq!(entries(TUNNEL_INTERFACE_IPV6), [pair(2), pair(3)]);
    assert!(compare(&wanted).in_sync());
    converge(&Wanted::default());
}

fn foreign_stays() {
    ip("link add tresse-gw type vxlan id 5 dstport 4789");
    let outcome = compare(&wanted(TUNNEL_INTERFACE));
    assert!(outcome.refused[0].to_string().contains("tresse-gw"), "{:?}", outcome.refused);
    converge(&wanted(TUNNEL_INTERFACE));
    converge(&Wanted::default());
    let shown = &ip_json("-d link show dev tresse-gw")[0];
    assert_eq!(shown["linkinfo"]["info_data"]["id"], 5);
}

async fn changes_are_told() {
    without_ipv6();
    let links = wanted(TUNNEL_INTERFACE).links;
    converge(&Wanted { links, ..Wanted::default() });
    let mut events = KernelEvents::subscribe().unwrap();
    let mac = Mac([2, 0, 0, 0, 9, 2]);
    let interface = || TUNNEL_INTERFACE.to_owned();
    let at = "10.77.0.2".parse().unwrap();
    for operation in [
        Operation::AddFdb { interface: interface(), mac, at, replace: false },
        Operation::DeleteFdb { interface: interface(), mac },
    ] {
        assert!(execute(&[operation]).errors.is_empty());
        assert_eq!(settled(&mut events).await, [KernelEvent::NeighbourChanged]);
    }
    for (verb, dst) in [
        ("add", " dst 10.77.0.3 self permanent"),
        ("replace", " dst 10.77.0.9 self permanent"),
        ("del", ""),
    ] {
        bridge(&format!("fdb {verb} 02:00:00:00:09:02 dev tresse-gw{dst}"));
        assert_eq!(settled(&mut events).await, [KernelEvent::NeighbourChanged], "{verb}");
    }
}
