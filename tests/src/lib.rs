//! What the integration tests and the demonstration share: running the built programs, and the
//! counters that a plan predicts.

pub mod program;
pub mod traffic;
