//! What somebody on a wire of the fabric can do with frames of their own.
//!
//! Sent by Python, judged by `tcpdump`: nothing of ours sends, or says what left.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use pnet::packet::ethernet::{EtherTypes, MutableEthernetPacket};
use pnet::packet::icmpv6::ndp::MutableRouterAdvertPacket;
use pnet::packet::icmpv6::{self, Icmpv6Packet, Icmpv6Types};
use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{MutableIpv4Packet, checksum};
use pnet::packet::ipv6::MutableIpv6Packet;
use pnet::packet::udp::MutableUdpPacket;
use tresse_base::id::NodeId;

use crate::cables::send;
use crate::lab::{Lab, eventually};
use crate::routed::{DUAL, silent};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_by_the_daemon_a_node_is_no_open_router", || is_no_open_router(&[])),
    ("routed_a_script_makes_no_open_router", || is_no_open_router(&["--no-daemon"])),
    ("routed_by_the_daemon_no_router_is_heard_on_a_nic_of_the_fabric", no_router_is_heard),
    ("routed_bfd_a_local_user_of_another_node_ends_no_session", a_local_user_ends_no_session),
    ("routed_by_the_daemon_a_local_user_fills_no_memory", a_local_user_fills_no_memory),
    ("routed_by_the_daemon_a_local_user_keeps_nobody_waiting", a_local_user_keeps_nobody_waiting),
    ("routed_by_the_daemon_a_large_plan_keeps_nobody_waiting", a_large_plan_keeps_nobody_waiting),
];

/// Destination port of all that is sent here: nobody else uses it.
const PORT: u16 = 9;
/// On the management network of the node under attack, and beyond it.
const OUTSIDE: [&str; 6] = [
    "198.51.100.7",
    "192.0.2.99",
    "8.8.8.8",
    "2001:db8:ffff::7",
    "2001:db8:1::99",
    "2606:4700:4700::1111",
];
const FOREIGN: [&str; 2] = ["203.0.113.5", "2001:db8:bad::5"];

/// The node under attack, the one that attacks by a cable between them, and one beyond the first.
struct Scene {
    lab: Lab,
    attacker: NodeId,
    node: NodeId,
    beyond: NodeId,
    /// The attacker's NIC, and the MAC address at the cable's other end.
    nic: String,
    mac: String,
}

fn is_no_open_router(options: &[&str]) {
    let scene = Scene::new(DUAL, options);
    let Scene { lab, node, .. } = &scene;
    let name = lab.now.node(*node);
    assert_eq!(scene.attack(), Gone::default(), "the rules are in force");
    assert_eq!(silent(lab), []);

    // The daemon is stopped, and the rules stay.
    let daemon = options.is_empty().then(|| lab.daemon(name));
    let tell = |signal| daemon.iter().for_each(|daemon| kill(*daemon, signal).unwrap());
    tell(Signal::SIGSTOP);
    assert_eq!(scene.attack(), Gone::default(), "the daemon does not run");

    // Somebody deletes those that drop: now everything leaves, so what is judged here is real.
    let rules = || {
        let shown = ["-4", "-6"].map(|family| lab.run(name, &format!("ip {family} rule show")));
        let shown = shown.iter().flat_map(|text| text.lines());
        shown.filter(|rule| rule.contains("blackhole")).map(str::to_owned).collect::<Vec<_>>()
    };
    let held = rules();
    let nics = lab.now.plan.cluster().node(*node).nics.len();
    assert_eq!(held.len(), 2 * nics, "{held:?}");
    for _ in 0..nics {
        for family in ["-4", "-6"] {
            lab.run(name, &format!("ip {family} rule del priority 779"));
        }
    }
    let all: BTreeSet<IpAddr> = OUTSIDE.iter().map(|to| to.parse().unwrap()).collect();
    assert_eq!(scene.attack(), Gone { outside: all, beyond: true }, "without the rules");

    if daemon.is_some() {
        tell(Signal::SIGCONT);
        eventually("the rules are back", 30, || match rules() {
            now if now == held => Ok(()),
            now => Err(now),
        });
        assert_eq!(scene.attack(), Gone::default(), "the rules are back");
    }
}

