//! The common part of `copy`, `scatter`, `gather` and `allgather`. A launcher such as ssh starts a
//! process, the member (`tresse ring-member`), on each node. This process, the coordinator, sends
//! each member the address of the next one to send to, and the address of another if that one is
//! gone or slow.
//!
//! The data goes from member to member. Only standard input passes through this process.

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
