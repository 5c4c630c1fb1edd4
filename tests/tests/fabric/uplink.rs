//! The uplink of a flat neighbourhood on any kernel: a `tressed` per node, plain bridges as switches.
//!
//! Judged by `ping`, by `bridge -j`, and by raw sockets on the ports of the uplink switch.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use pnet::packet::ethernet::{EtherType, MutableEthernetPacket};
use serde_json::Value;
use tempfile::NamedTempFile;
use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_frame::announce::{ETHERTYPE, GROUP};
use tresse_tests::program;

use crate::cables::send;
use crate::lab::{Lab, eventually};
use crate::routed::silent;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_uplink_carries_announcements_and_multicast_and_no_unicast", || {
        carries_multicast_and_no_unicast(FILE, &["u0", "s0-u0"]);
    }),
    ("routed_folded_uplink_carries_the_same", || {
        let folded = FILE.replace("uplink = \"u0\"", "uplink = \"s3\"");
        let (folded, _) = folded.rsplit_once("[[switch]]").unwrap();
        carries_multicast_and_no_unicast(folded, &["s0-s3"]);
    }),
    ("routed_broadcasts_from_outside_are_counted_and_named", || {
        broadcasts_are_named();
    }),
];

/// In the virtual machine, whose kernel has the filter that doctor offers.
pub const SWITCHED: Tests = &[("broadcasts_from_outside_are_dropped_as_doctor_says", || {
    let (lab, fix) = broadcasts_are_named();
    let dropped = || lab.run("n3", "tc -s filter show dev eth0 ingress pref 7900");
    for command in fix.split(" && ") {
        lab.run("n3", command);
    }
    send_arp(&lab, 20);
    eventually("the filter drops them", 10, || {
        let text = dropped();
        if text.contains("dropped 20,") { Ok(()) } else { Err(text) }
    });
    assert_eq!(silent(&lab), []);
})];

const OUTSIDER: &str = "02:00:5e:00:53:09";

