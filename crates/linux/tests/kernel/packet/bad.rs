//! Frames that must stay.

use tresse_frame::forward::DropReason;
use tresse_namespace::{eventually, ip};

use super::pair::{ACROSS, engine};
use super::tap::{Sent, Tap, own, peer};
use crate::cables::cables;

/// Sends each bad frame between two good ones: only those arrive, and each is counted where it
/// belongs.
pub fn counted() {
    cables(2);
    ip("link set far0 mtu 9000");
    ip("link set eth0 mtu 3000");
    let engine = engine();
    let (mut far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    let good = Sent { vid: Some(100), labels: &[ACROSS], ..Sent::new(own(0), 1) };
    for (number, (reason, frame)) in (1_u64..).zip(bad(&good)) {
        let before = engine.counters().ports[0].dropped(reason);
        far0.send(&[good.frame(), frame, good.frame()]);
        let seen = far1.expect(2);
        assert!(seen.iter().all(|s| s.to == peer(21) && s.is_sound()), "{reason:?}: {seen:?}");
        far0.expect(0);
        eventually(&format!("bad frame {number} is counted as {reason:?}"), || {
            engine.counters().ports[0].dropped(reason) == before + 1
        });
        let all: u64 = engine.counters().ports[0].dropped.iter().map(|(_, count)| count).sum();
        assert_eq!(all, number, "{reason:?} and nothing else: {:?}", engine.counters());
    }
    assert!(engine.counters().ports[1].dropped.is_empty());
}

fn bad(good: &Sent<'_>) -> Vec<(DropReason, Vec<u8>)> {
    let cut = |bytes: usize| good.frame()[..10 + bytes].to_vec();
    let with = |at: usize, bytes: &[u8]| {
        let mut frame = good.frame();
        frame[10 + at..10 + at + bytes.len()].copy_from_slice(bytes);
        frame
    };
    let inner = |tags: &[u8]| [&good.frame()[..22], tags, &good.frame()[26..]].concat();
    let mut endless = with(20, &[0]);
    endless.truncate(10 + 22);
    endless.extend([0; 40]);
    let own_frame = |sent: Sent<'_>| sent.frame();
    vec![
        (DropReason::NotForUs, own_frame(Sent { to: peer(9), ..good.clone() })),
        (
            DropReason::NotForUs,
            own_frame(Sent { to: tresse_base::units::Mac([0xff; 6]), ..good.clone() }),
        ),
        (DropReason::ForeignMac, own_frame(Sent { from: peer(99), ..good.clone() })),
        (DropReason::ForeignMac, own_frame(Sent { vid: Some(101), ..good.clone() })),
        (DropReason::UnknownLabel, own_frame(Sent { labels: &[4000], ..good.clone() })),
        (DropReason::UnknownLabel, own_frame(Sent { labels: &[3], ..good.clone() })),
        (DropReason::TtlExpired, own_frame(Sent { ttl: 1, ..good.clone() })),
        (DropReason::TtlExpired, own_frame(Sent { ttl: 0, ..good.clone() })),
        (DropReason::Truncated, cut(18 + 3)),
        (DropReason::Truncated, cut(18 + 4)),
        (DropReason::Truncated, cut(18 + 4 + 19)),
        (DropReason::Truncated, endless),
        (DropReason::NoIp, with(22, &[0x15])),
        (DropReason::DoubleTag, inner(&[0x81, 0, 0, 100, 0x81, 0, 0, 100])),
        (DropReason::DoubleTag, inner(&[0x88, 0xa8, 0, 100, 0x81, 0, 0, 100])),
        (DropReason::DoubleTag, inner(&[0x88, 0xa8, 0, 100])),
        (DropReason::TooBig, own_frame(Sent { length: 1473, ..good.clone() })),
        (DropReason::TooBig, own_frame(Sent { length: 2900, ..good.clone() })),
    ]
}
