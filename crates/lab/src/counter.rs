//! What `tresse lab counters` shows of a cable, and why it cannot be read.

use serde::{Deserialize, Serialize};

use crate::run::RunError;
use crate::state::StateError;

/// Frames and bytes that crossed one cable in one direction on one VLAN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// The place that sent.
    pub from: String,
    /// The place at the other end of the cable.
    pub to: String,
    /// The VID; 0 for all frames of a cable at which no switch with VLANs is.
    pub vlan: u16,
    /// Frames other than announcements; with VLAN 0 these too.
    pub frames: u64,
    /// Their bytes as the bridge counts them: without Ethernet header, tag and FCS.
    pub bytes: u64,
    /// Announcements.
    pub control_frames: u64,
    /// Port of the sending switch, or NIC of the sending node: tells parallel cables apart.
    pub interface: String,
}

/// Why the frame counters of a lab could not be read or reset.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// iproute2.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The lab's directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// Not what we know how to read.
    #[error("cannot read what `{program}` printed in {place}: {source}")]
    Output {
        /// The program.
        program: &'static str,
        /// Where.
        place: String,
        /// The reason.
        source: serde_json::Error,
    },
}

/// Decodes what a program printed in a namespace.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(
    program: &'static str,
    place: &str,
    bytes: &[u8],
) -> Result<T, CounterError> {
    serde_json::from_slice(bytes).map_err(|source| CounterError::Output {
        program,
        place: place.into(),
        source,
    })
}
