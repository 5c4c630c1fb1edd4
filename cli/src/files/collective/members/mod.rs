//! Steers the members of a run: records what each has reported, and decides what it does next.

mod events;
mod faults;
mod run;
mod state;
mod steps;

pub use state::Members;
