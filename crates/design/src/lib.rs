//! Flat neighbourhood design: which NIC of which PC goes to which switch, so that the PCs that talk
//! share a switch (flat-neighborhood-network-compiler, section 2).
//!
//! First what is known to be impossible ([`bound`]), then what needs no search ([`construct`]), then
//! the search ([`search`]). Owns no clock and no thread: the caller steps.
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
pub mod labels;
pub mod pattern;
pub mod placement;
pub mod problem;
pub mod search;
pub mod spec;
mod state;
pub mod tuple;

pub use answer::Answer;
pub use designer::Designer;
pub use pattern::Pattern;
pub use problem::{Maximize, Problem, Required};
pub use search::{Progress, Search};
pub use spec::Spec;

#[cfg(test)]
mod tests;
