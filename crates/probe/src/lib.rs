//! Whether a fabric is as fast as its plan (`tresse probe`): loss, round trip, largest packet and throughput of cables, of
//! ways through nodes, and of disjoint pairs at once, beside what the plan promises.
//!
//! - [`Targets`]: what is measured, by the plan.
//! - [`member`] runs on a node: `ping` and `iperf3` measure there. [`talk`] is what it is asked and answers.
//! - [`Agents`] asks the nodes; [`measure`] does so in rounds in which no node has two tasks.
//! - [`Finding`] judges what was measured, beside the plan and an earlier run ([`Baseline`]).

#![forbid(unsafe_code)]

mod agents;
mod baseline;
mod finding;
pub mod fuzz;
mod measure;
pub mod member;
mod rounds;
pub mod talk;
mod targets;
mod tools;

pub use agents::{AgentError, Agents};
pub use baseline::Baseline;
pub use finding::{Earlier, Finding, Verdict, blame};
pub use measure::{Measured, Options, busy, measure};
pub use targets::{End, Kind, Target, Targets};
