//! Tests the forwarding decision against a second, slow and independent implementation, for the
//! fuzz targets in `fuzz/` and the unit tests.

use std::net::IpAddr;

use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

use super::{
    Arrival, DropReason, Forward, ForwardingTable, LabelPath, MOST_BEFORE, MOST_HEADERS, Merged,
    PushTable, TableNic, Tag, TcpSegments, Ttl,
};
use crate::mpls;
use crate::sample::SampledHeaders;

const MTU: u32 = 200;
const LABELS: u32 = 40;

/// Returns the MAC address of NIC `nic` of the node under test.
#[must_use]
pub fn own(nic: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, nic as u8])
}

/// Returns the MAC address of neighbour number `n` of the node under test. In [`table`], neighbours
/// 0 to 3 may send to it on VID 100 and untagged, neighbour 4 on VID 200 only.
#[must_use]
pub fn peer(n: u8) -> Mac {
    Mac([2, 1, 1, 1, 1, n])
}

/// Returns the forwarding table under test: a node with two NICs, and labels 16 to 39 without the
/// multiples of 5. Frames with label L leave by NIC `L % 2`, tagged with VID `100 + L % 3`, or
/// untagged if L is a multiple of 3.
#[must_use]
pub fn table(ttl: Ttl) -> ForwardingTable {
    let mut neighbours = vec![(Some(Vid(200)), peer(4))];
    for n in 0..4 {
        neighbours.extend([(Some(Vid(100)), peer(n)), (None, peer(n))]);
    }
    let nics = [0, 1].map(|nic| TableNic {
        mac: own(nic),
        mtu_bytes: MTU,
        neighbours: neighbours.clone(),
    });
    let labels = (16..LABELS).filter_map(|label| Some((Label(label), exit(label)?)));
    ForwardingTable::new(&nics, labels, ttl).expect("the table above is one")
}

fn exit(label: u32) -> Option<LabelExit<usize>> {
    let vid = (!label.is_multiple_of(3)).then_some(Vid(100 + (label % 3) as u16));
    let known = (16..LABELS).contains(&label) && !label.is_multiple_of(5);
    known.then_some(LabelExit { nic: label as usize % 2, vid, mac: peer(label as u8) })
}

/// Tests the forwarding decision, and the pushing of labels, on arbitrary bytes: one byte that
/// selects options and the NIC, four bytes of a VLAN tag that the kernel removed, and a frame.
///
/// # Panics
/// If a frame is wrongly forwarded, wrongly dropped or wrongly rewritten, or if labels are wrongly
/// pushed.
pub fn forward(bytes: &[u8]) {
    let Some((&[switches, a, b, c, d], frame)) = bytes.split_first_chunk() else { return };
    let tag = Tag { tpid: u16::from_be_bytes([a, b]), tci: u16::from_be_bytes([c, d]) };
    let arrival = Arrival {
        tag: (switches & 1 != 0).then_some(tag),
        cut: switches & 2 != 0,
        longest: (switches & 4 != 0).then_some(frame.len() / 2),
    };
    let ttl = if switches & 8 != 0 { Ttl::Keep } else { Ttl::Propagate };
    let nic = usize::from(switches >> 4) % 3;
    let _ = check(&table(ttl), ttl, nic, arrival, frame);
    pushed(ttl, usize::from(a), usize::from(b), frame);
    merged(switches & 2 != 0, frame);
    let _ = SampledHeaders::of_frame(frame);
}

/// Tests that a frame and the one that would follow it go as one only if these are two segments of a TCP flow, and that
/// nothing is lost then. `known`: is the checksum known to be right?
///
/// # Panics
/// If they go as one wrongly.
pub fn merged(known: bool, frame: &[u8]) {
    const NETWORK: usize = 14;
    const TCP: usize = NETWORK + 20;
    let mut next = frame.to_vec();
    let number = |frame: &[u8], at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?))
    };
    let headers = frame.get(TCP + 12).map_or(0, |offset| TCP + usize::from(offset >> 4) * 4);
    let payload = frame.len().saturating_sub(headers) as u32;
    if let Some(sequence) = number(frame, TCP + 4) {
        next[TCP + 4..TCP + 8].copy_from_slice(&sequence.wrapping_add(payload).to_be_bytes());
        let id = u16::from_be_bytes([frame[NETWORK + 4], frame[NETWORK + 5]]).wrapping_add(1);
        next[NETWORK + 4..NETWORK + 6].copy_from_slice(&id.to_be_bytes());
    }
    let Some(merged) = Merged::of([(frame, known), (&next[..], known)]) else { return };
    assert_eq!((merged.segments, merged.size), (2, payload as usize), "{merged:?}");
    assert!(merged.headers <= MOST_HEADERS && merged.headers < frame.len(), "{merged:?}");
    let mut head = vec![0; merged.headers];
    merged.write_headers(frame, &mut head);
    let length = u16::from_be_bytes([head[NETWORK + 2], head[NETWORK + 3]]);
    assert_eq!(usize::from(length), merged.headers - NETWORK + 2 * merged.size, "{merged:?}");
    assert_eq!(head[NETWORK + 12..TCP + 12], frame[NETWORK + 12..TCP + 12]);
}

