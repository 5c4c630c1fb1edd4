//! Flit-level simulation of any plan, with two models of switching: cut-through Ethernet, and
//! wormholes with stop and go. Exact to the cycle, and the same for the same seed.
//!
//! Owns no file, clock, environment or log. Values in, values out.
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

pub use engine::{Run, RunError};
