//! Ports that block, go away, or cannot be taken.

use std::time::{Duration, Instant};

use tresse_frame::forward::DropReason;
use tresse_linux::forward::{Config, ForwardError, ForwardingEngine, TransitBuffer};
use tresse_namespace::{eventually, ip};

use super::pair::{ACROSS, BACK, engine, on_one_processor, table};
use super::tap::{Sent, Tap, own};
use crate::cables::cables;

fn tc(words: &str) {
    let output = std::process::Command::new("tc").args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "tc {words}: {output:?}");
}

/// An engine of one thread with this memory for what waits.
fn one_thread(memory_bytes: u64, wait: Duration) -> ForwardingEngine {
    let config = Config::new(vec!["eth0".into(), "eth1".into()]);
    let buffer = TransitBuffer { memory_bytes, wait };
    let config = Config { threads: 1, buffer, ..config };
    ForwardingEngine::start(&config, table().into()).unwrap()
}

/// Sends frames of 1000 bytes from far0, no faster than they are received.
fn burst(engine: &ForwardingEngine, far0: &Tap, label: u32, sequences: std::ops::Range<u32>) {
    let received = || engine.counters().ports[0].received.frames;
    let mut expected = received();
    let sequences: Vec<u32> = sequences.collect();
    for some in sequences.chunks(500) {
        for sequence in some {
            let labels = [label];
            let sent = Sent::new(own(0), *sequence);
            far0.send(&[Sent { vid: Some(100), labels: &labels, length: 954, ..sent }.frame()]);
        }
        expected += some.len() as u64;
        eventually("the engine has received it", || received() == expected);
    }
}

