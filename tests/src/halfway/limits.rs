//! Times and rates of the trial of broken rollouts.

use std::time::Duration;

/// Datagrams of all pairs together in a second, and in the emulated machine.
pub const RATE_OF_ALL: u32 = 3000;
pub const EMULATED_RATE_OF_ALL: u32 = 300;
/// How long traffic flows before the rollout.
pub const BEFORE: Duration = Duration::from_millis(300);
/// The time of `--confirm`, and in the emulated machine.
pub const CONFIRM: Duration = Duration::from_secs(10);
pub const EMULATED_CONFIRM: Duration = Duration::from_secs(120);
/// How many times longer it gets on a busy machine at most.
pub const SLOWEST: f64 = 4.0;
/// How long a way round a node may take to be found, and back.
pub const FAILOVER: Duration = Duration::from_secs(2);
/// How long a daemon may take to know what somebody changed in its kernel.
pub const KNOWN: Duration = Duration::from_millis(300);
/// What is waited for at most, beside the time of `--confirm`.
pub const PATIENCE: Duration = Duration::from_secs(90);
