//! The networks, routes and traffic that papers evaluate, for reproducing their published figures
//! by simulation.

mod greedy;
pub mod itb;
mod minimal;
pub mod throughput;
