//! Code that the integration tests, the demonstration and the soak test share: running the built
//! programs, the counters that a plan predicts, and what operators do to switches; and the soak
//! test itself.

pub mod failover;
pub mod frr;
pub mod pace;
pub mod program;
pub mod slurm;
pub mod soak;
pub mod switches;
pub mod traffic;
