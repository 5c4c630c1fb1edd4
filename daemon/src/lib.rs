//! The daemon of one node as a library, so that tests and benchmarks can use its parts.

pub mod config;
pub mod control;
#[doc(hidden)]
pub mod fuzz;
mod history;
pub mod metrics;
pub mod runtime;
pub mod state;