/// A router advertisement from a node beside makes no default route, also where the plan has no IPv6.
fn no_router_is_heard() {
    for text in [DUAL, "[fabric]\ntopology = { kind = \"direct-torus\", dims = [3, 2] }\n"] {
        let scene = Scene::new(text, &[]);
        let Scene { lab, node, attacker, nic, mac, .. } = &scene;
        let name = lab.now.node(*node);
        let found = || lab.run(name, "ip -6 route show default proto ra");
        let advertise = || send(lab, lab.now.node(*attacker), nic, &advertisement(mac));
        let heard = || {
            let all = lab.run(name, "cat /proc/net/snmp6");
            let line = all.lines().find(|line| line.starts_with("Icmp6InRouterAdvertisements"));
            line.and_then(|line| line.split_whitespace().nth(1)).unwrap().parse::<u32>().unwrap()
        };
        let before = heard();
        advertise();
        eventually("it came", 10, || if heard() > before { Ok(()) } else { Err(heard()) });
        assert_eq!(found(), "");

        // What is judged here is real: with the kernel's default the route is there.
        kill(lab.daemon(name), Signal::SIGSTOP).unwrap();
        for nic in &lab.now.plan.cluster().node(*node).nics {
            lab.run(name, &format!("sysctl -qw net.ipv6.conf.{}.accept_ra=1", nic.name));
        }
        advertise();
        eventually("the route is there", 10, || match found() {
            route if route.contains("fe80::bad") => Ok(()),
            route => Err(route),
        });
        kill(lab.daemon(name), Signal::SIGCONT).unwrap();
    }
}

/// A router advertisement to all nodes on a cable, by the MAC address of one.
fn advertisement(mac: &str) -> Vec<u8> {
    const ETHERNET: usize = 14;
    let (from, to): (Ipv6Addr, Ipv6Addr) =
        ("fe80::bad".parse().unwrap(), "ff02::1".parse().unwrap());
    let mut bytes = vec![0; ETHERNET + 40 + 16];
    let mut ethernet = MutableEthernetPacket::new(&mut bytes).unwrap();
    ethernet.set_destination(mac.parse().unwrap());
    ethernet.set_source("02:00:00:00:bb:01".parse().unwrap());
    ethernet.set_ethertype(EtherTypes::Ipv6);
    ipv6(&mut bytes[ETHERNET..], from, to);
    let mut packet = MutableIpv6Packet::new(&mut bytes[ETHERNET..]).unwrap();
    packet.set_payload_length(16);
    packet.set_hop_limit(255);
    packet.set_next_header(IpNextHeaderProtocols::Icmpv6);
    let mut advert = MutableRouterAdvertPacket::new(&mut bytes[ETHERNET + 40..]).unwrap();
    advert.set_icmpv6_type(Icmpv6Types::RouterAdvert);
    advert.set_hop_limit(64);
    advert.set_lifetime(1800);
    let sum = icmpv6::checksum(&Icmpv6Packet::new(&bytes[ETHERNET + 40..]).unwrap(), &from, &to);
    bytes[ETHERNET + 42..ETHERNET + 44].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// What BFD listens to, sent by `nobody` from the address of the node beside: it has gone down, as it hears nothing (RFC
/// 5880, section 4.1), and it knows no number of ours.
const FORGED: &str = "
import os, socket, struct, sys, time
os.setgid(65534)
os.setuid(65534)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
s.bind((sys.argv[1], 49160))
for n in range(20):
    packet = struct.pack('!BBBBIIIII', 1 << 5 | 1, 1 << 6, 3, 24, 77 + n, 0, 100000, 100000, 0)
    s.sendto(packet, (sys.argv[2], 3784))
    time.sleep(0.05)
";

fn a_local_user_ends_no_session() {
    let text = "[fabric]\ntopology = { kind = \"full-mesh\", nodes = 4 }\n";
    let lab = Lab::up(text, &["--bfd-ms", "300"]);
    let status = |node| lab.status(node).unwrap();
    let [node, beside] = [0, 1].map(NodeId);
    eventually("all sessions are up", 60, || match status(node) {
        s if s.sessions > 0 && s.sessions_up == s.sessions && s.broken.is_empty() => Ok(()),
        s => Err(format!("{s:?}")),
    });
    let hops = lab.now.plan.layout().unwrap().neighbours(beside);
    let hop = hops.into_iter().find(|hop| hop.to == node).unwrap();
    let nics = &lab.now.plan.addresses().nic;
    let [own, to] = [nics[1][hop.nic][0], nics[0][hop.to_nic][0]].map(|a| a.to_string());
    let mut forger = lab.inside(lab.now.node(beside), || {
        Command::new("python3").args(["-c", FORGED, &own, &to]).spawn().unwrap()
    });
    while forger.try_wait().unwrap().is_none() {
        let now = status(node);
        assert!(now.broken.is_empty() && now.sessions_up == now.sessions, "{now:?}");
    }
    assert!(forger.wait().unwrap().success());
    assert_eq!(silent(&lab), []);
}

/// Fifteen calls of 16 MB each that do not end, sent by `nobody`, and then one that does.
const ENDLESS: &str = r#"
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(sys.argv[1])
    return s
begin = b'{"method":"org.tresse.Node.Apply","parameters":{"cluster":"'
calls = [connect() for n in range(15)]
for s in calls:
    s.sendall(begin)
for n in range(255):
    for s in calls:
        s.sendall(b'a' * 65536)
last = connect()
last.sendall(begin + b'a' * 100000 + b'"}}\0')
sys.stdout.write(last.recv(1000).decode())
"#;

fn a_local_user_fills_no_memory() {
    let text = "[fabric]\ntopology = { kind = \"ring\", nodes = 3 }\n";
    let lab = Lab::up(text, &[]);
    let name = lab.now.node(NodeId(0));
    let most = || -> u64 {
        let status = format!("/proc/{}/status", lab.daemon(name));
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    lab.status(NodeId(0)).unwrap();
    let before = most();
    let socket = lab.directory.socket(name);
    let mut attack = Command::new("python3");
    attack.args(["-c", ENDLESS]).arg(socket).stdout(Stdio::piped());
    let attack = attack.spawn().unwrap();
    let longest = std::thread::scope(|scope| {
        let attack = scope.spawn(|| attack.wait_with_output().unwrap());
        let mut longest = Duration::ZERO;
        while !attack.is_finished() {
            let asked = Instant::now();
            lab.status(NodeId(0)).unwrap();
            longest = longest.max(asked.elapsed());
        }
        let output = attack.join().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && answer.contains("NotPermitted"), "{answer}");
        longest
    });
    let grown = most() - before;
    eprintln!("status took {longest:?} at most, memory grew by {grown} kB");
    assert!(grown < 16 * 1024, "{grown} kB");
}

/// By 16 connections of `nobody`, for 4 s: what the daemon has to look at all paths and all of the kernel for, a new
/// connection for every tenth call. Prints the number of answers.
const RESTLESS: &str = r#"
import os, socket, sys, threading, time
os.setgid(65534)
os.setuid(65534)
end, answers = time.time() + 4, []
def ask(method):
    call = b'{"method":"org.tresse.Node.' + method + b'"}\0'
    while time.time() < end:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(10)
        s.connect(sys.argv[1])
        for n in range(10):
            s.sendall(call)
            part = s.recv(1 << 20)
            while part and not part.endswith(b'\0'):
                part = s.recv(1 << 20)
            if part:
                answers.append(1)
        s.close()
threads = [threading.Thread(target=ask, args=(m,)) for m in [b'Diff', b'ListPaths'] * 8]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(answers))
"#;

