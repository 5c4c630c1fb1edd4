//! Upper and lower limits of the numbers in a cluster file, shared by its JSON Schema and the checks of the parser.

/// Dimensions in the key `dims`.
pub(super) const DIMENSIONS: usize = 6;
/// Switches of one fabric.
pub(super) const SWITCHES: u32 = 1 << 16;
/// Sizes that addresses of a P-Mesh have room for: 2048 x 2048 in a class A network (p-mesh, section 4.1).
pub(super) const GROWN: u32 = 1 << 16;
/// Nodes of one fabric.
pub(super) const NODES: u32 = 1 << 17;
/// Names that all hostlists of one file stand for: a file of a few kilobytes must not fill the memory.
pub(super) const NAMES: usize = 1 << 19;
/// Ports of a clique's switch: (N/2 + 1) switches have about N^2/8 cables.
pub(super) const CLIQUE_PORTS: u32 = 512;
/// Ports of an irregular fabric's switch.
pub(super) const IRREGULAR_PORTS: u32 = 1024;
/// Parallel cables between a leaf and a spine.
pub(super) const PARALLEL: u32 = 64;
/// Ports of a fat tree's switches.
pub(super) const FAT_TREE_PORTS: u32 = 48;
/// Dimensions of a hypercube: those of [`SWITCHES`].
pub(super) const CUBE_DIMENSIONS: u32 = SWITCHES.ilog2();
/// Cables of a switch to other groups of a dragonfly.
pub(super) const GLOBAL: u32 = 1024;
/// The largest `q` of a Slim Fly, a prime: more would have more than [`CABLES`].
pub(super) const SLIM_FLY: u32 = 83;
/// Cables between the switches of a leaf and spine, fat tree, hypercube, HyperX, dragonfly or Slim Fly: a few numbers must not fill
/// the memory.
pub(super) const CABLES: u32 = 1 << 20;
/// Nodes of a flat neighbourhood: the NIC of every pair is chosen beforehand.
pub(super) const FLAT_NODES: usize = 2048;
/// Nodes whose cables to each other the file lists: each has a table of the next hops of all pairs.
pub(super) const CABLED_NODES: usize = 1024;
/// Nodes on a switch.
pub(super) const NODES_PER_SWITCH: u32 = 4096;
/// NICs of a node; the last byte of a derived MAC.
pub(super) const NICS_PER_NODE: u32 = 64;
/// Ports of a switch.
pub(crate) const PORTS: u32 = 65_535;
/// Paths per ordered pair.
pub(super) const PATHS: u32 = 64;
/// Largest weight of traffic between two nodes, the smallest being 1. The linear program of the detours cannot
/// distinguish wider spans from round-off.
pub(super) const DEMAND: u32 = 10_000;
/// Smallest `max_frame` in bytes: an untagged IEEE 802.3 frame. The largest is that of jumbo frames in use.
pub(super) const MIN_FRAME: u32 = 1518;
/// See [`MIN_FRAME`].
pub(super) const MAX_FRAME: u32 = 16_384;
/// Smallest IP MTU of a NIC in bytes: the datagram that every host accepts (RFC 791).
pub(super) const MIN_MTU: u32 = 576;
/// Smallest MTU in bytes of a link that carries IPv6 (RFC 8200 section 5).
pub(super) const MIN_MTU_IPV6: u32 = 1280;
/// Largest IP MTU of a NIC in bytes: the largest IPv4 datagram.
pub(super) const MAX_MTU: u32 = 65_535;
/// Smallest ageing time of a switch in seconds; the largest is [`MAX_AGE`] (IEEE 802.1Q table 8-10).
pub(super) const MIN_AGE: u32 = 10;
/// See [`MIN_AGE`].
pub(super) const MAX_AGE: u32 = 1_000_000;
/// Bytes of an interface name (IFNAMSIZ less its NUL).
pub(super) const NIC_NAME: usize = 15;
/// Names that mean something else to the kernel, and that of our own interface.
pub(super) const NOT_NIC_NAMES: [&str; 6] =
    [".", "..", "all", "default", "lo", tresse_base::kernel::NODE_INTERFACE];
/// Bytes of a switch or node name (RFC 1123 label).
pub const NAME: usize = 63;
/// Places among gateways.
pub(super) const GATEWAY_ORDER: u32 = 1000;
/// Networks behind all nodes: each is a route, and a rule or two where nodes forward.
pub(super) const NETWORKS: usize = 4096;
/// NICs of one fabric.
pub(super) const NICS: u32 = 1 << 18;
/// Switch-to-switch cables listed in the file.
pub(super) const LINKS: usize = 1 << 18;
