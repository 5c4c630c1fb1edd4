//! The sockets of one port: a receive ring that takes labelled frames only (K12), and one socket per
//! thread to send by, past the queueing discipline where that shapes nothing (K13).

use std::os::fd::AsFd as _;

use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tresse_base::units::Mac;

use super::ForwardError;
use crate::kernel::{NicState, nic};
use crate::sys::packet;
use crate::sys::ring::Ring;

const ETH_P_ALL: u16 = 3;
/// Octets of a slot beside the frame's payload: its header, the addresses and what aligns them.
const SLOT_OVERHEAD: usize = 160;
const LEAST_SLOTS: usize = 64;
/// Room for some frames that are longer than a slot.
const LONG_BYTES: usize = 4 << 20;

/// What one port receives by.
pub(super) struct Receive {
    pub socket: Socket,
    pub ring: Ring,
}

/// The NIC as it is now.
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

/// Bytes of a ring's slot for frames of this MTU.
pub(super) fn slot(mtu_bytes: u32) -> usize {
    (mtu_bytes as usize + SLOT_OVERHEAD).next_power_of_two().clamp(2048, 1 << 17)
}

/// Opens the receive ring: filtered before it is bound, so that no other frame is ever in it.
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
    let ring = Ring::map(socket.as_fd(), slot, slots).map_err(refused("map a receive ring"))?;
    packet::bind(socket.as_fd(), state.ifindex, ETH_P_ALL).map_err(refused("bind"))?;
    Ok(Receive { socket, ring })
}

/// Opens a socket to send by; it receives nothing.
pub(super) fn send(interface: &str, state: &NicState) -> Result<Socket, ForwardError> {
    let refused = |step| ForwardError::refused(interface, step);
    let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(Protocol::from(0)))
        .map_err(refused("open a packet socket"))?;
    packet::offload_header(socket.as_fd()).map_err(refused("ask for offload headers"))?;
    packet::bypass_queueing(socket.as_fd(), !state.shaped).map_err(refused("bypass queueing"))?;
    packet::bind(socket.as_fd(), state.ifindex, 0).map_err(refused("bind"))?;
    Ok(socket)
}

/// Classic BPF. The kernel has taken one tag off; whole frames to this host are taken when they carry
/// labels, perhaps behind a further tag (to count them); of frames to others (while something has
/// made the NIC promiscuous, or a switch floods) the header alone.
fn filter() -> [SockFilter; 11] {
    const LDH_ABS: u16 = 0x28;
    const LDW_ABS: u16 = 0x20;
    const JEQ_K: u16 = 0x15;
    const RET_K: u16 = 0x06;
    const MPLS: u32 = 0x8847;
    const C_TAG: u32 = 0x8100;
    const S_TAG: u32 = 0x88a8;
    const PACKET_HOST: u32 = 0;
    /// `SKF_AD_OFF` + `SKF_AD_PKTTYPE`.
    const PACKET_TYPE: u32 = -0x1000_i32 as u32 + 4;
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
