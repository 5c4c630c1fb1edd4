//! A source whose kernel pushes no labels: packets routed to the TUN interface leave behind their
//! labels, and a transit node with the packet engine takes them off again.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use libtest_mimic::Trial;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};
use pnet::packet::ethernet::EtherTypes;
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;
use tresse_frame::forward::{DropReason, ForwardingTable, LabelPath, PushTable, TableNic, Ttl};
use tresse_linux::forward::{Config, ForwardingEngine, Pusher};
use tresse_linux::kernel::{Tun, execute, nic, observe};
use tresse_namespace::{eventually, ip, trial};
use tresse_reconcile::{LinkKind, NEXTHOP_BASE, Operation, PUSH_INTERFACE};

use crate::cables::cables;
use crate::packet::tap::{Tap, own, peer};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("push_labels_what_is_routed_to_the_tun", &[], labelled),
        trial("push_counts_what_has_no_path", &[], counted),
        trial("push_takes_the_tun_away_with_itself", &[], ends),
        trial("push_and_pop_carry_tcp", &[], tcp),
        trial("push_shares_flows_over_two_nics_and_swaps_under_load", &[], shares),
    ]
}

const TO: &str = "10.9.0.2";

/// The TUN interface with a route to each of 10.9.0.2 to 10.9.0.9.
fn tun(mtu: u32) -> Tun {
    ip("addr add 10.9.0.1/32 dev lo");
    let name = || PUSH_INTERFACE.to_owned();
    let alias = "tresse:push".to_owned();
    let (id, via): (_, IpAddr) = (NEXTHOP_BASE, "10.78.0.2".parse().unwrap());
    let mut operations = vec![
        Operation::AddLink {
            name: name(),
            link: LinkKind::Tun,
            mtu,
            alias: alias.clone(),
            mac: None,
        },
        Operation::WriteSysctl {
            key: format!("net/ipv6/conf/{PUSH_INTERFACE}/disable_ipv6"),
            value: "1".into(),
            before: None,
        },
        Operation::SetLinkState { name: name(), up: true },
        Operation::AddNexthop { id, interface: name(), via, labels: Vec::new() },
        Operation::AddGroup { id: id + 1, members: vec![(id, 1)], replace: false },
    ];
    operations.extend((2..10).map(|n| Operation::AddRoute {
        dst: format!("10.9.0.{n}/32").parse().unwrap(),
        metric: 7800,
        group: id + 1,
        src: Some("10.9.0.1".parse().unwrap()),
        mtu: Some(mtu),
        advmss: None,
        replace: false,
    }));
    let mut outcome = execute(&operations);
    assert!(outcome.is_complete(), "{:?}", outcome.errors);
    let link = &observe([]).unwrap().links[PUSH_INTERFACE];
    assert_eq!((link.kind.as_ref(), link.mtu), (Some(&LinkKind::Tun), mtu));
    assert!(link.is_ours() && link.up && link.carrier, "{link:?}");
    outcome.tuns.pop().unwrap()
}

fn path(nic: usize, vid: Option<u16>, mac: Mac, labels: &[u32]) -> LabelPath {
    let labels = labels.iter().copied().map(Label).collect();
    LabelPath { nic, vid: vid.map(Vid), mac, labels, weight: 1 }
}

fn table(routes: &[(&str, Vec<LabelPath>)], nics: usize, mtu_bytes: u32) -> PushTable {
    let nic = |n| TableNic { mac: own(n), mtu_bytes, neighbours: Vec::new() };
    let nics: Vec<TableNic> = (0..nics).map(nic).collect();
    let routes = routes.iter().map(|(to, paths)| (to.parse().unwrap(), paths.clone()));
    PushTable::new(&nics, routes, Ttl::Propagate).unwrap()
}

fn sender() -> UdpSocket {
    UdpSocket::bind("10.9.0.1:4660").unwrap()
}

fn labelled() {
    cables(1);
    let mut far = Tap::open("far0");
    let tagged = path(0, Some(101), peer(3), &[16, 900_000]);
    let routes = [(TO, vec![tagged]), ("10.9.0.3", vec![path(0, None, peer(4), &[17])])];
    let pusher =
        Pusher::start(tun(1492), &["eth0".into()], table(&routes, 1, 1500).into()).unwrap();
    for (to, vid, mac, labels) in
        [(TO, Some(101), peer(3), &[16, 900_000][..]), ("10.9.0.3", None, peer(4), &[17])]
    {
        for length in [8, 1464] {
            sender().send_to(&vec![length as u8; length], (to, 7)).unwrap();
            let seen = far.expect(1);
            assert_eq!((seen[0].vid, seen[0].to, seen[0].from), (vid, mac, own(0)));
            assert_eq!(seen[0].labels(), labels.iter().map(|l| (*l, 64)).collect::<Vec<_>>());
            assert!(seen[0].has_right_udp_checksum(), "{seen:?}");
            assert_eq!(seen[0].last_byte(), length as u8);
        }
    }
    let counters = pusher.counters();
    assert_eq!(counters.tun.received.frames, 4);
    assert_eq!(counters.ports[0].sent.frames, 4);
    assert!(counters.tun.dropped.is_empty() && counters.ports[0].dropped.is_empty());
}

