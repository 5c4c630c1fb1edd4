//! The error of starting failure detection (BFD).

use std::io;

/// Why BFD could not be started. Without it no path is watched for failures.
#[derive(Debug, thiserror::Error)]
pub enum BfdError {
    /// The kernel refused a step.
    #[error("{step} (CAP_NET_RAW is needed)")]
    Refused {
        /// What was refused.
        step: &'static str,
        /// The error.
        #[source]
        source: io::Error,
    },
}
