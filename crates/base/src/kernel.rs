//! Names of the interfaces that Tresse makes on a node, and limits of the kernel that plans keep to.

/// Links that are ours carry an alias that starts so.
pub const ALIAS_PREFIX: &str = "tresse:";
/// The interface that holds the node addresses (K8).
pub const NODE_INTERFACE: &str = "tresse0";
/// The TUN interface of a source whose kernel cannot push labels.
pub const PUSH_INTERFACE: &str = "tresse-push";
/// Endpoints that a kernel holds, of all users, and the highest limit of subflows: MPTCP_PM_ADDR_MAX.
pub const ENDPOINTS_MAX: usize = 8;