fn counted() {
    cables(1);
    let mut far = Tap::open("far0");
    let routes = [(TO, vec![path(0, Some(101), peer(3), &[16, 17])])];
    let pusher =
        Pusher::start(tun(1500), &["eth0".into()], table(&routes, 1, 1500).into()).unwrap();
    let raw = socket2::Socket::new(
        socket2::Domain::PACKET,
        socket2::Type::DGRAM,
        Some(socket2::Protocol::from(0)),
    )
    .unwrap();
    let index = nix::net::if_::if_nametoindex(PUSH_INTERFACE).unwrap();
    tresse_linux::sys::packet::bind(std::os::fd::AsFd::as_fd(&raw), index, EtherTypes::Ipv4.0)
        .unwrap();
    sender().send_to(&[0; 1472], (TO, 7)).unwrap();
    sender().send_to(&[0; 8], ("10.9.0.9", 7)).unwrap();
    for bytes in [&[0x55; 40][..], &[0x45; 19], &[0x45; 40]] {
        raw.send(bytes).unwrap();
    }
    let dropped = |reason| pusher.counters().tun.dropped(reason);
    eventually("five packets are counted", || pusher.counters().tun.received.frames == 5);
    for (reason, count) in [
        (DropReason::TooBig, 1),
        (DropReason::NoRoute, 1),
        (DropReason::NoIp, 1),
        (DropReason::Truncated, 2),
    ] {
        assert_eq!(dropped(reason), count, "{reason:?} {:?}", pusher.counters());
    }
    far.expect(0);
    // Faster than the thread reads, as the kernel's queue holds one packet: what it did not get is counted, too.
    ip(&format!("link set {PUSH_INTERFACE} txqueuelen 1"));
    let before = pusher.counters().tun.received.frames;
    let sender = sender();
    for _ in 0..20_000 {
        sender.send_to(&[0; 8], (TO, 7)).unwrap();
    }
    let unread = || dropped(DropReason::RingFull);
    eventually("all are counted", || {
        pusher.counters().tun.received.frames - before + unread() == 20_000
    });
    assert!(unread() > 0);
}

fn ends() {
    cables(1);
    let routes = [(TO, vec![path(0, None, peer(3), &[16])])];
    let pusher =
        Pusher::start(tun(1496), &["eth0".into()], table(&routes, 1, 1500).into()).unwrap();
    // A second route, as the kernel's own way out once the first is gone (K1).
    ip(&format!("route add {TO} dev eth0 metric 7801"));
    let first = || ip(&format!("route get {TO}"));
    assert!(first().contains(PUSH_INTERFACE), "{}", first());
    drop(pusher);
    eventually("the kernel falls back", || first().contains("eth0"));
    let seen = observe([]).unwrap();
    assert!(!seen.links.contains_key(PUSH_INTERFACE) && seen.nexthops.is_empty());
    // Somebody else deletes the interface.
    ip("addr del 10.9.0.1/32 dev lo");
    let pusher =
        Pusher::start(tun(1496), &["eth0".into()], table(&routes, 1, 1500).into()).unwrap();
    assert!(pusher.runs());
    ip(&format!("link del {PUSH_INTERFACE}"));
    eventually("the thread ends", || !pusher.runs());
}

fn shares() {
    cables(2);
    let (mut far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    let routes = |label| {
        vec![(TO, vec![path(0, None, peer(1), &[label]), path(1, None, peer(2), &[label + 1])])]
    };
    let interfaces = ["eth0".to_owned(), "eth1".to_owned()];
    let swapped = table(&routes(16), 2, 1500).into();
    let mut pusher = Pusher::start(tun(1496), &interfaces, swapped).unwrap();
    let sockets: Vec<UdpSocket> =
        (0..64).map(|n| UdpSocket::bind(("10.9.0.1", 5000 + n)).unwrap()).collect();
    let mut seen = [0, 0];
    let mut sent = 0;
    for round in 0..20 {
        for socket in &sockets {
            socket.send_to(&[round; 18], (TO, 7)).unwrap();
            sent += 1;
        }
        pusher
            .swap(&interfaces, table(&routes(16 + 2 * u32::from(round)), 2, 1500).into())
            .unwrap();
        // The TUN interface queues 500 packets.
        let last = round == 19;
        eventually("what was sent arrives", || {
            seen[0] += far0.take().len();
            seen[1] += far1.take().len();
            seen[0] + seen[1] + if last { 0 } else { 300 } >= sent
        });
    }
    assert!(seen.iter().all(|count| *count > sent / 4), "{seen:?} of {sent}");
    assert!(pusher.counters().ports.iter().all(|port| port.dropped.is_empty()));
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace of its own, which lasts as long as this.
struct Host {
    thread: Pid,
    jobs: Sender<Job>,
}

impl Host {
    fn new() -> Self {
        let ((jobs, todo), (ready, started)) = (channel::<Job>(), channel());
        std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            ready.send(gettid()).unwrap();
            todo.into_iter().for_each(|job| job());
        });
        Self { thread: started.recv().unwrap(), jobs }
    }

    fn call<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        self.jobs.send(Box::new(move || drop(done.send(job())))).unwrap();
        result.recv().unwrap()
    }
}

