//! How fast the `packet` engine forwards, beside the kernel's IPv4 forwarding over the same veth
//! pairs in the same run. Needs root and two cores.
//!
//! `cargo run --release -p tresse-linux --example forward -- [ROUNDS] [SECONDS]`, by default 15 and 0.2.
//! Prints one JSON object; of each figure the median over the rounds. Many short rounds, because a
//! virtual machine's host takes its cores away for longer than a round; and at real-time priority
//! (`chrt -r 10`), because others on this machine do.
//!
//! ```text
//! source vs0 --- vf0 node vf1 --- vd0 sink       source vs1 --- vd1 sink, for comparison
//! ```
//!
//! - Rate: a generator on the first core sends 60-byte frames; what arrives is counted by the NIC it
//!   should arrive at, whose host drops it (it is for another MAC). The kernel forwards on the
//!   generator's core, within its calls; the engine pops one label on the second core. `cross` leaves
//!   by vf1, `hairpin` by vf0.
//! - CPU: of the whole process per frame that arrived, the generator's part included; `engine` is
//!   that of the engine's thread alone.
//! - Round trip: one frame there and one back between two blocking sockets on the first core, with
//!   the engine on the second or on the first as well, less the same over the cable vs1 - vd1. Across cores
//!   that includes two wake-ups of a process by another core; `polled` has none, as one process polls both sockets.
//! - TCP: `tcp.rs` says how; `chain.rs` of a source that pushes and a node that pops.

mod chain;
mod host;
mod push;
mod tcp;

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::time::{ClockId, clock_gettime};
use pnet::packet::ethernet::{EtherTypes, MutableEthernetPacket};
use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, MutableIpv4Packet};
use pnet::util::MacAddr;
use serde_json::{Value, json};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tresse_base::id::Label;
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;
use tresse_frame::forward::{ForwardingTable, TableNic, Ttl};
use tresse_frame::mpls;
use tresse_linux::forward::{Config, ForwardingEngine};
use tresse_linux::kernel::nic;
use tresse_linux::sys::packet;

use self::chain::{Chain, Rates};
use self::host::{Host, mac, pin, run};
use self::tcp::Tcp;

