//! Every reason by example, what leaves by its bytes, and any frame beside the slow reading.

use pnet::packet::ethernet::EtherTypes;
use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, MutableIpv4Packet};
use proptest::prelude::*;
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

use super::fuzz::{check, own, peer, table};
use super::*;
use crate::mpls::LabelStackEntry;

/// A tag on VID 100.
const TAGGED: Arrival =
    Arrival { tag: Some(Tag { tpid: EtherTypes::Vlan.0, tci: 100 }), cut: false, longest: None };
/// Out of NIC 1 on VID 102.
const OTHER_NIC: u32 = 17;
/// Out of NIC 0 on VID 101.
const SAME_NIC: u32 = 16;
/// Out of NIC 1 without a tag.
const UNTAGGED: u32 = 21;

fn entry(label: u32, bottom: bool, ttl: u8) -> [u8; 4] {
    LabelStackEntry { label: Label(label), class: 0, bottom, ttl }.emit()
}

/// A 20-byte header with a right checksum, 255 for TTL, and 10 bytes more.
fn ipv4() -> Vec<u8> {
    let mut packet = vec![9; 30];
    packet[..20].fill(0);
    let mut ip = MutableIpv4Packet::new(&mut packet).unwrap();
    ip.set_version(4);
    ip.set_header_length(5);
    ip.set_total_length(30);
    ip.set_identification(0x0102);
    ip.set_ttl(255);
    ip.set_next_level_protocol(IpNextHeaderProtocols::Udp);
    ip.set_source([10, 77, 0, 1].into());
    ip.set_destination([10, 77, 0, 2].into());
    ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
    packet
}

/// The ones' complement sum; 0xffff over a right header.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(w[1]));
    let sum: u64 = words.sum();
    (sum % 0xffff) as u16
}

fn frame(to: Mac, from: Mac, rest: &[&[u8]]) -> Vec<u8> {
    [&to.0[..], &from.0, &rest.concat()].concat()
}

/// To NIC 0 from a planned neighbour.
fn labelled(rest: &[&[u8]]) -> Vec<u8> {
    frame(own(0), peer(1), &[&[0x88, 0x47], &rest.concat()])
}

/// What becomes of a frame on NIC 0, checked beside the slow reading as well.
fn forwarded(arrival: Arrival, mut frame: Vec<u8>) -> Result<(usize, Vec<u8>), DropReason> {
    let table = table(Ttl::Propagate);
    check(&table, Ttl::Propagate, 0, arrival, &frame)?;
    let forward = table.decide(0, arrival, &mut frame)?;
    Ok((forward.nic, frame.split_off(forward.start)))
}

#[test]
fn last_label_leaves_plain_ip_with_the_labels_ttl_and_a_right_checksum() {
    for (label, nic, head) in [
        (OTHER_NIC, 1, &[0x81, 0, 0, 102, 8, 0][..]),
        (SAME_NIC, 0, &[0x81, 0, 0, 101, 8, 0]),
        (UNTAGGED, 1, &[8, 0]),
    ] {
        for arrival in [TAGGED, Arrival::default()] {
            let sent = labelled(&[&entry(label, true, 64), &ipv4()]);
            let (out, bytes) = forwarded(arrival, sent).unwrap();
            assert_eq!(out, nic);
            assert_eq!(bytes[..12], frame(peer(label as u8), own(nic), &[])[..]);
            let (found, packet) = bytes[12..].split_at(head.len());
            assert_eq!(found, head);
            assert_eq!((packet[8], checksum(&packet[..20])), (63, 0), "{packet:?}");
            assert_eq!(packet[20..], [9; 10]);
        }
    }
}

#[test]
fn further_labels_are_left_as_they_are() {
    let rest = [&entry(900_000, false, 1)[..], &entry(5, true, 0), &ipv4()].concat();
    let sent = labelled(&[&entry(OTHER_NIC, false, 2), &rest]);
    let (_, bytes) = forwarded(TAGGED, sent).unwrap();
    assert_eq!(bytes[12..], [&[0x81, 0, 0, 102, 0x88, 0x47], &rest[..]].concat());
}

