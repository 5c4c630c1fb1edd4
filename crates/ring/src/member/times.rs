//! Timeouts that several threads of a member share.

use std::time::Duration;

/// A connection on which no byte moves for this long counts as lost.
pub const STALL: Duration = Duration::from_secs(10);

/// Interval at which a thread that waits for connections checks whether the run of its member has
/// ended.
pub const LOOK: Duration = Duration::from_secs(1);
