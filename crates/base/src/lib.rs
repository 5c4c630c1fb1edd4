//! What every crate of Tresse may use: identifiers, units, seeded random numbers, hostlists, the
//! problems of a file, wiring tables and the names of our interfaces.
//!
//! Imports no other crate of the project. No socket, file, clock, environment, log or thread.
#![forbid(unsafe_code)]

pub mod hostlist;
pub mod id;
pub mod names;
pub mod problem;
pub mod random;
pub mod units;
pub mod wiring;
