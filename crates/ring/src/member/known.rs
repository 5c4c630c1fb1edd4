//! Keeps what a member knows of one part of a copy (a file, a directory or a piece of a file) while
//! it arrives.

use std::sync::Arc;

use super::described::Described;
use super::partial::SavedProgress;
use crate::content::{Stripe, frontier};
use crate::frame::Hash;

/// What a member knows of one part of a copy: its manifest (list of files), its length and
/// checksum, and how many of its bytes are stored.
#[derive(Debug, Default)]
pub struct Known {
    pub described: Option<Arc<Described>>,
    /// Length in bytes; `None` until it is known.
    pub total: Option<u64>,
    /// Checksum: as received from the source, or as computed by the source itself.
    pub hash: Option<Hash>,
    /// Bytes stored of each stripe.
    pub has: Vec<u64>,
    /// Whether the part is complete under its final name.
    pub done: bool,
    /// Bytes that an earlier run left, until their checksum is verified. Nothing is sent before
    /// that.
    pub left: Option<SavedProgress>,
}

impl Known {
    /// Returns the bytes present from the beginning without a gap.
    pub fn frontier(&self) -> u64 {
        frontier(&self.has).min(self.total.unwrap_or(u64::MAX))
    }

    /// Returns how many bytes of a stripe may be sent.
    pub fn sendable(&self, stripe: Stripe) -> u64 {
        if self.left.is_some() { 0 } else { self.has[stripe.number as usize] }
    }
}
