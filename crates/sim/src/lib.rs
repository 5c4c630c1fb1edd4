//! Flit-level simulation of the fabrics that Tresse plans: any plan, two models of switching (cut-through
//! Ethernet, and wormholes with stop and go), cycle by cycle and the same for a seed.
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
