//! `tresse cables` on any kernel: cables in place, swapped, cut, and at a switch that tells by LLDP.
//!
//! Cables are moved as by hand: the far end of a veth pair goes to another switch, and loses its carrier.

use std::process::Command;

use serde_json::Value;
use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_frame::lldp::{Chassis, Lldp, Port};
use tresse_tests::program;
use tresse_topology::cluster::NicEnd;

use crate::lab::{Lab, eventually};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_cables_on_switches_are_told_by_announcements", on_switches),
    ("routed_cables_between_nodes_are_told_by_announcements", between_nodes),
    ("routed_cables_are_told_by_lldp_where_it_is_heard", by_lldp),
    ("routed_cables_behind_an_uplink_are_told_by_lldp_alone", behind_an_uplink),
];

const FLAT: &str = "kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 4 5\\n2: 2 3 4 5\\n\"";
/// Longer than a node that is new on a cable asks, and others answer.
const SECONDS: u64 = 40;

fn up(topology: &str, options: &[&str]) -> Lab {
    let lab = Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), options);
    eventually("in sync", 60, || lab.in_sync());
    lab
}

/// `tresse cables` in a node: its exit code was 0, and its answer.
fn cables(lab: &Lab, node: NodeId) -> (bool, Value) {
    let (tresse, file) = (program::tresse(), lab.directory.path.join("cluster.toml"));
    let (tresse, file) = (tresse.display().to_string(), file.display().to_string());
    let name = lab.now.node(node);
    let (json, fine) = lab.verb(&["exec", name, "--", &tresse, "cables", &file, "--json"]);
    let answer: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(answer["fine"] == true, fine, "{answer}");
    assert_eq!(answer["node"], name);
    (fine, answer)
}

/// Waits until a node's NICs have these verdicts; the answer then.
fn expect(lab: &Lab, node: u32, wanted: &[&str]) -> Value {
    let mut last = Value::Null;
    eventually(&format!("n{node}: {wanted:?}"), SECONDS, || {
        last = cables(lab, NodeId(node)).1;
        let nics = last["nics"].as_array().unwrap();
        let is = nics.iter().map(|nic| nic["verdict"].as_str().unwrap()).eq(wanted.iter().copied());
        if is { Ok(()) } else { Err(last.to_string()) }
    });
    last
}

fn all_fine(lab: &Lab) {
    eventually("every cable in its place", SECONDS, || {
        let answers = lab.now.nodes().map(|node| cables(lab, node));
        let faults: Vec<Value> = answers
            .filter(|(fine, answer)| {
                let mut nics = answer["nics"].as_array().unwrap().iter();
                !fine || nics.any(|nic| nic["verdict"] != "ok")
            })
            .map(|(_, answer)| answer)
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    });
}

/// The switch and port name of a NIC's cable.
fn plug(lab: &Lab, nic: NicEnd) -> (String, String) {
    let cluster = lab.now.plan.cluster();
    let nic = &cluster.node(nic.node).nics[nic.nic];
    (cluster.switch(nic.switch).name.clone(), format!("p{}", nic.port))
}

/// Exchanges the cables at two ports of different switches.
fn swap(lab: &Lab, a: &(String, String), b: &(String, String)) {
    let go = |from: &(String, String), to: &str, name: &str| {
        let netns = lab.directory.netns(to);
        lab.run(&from.0, &format!("ip link set dev {} netns {netns} name {name}", from.1));
    };
    let plug = |to: &(String, String)| {
        lab.run(&to.0, &format!("ip link set dev {} master br0 up", to.1));
    };
    go(a, &b.0, "aside");
    go(b, &a.0, &a.1);
    lab.run(&b.0, &format!("ip link set dev aside name {}", b.1));
    plug(a);
    plug(b);
}

const fn end(node: u32, nic: usize) -> NicEnd {
    NicEnd { node: NodeId(node), nic }
}

fn on_switches() {
    let lab = up(FLAT, &["--announce-seconds", "2"]);
    all_fine(&lab);
    // Both cables of one node.
    let own = [plug(&lab, end(0, 0)), plug(&lab, end(0, 1))];
    swap(&lab, &own[0], &own[1]);
    let answer = expect(&lab, 0, &["swapped", "swapped"]);
    assert_eq!(answer["nics"][0]["with"][0], "n0 eth1", "{answer}");
    assert_eq!(answer["nics"][0]["by"], "announcements");
    assert_eq!(answer["order"][0]["interface"], "eth0");
    assert_eq!(
        (&answer["order"][0]["nic"], &answer["order_by"]),
        (&"eth1".into(), &"cable".into())
    );
    swap(&lab, &own[0], &own[1]);
    all_fine(&lab);

    // Of two nodes: n0 belongs on s0, n4's second NIC on s2.
    let two = [plug(&lab, end(0, 0)), plug(&lab, end(4, 1))];
    swap(&lab, &two[0], &two[1]);
    let answer = expect(&lab, 0, &["swapped", "ok"]);
    assert_eq!(answer["nics"][0]["found"]["switch"], two[1].0.as_str(), "{answer}");
    assert_eq!(answer["order"], Value::Array(Vec::new()), "{answer}");
    expect(&lab, 4, &["ok", "swapped"]);
    swap(&lab, &two[0], &two[1]);
    all_fine(&lab);

    let cable = format!("{}:{}", two[0].0, two[0].1.trim_start_matches('p'));
    assert!(lab.verb(&["fail", &cable]).1);
    let answer = expect(&lab, 0, &["missing", "ok"]);
    assert_eq!(answer["nics"][0]["message"], "no carrier");
    assert!(lab.verb(&["heal", &cable]).1);
    all_fine(&lab);
}

