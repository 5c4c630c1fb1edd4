//! What every crate of Tresse may use: identifiers, units, seeded random numbers, hostlists, the
//! problems of a file, wiring tables and what names and limits the kernel gives us.
//!
//! Imports no other crate of the project. No socket, file, clock, environment, log or thread.
#![forbid(unsafe_code)]

pub mod hostlist;
pub mod id;
pub mod kernel;
pub mod problem;
pub mod random;
pub mod text;
pub mod units;
pub mod wiring;
