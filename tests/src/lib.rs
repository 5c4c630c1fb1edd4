//! Code that the integration tests, the demonstration and the soak test share: it runs the built
//! programs, predicts the frame counters of switches from a plan, and changes the VLANs of switches as
//! operators do. The soak test itself, the trials of changes of plan and of several failures, and the measurement of
//! interruptions are here too.

pub mod arguments;
pub mod cabling;
pub mod changes;
pub mod failover;
pub mod fault;
pub mod frr;
pub mod halfway;
pub mod idle;
pub mod joined;
pub mod lab;
pub mod lldpd;
pub mod load;
pub mod measured;
pub mod pace;
pub mod program;
pub mod several;
pub mod slurm;
pub mod soak;
pub mod switches;
pub mod traffic;
