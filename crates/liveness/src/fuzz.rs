//! Feeds arbitrary datagrams to the BFD sessions, for fuzzing. Not part of any interface.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::frame;
use crate::received::{Arrival, decode};
use crate::{
    Datagram, Echo, PacketContent, Seal, Sending, SendingInterface, SessionTable, Timing,
    WatchedPath, Watching,
};
use tresse_base::id::{NodeId, PathId};
use tresse_base::units::Mac;
use tresse_frame::keys::Keys;

/// Gives `bytes` to two BFD sessions as a sequence of received packets of 27 bytes each: three
/// bytes say how the packet arrives (UDP or echo reply, interface, source, TTL, delay), 24 are its
/// content. A discriminator near the maximum is replaced by one that the sessions use, because a
/// fuzzer cannot guess these. All bytes together are then decoded as a received frame.
///
/// # Panics
/// If the sessions accept a datagram whose TTL shows that it cannot have come along a planned path,
/// or report a path as both broken and sound.
pub fn bfd(bytes: &[u8]) {
    let timing = Timing { interval: Duration::from_millis(100), multiplier: 3 };
    let mut table = SessionTable::new(timing, 1);
    let mut now = Duration::ZERO;
    let mut out = Vec::new();
    let mut reported = BTreeSet::new();
    table.set(watching(), now, &mut out);
    for chunk in bytes.chunks(27) {
        let Some((&[choice, ttl, wait], payload)) = chunk.split_first_chunk::<3>() else { break };
        now += Duration::from_millis(wait.into());
        let payload = &spoken(payload, &reported)[..];
        if choice & 0x80 != 0 {
            let session = payload.get(8..).and_then(|rest| rest.first_chunk());
            let session = session.map_or(0, |session| u32::from_be_bytes(*session));
            let identifier = table.identifier().wrapping_add((choice & 1).into());
            let _ = table.answered(Echo { identifier, sequence: 0, session }, now);
        } else {
            let datagram = Datagram {
                ifindex: (choice & 3).into(),
                source: [10, 0, 0, choice >> 2 & 3].into(),
                destination: [10, 0, 0, choice >> 6 & 1].into(),
                from: 49152 + u16::from(choice),
                ttl: if choice & 0x20 == 0 { 255 } else { ttl },
                multi_hop: choice & 0x10 != 0,
                payload,
            };
            let taken = table.hear(&datagram, now, &mut out);
            assert!(taken.is_err() || ttl_is_planned(&datagram), "{datagram:?}");
        }
        table.poll(now, &mut out);
        reported.extend(out.drain(..).filter_map(|sending| number(&sending)));
        let Some(event) = table.news(now) else { continue };
        assert!(event.down.is_disjoint(&event.up));
        assert!(event.sessions.len() <= 2);
    }
    table.stop(now, &mut out);
    if let Some(Arrival::Control(datagram)) = decode(bytes, 1) {
        assert!(datagram.payload.len() < bytes.len());
    }
    let keys = Keys::parse(&"01".repeat(32)).expect("a key");
    let mut seal = Seal::new(Box::new(|| 1));
    seal.set_keys(keys);
    let datagram = Datagram {
        ifindex: 1,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 0].into(),
        from: 49152,
        ttl: 255,
        multi_hop: false,
        payload: bytes,
    };
    assert!(
        seal.open((datagram.destination, datagram.source), &datagram).is_err(),
        "signed without the key"
    );
}

/// What is at the place of `your discriminator` and of an echo's session, from a number from the end.
fn spoken(payload: &[u8], reported: &BTreeSet<u32>) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(place) = payload.get_mut(8..).and_then(|rest| rest.first_chunk_mut()) {
        let from_end = u32::MAX - u32::from_be_bytes(*place);
        if let Some(number) = reported.iter().nth(from_end as usize) {
            *place = number.to_be_bytes();
        }
    }
    payload
}

/// The number of the session that a control packet is of.
fn number(sending: &Sending) -> Option<u32> {
    match sending {
        Sending::Planned(headers, content) => {
            let mut seal = Seal::new(Box::new(|| 1));
            assert!(!frame::planned(headers, content, &mut seal).is_empty());
            match content {
                PacketContent::Control { packet, .. } => Some(packet.mine),
                PacketContent::Echo(_) => None,
            }
        }
        Sending::Routed { packet, .. } => Some(packet.mine),
    }
}

fn ttl_is_planned(datagram: &Datagram<'_>) -> bool {
    datagram.ttl == 255 || datagram.multi_hop && datagram.ttl >= 255 - 64
}

/// One path of one segment, one through a node.
fn watching() -> Watching {
    let path = |peer: u8, transits: u8| WatchedPath {
        id: PathId { src: NodeId(0), dst: NodeId(peer.into()), rank: 0 },
        source: [10, 0, 0, 0].into(),
        destination: [10, 0, 0, peer].into(),
        interface: "a".into(),
        mac: Mac([peer; 6]),
        labels: Vec::new(),
        arrival: Some("a".into()),
        shared: transits == 1,
        transits,
        active: transits == 0,
        nodes: None,
    };
    let a = SendingInterface { ifindex: 1, mac: Mac([9; 6]) };
    Watching {
        senders: Arc::default(),
        generation: [1; 8],
        paths: Arc::new(vec![path(1, 0), path(2, 1)]),
        broken: BTreeSet::new(),
        probed: BTreeSet::new(),
        interfaces: [("a".to_owned(), a)].into(),
    }
}
