//! An isolated node hides its other addresses from the fabric; judged by `ping` and `ip`.

use std::net::IpAddr;
use std::process::{Command, Stdio};

use tresse_base::id::NodeId;

use crate::lab::{Lab, RESTART, eventually};
use crate::routed::{DUAL, silent};
use crate::suite::Tests;

pub const TESTS: Tests =
    &[("routed_by_the_daemon_an_isolated_node_hides_its_other_addresses", hides_other_addresses)];

/// Of a management NIC that the node gets: these at first, the third one later.
const HIDDEN: [&str; 3] = ["198.51.100.1", "2001:db8:ffff::1", "198.51.100.2"];

fn hides_other_addresses() {
    let lab = Lab::up(DUAL, &[RESTART]);
    eventually("in sync", 60, || lab.in_sync());
    let [node, beside] = [0, 1].map(|n| lab.now.node(NodeId(n)));
    for words in
        ["link add mgmt0 type veth peer name mgmt1", "link set mgmt0 up", "link set mgmt1 up"]
    {
        lab.run(node, &format!("ip {words}"));
    }
    let add =
        |address: &str| lab.run(node, &format!("ip address add {address}/32 dev mgmt0 nodad"));
    HIDDEN[..2].iter().for_each(|address| drop(add(address)));
    let hop = &lab.now.plan.layout().unwrap().neighbours(NodeId(1));
    let hop = hop.iter().find(|hop| hop.to == NodeId(0)).unwrap();
    let nic = &lab.now.plan.cluster().node(NodeId(1)).nics[hop.nic].name;
    for address in HIDDEN {
        let ipv4 = !address.contains(':');
        let via = lab.now.plan.addresses().nic[0][hop.to_nic].iter().find(|a| a.is_ipv4() == ipv4);
        let route = format!("{address} via {} dev {nic} onlink", via.unwrap());
        lab.run(beside, &format!("ip route add {route}"));
    }
    let rules = || ["-4", "-6"].map(|family| lab.run(node, &format!("ip {family} rule show")));
    let before = rules();
    let reached = |from: &str| HIDDEN.map(|address| pings(&lab, from, address));
    assert_eq!(reached(beside), [true, true, false]);

    let config = lab.directory.config(node);
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("isolate = true\n{text}")).unwrap();
    assert!(lab.verb(&["kill", node]).1);
    let hidden = |addresses: usize| {
        eventually("the rules are there", 30, || {
            let [ipv4, ipv6] = rules();
            let moved = |rules: &str| {
                rules.starts_with("10:") && rules.contains("90:\tfrom all lookup local")
            };
            let all = ipv4.matches(" blackhole").count() + ipv6.matches(" blackhole").count();
            let nics = lab.now.plan.cluster().node(NodeId(0)).nics.len();
            let done = moved(&ipv4) && moved(&ipv6) && all == nics * (2 + addresses);
            if done { lab.in_sync() } else { Err(format!("{ipv4}{ipv6}")) }
        });
    };
    hidden(2);
    assert_eq!(reached(beside), [false; 3]);
    add(HIDDEN[2]);
    hidden(3);
    // What somebody deletes by hand comes back.
    for rule in
        ["-4 rule delete priority 90", "-6 rule delete priority 90", "-4 rule delete priority 10"]
    {
        lab.run(node, &format!("ip {rule}"));
        hidden(3);
    }
    assert_eq!(reached(beside), [false; 3]);
    // Also while the daemon hangs. The fabric's own addresses are reached, and this node reaches its own.
    assert!(lab.verb(&["kill", "--signal", "stop", node]).1);
    assert_eq!(reached(beside), [false; 3]);
    assert_eq!(reached(node), [true; 3]);
    assert_eq!(silent(&lab), []);
    assert!(lab.verb(&["kill", "--signal", "cont", node]).1);

    // What is judged here is real: without the rules they are reached again.
    std::fs::write(&config, text).unwrap();
    assert!(lab.verb(&["kill", node]).1);
    eventually("the rules are as before", 30, || match rules() {
        now if now == before => lab.in_sync(),
        now => Err(now.concat()),
    });
    assert_eq!(reached(beside), [true; 3]);
}

fn pings(lab: &Lab, from: &str, to: &str) -> bool {
    let to: IpAddr = to.parse().unwrap();
    let ping = lab.inside(from, || {
        let mut ping = Command::new("ping");
        ping.args(["-n", "-c", "2", "-i", "0.2", "-W", "1", &to.to_string()]).stdout(Stdio::null());
        ping.status().unwrap()
    });
    ping.success()
}
