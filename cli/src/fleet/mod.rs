//! The verbs that speak to the daemons of many nodes, and how these are reached.

mod discover;
pub mod everywhere;
mod nodes;
mod rollout;

pub use discover::Discover;
pub use nodes::FleetArgs;
pub use rollout::Rollout;