/// Somebody outside asks for addresses by ARP, through the uplink. Returns what doctor offers against it.
fn broadcasts_are_named() -> (Lab, String) {
    let lab = Lab::up(FILE, &["--engine", "packet", "--source", "tun"]);
    eventually("in sync", 60, || lab.in_sync());
    send_arp(&lab, 200);
    let heard = || {
        let list = lab.client(NodeId(3)).neighbours().unwrap();
        let nic = list.nics.into_iter().find(|nic| nic.name == "eth0").unwrap();
        let named = nic.broadcasters.iter().any(|line| {
            line.mac == OUTSIDER
                && line.node.is_none()
                && line.kind == "ARP of 192.0.2.9 for 192.0.2.1"
        });
        // Of many in a second few are read, and all are counted.
        let fine = nic.broadcasts >= 200 && nic.broadcasts_a_minute >= 200 && named;
        if fine { Ok(()) } else { Err(format!("{nic:?}")) }
    };
    eventually("all are counted, their sender named", 20, heard);
    let counters = lab.client(NodeId(3)).counters().unwrap().counters;
    let counted = counters
        .iter()
        .find(|of| (of.name.as_str(), of.object.as_str()) == ("broadcasts_received_total", "eth0"));
    assert!(counted.unwrap().value >= 200);
    let (file, socket) = (lab.cluster_file(&lab.now), lab.directory.socket("n3"));
    let output = lab.inside("n3", || {
        let mut command = Command::new(program::tresse());
        command.env("TRESSE_SOCKET", socket).args(["--json", "doctor", "--node", "n3", "--local"]);
        command.arg(file).output().unwrap()
    });
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = said["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["check"] == "broadcast")
        .unwrap();
    let cause = finding["cause"].as_str().unwrap();
    assert!(cause.contains(OUTSIDER) && cause.contains("no part of the plan"), "{cause}");
    let fix = finding["fix"].as_str().unwrap();
    let fix = fix.split_once("drop them here: ").unwrap().1.to_owned();
    assert!(fix.contains(OUTSIDER) && fix.contains("dev eth0 ingress pref 7900"), "{fix}");
    (lab, fix)
}

/// Sends ARP requests of somebody who is no part of the plan into the uplink switch.
fn send_arp(lab: &Lab, count: u32) {
    let frame = "ffffffffffff02005e005309080600010800060400010200\
                 5e005309c0000209000000000000c0000201";
    let program = "import socket, sys\n\
                   s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
                   s.bind((sys.argv[1], 0))\n\
                   for _ in range(int(sys.argv[3])): s.send(bytes.fromhex(sys.argv[2]))\n";
    let port = "eth0";
    let sent = lab.inside("n0", || {
        Command::new("python3").args(["-c", program, port, frame, &count.to_string()]).status()
    });
    assert!(sent.unwrap().success());
}

/// The example: six nodes, of which no two opposite ones share a switch.
const FILE: &str = include_str!("../../../configs/flat-uplink.toml");

/// All pairs ping, opposite ones through third nodes, and nothing of it crosses the uplink; a datagram to
/// a group reaches a node that shares no switch with its sender. Nothing needs the `parts` that fail then.
fn carries_multicast_and_no_unicast(file: &str, parts: &[&str]) {
    let options = ["--engine", "packet", "--source", "tun", "--announce-seconds", "2"];
    let lab = Lab::up(file, &options);
    eventually("in sync", 60, || lab.in_sync());
    eventually("every switch knows every NIC", 60, || known_everywhere(&lab));
    let uplink = Uplink::listen(&lab);
    assert_eq!(silent(&lab), []);
    assert_eq!(silent(&lab), []);
    let (from, to) = (NodeId(0), NodeId(3));
    assert_eq!(lab.now.plan.primary(from, to).len(), 2, "no switch is shared");
    multicast(&lab, from, to);
    // What no switch has heard of crosses it: so the sockets hear unicast where there is some.
    let nobody = Mac([2, 0, 0x5e, 0, 0x53, 1]);
    let nic = &lab.now.plan.cluster().node(from).nics[0];
    let mut frame = [0; 60];
    let mut ethernet = MutableEthernetPacket::new(&mut frame).unwrap();
    ethernet.set_destination(nobody.0.into());
    ethernet.set_source(nic.mac.0.into());
    // The second EtherType for experiments: no announcement.
    ethernet.set_ethertype(EtherType(ETHERTYPE + 1));
    send(&lab, lab.now.node(from), &nic.name, &frame);
    let ports = lab.now.plan.cluster().links.len();
    eventually("announcements on every port, the datagram and the frame to nobody", 30, || {
        let heard = uplink.heard();
        let of = |frame: &&Frame| frame.to == GROUP.to_string() && frame.ethertype == ETHERTYPE;
        let on: BTreeSet<String> = heard.iter().filter(of).map(|f| f.port.clone()).collect();
        let to = |mac: &str| heard.iter().any(|frame| frame.to == mac);
        let seen = (on.len(), to("01:00:5e:01:02:03"), to(&nobody.to_string()));
        if seen == (ports, true, true) { Ok(()) } else { Err(seen) }
    });
    let heard = uplink.end();
    let planned = |frame: &&Frame| !frame.is_group() && frame.to != nobody.to_string();
    let unicast: Vec<&Frame> = heard.iter().filter(planned).collect();
    assert!(unicast.is_empty(), "{} of {}: {unicast:?}", unicast.len(), heard.len());
    for object in parts {
        assert!(lab.verb(&["fail", object]).1);
        assert_eq!(silent(&lab), [], "without {object}");
        assert!(lab.verb(&["heal", object]).1);
    }
}

/// Has every switch learned the MAC of every NIC?
fn known_everywhere(lab: &Lab) -> Result<(), String> {
    let cluster = lab.now.plan.cluster();
    let nics = || cluster.nodes.iter().flat_map(|node| &node.nics);
    for switch in &cluster.switches {
        let table = lab.json(&switch.name, "bridge -j fdb show br br0");
        let known: BTreeSet<&str> =
            table.iter().filter_map(|entry| entry["mac"].as_str()).collect();
        let missing = nics().find(|nic| !known.contains(nic.mac.to_string().as_str()));
        if let Some(nic) = missing {
            return Err(format!("{} does not know {}", switch.name, nic.mac));
        }
    }
    Ok(())
}

/// A frame that came into the uplink switch.
#[derive(Debug)]
struct Frame {
    port: String,
    to: String,
    #[expect(dead_code, reason = "for the message")]
    from: String,
    ethertype: u16,
}

impl Frame {
    fn is_group(&self) -> bool {
        u8::from_str_radix(&self.to[..2], 16).unwrap() & 1 == 1
    }
}

/// Listens on every port of the uplink switch, to what comes in.
struct Uplink {
    child: Child,
    output: NamedTempFile,
}

impl Uplink {
    /// Returns when it hears.
    fn listen(lab: &Lab) -> Self {
        let cluster = lab.now.plan.cluster();
        let switch = &cluster.switch(cluster.uplink().unwrap()).name;
        let output = NamedTempFile::new().unwrap();
        let written = output.reopen().unwrap();
        let child = lab.inside(switch, || {
            let mut python = Command::new("python3");
            python.args(["-c", LISTEN]).stdout(written);
            python.args(cluster.links.iter().map(|link| format!("p{}", link.b.port)));
            python.spawn().unwrap()
        });
        let uplink = Self { child, output };
        eventually("raw sockets on the uplink", 30, || {
            if uplink.text().starts_with("ready") { Ok(()) } else { Err(uplink.text()) }
        });
        uplink
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.output.path()).unwrap()
    }

    fn heard(&self) -> Vec<Frame> {
        let text = self.text();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let frame = |line: &str| {
            let frame: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| frame[key].as_str().unwrap().to_owned();
            let ethertype = u16::try_from(frame["ethertype"].as_u64().unwrap()).unwrap();
            Frame { port: text("port"), to: text("to"), from: text("from"), ethertype }
        };
        whole.lines().skip(1).map(frame).collect()
    }

    fn end(mut self) -> Vec<Frame> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.heard()
    }
}

