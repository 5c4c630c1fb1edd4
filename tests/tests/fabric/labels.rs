//! Labelled frames that no node of the plan sends reach a node in transit: by the kernel's label routes, and by the packet
//! engine. Judged by what `tcpdump` captures at the switches.

use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pnet::packet::ethernet::{EtherTypes, MutableEthernetPacket};
use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, MutableIpv4Packet};
use pnet::packet::udp::MutableUdpPacket;
use tresse_base::id::{NodeId, SwitchId};
use tresse_base::units::Mac;
use tresse_lab::blueprint::port_name;
use tresse_topology::path::Segment;

use super::lab::{Lab, eventually, file};

pub const TESTS: &[(&str, fn())] = &[("labels_of_strangers_go_nowhere", go_nowhere)];

pub const ROUTED: &[(&str, fn())] =
    &[("routed_labels_of_strangers_go_nowhere_without_vlans", go_nowhere_without_vlans)];

/// What a frame carries, with a number: found in a capture whatever is around it.
const MARK: &str = "tresse-attack-";
/// Not a label of the plan.
const UNKNOWN: u32 = 900_000;

fn go_nowhere() {
    let topology = "kind = \"irregular\", switches = 16, ports = 5, nodes_per_switch = 1, seed = 1";
    // Nodes with even numbers by the kernel, with odd ones by raw sockets.
    let lab = Lab::up(&file(topology, "transit", 1, ""), &["--engine", "mixed"]);
    eventually("in sync", 60, || lab.in_sync());
    for (remainder, engine) in [(0, "kernel"), (1, "packet")] {
        let plan = &lab.now.plan;
        let mut over = plan
            .pairs()
            .map(|(src, dst)| plan.primary(src, dst))
            .filter(|segments| segments.len() == 2 && segments[0].to.index() % 2 == remainder);
        let segments = over.next().expect("a path over one node");
        let node = segments[0].to;
        assert_eq!(lab.status(node).unwrap().engine, engine);
        Scene { lab: &lab, first: segments[0], second: segments[1] }.attack(engine);
        let pairs: Vec<_> = plan.pairs().collect();
        assert_eq!(lab.ping(&pairs), [], "after the attack");
    }
}

/// The same in a flat neighbourhood, by raw sockets at both ends and in between.
fn go_nowhere_without_vlans() {
    let file = "[fabric]\nname = \"t\"\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 2\\n2: 1 2\\n3: 0 3\\n\
                4: 1 3\\n\" }\n[routing]\npaths = 3\n";
    let lab = Lab::up(file, &["--engine", "packet"]);
    eventually("in sync", 60, || lab.in_sync());
    let plan = &lab.now.plan;
    let paths = plan.paths(NodeId(0), NodeId(1));
    let over = paths.iter().find(|path| path.segments.len() == 2).expect("a path over one node");
    let (first, second) = (over.segments[0], over.segments[1]);
    Scene { lab: &lab, first, second }.attack("packet");
    let pairs: Vec<_> = plan.pairs().collect();
    assert_eq!(lab.ping(&pairs), [], "after the attack");
}

/// The two segments of a path over one node in transit, which is under attack from where the first one begins.
struct Scene<'a> {
    lab: &'a Lab,
    first: Segment,
    second: Segment,
}

