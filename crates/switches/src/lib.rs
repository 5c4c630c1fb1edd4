//! Fetches the tables of switches: from files into which an operator pasted them. What they say is read by
//! `tresse-mapping`.
#![forbid(unsafe_code)]

mod directory;

pub use directory::{DirectoryError, pasted};
