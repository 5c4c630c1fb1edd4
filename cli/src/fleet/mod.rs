//! The verbs for many nodes: they reach the daemon of each node through a launcher, such as ssh.

pub mod differences;
mod discover;
pub mod everywhere;
mod examine;
pub mod health;
mod launcher;
mod nodes;
mod probe;
mod remap;
pub mod remedy;
mod replace;
mod rollout;
mod said;
mod up;

pub use discover::Discover;
pub use launcher::Launcher;
pub use nodes::FleetArgs;
pub use probe::{Probe, ProbeMember};
pub use remap::Remap;
pub use replace::Replace;
pub use rollout::Rollout;
pub use up::Up;