impl Scene<'_> {
    fn attack(&self, engine: &str) {
        let (lab, plan) = (self.lab, &self.lab.now.plan);
        let node = lab.now.node(self.first.to);
        let interface = &plan.interface(self.first.from, self.first.nic, self.first.tree);
        let label = plan.labels(&[self.first, self.second])[0].0;
        let own = plan.sender(&self.first).mac.0;
        let stranger = [2, 0, 0, 0, 0xbb, 1];

        for words in
            ["link add mgmt0 type veth peer name mgmt1", "link set mgmt0 up", "link set mgmt1 up"]
        {
            lab.run(node, &format!("ip {words}"));
        }
        let management = lab.json(node, "ip -j link show dev mgmt0");
        let management = management[0]["address"].as_str().unwrap().parse::<Mac>().unwrap().0;

        let good = [(label, 64)];
        let deep: Vec<(u32, u8)> =
            std::iter::once((label, 64)).chain((0..29).map(|n| (UNKNOWN + n, 64))).collect();
        let to = plan.receiver(&self.first).mac.0;
        let frames = [
            ("as planned", self.frame(0, to, own, &good)),
            ("from a stranger", self.frame(1, to, stranger, &good)),
            ("an unknown label", self.frame(2, to, own, &[(UNKNOWN, 64)])),
            ("at the end of its life", self.frame(3, to, own, &[(label, 1)])),
            ("after its end", self.frame(4, to, own, &[(label, 0)])),
            ("unknown labels below", self.frame(5, to, own, &deep)),
            ("explicit null", self.frame(6, to, own, &[(0, 64)])),
            ("router alert", self.frame(7, to, own, &[(1, 64), (label, 64)])),
            ("IPv6 explicit null", self.frame(8, to, own, &[(2, 64)])),
            ("implicit null", self.frame(9, to, own, &[(3, 64)])),
        ];
        let mut cut = self.frame(10, to, own, &good);
        cut.truncate(16);
        let (leaves, arrives) = (plan.sender(&self.second), plan.receiver(&self.second));
        let there = Capture::start(lab, self.first.to, (leaves.switch, leaves.port));
        let beyond = Capture::start(lab, self.second.to, (arrives.switch, arrives.port));
        let sent: Vec<&[u8]> = frames.iter().map(|(_, frame)| &**frame).chain([&*cut]).collect();
        send(lab, lab.now.node(self.first.from), interface, &sent, 1);
        let beside = self.frame(11, management, own, &good);
        send(lab, node, "mgmt1", &[&beside], 1);
        // What comes last and passes shows that all before has been seen.
        let last = self.frame(12, to, own, &good);
        send(lab, lab.now.node(self.first.from), interface, &[&last], 1);
        eventually("what may pass has passed", 30, || there.has(12).then_some(()).ok_or("nothing"));
        assert!(there.has(0), "{engine}: what is judged is real");
        // What the next node sends on is seen as late, on a slow machine.
        std::thread::sleep(std::time::Duration::from_secs(2));
        for (number, (what, _)) in frames.iter().enumerate().skip(1) {
            // A label of the plan is popped, whatever is below; the next node knows no label of that.
            let popped = *what == "unknown labels below";
            assert!(popped || !there.has(number), "{engine}: sent on: {what}");
            assert!(!beyond.has(number), "{engine}: sent on by the next node: {what}");
        }
        assert!(!there.has(11), "{engine}: by another NIC");

        // As many as go, for two seconds.
        let pid = lab.daemon(node);
        let before = ticks(pid.as_raw());
        let unknown = self.frame(2, to, own, &[(UNKNOWN, 64)]);
        let rate = send(lab, lab.now.node(self.first.from), interface, &[&unknown], 0);
        let used = ticks(pid.as_raw()) - before;
        eprintln!("{engine}: {rate} unknown labels in 2 s cost the daemon {used} ticks of 10 ms");
        let last = self.frame(13, to, own, &good);
        eventually("frames pass again", 30, || {
            send(lab, lab.now.node(self.first.from), interface, &[&last], 1);
            there.has(13).then_some(()).ok_or("nothing")
        });
        assert!(!there.has(2), "{engine}: sent on: an unknown label");
        if engine == "packet" {
            let lines = lab.client(self.first.to).counters().unwrap().counters;
            let dropped = |why: &str| -> u64 {
                let dropped = lines.iter().filter(|l| l.name == "forward_dropped_frames_total");
                dropped.filter(|line| line.object.ends_with(why)).map(|line| line.value).sum()
            };
            let all: u64 = dropped("");
            eprintln!("{engine}: {all} dropped");
            assert!(all > rate / 2, "dropped and counted: {lines:?}");
        }
        let status = lab.status(self.first.to).unwrap();
        assert!(status.in_sync && status.fault.is_none(), "{status:?}");
        lab.run(node, "ip link delete mgmt0");
    }

    /// A frame with a stack of (label, TTL), the outermost first, and an IPv4 datagram to where the path ends.
    fn frame(&self, number: usize, to: [u8; 6], from: [u8; 6], stack: &[(u32, u8)]) -> Vec<u8> {
        let addresses = &self.lab.now.plan.addresses().node;
        let [src, dst] =
            [self.first.from, self.second.to].map(|node| match addresses[node.index()][0] {
                IpAddr::V4(address) => address,
                IpAddr::V6(_) => unreachable!("the plan has IPv4"),
            });
        let mark = format!("{MARK}{number:02}.");
        let mut udp = vec![0; MutableUdpPacket::minimum_packet_size() + mark.len()];
        let length = udp.len() as u16;
        let mut packet = MutableUdpPacket::new(&mut udp).unwrap();
        packet.set_source(9);
        packet.set_destination(9);
        packet.set_length(length);
        packet.set_payload(mark.as_bytes());
        let mut ip = vec![0; MutableIpv4Packet::minimum_packet_size() + udp.len()];
        let length = ip.len() as u16;
        let mut packet = MutableIpv4Packet::new(&mut ip).unwrap();
        packet.set_version(4);
        packet.set_header_length(5);
        packet.set_total_length(length);
        packet.set_ttl(64);
        packet.set_next_level_protocol(IpNextHeaderProtocols::Udp);
        packet.set_source(src);
        packet.set_destination(dst);
        packet.set_checksum(ipv4::checksum(&packet.to_immutable()));
        packet.set_payload(&udp);
        // Not by our own code, which is what is attacked.
        let entry = |(at, (label, ttl)): (usize, &(u32, u8))| {
            let bottom = u32::from(at + 1 == stack.len());
            (label << 12 | bottom << 8 | u32::from(*ttl)).to_be_bytes()
        };
        let stack = stack.iter().enumerate().flat_map(entry);
        let payload: Vec<u8> = stack.chain(ip).collect();
        let mut frame = vec![0; MutableEthernetPacket::minimum_packet_size() + payload.len()];
        let mut packet = MutableEthernetPacket::new(&mut frame).unwrap();
        packet.set_destination(to.into());
        packet.set_source(from.into());
        packet.set_ethertype(EtherTypes::Mpls);
        packet.set_payload(&payload);
        frame
    }
}

