//! Ports that block, go away, or cannot be taken.

use std::time::{Duration, Instant};

use tresse_frame::forward::DropReason;
use tresse_linux::forward::{Config, ForwardError, ForwardingEngine};
use tresse_namespace::{eventually, ip};

use super::pair::{ACROSS, BACK, engine, table};
use super::tap::{Sent, Tap, own};
use crate::cables::cables;

fn tc(words: &str) {
    let output = std::process::Command::new("tc").args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "tc {words}: {output:?}");
}

/// eth1 sends 1 Mbit/s; 3000 frames of 1000 bytes for it, and one in ten for eth0.
pub fn blocked() {
    cables(2);
    tc("qdisc add dev eth1 root tbf rate 1mbit burst 4kb limit 32kb");
    let config =
        Config { buffer_bytes: 100_000, ..Config::new(vec!["eth0".into(), "eth1".into()]) };
    let engine = ForwardingEngine::start(&config, table().into()).unwrap();
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
    let mut across = Vec::new();
    eventually("eth1's buffer is empty", || {
        across.extend(far1.take());
        engine.counters().ports[1].waiting_bytes == 0
    });
    eventually("all that was sent has arrived", || {
        across.extend(far1.take());
        across.len() as u64 == engine.counters().ports[1].sent.frames
    });
    let port = &engine.counters().ports[1];
    assert!(across.is_sorted_by(|a, b| a.sequence < b.sequence), "in order");
    assert_eq!(port.sent.frames + port.dropped(DropReason::BufferFull), 2700, "{port:?}");
    assert!((90_000..=100_000).contains(&port.waiting_bytes_most), "{port:?}");
    assert!(port.spilled.frames > 90 && port.dropped.len() == 1, "{port:?}");
    assert!(start.elapsed() >= Duration::from_millis(800), "shaped, not bypassed");
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