#[test]
fn ipv6_hop_limit_follows_and_an_own_ttl_may_be_kept() {
    let mut packet = vec![0; 44];
    (packet[0], packet[7]) = (0x60, 9);
    let sent = labelled(&[&entry(UNTAGGED, true, 64), &packet]);
    let (_, bytes) = forwarded(TAGGED, sent.clone()).unwrap();
    assert_eq!(bytes[12..22], [0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 0, 63]);
    for (own, left) in [(9, 8), (1, 0), (0, 0)] {
        let mut sent = sent.clone();
        sent[18 + 7] = own;
        let out = table(Ttl::Keep).decide(0, TAGGED, &mut sent).unwrap();
        assert_eq!(sent[out.start + 14 + 7], left);
    }
}

#[test]
fn a_tag_in_place_is_read_like_one_beside() {
    let sent = frame(
        own(0),
        peer(4),
        &[&[0x81, 0, 0xe0, 200, 0x88, 0x47], &entry(UNTAGGED, true, 64), &ipv4()],
    );
    let (_, bytes) = forwarded(Arrival::default(), sent).unwrap();
    assert_eq!(bytes.len(), 14 + 30);
}

#[test]
fn every_reason_that_a_frame_gives() {
    let good = labelled(&[&entry(OTHER_NIC, true, 64), &ipv4()]);
    let long =
        |more: usize| labelled(&[&entry(OTHER_NIC, true, 64), &ipv4(), &vec![0; 170 + more]]);
    let with = |at: usize, bytes: &[u8]| {
        let mut frame = good.clone();
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        frame
    };
    let tag = |tpid, tci| Arrival { tag: Some(Tag { tpid, tci }), ..TAGGED };
    let mut cases = vec![
        (TAGGED, with(0, &own(1).0), DropReason::NotForUs),
        (TAGGED, with(0, &[0xff; 6]), DropReason::NotForUs),
        (TAGGED, with(6, &peer(9).0), DropReason::ForeignMac),
        (TAGGED, with(6, &peer(4).0), DropReason::ForeignMac),
        (tag(EtherTypes::Vlan.0, 300), good.clone(), DropReason::ForeignMac),
        (tag(0x88a8, 100), good.clone(), DropReason::DoubleTag),
        (TAGGED, with(12, &[0x81, 0, 0, 100, 0x88, 0x47]), DropReason::DoubleTag),
        (Arrival::default(), with(12, &[0x81, 0, 0, 100, 0x81, 0]), DropReason::DoubleTag),
        (Arrival::default(), with(12, &[0x88, 0xa8, 0, 100, 0x88, 0x47]), DropReason::DoubleTag),
        (Arrival::default(), with(12, &[0x81, 0, 0, 100, 8, 0]), DropReason::NotMpls),
        (TAGGED, with(12, &[8, 0]), DropReason::NotMpls),
        (TAGGED, with(12, &[0x88, 0x48]), DropReason::NotMpls),
        (TAGGED, with(14, &entry(OTHER_NIC, true, 1)), DropReason::TtlExpired),
        (TAGGED, with(14, &entry(OTHER_NIC, true, 0)), DropReason::TtlExpired),
        (TAGGED, with(18, &[0x05]), DropReason::NoIp),
        (TAGGED, labelled(&[&entry(OTHER_NIC, true, 64)]), DropReason::Truncated),
        (TAGGED, labelled(&[&entry(OTHER_NIC, false, 64)]), DropReason::Truncated),
        (TAGGED, labelled(&[&[entry(OTHER_NIC, false, 64); 9].concat()]), DropReason::Truncated),
        (TAGGED, long(1), DropReason::TooBig),
        (Arrival { cut: true, ..TAGGED }, good.clone(), DropReason::TooBig),
        (Arrival { longest: Some(300), ..TAGGED }, good.clone(), DropReason::TooBig),
    ];
    for label in [0, 3, 15, 20, 40, (1 << 20) - 1] {
        cases.push((TAGGED, with(14, &entry(label, true, 64)), DropReason::UnknownLabel));
    }
    for length in 12..38 {
        cases.push((TAGGED, good[..length].to_vec(), DropReason::Truncated));
    }
    for (arrival, frame, reason) in cases {
        assert_eq!(forwarded(arrival, frame.clone()), Err(reason), "{arrival:?} {frame:02x?}");
    }
    assert!(forwarded(TAGGED, good[..38].to_vec()).is_ok(), "no more than an IP header");
    assert!(forwarded(TAGGED, long(0)).is_ok(), "as long as the MTU");
    assert!(forwarded(Arrival { longest: Some(218), ..TAGGED }, long(99)).is_ok());
    assert_eq!(
        table(Ttl::Keep).decide(2, TAGGED, &mut good.clone()),
        Err(DropReason::NotForUs),
        "a NIC that the table does not have"
    );
}