/// Processor time of a process, user and system, in ticks.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    [11, 12].map(|at: usize| fields[at].parse::<u64>().unwrap()).iter().sum()
}

/// Sends frames out of an interface so many times, or as fast as it goes for two seconds if `times` is 0; how many went.
fn send(lab: &Lab, place: &str, interface: &str, frames: &[&[u8]], times: usize) -> u64 {
    let hex = |frame: &&[u8]| frame.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let program = "import socket, sys, time\n\
                   s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
                   s.bind((sys.argv[1], 0))\n\
                   times, count, end = int(sys.argv[2]), 0, time.time() + 2\n\
                   frames = [bytes.fromhex(f) for f in sys.argv[3:]]\n\
                   while count < times * len(frames) if times else time.time() < end:\n\
                   \x20   for f in frames:\n\
                   \x20       try:\n\
                   \x20           s.send(f)\n\
                   \x20           count += 1\n\
                   \x20       except OSError: pass\n\
                   print(count)\n";
    let output = lab.inside(place, || {
        let mut python = Command::new("python3");
        python.args(["-c", program, interface, &times.to_string()]);
        python.args(frames.iter().map(hex)).output().unwrap()
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

/// All frames that a node sends, as `tcpdump` writes them to a file at the switch.
struct Capture {
    tcpdump: Child,
    file: PathBuf,
    _files: tempfile::TempDir,
}

impl Capture {
    fn start(lab: &Lab, node: NodeId, (switch, port): (SwitchId, u32)) -> Self {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("frames");
        let errors = files.path().join("errors");
        let tcpdump = lab.inside(&lab.now.plan.cluster().switch(switch).name, || {
            let mut command = Command::new("tcpdump");
            command.args(["-i", &port_name(port), "-Q", "in", "-U", "-w"]).arg(&file);
            command.stdout(Stdio::null()).stderr(File::create(&errors).unwrap()).spawn().unwrap()
        });
        let capture = Self { tcpdump, file, _files: files };
        eventually("tcpdump listens", 30, || {
            let said = std::fs::read_to_string(&errors).unwrap();
            let words = format!("{}: {said}", lab.now.node(node));
            if said.contains("listening on") { Ok(()) } else { Err(words) }
        });
        capture
    }

    /// Whether the node has sent a frame with this mark.
    fn has(&self, number: usize) -> bool {
        let mark = format!("{MARK}{number:02}.");
        let bytes = std::fs::read(&self.file).unwrap();
        bytes.windows(mark.len()).any(|window| window == mark.as_bytes())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
    }
}
