//! Fetches the tables of switches: from files into which an operator pasted them, or by SNMP. What they say is read by
//! `tresse-mapping`.
#![forbid(unsafe_code)]

mod access;
mod directory;
mod snmp;
mod source;

pub use access::AccessError;
pub use directory::DirectoryError;
pub use source::{Source, SourceError};
