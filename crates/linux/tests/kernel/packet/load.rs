//! Table swaps under a load of numbered frames.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pnet::packet::ethernet::EtherTypes;
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;
use tresse_frame::forward::{ForwardingTable, Ttl};

use super::pair::{engine, nics};
use super::tap::{Seen, Sent, Tap, own, peer};
use crate::cables::cables;

/// Frames that may be under way: fewer than a kernel's own queue holds for a core.
const WINDOW: u64 = 768;
/// Changes its NIC with every swap.
const MOVING: u32 = 20;
const LABELS: [u32; 5] = [16, 17, 18, 19, MOVING];

/// `FORWARD_SECONDS` and `FORWARD_RATE` (frames a second) make it longer and faster; a rate that was
/// asked for must be reached. Prints the rate.
pub fn swaps() {
    let setting =
        |name, default| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let duration = Duration::from_secs(setting("FORWARD_SECONDS", 2));
    let rate = setting("FORWARD_RATE", 20_000);
    cables(2);
    let engine = engine();
    engine.swap(at(0).into()).unwrap();
    let mut taps = [Tap::open("far0"), Tap::open("far1")];
    let frames: Vec<_> = [0, 1].map(|nic| LABELS.map(|label| frame(nic, label))).into();
    let macs = [own(0), own(1)];
    let mut last = BTreeMap::new();
    let (mut sent, mut seen, mut swapped) = (0_u64, 0_u64, 0_u32);
    let start = Instant::now();
    let mut idle = start;
    while seen < sent || start.elapsed() < duration {
        let now = start.elapsed();
        let due = (rate as f64 * now.min(duration).as_secs_f64()) as u64;
        while sent < due && sent - seen < WINDOW {
            let burst = (due - sent).min(WINDOW - (sent - seen)).min(32);
            for (nic, tap) in taps.iter().enumerate() {
                let numbers = (sent..sent + burst).filter(|n| n % 2 == nic as u64);
                let of = |n: u64| numbered(&frames[nic][n as usize / 2 % LABELS.len()], n as u32);
                tap.send(&numbers.map(of).collect::<Vec<_>>());
            }
            sent += burst;
        }
        if now.as_millis() / 100 > u128::from(swapped) {
            swapped += 1;
            engine.swap(at(swapped).into()).unwrap();
        }
        for (nic, tap) in taps.iter_mut().enumerate() {
            for frame in tap.take() {
                judge(nic, &frame, macs[nic], &mut last);
                seen += 1;
                idle = Instant::now();
            }
        }
        let counters = || engine.counters();
        assert!(idle.elapsed() < Duration::from_secs(30), "{seen} of {sent}: {:#?}", counters());
    }
    let took = start.elapsed().as_secs_f64();
    eprintln!("{sent} frames, {:.0} a second, {swapped} swaps", sent as f64 / took);
    for tap in &mut taps {
        tap.expect(0);
    }
    let counters = engine.counters();
    assert!(swapped >= duration.as_secs() as u32 * 9, "{swapped} swaps");
    if std::env::var_os("FORWARD_RATE").is_some() {
        let asked = rate as f64 * duration.as_secs_f64();
        assert!(sent as f64 >= 0.99 * asked, "{sent} frames of {asked}");
    }
    assert!(counters.ports.iter().all(|p| p.dropped.is_empty()), "{counters:?}");
    assert_eq!(counters.labels.iter().map(|l| l.popped.frames).sum::<u64>(), sent);
}

/// The table after so many swaps: the labels in use keep their meaning, but for one; others come and
/// go, and move its end.
fn at(swap: u32) -> ForwardingTable {
    let others = (21..40 + swap % 7 * 300).map(Label).map(|l| (l, exit(0, 1)));
    let moving = exit(swap as usize % 2, MOVING);
    let labels = LABELS.iter().map(|l| match *l {
        MOVING => (Label(MOVING), moving),
        label => (Label(label), exit(label as usize % 2, label)),
    });
    ForwardingTable::new(&nics(), labels.chain(others), Ttl::Propagate).unwrap()
}

fn exit(nic: usize, label: u32) -> LabelExit<usize> {
    LabelExit { nic, vid: Some(Vid(200 + label as u16)), mac: peer(100 + label as u8) }
}

fn frame(nic: usize, label: u32) -> Vec<u8> {
    // The label is written into the packet as well: its last byte.
    let labels = [label];
    let mut frame = Sent {
        vid: Some(100),
        labels: &labels,
        from: peer(1 + nic as u8),
        ..Sent::new(own(nic), 0)
    }
    .frame();
    if let Some(last) = frame.last_mut() {
        *last = label as u8;
    }
    frame
}

/// `frame` with another sequence number; its UDP checksum is not looked at.
fn numbered(frame: &[u8], sequence: u32) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let at = frame.len() - 18;
    frame[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
    frame
}

/// Did it come out where its label leads, and after those before it?
fn judge(nic: usize, seen: &Seen, mac: Mac, last: &mut BTreeMap<(u32, u32, usize), u32>) {
    let label = u32::from(seen.last_byte());
    let wanted = exit(nic, label);
    let found = (seen.vid, seen.to, seen.from, seen.ethertype, seen.ttl);
    assert_eq!(
        found,
        (wanted.vid.map(|v| v.0), wanted.mac, mac, EtherTypes::Ipv4.0, 63),
        "{seen:?}"
    );
    assert!(label == MOVING || label as usize % 2 == nic, "label {label} came out of eth{nic}");
    let before = last.insert((seen.sequence % 2, label, nic), seen.sequence);
    assert!(before < Some(seen.sequence), "{before:?} before {seen:?}");
}
