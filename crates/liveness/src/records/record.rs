//! One record, as another node has made it.

use std::sync::Arc;
use std::time::Duration;

use tresse_base::bucket::Bucket;
use tresse_frame::records::Instance;

/// The latest record of a node.
#[derive(Debug, Clone)]
pub struct Record {
    /// How old it is.
    pub instance: Instance,
    /// Its content, as [`Report::parse`](super::Report::parse) reads it.
    pub fields: Arc<[u8]>,
    /// When it is forgotten.
    pub(super) expires: Duration,
    /// Limits how often it may be replaced.
    pub(super) bucket: Bucket,
}

impl Record {
    /// Seconds for which it still holds.
    pub(super) fn seconds(&self, now: Duration) -> u16 {
        self.expires.saturating_sub(now).as_secs().try_into().unwrap_or(u16::MAX)
    }
}