const LISTEN: &str = r#"
import json, select, socket, sys
ALL, OUTGOING = 3, 4
sockets = []
for port in sys.argv[1:]:
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.bind((port, ALL))
    sockets.append(s)
print("ready", flush=True)
mac = lambda octets: ":".join("%02x" % octet for octet in octets)
while True:
    for s in select.select(sockets, [], [])[0]:
        frame, (port, _, kind, _, _) = s.recvfrom(2048)
        if kind != OUTGOING:
            ethertype = int.from_bytes(frame[12:14], "big")
            reported = {"port": port, "to": mac(frame[:6]), "from": mac(frame[6:12]), "ethertype": ethertype}
            print(json.dumps(reported), flush=True)
"#;

/// A datagram to 239.1.2.3 out of the first NIC of one node arrives at the first NIC of another.
fn multicast(lab: &Lab, from: NodeId, to: NodeId) {
    let nic = |node: NodeId| lab.now.plan.cluster().node(node).nics[0].name.clone();
    let mut receiver = lab.inside(lab.now.node(to), || {
        let mut python = Command::new("python3");
        python.args(["-c", RECEIVE, &nic(to)]).stdout(Stdio::piped()).spawn().unwrap()
    });
    eventually("the datagram arrives", 25, || {
        let sent = lab.inside(lab.now.node(from), || {
            let own = lab.address(from).to_string();
            Command::new("python3").args(["-c", SEND, &nic(from), &own]).status().unwrap()
        });
        assert!(sent.success());
        receiver.try_wait().unwrap().map(drop).ok_or("nothing")
    });
    let output = receiver.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "to all\n");
}

const RECEIVE: &str = r#"
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
s.bind(("239.1.2.3", 5007))
group = socket.inet_aton("239.1.2.3") + bytes(4) + struct.pack("@i", socket.if_nametoindex(sys.argv[1]))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
print(s.recv(100).decode())
"#;

const SEND: &str = r#"
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[2], 0))
out = bytes(8) + struct.pack("@i", socket.if_nametoindex(sys.argv[1]))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, out)
s.sendto(b"to all", ("239.1.2.3", 5007))
"#;
