//! The sockets of one port, a NIC of the forwarding engine: a receive ring that accepts labelled
//! frames only (K12), and a send socket per thread, which bypasses the queueing discipline unless
//! that discipline shapes traffic (K13).

use std::os::fd::AsFd as _;

use pnet::packet::ethernet::EtherTypes;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tresse_base::units::Mac;
use tresse_frame::mpls;

use super::ForwardError;
use crate::bpf::{JEQ_K, LDH_ABS, LDW_ABS, PACKET_HOST, PACKET_TYPE, RET_K};
use crate::kernel::{NicState, nic};
use crate::sys::packet;
use crate::sys::ring::PacketRing;

const ETH_P_ALL: u16 = 3;
/// Bytes of a ring slot besides the frame's payload: its header, the addresses and alignment.
const SLOT_OVERHEAD: usize = 160;
const LEAST_SLOTS: usize = 64;
/// Bytes of socket queue for frames longer than a slot.
const LONG_BYTES: usize = 4 << 20;

/// The receive socket of a port, with its ring.
pub(super) struct Receive {
    pub socket: Socket,
    pub ring: PacketRing,
}

/// A port whose frames a thread receives.
pub(super) struct Inbound {
    pub port: usize,
    pub receive: Receive,
}

/// Reads the present state of the NIC and checks its MAC address.
pub(super) fn look(interface: &str, planned: Option<Mac>) -> Result<NicState, ForwardError> {
    let state = nic(interface)
        .map_err(|source| ForwardError::NoNic { interface: interface.to_owned(), source })?;
    match planned {
        Some(planned) if state.mac != Some(planned) => {
            let interface = interface.to_owned();
            Err(ForwardError::Mac { interface, found: state.mac, planned })
        }
        _ => Ok(state),
    }
}

/// Size in bytes of a ring slot for frames of this MTU.
pub(super) fn slot(mtu_bytes: u32) -> usize {
    (mtu_bytes as usize + SLOT_OVERHEAD).next_power_of_two().clamp(2048, 1 << 17)
}

/// Opens the receive ring. The filter is set before the socket is bound, so that the ring never
/// holds another frame.
pub(super) fn receive(
    interface: &str,
    state: &NicState,
    ring_bytes: usize,
) -> Result<Receive, ForwardError> {
    let refused = |step| ForwardError::refused(interface, step);
    let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(Protocol::from(0)))
        .map_err(refused("open a packet socket"))?;
    socket.attach_filter(&filter()).map_err(refused("attach the filter"))?;
    packet::ignore_outgoing(socket.as_fd()).map_err(refused("ignore outgoing frames"))?;
    packet::offload_header(socket.as_fd()).map_err(refused("ask for offload headers"))?;
    packet::queue_long(socket.as_fd()).map_err(refused("queue long frames"))?;
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBufForce, &LONG_BYTES)
        .map_err(std::io::Error::from)
        .map_err(refused("raise the receive queue"))?;
    let slot = slot(state.mtu_bytes);
    let slots = (ring_bytes / slot).max(LEAST_SLOTS).next_power_of_two();
    let ring =
        PacketRing::map(socket.as_fd(), slot, slots).map_err(refused("map a receive ring"))?;
    packet::bind(socket.as_fd(), state.ifindex, ETH_P_ALL).map_err(refused("bind"))?;
    Ok(Receive { socket, ring })
}

/// Opens a send socket, which receives nothing.
pub(super) fn send(interface: &str, state: &NicState) -> Result<Socket, ForwardError> {
    let refused = |step| ForwardError::refused(interface, step);
    let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(Protocol::from(0)))
        .map_err(refused("open a packet socket"))?;
    packet::offload_header(socket.as_fd()).map_err(refused("ask for offload headers"))?;
    packet::bypass_queueing(socket.as_fd(), !state.shaped).map_err(refused("bypass queueing"))?;
    packet::bind(socket.as_fd(), state.ifindex, 0).map_err(refused("bind"))?;
    Ok(socket)
}

/// Classic BPF. The kernel has already removed one VLAN tag. Frames to this host are accepted whole
/// if they carry labels, also behind a second tag (to count them). Of labelled frames to others (a
/// promiscuous NIC, a switch that floods) only the header is accepted.
fn filter() -> [SockFilter; 11] {
    const MPLS: u32 = mpls::ETHERTYPE as u32;
    const C_TAG: u32 = EtherTypes::Vlan.0 as u32;
    const S_TAG: u32 = EtherTypes::PBridge.0 as u32;
    [
        SockFilter::new(LDH_ABS, 0, 0, 12),
        SockFilter::new(JEQ_K, 4, 0, MPLS),
        SockFilter::new(JEQ_K, 1, 0, C_TAG),
        SockFilter::new(JEQ_K, 0, 5, S_TAG),
        SockFilter::new(LDH_ABS, 0, 0, 16),
        SockFilter::new(JEQ_K, 0, 3, MPLS),
        SockFilter::new(LDW_ABS, 0, 0, PACKET_TYPE),
        SockFilter::new(JEQ_K, 2, 0, PACKET_HOST),
        SockFilter::new(RET_K, 0, 0, 14),
        SockFilter::new(RET_K, 0, 0, 0),
        SockFilter::new(RET_K, 0, 0, 0x0004_0000),
    ]
}