#[test]
fn impossible_tables_are_refused() {
    let nic = TableNic { mac: own(0), mtu_bytes: 1500, neighbours: Vec::new() };
    let exit = LabelExit { nic: 0, vid: Some(Vid(100)), mac: peer(1) };
    let group = Mac([1, 0, 0x5e, 0, 0, 1]);
    let new = |label: &[(u32, LabelExit<usize>)]| {
        let labels = label.iter().map(|(l, e)| (Label(*l), *e));
        ForwardingTable::new(std::slice::from_ref(&nic), labels, Ttl::Keep).map(|t| t.label_end())
    };
    assert_eq!(new(&[(17, exit), (16, exit)]), Ok(Label(18)));
    assert_eq!(new(&[]), Ok(Label(16)));
    for label in [Label(15), Label(1 << 20), Label(u32::MAX)] {
        assert_eq!(new(&[(label.0, exit)]), Err(TableError::Label { label }));
    }
    assert_eq!(new(&[(16, exit), (16, exit)]), Err(TableError::Twice { label: Label(16) }));
    assert!(matches!(new(&[(16, LabelExit { nic: 1, ..exit })]), Err(TableError::Nic { .. })));
    for vid in [Vid(0), Vid(4095)] {
        let exit = LabelExit { vid: Some(vid), ..exit };
        assert_eq!(new(&[(16, exit)]), Err(TableError::Vid { vid }));
    }
    assert_eq!(
        new(&[(16, LabelExit { mac: group, ..exit })]),
        Err(TableError::Group { mac: group })
    );
}

#[test]
fn reasons_have_one_word_each() {
    for (place, reason) in DropReason::ALL.iter().enumerate() {
        assert_eq!(reason.index(), place);
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
    }
}

/// Frames near the ones that are forwarded: each field right most of the time.
fn near() -> impl Strategy<Value = (usize, Arrival, Vec<u8>)> {
    let arrival = (
        proptest::option::weighted(
            0.8,
            (
                prop_oneof![8 => Just(EtherTypes::Vlan.0), 1 => Just(0x88a8)],
                prop_oneof![6 => Just(100), 1 => Just(200), 1 => any::<u16>()],
            )
                .prop_map(|(tpid, tci)| Tag { tpid, tci }),
        ),
        proptest::bool::weighted(0.05),
        proptest::option::weighted(0.1, 0..400usize),
    )
        .prop_map(|(tag, cut, longest)| Arrival { tag, cut, longest });
    let kind = prop_oneof![
        12 => Just(vec![0x88, 0x47]),
        2 => Just(vec![0x81, 0, 0, 100, 0x88, 0x47]),
        1 => Just(vec![0x81, 0, 0, 100, 0x81, 0, 0, 100, 0x88, 0x47]),
        1 => Just(vec![8, 0]),
    ];
    let stack = proptest::collection::vec((14..44u32, 0..6u8), 1..5).prop_map(|stack| {
        let last = stack.len() - 1;
        let one = |(n, (label, ttl)): (usize, &(u32, u8))| entry(*label, n == last, *ttl);
        stack.iter().enumerate().map(one).collect::<Vec<_>>().concat()
    });
    let inner = prop_oneof![
        4 => Just(0x45u8), 3 => Just(0x60), 1 => any::<u8>()
    ];
    let inner = (inner, proptest::collection::vec(any::<u8>(), 0..220))
        .prop_map(|(first, rest)| [&[first], &rest[..]].concat());
    let whole = proptest::option::weighted(0.2, 0..80usize);
    (arrival, 0..8u8, kind, stack, inner, whole).prop_map(
        |(arrival, from, kind, stack, inner, cut_at)| {
            let mut bytes = frame(own(0), peer(from), &[&kind, &stack, &inner]);
            bytes.truncate(cut_at.unwrap_or(usize::MAX));
            (usize::from(from > 6), arrival, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn decisions_are_those_of_a_slow_reading((nic, arrival, frame) in near(), keep in any::<bool>()) {
        let ttl = if keep { Ttl::Keep } else { Ttl::Propagate };
        let _ = check(&table(ttl), ttl, nic, arrival, &frame);
    }

    #[test]
    fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz::forward(&bytes);
    }
}
