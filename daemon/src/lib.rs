//! The per-node daemon as a library, so that tests and benches reach its parts.

pub mod kernel;
pub mod sys;
