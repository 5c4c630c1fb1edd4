//! Simulates any plan flit by flit (a flit is the unit of flow control), with two models of
//! switching: cut-through Ethernet, and wormhole switching with stop-and-go flow control. Results
//! are exact to the cycle, and the same for the same seed.
//!
//! Uses no file, clock, environment or log: all input comes as arguments, and results are returned.
#![forbid(unsafe_code)]

mod engine;
pub mod model;
pub mod network;
pub mod outcome;
pub mod papers;
pub mod route;
pub mod sweep;
pub mod traffic;
mod wheel;

pub use engine::{Run, SimulationError};