/// eth1 sends 1 Mbit/s; 3000 frames of 1000 bytes for it, and one in ten for eth0.
pub fn blocked() {
    on_one_processor();
    cables(2);
    tc("qdisc add dev eth1 root tbf rate 1mbit burst 4kb limit 32kb");
    let engine = one_thread(256 * 1024, Duration::from_secs(60));
    let (mut far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    let start = Instant::now();
    for sequence in 0..3000 {
        let labels = if sequence % 10 == 9 { &[BACK] } else { &[ACROSS] };
        let sent = Sent { vid: Some(100), labels, length: 954, ..Sent::new(own(0), sequence) };
        far0.send(&[sent.frame()]);
    }
    let back = far0.expect(300);
    assert!(engine.counters().ports[1].waiting_bytes > 0, "eth1 is still busy");
    assert!(back.iter().map(|s| s.sequence).eq((0..300).map(|n| 10 * n + 9)));
    let across = drained(&engine, &mut far1);
    let port = &engine.counters().ports[1];
    assert!(across.is_sorted(), "in order");
    assert_eq!(across.last(), Some(&2998), "the oldest are dropped");
    assert_eq!(port.sent.frames + port.dropped(DropReason::BufferFull), 2700, "{port:?}");
    assert!((200_000..=256 * 1024).contains(&port.waiting_bytes_most), "{port:?}");
    assert!(port.spilled.frames > 200 && port.dropped.len() == 1, "{port:?}");
    assert!(start.elapsed() >= Duration::from_millis(800), "shaped, not bypassed");
}

/// What arrives at the other end of eth1, until nothing waits for it.
fn drained(engine: &ForwardingEngine, far1: &mut Tap) -> Vec<u32> {
    let mut across = Vec::new();
    eventually("eth1's buffer is empty", || {
        across.extend(far1.take());
        engine.counters().ports[1].waiting_bytes == 0
    });
    eventually("all that was sent has arrived", || {
        across.extend(far1.take());
        across.len() as u64 == engine.counters().ports[1].sent.frames
    });
    across.iter().map(|seen| seen.sequence).collect()
}

/// A burst of 8 MiB into a NIC that stands still and then sends 100 Mbit/s, by the engine's own
/// measures.
pub fn spilled() {
    on_one_processor();
    cables(2);
    tc("qdisc add dev eth1 root tbf rate 8kbit burst 2kb limit 4kb");
    let engine = one_thread(64 << 20, Duration::from_secs(60));
    let (far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    burst(&engine, &far0, ACROSS, 0..8389);
    let waiting = engine.counters().ports[1].waiting_bytes;
    assert!(waiting > 8_000_000, "{waiting} wait");
    tc("qdisc change dev eth1 root tbf rate 100mbit burst 16kb limit 64kb");
    let across = drained(&engine, &mut far1);
    assert!(across.iter().copied().eq(0..8389), "{} have arrived", across.len());
    let port = &engine.counters().ports[1];
    assert!(port.dropped.is_empty(), "{port:?}");
}

/// eth1 stands still and fills the memory; then eth0 needs its half of it.
pub fn shared() {
    on_one_processor();
    cables(2);
    for nic in ["eth0", "eth1"] {
        tc(&format!("qdisc add dev {nic} root tbf rate 8kbit burst 2kb limit 4kb"));
    }
    let engine = one_thread(1 << 20, Duration::from_secs(60));
    let mut far0 = Tap::open("far0");
    burst(&engine, &far0, ACROSS, 0..1500);
    let full = engine.counters().ports[1].clone();
    assert!((900_000..=1 << 20).contains(&full.waiting_bytes), "{full:?}");
    assert!(full.dropped(DropReason::BufferFull) > 400, "{full:?}");
    burst(&engine, &far0, BACK, 5000..5400);
    tc("qdisc change dev eth0 root tbf rate 10mbit burst 4kb limit 8kb");
    let back = far0.expect(400);
    assert!(back.iter().map(|seen| seen.sequence).eq(5000..5400));
    let ports = engine.counters().ports;
    assert!(ports[0].dropped.is_empty(), "{:?}", ports[0]);
    assert!((450_000..900_000).contains(&ports[1].waiting_bytes), "{:?}", ports[1]);
}

/// What waits for too long is dropped, and makes room.
pub fn waited() {
    cables(2);
    tc("qdisc add dev eth1 root tbf rate 8kbit burst 2kb limit 4kb");
    let engine = one_thread(1 << 20, Duration::from_millis(200));
    let far0 = Tap::open("far0");
    burst(&engine, &far0, ACROSS, 0..100);
    let waiting = || engine.counters().ports[1].waiting_bytes;
    let began = Instant::now();
    eventually("nothing waits", || waiting() == 0);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let port = &engine.counters().ports[1];
    assert!(port.dropped(DropReason::WaitedTooLong) > 80, "{port:?}");
    assert_eq!(port.sent.frames + port.dropped(DropReason::WaitedTooLong), 100, "{port:?}");
}

pub fn gone() {
    cables(2);
    let mut engine = engine();
    let mac = own(1);
    let mut far0 = Tap::open("far0");
    let to_eth0 = own(0);
    let send = |far0: &Tap, label: u32, sequence| {
        let labels = [label];
        far0.send(&[Sent { labels: &labels, ..Sent::new(to_eth0, sequence) }.frame()]);
    };
    ip("link set eth1 down");
    eventually("eth1 is reported", || !engine.counters().ports[1].running);
    send(&far0, ACROSS, 1);
    send(&far0, BACK, 2);
    assert_eq!(far0.expect(1)[0].sequence, 2);
    assert_eq!(engine.counters().ports[1].dropped(DropReason::SendError), 1);
    ip("link set eth1 up");
    let mut far1 = Tap::open("far1");
    assert!(engine.refresh().is_empty());
    assert!(engine.counters().ports[1].running);
    send(&far0, ACROSS, 3);
    assert_eq!(far1.expect(1)[0].sequence, 3);

    ip("link del eth1");
    drop(far1);
    eventually("eth1 is reported", || !engine.counters().ports[1].running);
    send(&far0, ACROSS, 4);
    send(&far0, BACK, 5);
    assert_eq!(far0.expect(1)[0].sequence, 5);
    let errors = engine.refresh();
    assert!(matches!(&errors[..], [ForwardError::NoNic { interface, .. }] if interface == "eth1"));
    ip(&format!("link add eth1 address {mac} type veth peer name far1"));
    ip("link set eth1 up");
    ip("link set far1 up");
    let mut far1 = Tap::open("far1");
    assert!(engine.refresh().is_empty());
    send(&far0, ACROSS, 6);
    assert_eq!(far1.expect(1)[0].sequence, 6);
    far1.send(&[Sent { labels: &[BACK], ..Sent::new(mac, 7) }.frame()]);
    assert_eq!(far0.expect(1)[0].sequence, 7, "it receives as well");
    engine.stop();
}

pub fn refused() {
    cables(2);
    let start = |interfaces: [&str; 2]| {
        let config = Config::new(interfaces.map(str::to_owned).into());
        ForwardingEngine::start(&config, table().into()).map(drop)
    };
    let error = start(["eth0", "none"]).unwrap_err();
    assert!(matches!(error, ForwardError::NoNic { .. }) && error.to_string().contains("none"));
    let error = start(["eth0", "far1"]).unwrap_err();
    assert!(matches!(error, ForwardError::Mac { .. }) && error.to_string().contains("far1"));
    let one = Config::new(vec!["eth0".into()]);
    let error = ForwardingEngine::start(&one, table().into()).map(drop);
    assert!(matches!(error, Err(ForwardError::Nics { table: 2, engine: 1 })));
    let none = Config::new(Vec::new());
    assert!(ForwardingEngine::start(&none, table().into()).is_err());
}