/// `source -- eth0 | far0 transit out0 | in0 -- sink`; what comes back, the kernel forwards.
fn tcp() {
    const BYTES: usize = 20_000_000;
    cables(1);
    let (transit, sink) = (Host::new(), Host::new());
    let (t, s) = (transit.thread, sink.thread);
    ip(&format!("link set far0 netns {t}"));
    let far = transit.call(move || {
        ip(&format!("link add out0 type veth peer name in0 netns {s}"));
        for name in ["far0", "out0"] {
            ip(&format!("link set {name} up"));
            std::fs::write(format!("/proc/sys/net/ipv4/conf/{name}/forwarding"), "1").unwrap();
        }
        (nic("far0").unwrap().mac.unwrap(), nic("out0").unwrap().mac.unwrap())
    });
    let end = sink.call(move || {
        ip("link set in0 up");
        ip("link set lo up");
        ip(&format!("addr add {TO}/32 dev in0"));
        ip(&format!("neigh add 10.9.0.1 lladdr {} dev in0 nud permanent", far.1));
        ip("route add 10.9.0.1 dev in0 mtu 1496");
        nic("in0").unwrap().mac.unwrap()
    });
    let source = own(0);
    let engine = transit.call(move || {
        ip(&format!("neigh add 10.9.0.1 lladdr {source} dev far0 nud permanent"));
        ip("route add 10.9.0.1 dev far0");
        ip(&format!("route add {TO} dev out0"));
        let nics = [
            TableNic { mac: far.0, mtu_bytes: 1500, neighbours: vec![(None, source)] },
            TableNic { mac: far.1, mtu_bytes: 1500, neighbours: Vec::new() },
        ];
        let exit = LabelExit { nic: 1, vid: None, mac: end };
        let table = ForwardingTable::new(&nics, [(Label(16), exit)], Ttl::Propagate).unwrap();
        ForwardingEngine::start(&Config::new(vec!["far0".into(), "out0".into()]), table.into())
            .unwrap()
    });
    for setting in ["all/rp_filter", "eth0/rp_filter"] {
        std::fs::write(format!("/proc/sys/net/ipv4/conf/{setting}"), "0").unwrap();
    }
    let routes = [(TO, vec![path(0, None, far.0, &[16])])];
    let pusher =
        Pusher::start(tun(1496), &["eth0".into()], table(&routes, 1, 1500).into()).unwrap();
    let (listening, listened) = channel();
    sink.jobs
        .send(Box::new(move || {
            let listener = TcpListener::bind((TO, 7801)).unwrap();
            listening.send(None).unwrap();
            let mut stream = listener.accept().unwrap().0;
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            stream.write_all(b"done").unwrap();
            listening.send(Some(bytes)).unwrap();
        }))
        .unwrap();
    listened.recv().unwrap();
    let mut stream = TcpStream::connect((TO, 7801)).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let sent: Vec<u8> = (0..BYTES).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect();
    let written = stream.write_all(&sent);
    assert!(written.is_ok(), "{written:?} {:#?} {:#?}", pusher.counters(), {
        let text = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        (engine.counters(), text("dev"), text("tcp"), text("snmp"))
    });
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"done");
    assert!(listened.recv().unwrap() == Some(sent), "every byte in its place");
    let (pushed, popped) = (pusher.counters(), engine.counters());
    assert!(pushed.tun.dropped.is_empty() && pushed.ports[0].dropped.is_empty(), "{pushed:?}");
    assert!(popped.ports[0].dropped.is_empty(), "{popped:?}");
    let frames = pushed.ports[0].sent.frames;
    assert!(frames as usize >= BYTES / 1444, "cut into segments of 1444: {pushed:?}");
    assert!(pushed.tun.received.frames < frames / 4, "from fewer packets: {pushed:?}");
}
