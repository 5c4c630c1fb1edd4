//! Forwarding of labelled frames. A transit node pops the top label and sends the rest out of the
//! NIC, on the VID and to the MAC that the label means. A source whose kernel cannot push labels
//! finds the path of a packet with [`PushTable`], and cuts packets that are too long with
//! [`Segments`].
//!
//! [`Table`] holds the meaning of every label of this node, and the MACs that may send labelled
//! frames to each of its NICs. [`Table::decide`] judges one frame and rewrites it in place. Never
//! touches a socket, never allocates, and handles any bytes. Sources: RFC 3032; in-transit buffers,
//! `in-transit-buffers-updown` section 3; and Linux (net/mpls/af_mpls.c, `mpls_forward` and
//! `mpls_egress`), with which this engine shares paths:
//!
//! - A popped label's TTL must be above 1. It is not carried into the next entry, whose TTL stays as
//!   the source set it: labels are popped and never swapped, so that a stack bounds its path (K4).
//! - With the last label the frame leaves as IPv4 or IPv6, told apart by the first four bits. Its
//!   TTL or hop limit becomes the label's minus 1 ([`Ttl::Propagate`], the kernel's default), or its
//!   own minus 1 and never below 0 ([`Ttl::Keep`], `net.mpls.ip_ttl_propagate` = 0). The IPv4
//!   checksum is corrected for that change alone (RFC 1624), so that a wrong one stays wrong.
//! - No ICMP is sent (K9), and 802.1Q priorities end here.
//!
//! Stricter than the kernel: the source MAC must be planned for NIC and VID (K11), the stack must
//! have a bottom, and the IP header must be there as a whole.

mod decide;
#[doc(hidden)]
pub mod fuzz;
mod push;
mod reason;
mod segment;
mod table;

#[cfg(test)]
mod tests;

pub use decide::{Arrival, Forward, Tag};
pub use push::{MOST_BEFORE, Path, Push, PushTable};
pub use reason::Reason;
pub use segment::Segments;
pub use table::{MOST_LABELS, Nic, Table, TableError, Ttl};
