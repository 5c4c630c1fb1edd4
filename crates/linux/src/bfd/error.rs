//! The error of starting failure detection.

use std::io;

/// Why BFD cannot run, so that no path is watched.
#[derive(Debug, thiserror::Error)]
pub enum BfdError {
    /// Another program has the port.
    #[error(
        "UDP port {port} is another program's: end that BFD daemon (FRR's bfdd?), or set `bfd = {{ \
         enabled = false }}` in tressed.toml"
    )]
    Taken {
        /// Which.
        port: u16,
    },
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
