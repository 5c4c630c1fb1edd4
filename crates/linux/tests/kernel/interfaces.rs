//! Links, addresses, neighbours, sysctls.

use libtest_mimic::Trial;
use tresse_base::id::Vid;
use tresse_base::units::Mac;
use tresse_linux::kernel::{ExecuteError, OperationStatus, carrier, execute, observe};
use tresse_namespace::{Feature, eventually, ip, ip_json, trial};
use tresse_reconcile::{LinkKind, Operation, PROTOCOL};

use crate::cables::cables;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("k08_node_interface_is_a_dummy_or_a_bridge_without_ports", &[], node_interface),
        trial("links_change_and_go", &[], links_change_and_go),
        trial("vm_k05_vlan_interfaces_are_silent", &[Feature::Vlan], vlan_interfaces_are_silent),
        trial("addresses_are_marked_and_make_no_routes", &[], addresses),
        trial("neighbours_are_permanent_and_ours", &[], neighbours),
        trial("learned_neighbours_give_way", &[], learned_neighbours_give_way),
        trial("foreign_permanent_neighbours_stay", &[], foreign_neighbours_stay),
        trial("unknown_interface_is_named", &[], unknown_interface_is_named),
        trial("sysctls_are_read_and_written", &[], sysctls),
        trial("deleting_what_is_gone_is_absent", &[], deleting_what_is_gone),
        trial("carrier_is_the_drivers", &[], carrier_is_the_drivers),
    ]
}

pub fn done(operations: &[Operation]) {
    let outcome = execute(operations);
    let errors: Vec<_> = outcome.errors.iter().map(|(i, e)| format!("{i}: {e}")).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(outcome.status.iter().all(|s| *s == OperationStatus::Done), "{:?}", outcome.status);
}

pub fn tresse0() -> [Operation; 2] {
    [
        Operation::AddLink {
            name: "tresse0".into(),
            link: LinkKind::Dummy,
            mtu: 1500,
            alias: "tresse:node".into(),
            mac: None,
        },
        Operation::SetLinkState { name: "tresse0".into(), up: true },
    ]
}

pub fn address(interface: &str, address: &str) -> Operation {
    Operation::AddAddress { interface: interface.into(), address: address.parse().unwrap() }
}

pub fn neighbour(interface: &str, address: &str, mac: [u8; 6], replace: bool) -> Operation {
    Operation::AddNeighbour {
        interface: interface.into(),
        address: address.parse().unwrap(),
        mac: Mac(mac),
        replace,
    }
}

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn node_interface() {
    done(&tresse0());
    let link = &ip_json("link show dev tresse0")[0];
    assert_eq!(link["ifalias"], "tresse:node");
    assert_eq!(link["mtu"], 1500);
    assert_eq!(link["inet6_addr_gen_mode"], "none");
    let observed = observe(["net/ipv6/conf/tresse0/accept_ra"]).unwrap();
    let link = &observed.links["tresse0"];
    assert_eq!(link.kind, Some(LinkKind::Dummy));
    assert!(link.is_ours() && link.up);
    assert_eq!(observed.sysctls["net/ipv6/conf/tresse0/accept_ra"], "0");
    assert!(observed.addresses.keys().all(|(interface, _)| interface != "tresse0"));
    done(&[address("tresse0", "10.77.0.1"), address("tresse0", "fd77::1")]);
    ip("route get 10.77.0.1");
    let foreign = execute(&tresse0()[..1]);
    assert_eq!(foreign.errors[0].1.errno(), Some(libc::EEXIST));
    done(&[Operation::DeleteLink { name: "tresse0".into() }]);
    assert!(!observe([]).unwrap().links.contains_key("tresse0"));
}

fn links_change_and_go() {
    done(&tresse0());
    done(&[
        Operation::ChangeLink {
            name: "tresse0".into(),
            mtu: 1496,
            alias: "tresse:other".into(),
            mac: None,
        },
        Operation::SetLinkState { name: "tresse0".into(), up: false },
    ]);
    let link = &ip_json("link show dev tresse0")[0];
    assert_eq!((&link["mtu"], &link["ifalias"]), (&1496.into(), &"tresse:other".into()));
    assert!(!observe([]).unwrap().links["tresse0"].up);
    ip("link add br7 type bridge");
    cables(1);
    ip("link set eth0 master br7");
    let observed = observe([]).unwrap();
    assert_eq!(observed.links["br7"].kind, None, "a foreign bridge");
    assert_eq!(observed.links["eth0"].master.as_deref(), Some("br7"));
}