/// Returns the destination addresses in [`push_table`], two of IPv4 and two of IPv6. The first
/// address of each pair has one path, the second has two.
#[must_use]
pub fn destinations() -> [IpAddr; 4] {
    [
        [10, 77, 0, 1].into(),
        [10, 77, 0, 2].into(),
        [0xfd77, 0, 0, 0, 0, 0, 0, 1].into(),
        [0xfd77, 0, 0, 0, 0, 0, 0, 2].into(),
    ]
}

/// Returns the table with which pushing labels is tested: a source with two NICs. Every destination
/// ([`destinations`]) has a path with two labels, tagged, by the first NIC. Every second
/// destination also has a path with one label, untagged, by the second NIC, with three times the
/// weight.
#[must_use]
pub fn push_table(ttl: Ttl) -> PushTable {
    let nics = [0, 1].map(|nic| TableNic { mac: own(nic), mtu_bytes: MTU, neighbours: Vec::new() });
    let path = |nic, labels: &[u32]| LabelPath {
        nic,
        vid: (nic == 0).then_some(Vid(100)),
        mac: peer(nic as u8),
        labels: labels.iter().copied().map(Label).collect(),
        weight: 1 + 2 * nic as u8,
    };
    let paths = [vec![path(0, &[16, 17])], vec![path(0, &[16, 17]), path(1, &[18])]];
    let routes = destinations().into_iter().enumerate();
    let routes = routes.map(|(n, to)| (to, paths[n % 2].clone()));
    PushTable::new(&nics, routes, ttl).expect("the table above is one")
}

/// Tests two things on an IP packet: [`push_table`] pushes labels onto it, and the packet is cut into
/// segments of at most `size` payload bytes. `transport` is the offset of its TCP header. A packet
/// that is refused by either is skipped.
///
/// # Panics
/// If the result is not the packet behind a correct label stack with the right TTL, or if the
/// segments together are not the packet.
pub fn pushed(ttl: Ttl, transport: usize, size: usize, packet: &[u8]) {
    let table = push_table(ttl);
    if let Ok(push) = table.push(packet) {
        let mut room = [0; MOST_BEFORE];
        let start = push.write(&mut room);
        let before = &room[start..];
        assert_eq!(before.len(), push.before());
        let (ipv4, at) = if packet[0] >> 4 == 4 { (true, 8) } else { (false, 7) };
        let to = destinations().into_iter().position(|to| match to {
            IpAddr::V4(to) => ipv4 && packet[16..20] == to.octets(),
            IpAddr::V6(to) => !ipv4 && packet[24..40] == to.octets(),
        });
        let to = to.expect("a destination of the table");
        assert!(push.nic() == 0 || to % 2 == 1);
        let (head, stack) = before.split_at(before.len() - 8 + 4 * push.nic());
        let nic = push.nic();
        let tag: &[u8] = if nic == 0 { &[0x81, 0, 0, 100] } else { &[] };
        assert_eq!(head, [&peer(nic as u8).0, &own(nic).0, tag, &[0x88, 0x47]].concat());
        assert_eq!(mpls::stack_len(stack), Some(stack.len()));
        let wanted = if ttl == Ttl::Keep { 255 } else { packet[at] };
        assert!(wanted > 0 && stack.chunks(4).all(|entry| entry[3] == wanted));
    }
    if let Ok(segments) = TcpSegments::new(packet, transport, size) {
        cut(segments, transport, packet);
    }
}

fn cut(mut segments: TcpSegments<'_>, transport: usize, packet: &[u8]) {
    let headers = transport + usize::from(packet[transport + 12] >> 4) * 4;
    let mut room = vec![0; segments.longest()];
    let mut payload = Vec::new();
    let word = |bytes: &[u8], at: usize| {
        bytes[at..at + 4].iter().fold(0_u32, |word, b| word << 8 | u32::from(*b))
    };
    let first = word(packet, transport + 4);
    while let Some(length) = segments.write(&mut room) {
        let segment = &room[..length];
        assert_eq!(word(segment, transport + 4), first.wrapping_add(payload.len() as u32));
        let total = usize::from(u16::from_be_bytes([segment[2], segment[3]]));
        let behind = usize::from(u16::from_be_bytes([segment[4], segment[5]]));
        assert_eq!(length, if packet[0] >> 4 == 4 { total } else { 40 + behind });
        assert_eq!(segment[transport + 14..transport + 16], packet[transport + 14..transport + 16]);
        assert_eq!(segment[transport + 18..headers], packet[transport + 18..headers]);
        payload.extend_from_slice(&segment[headers..]);
    }
    assert_eq!(payload, packet[headers..]);
}

