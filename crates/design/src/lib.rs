//! Designs flat neighbourhood networks: decides which NIC of which PC is cabled to which switch, so that PCs
//! that communicate share a switch (flat-neighborhood-network-compiler, section 2).
//!
//! A design first checks whether a bound rules out every wiring ([`bound`]), then tries
//! constructions ([`construct`]), then searches ([`search`]). This crate uses no clock and keeps no
//! thread: the caller asks for each step.
#![forbid(unsafe_code)]

pub mod answer;
mod bits;
mod blocks;
pub mod bound;
pub mod construct;
pub mod cost;
pub mod designer;
pub mod family;
mod field;
mod fill;
pub mod header;
pub mod instances;
pub mod labels;
pub mod pattern;
pub mod placement;
pub mod problem;
pub mod schedule;
pub mod search;
pub mod spec;
mod state;
pub mod tuple;

pub use answer::Answer;
pub use designer::Designer;
pub use pattern::Pattern;
pub use problem::{Maximize, Required, WiringProblem};
pub use search::{Progress, WiringSearch};
pub use spec::{Spec, SpecError};

#[cfg(test)]
mod tests;
