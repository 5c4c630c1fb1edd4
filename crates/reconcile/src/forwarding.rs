//! Names of the sysctls for IPv6 forwarding (K7). From Linux 6.17 on each interface has
//! `force_forwarding`. Older kernels have one switch for all interfaces; when it is set, every
//! interface forgets the routes it learned from router advertisements unless its `accept_ra` is 2.

/// The sysctl that makes all interfaces forward IPv6.
pub const ALL_FORWARDING: &str = "net/ipv6/conf/all/forwarding";

/// The sysctl that lets IPv6 packets which arrive by `interface` be forwarded, on kernels that have
/// it.
#[must_use]
pub fn force_forwarding(interface: &str) -> String {
    format!("net/ipv6/conf/{interface}/force_forwarding")
}

/// Is it a `force_forwarding` sysctl of an interface?
#[must_use]
pub fn is_force_forwarding(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/force_forwarding")
}

/// Is it an `accept_ra` sysctl, which decides whether an interface accepts router advertisements?
#[must_use]
pub fn is_accept_ra(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/accept_ra")
}
