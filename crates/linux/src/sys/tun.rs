//! TUN interfaces (Documentation/networking/tuntap.rst, include/uapi/linux/if_tun.h): the kernel
//! gives the packets routed to such an interface to the process that holds its descriptor. Closing
//! the descriptor removes the interface.

#![expect(unsafe_code, reason = "TUNSETIFF and TUNSETOFFLOAD have no safe wrapper")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

const DEVICE: &str = "/dev/net/tun";
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54d0;
const IFF_TUN: libc::c_short = 0x0001;
const IFF_NO_PI: libc::c_short = 0x1000;
const IFF_VNET_HDR: libc::c_short = 0x4000;
const IFF_TUN_EXCL: libc::c_short = 0x8000_u16 as libc::c_short;
const TUN_F_CSUM: libc::c_ulong = 0x01;
const TUN_F_TSO4: libc::c_ulong = 0x02;
const TUN_F_TSO6: libc::c_ulong = 0x04;

/// Creates the TUN interface `name` in the calling thread's network namespace. Each read returns
/// one IP packet, preceded by a `struct virtio_net_hdr` of 10 bytes that tells which checksum and
/// TCP segmentation work is still to be done. Reads never block.
///
/// # Errors
/// `ENOENT` or `ENODEV` if the kernel has no TUN, `EBUSY` or `EINVAL` if the name is in use,
/// `EPERM` without CAP_NET_ADMIN, `InvalidInput` for a name of 16 or more bytes.
pub fn create(name: &str) -> io::Result<File> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an interface name"));
    }
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    let mut buffer = [0; libc::IFNAMSIZ];
    for (to, from) in buffer.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL;
    let mut request = libc::ifreq {
        ifr_name: buffer,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags },
    };
    // SAFETY: `request` is a whole ifreq with a terminated name and flags; it outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
    // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD as _, offloads) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}
