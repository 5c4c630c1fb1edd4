//! Reads the carrier of an interface from its driver with `ETHTOOL_GLINK`
//! (include/uapi/linux/ethtool.h). The driver knows it up to a second before the kernel reports it
//! over netlink (K1).

#![expect(unsafe_code, reason = "SIOCETHTOOL has no safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

const ETHTOOL_GLINK: u32 = 0x0000_000a;
const SIOCETHTOOL: libc::c_ulong = 0x8946;

#[repr(C)]
struct EthtoolValue {
    cmd: u32,
    data: u32,
}

/// Returns whether `interface` has carrier. `socket` is any socket of the interface's network
/// namespace.
///
/// # Errors
/// `ENODEV` for an unknown interface, `EOPNOTSUPP` if the driver cannot tell, `InvalidInput` for a
/// name of 16 or more bytes.
pub fn carrier(socket: BorrowedFd<'_>, interface: &str) -> io::Result<bool> {
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an interface name"));
    }
    let mut value = EthtoolValue { cmd: ETHTOOL_GLINK, data: 0 };
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() },
    };
    // SAFETY: `request` is a whole ifreq with a terminated name; its `ifru_data` points to `value`,
    // 8 bytes as ETHTOOL_GLINK reads and writes; both outlive the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data != 0) }
}
