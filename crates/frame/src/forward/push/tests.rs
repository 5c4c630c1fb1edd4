//! What a source sends by its bytes, every reason, how flows spread, and segments beside the packet.

use std::net::IpAddr;

use pnet::packet::ip::IpNextHeaderProtocol;
use pnet::packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet::packet::ipv6::{Ipv6Packet, MutableIpv6Packet};
use pnet::packet::tcp::{self, MutableTcpPacket, TcpFlags, TcpOption, TcpPacket};
use pnet::util::checksum;
use proptest::prelude::*;
use tresse_base::id::{Label, Vid};
use tresse_base::units::Mac;

use crate::forward::fuzz::{destinations, own, peer, push_table, pushed};
use crate::forward::{
    DropReason, LabelPath, MOST_LABELS, PushTable, TableError, TableNic, TcpSegments, Ttl,
};

/// No word is left out of a checksum.
const NO_WORD: usize = usize::MAX;

/// Bytes of an IPv4, IPv6 and TCP header without options.
const IPV4: usize = Ipv4Packet::minimum_packet_size();
const IPV6: usize = Ipv6Packet::minimum_packet_size();
const TCP: usize = TcpPacket::minimum_packet_size();

/// An IPv4 packet of protocol `protocol` to destination number `n` of the table.
fn ipv4(n: usize, protocol: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; IPV4 + rest.len()];
    let mut packet = MutableIpv4Packet::new(&mut bytes).unwrap();
    packet.set_version(4);
    packet.set_header_length(5);
    packet.set_total_length((IPV4 + rest.len()) as u16);
    packet.set_identification(0x0701);
    packet.set_ttl(64);
    packet.set_next_level_protocol(IpNextHeaderProtocol(protocol));
    packet.set_source([10, 77, 0, 9].into());
    packet.set_destination([10, 77, 0, n as u8 + 1].into());
    packet.set_payload(rest);
    bytes
}

fn ipv6(n: u8, next: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; IPV6 + rest.len()];
    let mut packet = MutableIpv6Packet::new(&mut bytes).unwrap();
    packet.set_version(6);
    packet.set_payload_length(rest.len() as u16);
    packet.set_next_header(IpNextHeaderProtocol(next));
    packet.set_hop_limit(63);
    packet.set_source([0xfd77, 0, 0, 0, 0, 0, 0, 9].into());
    packet.set_destination([0xfd77, 0, 0, 0, 0, 0, 0, n.into()].into());
    packet.set_payload(rest);
    bytes
}

/// Payload bytes of a TCP header with 12 bytes of options and all flags but SYN and RST.
fn tcp(sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; TCP + 12 + payload.len()];
    let mut packet = MutableTcpPacket::new(&mut bytes).unwrap();
    packet.set_source(0x1234);
    packet.set_destination(80);
    packet.set_sequence(sequence);
    packet.set_acknowledgement(1);
    packet.set_data_offset(8);
    packet.set_flags(!(TcpFlags::SYN | TcpFlags::RST));
    packet.set_window(256);
    packet.set_options(&std::array::from_fn::<_, 12, _>(|_| TcpOption::nop()));
    packet.set_payload(payload);
    bytes
}

fn before(table: &PushTable, packet: &[u8]) -> Result<Vec<u8>, DropReason> {
    let push = table.push(packet)?;
    let mut room = [0xee; 100];
    let start = push.write(&mut room);
    Ok(room[start..].to_vec())
}

#[test]
fn stack_comes_before_the_packet_with_its_ttl() {
    let table = push_table(Ttl::Propagate);
    let head = [&peer(0).0[..], &own(0).0, &[0x81, 0, 0, 100, 0x88, 0x47]].concat();
    let stack = |ttl| [0, 1, 0, ttl, 0, 1, 0x11, ttl];
    let found = before(&table, &ipv4(0, 17, &[0; 8])).unwrap();
    assert_eq!(found, [&head[..], &stack(64)].concat());
    assert_eq!(before(&table, &ipv6(1, 17, &[0; 8])).unwrap(), [&head[..], &stack(63)].concat());
    let found = before(&push_table(Ttl::Keep), &ipv4(0, 17, &[0; 8])).unwrap();
    assert_eq!(found, [&head[..], &stack(255)].concat());
    let push = table.push(&ipv4(0, 17, &[0; 8])).map(|push| (push.fits(192), push.fits(193)));
    assert_eq!(push.unwrap(), (true, false), "two labels in an MTU of 200");
}

