//! Names of the interfaces that Tresse creates on a node, and kernel limits that plans must respect.

/// Prefix of the link alias that marks an interface as created by Tresse.
pub const ALIAS_PREFIX: &str = "tresse:";
/// Name of the interface that holds the node addresses (K8).
pub const NODE_INTERFACE: &str = "tresse0";
/// Name of the TUN interface through which a source sends if its kernel cannot push labels.
pub const PUSH_INTERFACE: &str = "tresse-push";
/// The largest number of MPTCP endpoints that a kernel holds for all users together, and the highest limit
/// of subflows that it accepts: MPTCP_PM_ADDR_MAX.
pub const ENDPOINTS_MAX: usize = 8;