fn a_local_user_keeps_nobody_waiting() {
    let text = "[fabric]\ntopology = { kind = \"direct-torus\", dims = [4, 4] }\n";
    let lab = Lab::up(text, &["--bfd-ms", "100"]);
    let socket = lab.directory.socket(lab.now.node(NodeId(0)));
    let begun = Instant::now();
    let mut attack = Command::new("python3");
    let mut attack =
        attack.args(["-c", RESTLESS]).arg(socket).stdout(Stdio::piped()).spawn().unwrap();
    let (mut longest, mut asked) = (Duration::ZERO, 0);
    while attack.try_wait().unwrap().is_none() {
        let at = Instant::now();
        lab.status(NodeId(0)).unwrap();
        longest = longest.max(at.elapsed());
        asked += 1;
    }
    let took = begun.elapsed();
    let output = attack.wait_with_output().unwrap();
    let answered = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    eprintln!("{answered} answers to nobody in {took:.1?}; {asked} to root, at most {longest:.1?}");
    let answered: u128 = answered.parse().unwrap();
    // Twenty at once, and ten a second.
    assert!((20..=21 + took.as_millis() / 100).contains(&answered), "{answered} in {took:?}");
}

/// An operator tries a plan that takes long to compute, of another cluster by mistake.
fn a_large_plan_keeps_nobody_waiting() {
    let lab =
        Lab::up("[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n", &["--bfd-ms", "100"]);
    let large = lab.files.path().join("large.toml");
    let topology = "kind = \"irregular\", switches = 2000, ports = 8, seed = 1";
    let routing = "strategy = \"updown\"\npaths = 2";
    let text = format!("[fabric]\ntopology = {{ {topology} }}\n[routing]\n{routing}\n");
    std::fs::write(&large, text).unwrap();
    let node = lab.now.node(NodeId(0));
    let socket = lab.directory.socket(node).display().to_string();
    let large = large.display().to_string();
    let words = ["apply", "--socket", &socket, "--dry-run", &large].map(str::to_owned);
    let mut apply = lab.command(node, &words).stderr(Stdio::piped()).spawn().unwrap();
    let (mut longest, mut asked, begun) = (Duration::ZERO, 0, Instant::now());
    while apply.try_wait().unwrap().is_none() {
        let at = Instant::now();
        lab.status(NodeId(0)).unwrap();
        longest = longest.max(at.elapsed());
        asked += 1;
    }
    let output = apply.wait_with_output().unwrap();
    let refused = String::from_utf8_lossy(&output.stderr);
    eprintln!("{refused}{:.1?}; {asked} answers, at most {longest:.1?}", begun.elapsed());
    assert!(refused.contains("the plan has no node"), "{refused}");
    // As long as planning takes, if that keeps others waiting.
    assert!(longest < begun.elapsed() / 4, "{longest:?} of {:?}", begun.elapsed());
}

