//! Steers the members (nodes that take part) while files are moved: records what each member
//! reports, and tells each member what to send next, and to which other member.

mod events;
mod faults;
mod run;
mod state;
mod steps;

pub use state::Members;
