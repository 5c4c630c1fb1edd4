//! The members of a run: what each has done, and what it is to do next.

mod events;
mod faults;
mod run;
mod state;
mod steps;

pub use state::Members;
