//! Names of the interfaces that Tresse creates on a node, and kernel limits that plans must respect.

/// Prefix of an interface's alias in the kernel (`ip link set ... alias`) that marks the interface as
/// created by Tresse.
pub const ALIAS_PREFIX: &str = "tresse:";
/// Name of the interface that holds a node's own addresses, which applications use instead of the
/// addresses of its NICs (K8).
pub const NODE_INTERFACE: &str = "tresse0";
/// Name of the TUN interface of a node whose kernel cannot push MPLS labels. Packets that need labels
/// are routed to it; the node's daemon reads them there and sends them with their labels.
pub const PUSH_INTERFACE: &str = "tresse-push";
/// Name of the VXLAN interface (RFC 7348) by which packets go to gateways and come from there, where nodes route: between
/// IPv4 addresses of nodes.
pub const TUNNEL_INTERFACE: &str = "tresse-gw";
/// The same between IPv6 addresses, of a fabric without IPv4.
pub const TUNNEL_INTERFACE_IPV6: &str = "tresse-gw6";
/// Its network identifier (VNI, RFC 7348 section 5).
pub const TUNNEL_VNI: u32 = 78;
/// Its UDP destination port; not 4789, the one of others.
pub const TUNNEL_PORT: u16 = 7878;
/// The kernel's limit on MPTCP endpoints (local addresses from which connections may start subflows),
/// those of other programs included. It is also the highest limit of subflows per connection that the
/// kernel accepts: MPTCP_PM_ADDR_MAX.
pub const ENDPOINTS_MAX: usize = 8;