#[test]
fn whatever_has_no_labelled_path_is_told_by_reason() {
    let table = push_table(Ttl::Propagate);
    let changed = |at: usize, value: u8| {
        let mut packet = ipv4(0, 17, &[0; 8]);
        packet[at] = value;
        packet
    };
    for (packet, reason) in [
        (vec![], DropReason::Truncated),
        (vec![0x45; 19], DropReason::Truncated),
        (ipv6(1, 17, &[])[..39].to_vec(), DropReason::Truncated),
        (changed(3, 200), DropReason::Truncated),
        (changed(3, 19), DropReason::Truncated),
        (changed(0, 0x44), DropReason::Truncated),
        (changed(0, 0x55), DropReason::NoIp),
        (vec![0; 60], DropReason::NoIp),
        (changed(19, 9), DropReason::NoRoute),
        (ipv6(9, 58, &[]), DropReason::NoRoute),
        (changed(8, 0), DropReason::TtlExpired),
    ] {
        assert_eq!(before(&table, &packet), Err(reason), "{packet:?}");
    }
}

#[test]
fn flows_spread_by_weight_and_fragments_stay_together() {
    let table = push_table(Ttl::Propagate);
    let nic = |packet: &[u8]| table.push(packet).unwrap().nic();
    for of in [4, 6] {
        let second = (0..4000_u16).filter(|port| {
            let rest = [&port.to_be_bytes()[..], &[0, 80, 0, 0, 0, 0]].concat();
            let packet = if of == 4 { ipv4(1, 17, &rest) } else { ipv6(2, 17, &rest) };
            assert_eq!(nic(&packet), nic(&packet));
            nic(&packet) == 1
        });
        assert!((2850..3150).contains(&second.count()), "three quarters of 4000 by IPv{of}");
    }
    let fragment = |port: u8, offset: [u8; 2]| {
        let mut packet = ipv4(1, 17, &[port, 0, 0, 80, 0, 0, 0, 0]);
        packet[6..8].copy_from_slice(&offset);
        nic(&packet)
    };
    let all = (0..=255).flat_map(|n| [fragment(n, [0x20, 0]), fragment(n, [0, 9])]);
    assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[test]
fn table_refuses_what_cannot_be() {
    let nics = [TableNic { mac: own(0), mtu_bytes: 1500, neighbours: Vec::new() }];
    let to = destinations()[0];
    let path = |labels: &[u32]| LabelPath {
        nic: 0,
        vid: None,
        mac: peer(0),
        labels: labels.iter().copied().map(Label).collect(),
        weight: 1,
    };
    let table = |paths: Vec<LabelPath>| PushTable::new(&nics, [(to, paths)], Ttl::Propagate);
    assert!(table(vec![path(&[16; MOST_LABELS])]).is_ok());
    for (paths, error) in [
        (vec![], TableError::NoPath { destination: to }),
        (vec![path(&[])], TableError::Stack { destination: to, labels: 0 }),
        (vec![path(&[16; MOST_LABELS + 1])], TableError::Stack { destination: to, labels: 17 }),
        (vec![path(&[3])], TableError::Label { label: Label(3) }),
        (
            vec![LabelPath { nic: 1, ..path(&[16]) }],
            TableError::PathNic { destination: to, nic: 1, nics: 1 },
        ),
        (vec![LabelPath { vid: Some(Vid(0)), ..path(&[16]) }], TableError::Vid { vid: Vid(0) }),
        (
            vec![LabelPath { mac: Mac([1; 6]), ..path(&[16]) }],
            TableError::Group { mac: Mac([1; 6]) },
        ),
    ] {
        assert_eq!(table(paths), Err(error));
    }
    for to in destinations() {
        let twice = [(to, vec![path(&[16])]), (to, vec![path(&[17])])];
        let error = TableError::DestinationTwice { destination: to };
        assert_eq!(PushTable::new(&nics, twice, Ttl::Propagate), Err(error));
    }
}

#[test]
fn segments_have_right_lengths_numbers_flags_and_sums() {
    let payload: Vec<u8> = (0..250).collect();
    for (packet, transport) in [
        (ipv4(0, 6, &tcp(u32::MAX - 50, &payload)), IPV4),
        (ipv6(1, 6, &tcp(u32::MAX - 50, &payload[..200])), IPV6),
    ] {
        let mut segments = TcpSegments::new(&packet, transport, 100).unwrap();
        assert_eq!(segments.longest(), transport + 32 + 100);
        let mut room = vec![0; segments.longest()];
        let mut found = Vec::new();
        while let Some(length) = segments.write(&mut room) {
            found.push(room[..length].to_vec());
        }
        let count = if transport == IPV4 { 3 } else { 2 };
        assert_eq!(found.len(), count);
        for (n, segment) in found.iter().enumerate() {
            // As the hardware would finish it.
            let mut tcp = segment[transport..].to_vec();
            let whole = checksum(&tcp, NO_WORD);
            MutableTcpPacket::new(&mut tcp).unwrap().set_checksum(whole);
            let tcp = TcpPacket::new(&tcp).unwrap();
            let flags = tcp.get_flags();
            let last = n + 1 == count;
            assert_eq!(flags & TcpFlags::CWR != 0, n == 0, "CWR");
            let at_end = TcpFlags::FIN | TcpFlags::PSH;
            assert_eq!(flags & at_end, if last { at_end } else { 0 });
            let others = TcpFlags::ECE | TcpFlags::URG | TcpFlags::ACK;
            assert_eq!(flags & others, others);
            if transport == IPV4 {
                let ip = Ipv4Packet::new(segment).unwrap();
                assert_eq!(ip.get_checksum(), ipv4::checksum(&ip));
                assert_eq!(ip.get_identification(), 0x0701 + n as u16);
                let sum = tcp::ipv4_checksum(&tcp, &ip.get_source(), &ip.get_destination());
                assert_eq!(tcp.get_checksum(), sum);
            } else {
                let ip = Ipv6Packet::new(segment).unwrap();
                let sum = tcp::ipv6_checksum(&tcp, &ip.get_source(), &ip.get_destination());
                assert_eq!(tcp.get_checksum(), sum);
            }
        }
    }
}

#[test]
fn what_cannot_be_cut_is_told() {
    let packet = ipv4(0, 6, &tcp(1, &[0; 100]));
    let cut = |packet: &[u8], transport, size| TcpSegments::new(packet, transport, size).err();
    assert_eq!(cut(&packet, 20, 50), None);
    assert_eq!(cut(&packet, 20, 0), Some(DropReason::Uncuttable));
    assert_eq!(cut(&packet, 24, 50), Some(DropReason::Uncuttable));
    assert_eq!(cut(&ipv4(0, 17, &[0; 100]), 20, 50), Some(DropReason::Uncuttable));
    assert_eq!(cut(&packet[..30], 20, 50), Some(DropReason::Truncated));
    assert_eq!(cut(&packet[..51], 20, 50), Some(DropReason::Truncated));
    assert_eq!(cut(&[], 20, 50), Some(DropReason::Uncuttable));
    let mut fragment = packet.clone();
    fragment[6] = 0x20;
    assert_eq!(cut(&fragment, 20, 50), Some(DropReason::Uncuttable));
    let mut short = packet;
    short[32] = 0x40;
    assert_eq!(cut(&short, 20, 50), Some(DropReason::Uncuttable));
}

proptest! {
    #[test]
    fn any_bytes_are_answered(
        packet in proptest::collection::vec(any::<u8>(), 0..150),
        transport in 0..256usize,
        size in 0..256usize,
    ) {
        pushed(Ttl::Propagate, transport, size, &packet);
    }

    #[test]
    fn packets_with_some_bytes_changed_are_answered(
        n in 0..2u8,
        v6 in any::<bool>(),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        changes in proptest::collection::vec((0..60usize, any::<u8>()), 0..4),
        size in 0..256usize,
    ) {
        let tcp = tcp(9, &payload[..payload.len().min(150)]);
        let mut packet = if v6 { ipv6(n + 1, 6, &tcp) } else { ipv4(n.into(), 6, &tcp) };
        for (at, value) in changes {
            // The shortest packet has fewer bytes.
            let at = at % packet.len();
            packet[at] = value;
        }
        pushed(Ttl::Keep, if v6 { 40 } else { 20 }, size, &packet);
    }
}

#[test]
fn what_is_behind_a_destination_takes_its_paths() {
    let nics = [TableNic { mac: own(0), mtu_bytes: 1500, neighbours: Vec::new() }];
    let to: [IpAddr; 2] = ["10.77.0.2", "10.77.0.3"].map(|to| to.parse().unwrap());
    let path = |label: u32| LabelPath {
        nic: 0,
        vid: None,
        mac: peer(0),
        labels: vec![Label(label)],
        weight: 1,
    };
    let routes = [(to[0], vec![path(17)]), (to[1], vec![path(18)])];
    let network = |prefix: &str, to| (prefix.parse().unwrap(), to);
    let elsewhere = "10.77.0.9".parse().unwrap();
    let table = PushTable::new(&nics, routes, Ttl::Propagate).unwrap().with_networks([
        network("192.168.1.0/24", to[0]),
        network("192.168.3.0/24", elsewhere),
        network("0.0.0.0/0", to[1]),
    ]);
    let path_to = |dst: [u8; 4]| {
        let mut packet = ipv4(1, 17, &[0; 8]);
        packet[16..20].copy_from_slice(&dst);
        table.push(&packet).map(|push| push.path())
    };
    assert_eq!(path_to([10, 77, 0, 2]), Ok(0));
    assert_eq!(path_to([192, 168, 1, 200]), Ok(0));
    for everywhere in [[192, 168, 2, 1], [192, 168, 3, 1], [8, 8, 8, 8], [192, 168, 0, 255]] {
        assert_eq!(path_to(everywhere), Ok(1), "{everywhere:?}");
    }
    let closed = PushTable { networks: Vec::new(), ..table.clone() };
    assert!(closed.push(&ipv4(99, 17, &[0; 8])).is_err());
}
