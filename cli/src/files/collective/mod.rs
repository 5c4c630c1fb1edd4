//! What `copy`, `scatter`, `gather` and `allgather` share: members on nodes (`tresse ring-member`, by a launcher),
//! which this process tells whom to send to, and whom instead where one is gone or slow.
//!
//! No octet of the files comes by here, but for standard input.

mod arguments;
mod job;
mod link;
mod manual;
mod members;
pub mod names;
mod outcome;
mod party;
mod predict;
mod progress;
mod report;
mod ring_member;
mod run;

pub use arguments::{CollectiveArgs, RingArgs};
pub use job::{Job, Moved};
pub use party::Party;
pub use predict::Prediction;
pub use ring_member::RingMember;
pub use run::run;
