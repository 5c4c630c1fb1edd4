//! `AF_PACKET` calls that socket2 and nix lack: bind to one interface, multicast membership, the
//! options of `SOL_PACKET`, many frames in one call (packet(7), sendmmsg(2),
//! include/uapi/linux/if_packet.h). Receive rings are in [`super::ring`].

#![expect(unsafe_code, reason = "sockaddr_ll and the SOL_PACKET options have no safe wrapper")]

use std::io::{self, IoSlice};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The largest number of frames that [`send_parts`] sends in one call.
pub const MOST: usize = 64;

const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_COPY_THRESH: libc::c_int = 7;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const PACKET_MR_MULTICAST: libc::c_ushort = 0;

/// Mirror of `struct packet_mreq`.
#[repr(C)]
struct PacketMreq {
    ifindex: libc::c_int,
    kind: libc::c_ushort,
    len: libc::c_ushort,
    address: [u8; 8],
}

/// Binds a packet socket to one interface and one EtherType (host byte order).
///
/// # Errors
/// `ENODEV` or `ENETDOWN` from the kernel.
pub fn bind(socket: BorrowedFd<'_>, ifindex: u32, ethertype: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ethertype.to_be(),
        sll_ifindex: ifindex as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: `address` is a whole sockaddr_ll of the given length and outlives the call.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the interface accept frames to one multicast MAC address, as long as the socket lives.
///
/// # Errors
/// `ENODEV` from the kernel.
pub fn join_group(socket: BorrowedFd<'_>, ifindex: u32, group: [u8; 6]) -> io::Result<()> {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&group);
    let request =
        PacketMreq { ifindex: ifindex as libc::c_int, kind: PACKET_MR_MULTICAST, len: 6, address };
    set(socket, PACKET_ADD_MEMBERSHIP, &request)
}

/// Stops the kernel from giving this socket the frames that the host itself sends.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 4.20.
pub fn ignore_outgoing(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, PACKET_IGNORE_OUTGOING, &1_i32)
}

/// Puts a `struct virtio_net_hdr` of 10 bytes before every frame, received and sent. It tells which
/// checksum and segmentation work is still to be done. Must be set before the ring is made.
///
/// # Errors
/// `EBUSY` on a socket with a ring.
pub fn offload_header(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, PACKET_VNET_HDR, &1_i32)
}

/// Makes the kernel queue a frame that is too long for a slot of the receive ring, so that `recv`
/// can read it whole.
///
/// # Errors
/// None known.
pub fn queue_long(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, PACKET_COPY_THRESH, &1_i32)
}

/// Sets whether frames sent on this socket bypass the queueing discipline of the interface (K13).
///
/// # Errors
/// None known.
pub fn bypass_queueing(socket: BorrowedFd<'_>, bypass: bool) -> io::Result<()> {
    set(socket, PACKET_QDISC_BYPASS, &i32::from(bypass))
}

/// Returns how many received frames this socket lost since the last call because its receive ring
/// was full.
///
/// # Errors
/// None known.
pub fn take_lost(socket: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(statistics(socket)?[1])
}

/// Returns how many frames have come for this socket since the last call, also those for which its queue had no room.
///
/// # Errors
/// None known.
pub fn take_received(socket: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(statistics(socket)?[0])
}

/// Frames received, lost ones too, and lost, since the last call.
fn statistics(socket: BorrowedFd<'_>) -> io::Result<[u32; 2]> {
    let mut statistics = [0_u32; 2];
    let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
    // SAFETY: `statistics` has room for `length` bytes, a `struct tpacket_stats` (two numbers of 4
    // bytes); both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(statistics) }
}

/// Sends the first of `frames`, at most [`MOST`], in order and without blocking. Returns how many
/// were accepted, at least one.
///
/// # Errors
/// As [`send_parts`].
pub fn send_many(socket: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
    let mut parts = [IoSlice::new(&[]); MOST];
    for (part, frame) in parts.iter_mut().zip(frames) {
        *part = IoSlice::new(frame);
    }
    let count = frames.len().min(MOST);
    send_parts(socket, &parts[..count], &[1; MOST][..count])
}

/// Sends the first of some frames, at most [`MOST`], in order and without blocking. Each has so many of the `parts` as `counts`
/// says, one behind the other. Returns how many were accepted, at least one.
///
/// # Errors
/// Why the first one could not be sent: `EAGAIN` if the socket's queue is full, `ENOBUFS` if the
/// interface's is, `ENETDOWN` or `ENXIO` if the interface is down or gone. `InvalidInput` if there are fewer parts.
pub fn send_parts(
    socket: BorrowedFd<'_>,
    parts: &[IoSlice<'_>],
    counts: &[usize],
) -> io::Result<usize> {
    if let ([1], [frame]) = (counts, parts) {
        return send_one(socket, frame).map(|()| 1);
    }
    let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MOST];
    let (mut left, mut written) = (parts, 0);
    for (count, message) in counts.iter().zip(&mut messages) {
        let Some((own, rest)) = left.split_at_checked(*count) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        left = rest;
        // SAFETY: all fields of an mmsghdr are integers or pointers, for which zero is a value.
        let message = message.write(unsafe { std::mem::zeroed() });
        // An IoSlice is an iovec (std guarantees it on Unix).
        message.msg_hdr.msg_iov = own.as_ptr().cast_mut().cast();
        message.msg_hdr.msg_iovlen = own.len() as _;
        written += 1;
    }
    // SAFETY: the first `written` messages are written, each with as many iovecs of `parts` as it says,
    // which point to initialised bytes; sending reads them only, and all outlive the call.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr().cast(),
            written,
            libc::MSG_DONTWAIT as _,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Sends a single frame with send(2), which costs less than sendmmsg.
fn send_one(socket: BorrowedFd<'_>, frame: &[u8]) -> io::Result<()> {
    // SAFETY: `frame` is that many initialised bytes, which are only read and outlive the call.
    let sent = unsafe {
        libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends one frame, Ethernet header included, on the interface `ifindex`, through a socket that is
/// bound to no interface. Does not block.
///
/// # Errors
/// `ENXIO` or `ENETDOWN` if the interface is gone or down, `EAGAIN` or `ENOBUFS` if queues are
/// full.
pub fn send_by(socket: BorrowedFd<'_>, ifindex: u32, frame: &[u8]) -> io::Result<()> {
    let ethertype = frame.get(12..14).map_or(0, |bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ethertype,
        sll_ifindex: ifindex as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [0; 8],
    };
    // SAFETY: `frame` is that many initialised bytes and `address` a whole sockaddr_ll of the given length;
    // both are only read and outlive the call.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            libc::MSG_DONTWAIT,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn set<T>(socket: BorrowedFd<'_>, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` points to `size_of::<T>()` initialised bytes of a `repr(C)` struct or an
    // integer and outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
