//! `AF_PACKET` calls that socket2 and nix lack: bind to one interface, group membership,
//! `PACKET_IGNORE_OUTGOING` (packet(7), include/uapi/linux/if_packet.h).

#![expect(unsafe_code, reason = "sockaddr_ll and the SOL_PACKET options have no safe wrapper")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, BorrowedFd};

const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
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
/// `ENODEV`, `ENETDOWN` as the kernel gives them.
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

/// Lets the interface accept frames to one group MAC for as long as the socket lives.
///
/// # Errors
/// `ENODEV` as the kernel gives it.
pub fn join_group(socket: BorrowedFd<'_>, ifindex: u32, group: [u8; 6]) -> io::Result<()> {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&group);
    let request =
        PacketMreq { ifindex: ifindex as libc::c_int, kind: PACKET_MR_MULTICAST, len: 6, address };
    set(socket, PACKET_ADD_MEMBERSHIP, &request)
}

/// Stops the kernel from handing this socket the frames that the host itself sends.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 4.20.
pub fn ignore_outgoing(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, PACKET_IGNORE_OUTGOING, &1_i32)
}

fn set<T>(socket: BorrowedFd<'_>, option: libc::c_int, value: &T) -> io::Result<()> {
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
