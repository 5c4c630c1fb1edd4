//! Encodes and decodes the frames that Tresse sends (announcements, records, LLDP, MPLS label stacks, echo requests, the
//! fields of BFD packets), signs them with the keys of the fabric ([`keys`]), and decides what a node does with a labelled frame ([`forward`]). Opens no socket.
#![forbid(unsafe_code)]

pub mod announce;
pub mod bfd;
pub mod broadcast;
pub mod echo;
pub mod forward;
pub mod keys;
pub mod lldp;
pub mod mpls;
pub mod records;
pub mod sample;
