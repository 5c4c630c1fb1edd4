//! The socket filter (classic BPF) of what BFD receives. The kernel runs it on every IP packet of the host, so it decides
//! by the first fields that differ, and by the interface last.

use std::collections::BTreeSet;

use pnet::packet::icmp::IcmpTypes;
use pnet::packet::icmpv6::Icmpv6Types;
use pnet::packet::ip::IpNextHeaderProtocols;
use socket2::SockFilter;
use tresse_liveness::received::{ETHERNET, IPV6};
use tresse_liveness::{MULTI_HOP_PORT, SINGLE_HOP_PORT};

use crate::bpf::{
    INTERFACE, JEQ_K, JSET_K, LDB_ABS, LDB_IND, LDH_ABS, LDH_IND, LDW_ABS, LDX_IMM, LDX_MSH,
    PACKET_HOST, PACKET_TYPE, RET_K,
};

/// Of a frame that is accepted, this many bytes are: more than any control packet or answer has.
pub(super) const LONGEST: usize = 512;
/// The largest number of instructions of a filter (`BPF_MAXINSNS`).
const MOST: usize = 4096;

/// Of the flags and the offset of an IPv4 fragment: all but "don't fragment".
const FRAGMENT: u32 = 0x3fff;

/// Accepts what arrives for this host on one of the interfaces (by their numbers; `None`: on any), and nothing that this
/// host sends: UDP to a port of BFD, and answers to echoes with this identifier. No fragments, and no IPv6 extension
/// headers. Too many interfaces are as if they were not said.
pub(super) fn filter(
    ipv4: bool,
    identifier: u16,
    interfaces: Option<&BTreeSet<u32>>,
) -> Vec<SockFilter> {
    let op = SockFilter::new;
    let drop = || op(RET_K, 0, 0, 0);
    let ethernet = ETHERNET as u32;
    let mut program = vec![op(LDW_ABS, 0, 0, PACKET_TYPE), op(JEQ_K, 1, 0, PACKET_HOST), drop()];
    // X is the length of the IP header.
    if ipv4 {
        program.extend([op(LDH_ABS, 0, 0, ethernet + 6), op(JSET_K, 0, 1, FRAGMENT), drop()]);
        program.push(op(LDX_MSH, 0, 0, ethernet));
    } else {
        program.push(op(LDX_IMM, 0, 0, IPV6 as u32));
    }
    let (protocol_at, icmp, answer) = match ipv4 {
        true => (9, IpNextHeaderProtocols::Icmp, IcmpTypes::EchoReply.0),
        false => (6, IpNextHeaderProtocols::Icmpv6, Icmpv6Types::EchoReply.0),
    };
    program.extend([
        op(LDB_ABS, 0, 0, ethernet + protocol_at),
        op(JEQ_K, 0, 3, IpNextHeaderProtocols::Udp.0.into()),
        // The destination port.
        op(LDH_IND, 0, 0, ethernet + 2),
        op(JEQ_K, 7, 0, SINGLE_HOP_PORT.into()),
        op(JEQ_K, 6, 5, MULTI_HOP_PORT.into()),
        op(JEQ_K, 0, 4, icmp.0.into()),
        op(LDB_IND, 0, 0, ethernet),
        op(JEQ_K, 0, 2, answer.into()),
        op(LDH_IND, 0, 0, ethernet + 4),
        op(JEQ_K, 1, 0, identifier.into()),
        drop(),
        op(LDW_ABS, 0, 0, INTERFACE),
    ]);
    let accept = || op(RET_K, 0, 0, LONGEST as u32);
    let Some(interfaces) = interfaces.filter(|all| program.len() + 2 * all.len() < MOST) else {
        program.push(accept());
        return program;
    };
    for interface in interfaces {
        program.extend([op(JEQ_K, 0, 1, *interface), accept()]);
    }
    program.push(drop());
    program
}
