//! Decides how a node forwards frames with MPLS labels. A transit node pops the top label, which
//! means a NIC, a VID and a MAC address, and sends the rest of the frame there. A source whose
//! kernel cannot push labels finds the path of a packet with [`PushTable`], and cuts packets that
//! are too long with [`TcpSegments`].
//!
//! Frames that a port could not send yet wait in a [`Backlog`]; an [`Offload`] header before a frame says what is still to be done
//! to it.
//!
//! [`ForwardingTable`] holds the meaning of every label of this node, and the MAC addresses that may send labelled frames
//! to each NIC. [`ForwardingTable::decide`] decides on one frame and rewrites it in place. No socket, no
//! allocation; any bytes are valid input. Sources: RFC 3032; in-transit buffers,
//! `in-transit-buffers-updown` section 3; and Linux (net/mpls/af_mpls.c, `mpls_forward` and
//! `mpls_egress`), which forwards other frames of the same paths:
//!
//! - The popped label's TTL must be above 1. It is not copied into the next entry, whose TTL stays
//!   as the source set it: labels are popped and never swapped, so the stack limits the length of a
//!   path (K4).
//! - After the last label the frame leaves as IPv4 or IPv6, according to the first four bits. Its
//!   TTL or hop limit becomes the label's minus 1 ([`Ttl::Propagate`], the kernel's default), or
//!   its own minus 1 and never below 0 ([`Ttl::Keep`], `net.mpls.ip_ttl_propagate` = 0). The IPv4
//!   checksum is updated for that change only (RFC 1624), so that a wrong checksum stays wrong.
//! - No ICMP is sent (K9), and 802.1Q priorities are not passed on.
//!
//! Stricter than the kernel: the source MAC address must be planned for NIC and VID (K11), the
//! stack must have a bottom entry, and the IP header must be complete.

mod backlog;
mod decide;
#[doc(hidden)]
pub mod fuzz;
mod merge;
mod offload;
mod push;
mod reason;
mod segment;
mod table;

#[cfg(test)]
mod tests;

pub use backlog::{Backlog, Pool, Taken};
pub use decide::{Arrival, Forward, Tag};
pub use merge::{MOST_HEADERS, Merged};
pub use offload::{OFFLOAD_HEADER, Offload};
pub use push::{LabelPath, MOST_BEFORE, Push, PushTable};
pub use reason::DropReason;
pub use segment::TcpSegments;
pub use table::{ForwardingTable, MOST_LABELS, TableError, TableNic, Ttl};