/// Where frames end: nobody's.
const NOBODY: Mac = Mac([2, 0x77, 0, 0, 0, 1]);
const FRAME: usize = 60;
const TURNS: usize = 4000;
/// Out of vf1 to the sink, out of vf0 to the source; to nobody, and to who waits for them.
const CROSS: Label = Label(16);
const HAIRPIN: Label = Label(17);
const TO_SINK: Label = Label(18);
const TO_SOURCE: Label = Label(19);

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(15), |a| a.parse())?;
    let seconds: f64 = arguments.next().map_or(Ok(0.2), |a| a.parse())?;
    let scene = Scene::new()?;
    let rounds = (0..rounds)
        .map(|_| scene.round(Duration::from_secs_f64(seconds)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let of = |figure: &dyn Fn(&Round) -> f64| median(rounds.iter().map(figure));
    let rate = |rate: fn(&Round) -> &Rate| -> Value {
        let of = |figure: fn(&Rate) -> f64| median(rounds.iter().map(|r| figure(rate(r))));
        json!({
            "frames_per_second": of(|r| r.rate).round(),
            "offered_per_second": of(|r| r.offered).round(),
            "cpu_ns_per_frame": of(|r| r.cpu_ns).round(),
            "engine_cpu_ns_per_frame": of(|r| r.engine_ns).round(),
        })
    };
    let tcp = |own: usize| {
        json!({
            "kernel_hairpin_bits_per_second": of(&|r| r.tcp[own].kernel).round(),
            "packet_hairpin_bits_per_second": of(&|r| r.tcp[own].packet).round(),
            "packet_to_kernel_hairpin": of(&|r| r.tcp[own].packet / r.tcp[own].kernel),
            "kernel_chain_bits_per_second": of(&|r| r.chain[own].kernel).round(),
            "push_and_pop_chain_bits_per_second": of(&|r| r.chain[own].chain).round(),
            "push_and_pop_to_kernel_chain": of(&|r| r.chain[own].chain / r.chain[own].kernel),
        })
    };
    let report = json!({
        "format": 2,
        "rounds": rounds.len(),
        "frame_bytes": FRAME,
        "kernel_cross": rate(|r| &r.kernel[0]),
        "kernel_hairpin": rate(|r| &r.kernel[1]),
        "packet_cross": rate(|r| &r.packet[0]),
        "packet_hairpin": rate(|r| &r.packet[1]),
        "packet_to_kernel_cross": of(&|r| r.packet[0].rate / r.kernel[0].rate),
        "packet_to_kernel_hairpin": of(&|r| r.packet[1].rate / r.kernel[1].rate),
        "round_trip_us": of(&|r| r.direct_us),
        "added_round_trip_across_cores_us": of(&|r| r.across_us - r.direct_us),
        "added_round_trip_across_cores_polled_us": of(&|r| r.polled_us - r.polled_direct_us),
        "added_round_trip_one_core_us": of(&|r| r.same_us - r.direct_us),
        "tcp": tcp(0),
        "tcp_hosts_with_cores_of_their_own": tcp(1),
    });
    println!("{report:#}");
    Ok(())
}

/// Three hosts: this thread is on the node, one thread each on source and sink.
struct Scene {
    source: Host,
    sink: Host,
    table: Arc<ForwardingTable>,
    /// That of the cable for TCP.
    tcp: Arc<ForwardingTable>,
    chain: Chain,
    /// The MAC of vf0.
    node: Mac,
}

struct Rate {
    rate: f64,
    offered: f64,
    cpu_ns: f64,
    engine_ns: f64,
}

struct Round {
    kernel: [Rate; 2],
    packet: [Rate; 2],
    direct_us: f64,
    across_us: f64,
    same_us: f64,
    polled_us: f64,
    polled_direct_us: f64,
    /// As [`tcp::spread`] without and with cores of their own; `chain` alike.
    tcp: Vec<Tcp>,
    chain: Vec<Rates>,
}

impl Scene {
    fn new() -> anyhow::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNET).context("a network namespace needs root")?;
        let (source, sink) = (Host::new()?, Host::new()?);
        let (s, d) = (source.thread, sink.thread);
        run(&format!("ip link add vf0 type veth peer name vs0 netns {s}"))?;
        run(&format!("ip link add vf1 type veth peer name vd0 netns {d}"))?;
        source.call(move || run(&format!("ip link add vs1 type veth peer name vd1 netns {d}")))?;
        for (host, name) in [(&source, "vs0"), (&source, "vs1"), (&sink, "vd0"), (&sink, "vd1")] {
            host.call(move || run(&format!("ip link set {name} up")))?;
        }
        for (nic, near) in [("vf0", "10.1.0.1/24"), ("vf1", "10.2.0.1/24")] {
            run(&format!("ip link set {nic} up"))?;
            run(&format!("ip addr add {near} dev {nic}"))?;
            for setting in ["forwarding=1", "rp_filter=0", "send_redirects=0"] {
                run(&format!("sysctl -qw net.ipv4.conf.{nic}.{setting}"))?;
            }
        }
        run("sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.send_redirects=0")?;
        run(&format!("ip neigh add 10.1.0.9 lladdr {NOBODY} dev vf0 nud permanent"))?;
        run(&format!("ip neigh add 10.2.0.9 lladdr {NOBODY} dev vf1 nud permanent"))?;
        let (vs0, vd0) = (source.call(move || mac("vs0"))?, sink.call(move || mac("vd0"))?);
        let nics = [(mac("vf0")?, vs0), (mac("vf1")?, vd0)].map(|(mac, far)| TableNic {
            mac,
            mtu_bytes: 1500,
            neighbours: vec![(None, far)],
        });
        let labels =
            [(CROSS, 1, NOBODY), (HAIRPIN, 0, NOBODY), (TO_SINK, 1, vd0), (TO_SOURCE, 0, vs0)];
        let exits = labels.map(|(label, nic, mac)| (label, LabelExit { nic, vid: None, mac }));
        let table = Arc::new(ForwardingTable::new(&nics, exits, Ttl::Propagate)?);
        let tcp = tcp::lay(&source, &sink)?;
        let chain = chain::lay(&source, &sink)?;
        Ok(Self { source, sink, table, tcp, chain, node: nics[0].mac })
    }

    fn round(&self, duration: Duration) -> anyhow::Result<Round> {
        let vs0 = self.source.call(|| mac("vs0"))?;
        let plain = |to: u8| frame(self.node, vs0, None, [10, to, 0, 9]);
        let labelled = |label| frame(self.node, vs0, Some(label), [10, 2, 0, 9]);
        let kernel = [self.rate(plain(2), false, duration)?, self.rate(plain(1), true, duration)?];
        let engine = self.engine(1)?;
        let packet = [
            self.rate(labelled(CROSS), false, duration)?,
            self.rate(labelled(HAIRPIN), true, duration)?,
        ];
        let across_us = self.round_trip(true)?;
        let polled_us = self.polled_round_trip(true)?;
        engine.stop();
        let engine = self.engine(0)?;
        let same_us = self.round_trip(true)?;
        engine.stop();
        let direct_us = self.round_trip(false)?;
        let polled_direct_us = self.polled_round_trip(false)?;
        let (mut tcp, mut chain) = (Vec::new(), Vec::new());
        for own in [false, true] {
            tcp::spread(&self.source, &self.sink, own)?;
            tcp.push(tcp::round(&self.source, &self.sink, &self.tcp, 2 * duration)?);
            chain.push(chain::round(&self.source, &self.sink, &self.chain, 2 * duration)?);
        }
        Ok(Round {
            kernel,
            packet,
            direct_us,
            across_us,
            same_us,
            polled_us,
            polled_direct_us,
            tcp,
            chain,
        })
    }

    /// The engine with one thread, on core number `core`.
    fn engine(&self, core: usize) -> anyhow::Result<ForwardingEngine> {
        pin([core])?;
        let config = Config { threads: 1, ..Config::new(vec!["vf0".into(), "vf1".into()]) };
        Ok(ForwardingEngine::start(&config, self.table.clone())?)
    }

    fn rate(&self, frame: Vec<u8>, back: bool, duration: Duration) -> anyhow::Result<Rate> {
        let arrived = || match back {
            false => self.sink.call(|| received("vd0")),
            true => self.source.call(|| received("vs0")),
        };
        let (before, process) = (arrived()?, clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
        let engine = engine_cpu()?;
        let sent = self.source.call(move || generate(&frame, duration))?;
        let arrived = (arrived()? - before) as f64;
        let process = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)? - process;
        let engine = engine_cpu()? - engine;
        ensure!(arrived > 0.0, "no frame of {sent} arrived");
        let seconds = duration.as_secs_f64();
        Ok(Rate {
            rate: arrived / seconds,
            offered: sent as f64 / seconds,
            cpu_ns: Duration::from(process).as_nanos() as f64 / arrived,
            engine_ns: engine as f64 / arrived,
        })
    }

    /// The median of many round trips between source and sink, in microseconds: labelled and through
    /// the node, or directly.
    fn round_trip(&self, through: bool) -> anyhow::Result<f64> {
        let Ends { near, far, to_sink, to_source, there, back } = self.ends(through)?;
        let echo = self.sink.begin(move || {
            pin([0])?;
            let answer = frame(to_source, mac(far)?, back, [10, 1, 0, 9]);
            let socket = listener(far)?;
            let mut buffer = [0; 256];
            for _ in 0..TURNS {
                nix::unistd::read(&socket, &mut buffer)?;
                socket.send(&answer)?;
            }
            Ok(())
        })?;
        let median = self.source.call(move || {
            pin([0])?;
            let question = frame(to_sink, mac(near)?, there, [10, 2, 0, 9]);
            let socket = listener(near)?;
            std::thread::sleep(Duration::from_millis(50));
            let mut buffer = [0; 256];
            let mut turns = Vec::with_capacity(TURNS);
            for _ in 0..TURNS {
                let start = Instant::now();
                socket.send(&question)?;
                nix::unistd::read(&socket, &mut buffer)?;
                turns.push(start.elapsed().as_secs_f64() * 1e6);
            }
            Ok(median(turns.into_iter()))
        })?;
        echo.recv()??;
        Ok(median)
    }

    /// The same by one process on the first core that polls both sockets.
    fn polled_round_trip(&self, through: bool) -> anyhow::Result<f64> {
        let Ends { near, far, to_sink, to_source, there, back } = self.ends(through)?;
        let (sink, answer) = self.sink.call(move || {
            let socket = listener(far)?;
            socket.set_nonblocking(true)?;
            Ok((socket, frame(to_source, mac(far)?, back, [10, 1, 0, 9])))
        })?;
        self.source.call(move || {
            pin([0])?;
            let source = listener(near)?;
            source.set_nonblocking(true)?;
            let question = frame(to_sink, mac(near)?, there, [10, 2, 0, 9]);
            let mut turns = Vec::with_capacity(TURNS);
            for _ in 0..TURNS {
                let start = Instant::now();
                pass(&source, &question, &sink)?;
                pass(&sink, &answer, &source)?;
                turns.push(start.elapsed().as_secs_f64() * 1e6);
            }
            Ok(median(turns.into_iter()))
        })
    }

    fn ends(&self, through: bool) -> anyhow::Result<Ends> {
        let (near, far) = if through { ("vs0", "vd0") } else { ("vs1", "vd1") };
        let (to_sink, to_source) = match through {
            true => (self.node, self.table.mac(1).context("vf1")?),
            false => (self.sink.call(|| mac("vd1"))?, self.source.call(|| mac("vs1"))?),
        };
        let label = |label| through.then_some(label);
        Ok(Ends { near, far, to_sink, to_source, there: label(TO_SINK), back: label(TO_SOURCE) })
    }
}