/// What left the node under attack that came from nobody of the fabric, or was for nobody of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Gone {
    /// By the management NIC, to these addresses.
    outside: BTreeSet<IpAddr>,
    /// To another node, with a source that is not of the fabric.
    beyond: bool,
}

impl Scene {
    fn new(text: &str, options: &[&str]) -> Self {
        let lab = Lab::up(text, options);
        if options.is_empty() {
            eventually("in sync", 60, || lab.in_sync());
        }
        let [node, attacker, beyond] = [0, 1, 3].map(NodeId);
        let name = lab.now.node(node);
        for words in [
            "link add mgmt0 type veth peer name mgmt1",
            "link set mgmt0 up",
            "link set mgmt1 up",
            "address add 198.51.100.1/24 dev mgmt0",
            "address add 2001:db8:ffff::1/64 dev mgmt0 nodad",
            "neigh add 198.51.100.254 lladdr 02:00:00:00:00:fe dev mgmt0",
            "neigh add 198.51.100.7 lladdr 02:00:00:00:00:07 dev mgmt0",
            "neigh add 2001:db8:ffff::fe lladdr 02:00:00:00:00:fe dev mgmt0",
            "neigh add 2001:db8:ffff::7 lladdr 02:00:00:00:00:07 dev mgmt0",
            "route add default via 198.51.100.254",
            "-6 route add default via 2001:db8:ffff::fe",
        ] {
            lab.run(name, &format!("ip {words}"));
        }
        let own: Vec<String> =
            lab.now.plan.addresses().nic[0].iter().flatten().map(IpAddr::to_string).collect();
        let known = lab.json(lab.now.node(attacker), "ip -j neigh show nud permanent");
        let known = known.iter().find(|entry| own.iter().any(|own| entry["dst"] == own.as_str()));
        let known = known.expect("a cable joins them");
        let [nic, mac] = ["dev", "lladdr"].map(|key| known[key].as_str().unwrap().to_owned());
        Self { lab, attacker, node, beyond, nic, mac }
    }

    /// Sends frames for other networks, and with sources that are not of the fabric, to the node's NIC.
    fn attack(&self) -> Gone {
        let Self { lab, .. } = self;
        let addresses = &lab.now.plan.addresses().node;
        let [attacker, beyond] = [self.attacker, self.beyond].map(|n| &addresses[n.index()]);
        let foreign = FOREIGN.map(|source| source.parse::<IpAddr>().unwrap());
        let sources = || attacker.iter().copied().chain(foreign);
        let outside = OUTSIDE.iter().map(|to| to.parse::<IpAddr>().unwrap());
        let there =
            [Sniffer::start(lab, self.node, "mgmt0"), Sniffer::start(lab, self.beyond, "any")];
        for to in outside.chain(beyond.iter().copied()) {
            for from in sources().filter(|from| from.is_ipv4() == to.is_ipv4()) {
                send(lab, lab.now.node(self.attacker), &self.nic, &frame(&self.mac, from, to));
            }
        }
        // What comes last and passes shows that all before has been seen.
        let last = "198.51.100.254";
        let program = format!("import socket; socket.socket(2, 2).sendto(b'', ('{last}', {PORT}))");
        lab.inside(lab.now.node(self.node), || {
            assert!(Command::new("python3").args(["-c", &program]).status().unwrap().success());
        });
        let last: IpAddr = last.parse().unwrap();
        let [mut left, arrived] = there.map(|sniffer| {
            let mut seen = Vec::new();
            eventually("what may pass is seen", 30, || {
                seen = sniffer.seen();
                let passes = |(from, to): &(IpAddr, IpAddr)| *to == last || attacker.contains(from);
                let families: BTreeSet<bool> =
                    seen.iter().filter(|p| passes(p)).map(|(from, _)| from.is_ipv4()).collect();
                let done = seen.iter().any(|(_, to)| *to == last) || families.len() == 2;
                if done { Ok(()) } else { Err(seen.clone()) }
            });
            seen
        });
        left.retain(|(_, to)| *to != last);
        Gone {
            outside: left.into_iter().map(|(_, to)| to).collect(),
            beyond: arrived.iter().any(|(from, _)| foreign.contains(from)),
        }
    }
}

