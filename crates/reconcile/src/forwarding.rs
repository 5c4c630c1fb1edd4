//! Names of the sysctls for IPv6 forwarding (K7). From Linux 6.17 on each interface has
//! `force_forwarding`. Older kernels have one switch for all interfaces; when it is set, every
//! interface forgets the routes it learned from router advertisements unless its `accept_ra` is 2.

/// Path below `/proc/sys` of the sysctl that makes all interfaces forward IPv6.
pub const ALL_FORWARDING: &str = "net/ipv6/conf/all/forwarding";

/// Returns the path below `/proc/sys` of the sysctl that lets IPv6 packets which arrive by
/// `interface` be forwarded. Only Linux 6.17 and later have it.
#[must_use]
pub fn force_forwarding(interface: &str) -> String {
    format!("net/ipv6/conf/{interface}/force_forwarding")
}

/// Returns whether `key`, a path below `/proc/sys`, is the sysctl `force_forwarding` of an
/// interface, which lets IPv6 packets that arrive there be forwarded.
#[must_use]
pub fn is_force_forwarding(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/force_forwarding")
}

/// Returns whether `key`, a path below `/proc/sys`, decides whether an interface accepts what IPv6 routers say:
/// advertisements, or redirects.
#[must_use]
pub fn is_from_router(key: &str) -> bool {
    let redirects = key.starts_with("net/ipv6/conf/") && key.ends_with("/accept_redirects");
    redirects || is_accept_ra(key)
}

/// Returns whether `key`, a path below `/proc/sys`, is an `accept_ra` sysctl, which decides whether
/// an interface accepts router advertisements.
#[must_use]
pub fn is_accept_ra(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/accept_ra")
}
