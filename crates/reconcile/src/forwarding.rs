//! Names of the sysctls of IPv6 forwarding (K7). From Linux 6.17 on it is per interface, by
//! `force_forwarding`; before that there is only a switch for all interfaces, which makes every one of
//! them forget the routes of router advertisements unless its `accept_ra` is 2.

/// Lets all interfaces forward IPv6.
pub const ALL_FORWARDING: &str = "net/ipv6/conf/all/forwarding";

/// The sysctl that lets what comes in by `interface` be forwarded, where the kernel has it.
#[must_use]
pub fn force_forwarding(interface: &str) -> String {
    format!("net/ipv6/conf/{interface}/force_forwarding")
}

/// Does a sysctl let one interface forward IPv6?
#[must_use]
pub fn is_force_forwarding(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/force_forwarding")
}

/// Does a sysctl say whether an interface hears router advertisements?
#[must_use]
pub fn is_accept_ra(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/accept_ra")
}