/// A frame with an empty UDP datagram.
fn frame(mac: &str, from: IpAddr, to: IpAddr) -> Vec<u8> {
    const ETHERNET: usize = 14;
    const UDP: u16 = 8;
    let header = if from.is_ipv4() { 20 } else { 40 };
    let mut bytes = vec![0; ETHERNET + header + usize::from(UDP)];
    let mut ethernet = MutableEthernetPacket::new(&mut bytes).unwrap();
    ethernet.set_destination(mac.parse().unwrap());
    ethernet.set_source("02:00:00:00:bb:01".parse().unwrap());
    ethernet.set_ethertype(if from.is_ipv4() { EtherTypes::Ipv4 } else { EtherTypes::Ipv6 });
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ipv4(&mut bytes[ETHERNET..], from, to),
        (IpAddr::V6(from), IpAddr::V6(to)) => ipv6(&mut bytes[ETHERNET..], from, to),
        _ => unreachable!("of one family"),
    }
    let mut udp = MutableUdpPacket::new(&mut bytes[ETHERNET + header..]).unwrap();
    udp.set_source(PORT);
    udp.set_destination(PORT);
    udp.set_length(UDP);
    bytes
}

fn ipv4(bytes: &mut [u8], from: Ipv4Addr, to: Ipv4Addr) {
    let mut packet = MutableIpv4Packet::new(bytes).unwrap();
    packet.set_version(4);
    packet.set_header_length(5);
    packet.set_total_length(28);
    packet.set_ttl(64);
    packet.set_next_level_protocol(IpNextHeaderProtocols::Udp);
    packet.set_source(from);
    packet.set_destination(to);
    packet.set_checksum(checksum(&packet.to_immutable()));
}

fn ipv6(bytes: &mut [u8], from: Ipv6Addr, to: Ipv6Addr) {
    let mut packet = MutableIpv6Packet::new(bytes).unwrap();
    packet.set_version(6);
    packet.set_payload_length(8);
    packet.set_hop_limit(64);
    packet.set_next_header(IpNextHeaderProtocols::Udp);
    packet.set_source(from);
    packet.set_destination(to);
}

/// `tcpdump` on an interface of a node.
pub struct Sniffer {
    tcpdump: Child,
    files: tempfile::TempDir,
}

impl Sniffer {
    /// Returns when it listens.
    pub fn start(lab: &Lab, node: NodeId, interface: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let file = |name: &str| Stdio::from(File::create(files.path().join(name)).unwrap());
        let filter = format!("udp dst port {PORT}");
        let tcpdump = lab.inside(lab.now.node(node), || {
            let mut command = Command::new("tcpdump");
            command.args(["-n", "-l", "-i", interface, &filter]);
            command.stdout(file("out")).stderr(file("err")).spawn().unwrap()
        });
        let sniffer = Self { tcpdump, files };
        eventually("tcpdump listens", 30, || {
            let said = std::fs::read_to_string(sniffer.files.path().join("err")).unwrap();
            if said.contains("listening on") { Ok(()) } else { Err(said) }
        });
        sniffer
    }

    /// The length of each packet to an address that came in, on all interfaces.
    pub fn lengths(&self, to: &str) -> Vec<usize> {
        let text = std::fs::read_to_string(self.files.path().join("out")).unwrap();
        let wanted = format!(" > {to}.{PORT}:");
        let packets = text.lines().filter(|line| line.contains(" In ") && line.contains(&wanted));
        // "eth0 In IP 10.77.0.1.40000 > 10.77.0.9.9: UDP, length 7"
        packets.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
    }

    /// Source and destination of each packet.
    fn seen(&self) -> Vec<(IpAddr, IpAddr)> {
        let text = std::fs::read_to_string(self.files.path().join("out")).unwrap();
        let packet = |line: &str| {
            let (from, to) = line.split_once(" > ")?;
            // "IP 10.77.0.1.9 > 8.8.8.8.9: UDP, length 0"
            let address = |word: &str| word.rsplit_once('.')?.0.parse::<IpAddr>().ok();
            Some((address(from.split(' ').next_back()?)?, address(to.split(": ").next()?)?))
        };
        text.lines().filter_map(packet).collect()
    }
}

impl Drop for Sniffer {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
    }
}
