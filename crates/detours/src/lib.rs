//! How a pair of nodes shares its traffic between its own paths and detours through third nodes (`reflect = "adaptive"`;
//! big-fat-switches-ring-clique-reflector, section 5), by what the wires carry: no clock, and nothing of a plan.
//!
//! `others` knows who wants more of a wire, `shares` decides, `patience` says when.

#![forbid(unsafe_code)]

mod others;
mod patience;
mod shares;
#[cfg(test)]
mod tests;

pub use others::Load;
pub use patience::Memory;
pub use shares::{PathUse, Reason, planned};
