//! Fetches the tables of switches: from files into which an operator pasted them, or by SNMP. What they say is read by
//! `tresse-mapping`.
#![forbid(unsafe_code)]

mod access;
mod directory;
mod snmp;

pub use access::{AccessError, SnmpAccess};
pub use directory::{DirectoryError, pasted};
pub use snmp::{Asked, ask};
