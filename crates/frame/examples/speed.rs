//! Times what the forwarding code does with one packet, in nanoseconds: pops a label (`pop`), finds a
//! path and writes its labels (`push`), cuts a TCP packet of 64 KB into 45 segments (`cut`).
//!
//! `cargo run --release --package tresse-frame --example speed`. Prints the fastest and the median of
//! 41 rounds. To compare two versions of the code, build each, and run both in turn.
#![expect(clippy::disallowed_methods, reason = "an example measures time; the crate does not")]

use std::hint::black_box;
use std::time::Instant;

use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::MutableIpv4Packet;
use pnet::packet::ipv6::MutableIpv6Packet;
use pnet::packet::tcp::MutableTcpPacket;
use tresse_base::id::Label;
use tresse_frame::forward::fuzz::{own, peer, push_table, table};
use tresse_frame::forward::{Arrival, MOST_BEFORE, Tag, TcpSegments, Ttl};
use tresse_frame::mpls;

const ROUNDS: usize = 41;
/// Bytes of an IPv4 and of an IPv6 header, and of a TCP header without options.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;
/// Payload bytes of a segment, and of the packet that is cut.
const SEGMENT: usize = 1448;
const PAYLOAD: usize = 65_000;

fn main() {
    let (ipv4, ipv6) = (tcp4(100), tcp6(100));
    let forwarding = table(Ttl::Propagate);
    for (name, labels) in [("pop last of 1", &[17][..]), ("pop first of 3", &[17, 18, 19])] {
        let labels: Vec<Label> = labels.iter().copied().map(Label).collect();
        let stack = mpls::stack(&labels, 0, 64);
        let received = [&own(0).0[..], &peer(1).0, &[0x88, 0x47], &stack, &ipv4].concat();
        let arrival =
            Arrival { tag: Some(Tag { tpid: 0x8100, tci: 100 }), cut: false, longest: None };
        let mut frame = received.clone();
        time(name, 100_000, || {
            // The header alone is rewritten: TTL and checksum of an earlier round do no harm.
            frame[..40].copy_from_slice(&received[..40]);
            black_box(forwarding.decide(0, black_box(arrival), black_box(&mut frame))).is_ok()
        });
    }
    let pushing = push_table(Ttl::Propagate);
    for (name, packet) in [("push IPv4", &ipv4), ("push IPv6", &ipv6)] {
        let mut room = [0; MOST_BEFORE];
        time(name, 100_000, || {
            let push = pushing.push(black_box(packet));
            black_box(push.map(|push| push.write(black_box(&mut room)))).is_ok()
        });
    }
    for (name, packet, at) in [("cut IPv4", tcp4(PAYLOAD), IPV4), ("cut IPv6", tcp6(PAYLOAD), IPV6)]
    {
        let mut room = vec![0; 2000];
        time(name, 2_000, || {
            let Ok(mut segments) = TcpSegments::new(black_box(&packet), at, SEGMENT) else {
                return false;
            };
            let mut count = 0;
            while let Some(length) = segments.write(black_box(&mut room)) {
                count += usize::from(length > 0);
            }
            count == PAYLOAD.div_ceil(SEGMENT)
        });
    }
}

/// Calls `work` some times a round and prints what one call takes. `work` says whether it succeeded.
fn time(name: &str, times: u32, mut work: impl FnMut() -> bool) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let done = (0..times).all(|_| work());
            let elapsed = start.elapsed();
            assert!(done, "{name} failed");
            elapsed.as_nanos() as f64 / f64::from(times)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:16} fastest {:9.2}   median {:9.2} ns", rounds[0], rounds[ROUNDS / 2]);
}

/// An IPv4 packet of TCP to the second destination of the push table, which has two paths.
fn tcp4(payload: usize) -> Vec<u8> {
    let mut packet = vec![0; IPV4 + TCP + payload];
    let length = packet.len() as u16;
    if let Some(mut ip) = MutableIpv4Packet::new(&mut packet) {
        ip.set_version(4);
        ip.set_header_length(5);
        ip.set_total_length(length);
        ip.set_ttl(64);
        ip.set_next_level_protocol(IpNextHeaderProtocols::Tcp);
        ip.set_source([10, 77, 0, 9].into());
        ip.set_destination([10, 77, 0, 2].into());
    }
    tcp(&mut packet[IPV4..]);
    packet
}

fn tcp6(payload: usize) -> Vec<u8> {
    let mut packet = vec![0; IPV6 + TCP + payload];
    if let Some(mut ip) = MutableIpv6Packet::new(&mut packet) {
        ip.set_version(6);
        ip.set_payload_length((TCP + payload) as u16);
        ip.set_hop_limit(64);
        ip.set_next_header(IpNextHeaderProtocols::Tcp);
        ip.set_source([0xfd77, 0, 0, 0, 0, 0, 0, 9].into());
        ip.set_destination([0xfd77, 0, 0, 0, 0, 0, 0, 2].into());
    }
    tcp(&mut packet[IPV6..]);
    packet
}

fn tcp(bytes: &mut [u8]) {
    if let Some(mut tcp) = MutableTcpPacket::new(bytes) {
        tcp.set_source(0x1234);
        tcp.set_destination(80);
        tcp.set_data_offset(5);
        tcp.set_flags(0x99);
    }
}