fn vlan_interfaces_are_silent() {
    cables(1);
    let link = LinkKind::Vlan { parent: "eth0".into(), vid: Vid(100) };
    done(&[
        Operation::AddLink {
            name: "eth0.100".into(),
            link: link.clone(),
            mtu: 1496,
            alias: "tresse:t:100".into(),
            mac: None,
        },
        Operation::SetLinkState { name: "eth0.100".into(), up: true },
    ]);
    let seen = &ip_json("link show dev eth0.100")[0];
    assert_eq!(seen["linkinfo"]["info_data"]["id"], 100);
    assert_eq!(seen["inet6_addr_gen_mode"], "none");
    assert_eq!(seen["ifalias"], "tresse:t:100");
    let observed = observe(["net/ipv6/conf/eth0.100/accept_ra"]).unwrap();
    assert_eq!(observed.links["eth0.100"].kind, Some(link));
    assert_eq!(observed.links["eth0.100"].mtu, 1496);
    assert_eq!(observed.sysctls["net/ipv6/conf/eth0.100/accept_ra"], "0");
    assert!(observed.addresses.keys().all(|(interface, _)| interface != "eth0.100"));
}

fn addresses() {
    cables(1);
    done(&tresse0());
    let all = [
        ("eth0", "10.78.0.1"),
        ("eth0", "fd78::1"),
        ("tresse0", "10.77.0.1"),
        ("tresse0", "fd77::1"),
    ];
    done(&all.map(|(interface, a)| address(interface, a)));
    let observed = observe([]).unwrap();
    for (interface, a) in all {
        let seen = &observed.addresses[&(interface.into(), a.parse().unwrap())];
        assert_eq!((seen.len, seen.protocol), (if a.contains(':') { 128 } else { 32 }, PROTOCOL));
    }
    let scope = |interface: &str, a: &str| {
        let links = ip_json(&format!("address show dev {interface}"));
        let infos = links[0]["addr_info"].as_array().unwrap();
        let info = infos.iter().find(|i| i["local"] == a).unwrap();
        assert_eq!(info["noprefixroute"], true, "{info}");
        info["scope"].clone()
    };
    assert_eq!(scope("eth0", "10.78.0.1"), "link");
    assert_eq!(scope("tresse0", "10.77.0.1"), "global");
    assert_eq!(scope("eth0", "fd78::1"), "global");
    assert!(ip_json("route show").is_empty(), "no prefix route");
    let second = execute(&[address("eth0", "10.78.0.1")]);
    assert_eq!(second.errors[0].1.errno(), Some(libc::EEXIST));
    done(&all.map(|(interface, a)| Operation::DeleteAddress {
        interface: interface.into(),
        address: a.parse().unwrap(),
    }));
    let left = observe([]).unwrap().addresses;
    assert!(left.values().all(|a| a.protocol != PROTOCOL), "{left:?}");
}

fn neighbours() {
    cables(1);
    done(&[neighbour("eth0", "10.78.0.2", MAC, false), neighbour("eth0", "fd78::2", MAC, false)]);
    let seen = ip_json("neigh show dev eth0 nud permanent");
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|n| n["lladdr"] == "02:00:00:00:00:09"));
    let other = [2, 0, 0, 0, 0, 8];
    done(&[neighbour("eth0", "10.78.0.2", other, true)]);
    let observed = observe([]).unwrap().neighbours;
    let key = |a: &str| ("eth0".to_owned(), a.parse().unwrap());
    assert_eq!(observed[&key("10.78.0.2")].mac, Mac(other));
    assert!(observed.values().all(|n| n.protocol == PROTOCOL));
    let absent = execute(&[neighbour("eth0", "10.78.0.3", MAC, true)]);
    assert_eq!(absent.errors[0].1.errno(), Some(libc::ENOENT), "replace does not create");
    done(&["10.78.0.2", "fd78::2"].map(|a| Operation::DeleteNeighbour {
        interface: "eth0".into(),
        address: a.parse().unwrap(),
    }));
    assert!(observe([]).unwrap().neighbours.is_empty());
}