/// Between which interfaces frames go there and back, to which MACs and with which labels.
struct Ends {
    near: &'static str,
    far: &'static str,
    to_sink: Mac,
    to_source: Mac,
    there: Option<Label>,
    back: Option<Label>,
}

/// Sends `frame` by one socket and polls the other until it is there.
fn pass(from: &Socket, frame: &[u8], to: &Socket) -> anyhow::Result<()> {
    from.send(frame)?;
    let (sent, mut buffer) = (Instant::now(), [0; 256]);
    loop {
        match nix::unistd::read(to, &mut buffer) {
            Ok(_) => return Ok(()),
            Err(Errno::EAGAIN) => ensure!(sent.elapsed() < Duration::from_secs(2), "nothing came"),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends `frame` on vs0 from the first core for so long; how often.
fn generate(frame: &[u8], duration: Duration) -> anyhow::Result<u64> {
    pin([0])?;
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
    packet::bypass_queueing(socket.as_fd(), true)?;
    packet::bind(socket.as_fd(), nic("vs0")?.ifindex, 0)?;
    let frames = [frame; packet::MOST];
    let (start, mut sent) = (Instant::now(), 0);
    while start.elapsed() < duration {
        sent += packet::send_many(socket.as_fd(), &frames)? as u64;
    }
    Ok(sent)
}

/// A blocking socket that sends by `interface` and hears what comes in there of IP and labels.
fn listener(interface: &str) -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
    SockRef::from(&socket).set_read_timeout(Some(Duration::from_secs(2)))?;
    packet::ignore_outgoing(socket.as_fd())?;
    packet::bind(socket.as_fd(), nic(interface)?.ifindex, EtherTypes::Ipv4.0)?;
    Ok(socket)
}

fn frame(to: Mac, from: Mac, label: Option<Label>, address: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![0; MutableEthernetPacket::minimum_packet_size()];
    if let Some(mut ethernet) = MutableEthernetPacket::new(&mut frame) {
        ethernet.set_destination(MacAddr::from(to.0));
        ethernet.set_source(MacAddr::from(from.0));
        ethernet.set_ethertype(if label.is_some() { EtherTypes::Mpls } else { EtherTypes::Ipv4 });
    }
    frame.extend(mpls::stack(label.as_slice(), 0, 64));
    let mut header = [0; 20];
    if let Some(mut ip) = MutableIpv4Packet::new(&mut header) {
        ip.set_version(4);
        ip.set_header_length(5);
        ip.set_total_length(40);
        ip.set_ttl(64);
        ip.set_next_level_protocol(IpNextHeaderProtocols::Udp);
        ip.set_source([10, 1, 0, 2].into());
        ip.set_destination(address.into());
        ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
    }
    frame.extend(header);
    frame.resize(FRAME, 0);
    frame
}

/// Frames that `interface` has received, in this thread's namespace.
fn received(interface: &str) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let line = text.lines().find_map(|l| l.trim().strip_prefix(interface)?.strip_prefix(':'));
    let frames = line.and_then(|l| l.split_whitespace().nth(1)).context("no such interface")?;
    Ok(frames.parse()?)
}

/// Nanoseconds that the engine's thread has run; 0 when there is none.
fn engine_cpu() -> anyhow::Result<u64> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if std::fs::read_to_string(task.join("comm"))?.starts_with("tresse-fwd") {
            let text = std::fs::read_to_string(task.join("schedstat"))?;
            return Ok(text.split_whitespace().next().context("schedstat")?.parse()?);
        }
    }
    Ok(0)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
