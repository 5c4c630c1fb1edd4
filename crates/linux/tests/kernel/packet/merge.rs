//! TCP segments that go as one frame, and what arrives of it.

use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet::packet::tcp::{self, MutableTcpPacket, TcpFlags};
use tresse_base::id::Label;
use tresse_base::units::Mac;
use tresse_frame::forward::OFFLOAD_HEADER;
use tresse_frame::forward::TcpSegments;
use tresse_frame::mpls;

use super::pair::{ACROSS, BACK, engine, on_one_processor};
use super::tap::{Tap, own, peer};
use crate::cables::cables;

const SEGMENT: usize = 1000;
const SEGMENTS: usize = 40;
const SOURCE: [u8; 4] = [10, 9, 0, 1];
const DESTINATION: [u8; 4] = [10, 9, 0, 2];

/// The IPv4 packets of a flow, all checksums right.
fn packets(ttl: u8) -> Vec<Vec<u8>> {
    let mut whole = vec![0; 40 + SEGMENTS * SEGMENT - 300];
    for (n, byte) in whole[40..].iter_mut().enumerate() {
        *byte = (n ^ n >> 8) as u8;
    }
    let length = whole.len() as u16;
    let mut ip = MutableIpv4Packet::new(&mut whole).unwrap();
    ip.set_version(4);
    ip.set_header_length(5);
    ip.set_total_length(length);
    ip.set_identification(65_530);
    ip.set_ttl(ttl);
    ip.set_next_level_protocol(IpNextHeaderProtocols::Tcp);
    ip.set_source(SOURCE.into());
    ip.set_destination(DESTINATION.into());
    ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
    let mut tcp = MutableTcpPacket::new(&mut whole[20..]).unwrap();
    tcp.set_source(5000);
    tcp.set_destination(80);
    tcp.set_sequence(u32::MAX - 5000);
    tcp.set_acknowledgement(7);
    tcp.set_data_offset(5);
    tcp.set_flags(TcpFlags::ACK | TcpFlags::PSH);
    tcp.set_window(512);
    let mut segments = TcpSegments::new(&whole, 20, SEGMENT).unwrap();
    let mut packets = Vec::new();
    let mut room = vec![0; 2000];
    while let Some(length) = segments.write(&mut room) {
        let mut packet = room[..length].to_vec();
        let mut tcp = MutableTcpPacket::new(&mut packet[20..]).unwrap();
        let sum = tcp::ipv4_checksum(&tcp.to_immutable(), &SOURCE.into(), &DESTINATION.into());
        tcp.set_checksum(sum);
        packets.push(packet);
    }
    packets
}

/// A packet in a frame with a label and no tag, behind its offload header.
fn labelled(packet: &[u8], to: Mac, label: u32) -> Vec<u8> {
    let mut frame = vec![0; OFFLOAD_HEADER];
    frame.extend(to.0);
    frame.extend(peer(1).0);
    frame.extend(mpls::ETHERTYPE.to_be_bytes());
    frame.extend(mpls::stack(&[Label(label)], 0, 64));
    frame.extend(packet);
    frame
}

/// Where the NIC cuts frames, fewer come, and where it does not, all of them, as they were.
pub fn merged() {
    on_one_processor();
    cables(2);
    let engine = engine();
    let (mut far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    let (sent, expected) = (packets(200), packets(63));
    assert_eq!(sent.len(), SEGMENTS);
    let frames = |label| -> Vec<Vec<u8>> {
        sent.iter().map(|packet| labelled(packet, own(0), label)).collect()
    };
    let ethtool = |words: &str| {
        let run = std::process::Command::new("ethtool").args(words.split_whitespace()).output();
        assert!(run.unwrap().status.success(), "ethtool {words}");
    };
    ethtool("-K eth1 tx off tso off gso off");
    for _ in 0..20 {
        far0.send(&frames(ACROSS));
        let arrived = far1.expect(SEGMENTS);
        assert!(arrived.iter().map(|seen| seen.packet()).eq(expected.iter().map(|p| &p[..])));
    }
    let ports = engine.counters().ports;
    assert_eq!(ports[1].sent.frames as usize, 20 * SEGMENTS, "counted one by one");
    assert!(ports.iter().all(|port| port.dropped.is_empty()), "{ports:?}");
    // By a NIC that cuts frames itself, which this end never does. What comes one by one, as on a busy machine, is not merged.
    let (mut fewest, mut rounds) = (SEGMENTS, 0);
    while rounds < 20 || rounds < 400 && fewest >= SEGMENTS / 2 {
        rounds += 1;
        far0.send(&frames(BACK));
        let mut payload = 0;
        let mut arrived = 0;
        while payload < sent.iter().map(|packet| packet.len() - 40).sum() {
            for seen in far0.take() {
                arrived += 1;
                let ip = Ipv4Packet::new(seen.packet()).unwrap();
                payload += usize::from(ip.get_total_length()) - 40;
            }
        }
        fewest = fewest.min(arrived);
    }
    assert!(fewest < SEGMENTS / 2, "{fewest}");
    assert_eq!(engine.counters().ports[0].sent.frames as usize, rounds * SEGMENTS);
}