fn learned_neighbours_give_way() {
    cables(1);
    ip("neigh add 10.78.0.2 lladdr 02:00:00:00:00:01 dev eth0 nud stale");
    done(&[neighbour("eth0", "10.78.0.2", MAC, false), neighbour("eth0", "10.78.0.3", MAC, false)]);
    assert_eq!(observe([]).unwrap().neighbours.len(), 2);
}

fn foreign_neighbours_stay() {
    cables(1);
    ip("neigh add 10.78.0.2 lladdr 02:00:00:00:00:01 dev eth0 nud permanent");
    let outcome = execute(&[neighbour("eth0", "10.78.0.2", MAC, false)]);
    assert_eq!(outcome.status, [OperationStatus::Failed]);
    assert_eq!(outcome.errors[0].1.errno(), Some(libc::EEXIST));
    let seen = &ip_json("neigh show dev eth0")[0];
    assert_eq!(seen["lladdr"], "02:00:00:00:00:01");
}

fn unknown_interface_is_named() {
    let outcome = execute(&[
        address("lo", "10.78.0.1"),
        address("eth7", "10.78.0.1"),
        address("lo", "10.78.0.2"),
    ]);
    assert_eq!(
        outcome.status,
        [OperationStatus::Done, OperationStatus::Failed, OperationStatus::NotSent]
    );
    let (index, error) = &outcome.errors[0];
    assert!(matches!(error, ExecuteError::NoInterface { interface, .. } if interface == "eth7"));
    assert_eq!(*index, 1);
    assert_eq!(error.to_string(), "add address 10.78.0.1 on eth7: there is no interface `eth7`");
}

fn sysctls() {
    let key = "net/ipv4/conf/lo/rp_filter";
    let before = observe([key, "net/ipv4/conf/none/rp_filter"]).unwrap().sysctls;
    assert_eq!(before.len(), 1);
    let set = |key: &str, value: &str| Operation::WriteSysctl {
        key: key.into(),
        value: value.into(),
        before: before.get(key).cloned(),
    };
    done(&[set(key, "2")]);
    assert_eq!(observe([key]).unwrap().sysctls[key], "2");
    let outcome = execute(&[set("net/ipv4/conf/none/rp_filter", "2"), set(key, "1")]);
    assert_eq!(outcome.status, [OperationStatus::Failed, OperationStatus::NotSent]);
    assert_eq!(outcome.errors[0].1.errno(), Some(libc::ENOENT));
}

fn deleting_what_is_gone() {
    cables(1);
    let interface = "eth0".to_owned();
    let operations = [
        Operation::DeleteRoute { dst: "10.77.0.2/32".parse().unwrap(), metric: 7800 },
        Operation::DeleteNexthop { id: 0x5400_0001 },
        Operation::DeleteNeighbour {
            interface: interface.clone(),
            address: "10.78.0.2".parse().unwrap(),
        },
        Operation::DeleteAddress { interface, address: "10.78.0.1".parse().unwrap() },
        Operation::DeleteAddress {
            interface: "gone".into(),
            address: "10.78.0.1".parse().unwrap(),
        },
        address("lo", "10.78.0.1"),
        Operation::DeleteLink { name: "gone".into() },
    ];
    let outcome = execute(&operations);
    assert!(outcome.is_complete(), "{:?}", outcome.errors);
    let mut expected = [OperationStatus::Absent; 7];
    expected[5] = OperationStatus::Done;
    assert_eq!(outcome.status, expected);
}

fn carrier_is_the_drivers() {
    cables(1);
    assert_eq!(carrier("eth0"), Some(true));
    ip("link set far0 down");
    eventually("eth0 without carrier", || carrier("eth0") == Some(false));
    assert_eq!(carrier("none"), None);
}
