//! The per-node daemon as a library, so that tests and benches reach its parts.

pub mod config;
pub mod control;
#[doc(hidden)]
pub mod fuzz;
pub mod metrics;
pub mod runtime;
pub mod state;
