//! Basic types for every crate of Tresse: identifiers, units, seeded random numbers, hostlists, faults
//! found in an input file, wiring tables, folding of addresses, names and limits of the kernel, and
//! where files are installed.
//!
//! This crate imports no other crate of the project. It uses no socket, file, clock, environment, log or
//! thread.
#![forbid(unsafe_code)]

pub mod bucket;
pub mod fold;
pub mod hostlist;
pub mod id;
pub mod installed;
pub mod kernel;
pub mod label;
pub mod problem;
pub mod random;
pub mod text;
pub mod units;
pub mod wiring;
