//! Steers the members (nodes that take part) while files are moved: records what each has reported,
//! and requests what it sends next, and to which member.

mod events;
mod faults;
mod run;
mod state;
mod steps;

pub use state::Members;
