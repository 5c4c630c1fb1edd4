//! What a member knows of a part.

use std::sync::Arc;

use super::described::Described;
use super::partial::Left;
use crate::content::{Stripe, frontier};
use crate::frame::Hash;

/// What is known of a part.
#[derive(Debug, Default)]
pub struct Known {
    pub described: Option<Arc<Described>>,
    /// Octets of it, once that is known.
    pub total: Option<u64>,
    /// Its checksum: as the source told, or as it is.
    pub hash: Option<Hash>,
    /// Octets of each stripe in its files.
    pub has: Vec<u64>,
    /// All of it has its final name.
    pub done: bool,
    /// What there is from before, until it is known to be as it was: nobody is sent it before that.
    pub left: Option<Left>,
}

impl Known {
    /// Octets without a gap.
    pub fn frontier(&self) -> u64 {
        frontier(&self.has).min(self.total.unwrap_or(u64::MAX))
    }

    /// Octets of a stripe that may be sent.
    pub fn sendable(&self, stripe: Stripe) -> u64 {
        if self.left.is_some() { 0 } else { self.has[stripe.number as usize] }
    }
}