/// A ring: names and MACs of one node's NICs are exchanged, which is the same as its cables.
fn between_nodes() {
    let lab = up("kind = \"ring\", nodes = 4", &["--announce-seconds", "2"]);
    all_fine(&lab);
    let nics = &lab.now.plan.cluster().nodes[0].nics;
    let (a, b) = (&nics[0], &nics[1]);
    let exchange = || {
        for words in [
            format!("ip link set dev {} down", a.name),
            format!("ip link set dev {} down", b.name),
            format!("ip link set dev {} name aside", a.name),
            format!("ip link set dev {} name {}", b.name, a.name),
            format!("ip link set dev aside name {}", b.name),
            format!("ip link set dev {} address {}", a.name, a.mac),
            format!("ip link set dev {} address {}", b.name, b.mac),
            format!("ip link set dev {} up", a.name),
            format!("ip link set dev {} up", b.name),
        ] {
            lab.run("n0", &words);
        }
    };
    exchange();
    let answer = expect(&lab, 0, &["swapped", "swapped"]);
    assert_eq!(answer["nics"][0]["with"][0], format!("n0 {}", b.name), "{answer}");
    assert_eq!(answer["order_by"], "cable", "{answer}");
    exchange();
    all_fine(&lab);
}

/// Without a plan in force, and by a switch's own name for its port.
fn by_lldp() {
    let lab = up(FLAT, &[]);
    let client = || lab.client(NodeId(0));
    client().withdraw(false).unwrap();
    let (switch, port) = plug(&lab, end(0, 0));
    let tell = |system: &str, number: &str, ttl_seconds: u16| {
        send(&lab, &switch, &port, &reported(system, number, ttl_seconds));
    };
    let counted = |name: &str| {
        let counters = client().counters().unwrap().counters;
        counters.iter().find(|c| c.name == name).map(|c| c.value)
    };
    // Each switch takes it for its own and passes it to nobody, so one port is told of.
    tell(&switch, &port, 120);
    let answer = expect(&lab, 0, &["ok", "unknown"]);
    assert_eq!(
        (&answer["nics"][0]["by"], &answer["nics"][0]["found"]["port"]),
        (&"lldp".into(), &1.into())
    );
    tell(&switch, &port, 0);
    expect(&lab, 0, &["unknown", "unknown"]);
    tell("s2", "swp3", 120);
    let answer = expect(&lab, 0, &["swapped", "unknown"]);
    assert_eq!(answer["nics"][0]["with"][0], "n4 eth1", "{answer}");
    tell("s2", "swp3", 0);
    tell("office", "7", 120);
    expect(&lab, 0, &["extra", "unknown"]);
    assert_eq!(counted("lldp_malformed_total"), Some(0));
    send(&lab, &switch, &port, &Lldp::emit(&nothing(), Mac([2, 0, 0, 0, 0, 1]))[..20]);
    eventually("a bad frame is counted", 10, || match counted("lldp_malformed_total") {
        Some(1) => Ok(()),
        other => Err(other),
    });
}

/// With an uplink every NIC hears all others: nobody is extra for that, or swapped.
fn behind_an_uplink() {
    let lab = up(&format!("{FLAT}, uplink = \"u0\""), &["--announce-seconds", "2"]);
    let nics: usize = lab.now.plan.cluster().nodes.iter().map(|node| node.nics.len()).sum();
    eventually("all others are heard on every NIC", SECONDS, || {
        let heard = lab.client(NodeId(0)).neighbours().unwrap().nics;
        let planned = heard.iter().filter(|nic| nic.name.starts_with("eth"));
        let counts: Vec<usize> = planned.map(|nic| nic.heard.len()).collect();
        if counts == [nics - 1; 2] { Ok(()) } else { Err(counts) }
    });
    let (fine, answer) = cables(&lab, NodeId(0));
    assert!(fine && answer["extra"] == Value::Array(Vec::new()), "{answer}");
    expect(&lab, 0, &["unknown", "unknown"]);
    let (switch, port) = plug(&lab, end(0, 0));
    send(&lab, &switch, &port, &reported(&switch, &port, 120));
    let answer = expect(&lab, 0, &["ok", "unknown"]);
    assert_eq!(answer["nics"][0]["by"], "lldp", "{answer}");
}

/// What a switch says of its port.
fn reported(system: &str, number: &str, ttl_seconds: u16) -> Vec<u8> {
    let lldp = Lldp {
        station: false,
        flooded: false,
        chassis: Chassis { subtype: 7, id: b"x".to_vec() },
        port: Port { subtype: 5, id: number.into() },
        ttl_seconds,
        description: None,
        system: Some(system.into()),
    };
    lldp.emit(Mac([2, 0, 0, 0, 0, 1]))
}

fn nothing() -> Lldp {
    Lldp {
        station: false,
        flooded: false,
        chassis: Chassis { subtype: 7, id: b"x".to_vec() },
        port: Port { subtype: 7, id: b"x".to_vec() },
        ttl_seconds: 1,
        description: None,
        system: None,
    }
}

/// Sends one frame out of a switch's port, or a node's NIC.
pub fn send(lab: &Lab, place: &str, port: &str, frame: &[u8]) {
    let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
    let program = "import socket, sys\n\
                   s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
                   s.bind((sys.argv[1], 0))\n\
                   s.send(bytes.fromhex(sys.argv[2]))\n";
    let sent = lab.inside(place, || {
        Command::new("python3").args(["-c", program, port, &hex]).status().unwrap()
    });
    assert!(sent.success());
}