/// Checks that [`ForwardingTable::decide`] and a second, slow implementation decide the same on `frame`,
/// received by the NIC with index `nic`: to drop the frame, or to forward the same bytes by the same
/// NIC. Returns `Ok` if both forward it. `table` must be the result of [`table()`] for `ttl`.
///
/// # Errors
/// Why the frame was dropped, if both implementations drop it.
///
/// # Panics
/// If the two implementations disagree.
pub fn check(
    table: &ForwardingTable,
    ttl: Ttl,
    nic: usize,
    arrival: Arrival,
    frame: &[u8],
) -> Result<(), DropReason> {
    let mut after = frame.to_vec();
    let verdict = table.decide(nic, arrival, &mut after);
    let expected = slowly(ttl, nic, arrival, frame);
    match (verdict, expected) {
        (Ok(Forward { nic, start, label, plain }), Some((exit, expected))) => {
            assert_eq!((nic, Some(exit)), (exit.nic, self::exit(label.0)));
            assert_eq!(plain, expected[if exit.vid.is_some() { 16 } else { 12 }] != 0x88);
            assert_eq!(&after[start..], &expected[..]);
            Ok(())
        }
        (Err(reason), None) => {
            assert_eq!(after, frame, "a frame that stays is left alone");
            Err(reason)
        }
        (verdict, expected) => panic!("{verdict:?}, expected {expected:?}"),
    }
}

/// What must become of a frame: where it leaves and its bytes, or nothing. Written apart from the
/// decision: copies, and takes one field after the other from the front. By hand, not by pnet, because it
/// is a reading that shares nothing with what it judges.
fn slowly(
    ttl: Ttl,
    nic: usize,
    arrival: Arrival,
    frame: &[u8],
) -> Option<(LabelExit<usize>, Vec<u8>)> {
    let mut bytes = frame.iter().copied();
    let mut take = |n: usize| -> Option<u64> {
        (0..n).try_fold(0, |word, _| Some(word << 8 | u64::from(bytes.next()?)))
    };
    let number = |mac: Mac| mac.0.iter().fold(0, |word, b| word << 8 | u64::from(*b));
    let destination = take(6)?;
    let ours = nic < 2 && destination == number(own(nic));
    let source = take(6)?;
    let mut kind = take(2)?;
    let mut tag = arrival.tag;
    let mut read = 14;
    if kind != 0x8847 && tag.is_none() {
        tag = Some(Tag { tpid: kind as u16, tci: take(2)? as u16 });
        kind = take(2)?;
        read = 18;
    }
    let vid = match tag {
        Some(tag) if tag.tpid == 0x8100 => tag.tci % 4096,
        Some(_) => return None,
        None => 0,
    };
    let planned = match vid {
        0 | 100 => (0..4).any(|n| number(peer(n)) == source),
        200 => number(peer(4)) == source,
        _ => false,
    };
    let top = take(4)?;
    let (label, bottom, label_ttl) = (top >> 12, top >> 8 & 1 == 1, (top & 0xff) as u8);
    let exit = exit(label as u32)?;
    let mut packet = frame[read + 4..].to_vec();
    let long = arrival.longest.unwrap_or(frame.len()) as u64 > u64::from(MTU) + read as u64 + 4;
    if !ours || kind != 0x8847 || !planned || label_ttl < 2 || arrival.cut || long {
        return None;
    }
    let kind: u16 = if bottom {
        let mut change = |at: usize| {
            packet[at] = if ttl == Ttl::Propagate { label_ttl - 1 } else { packet[at].max(1) - 1 };
        };
        match (frame.get(read + 4)? >> 4, frame.len() - read - 4) {
            (4, 20..) => {
                change(8);
                resum(&frame[read + 4..], &mut packet);
                0x0800
            }
            (6, 40..) => {
                change(7);
                0x86dd
            }
            _ => return None,
        }
    } else {
        loop {
            let entry = take(4)?;
            if entry & 0x100 != 0 {
                break;
            }
        }
        0x8847
    };
    let mut out = [exit.mac.0, own(exit.nic).0].concat();
    if let Some(vid) = exit.vid {
        out.extend([0x81, 0x00, 0, vid.0 as u8]);
    }
    out.extend(kind.to_be_bytes());
    out.extend(packet);
    Some((exit, out))
}

/// Steps the IPv4 checksum up once for every step that the TTL went down: a sum that was right stays
/// right, one that was wrong is wrong by as much. Modulo 65535, as the ones' complement counts.
fn resum(before: &[u8], packet: &mut [u8]) {
    let sum = i64::from(u16::from_be_bytes([before[10], before[11]]));
    let steps = i64::from(before[8]) - i64::from(packet[8]);
    let sum = (sum + steps * 256).rem_euclid(0xffff) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}
