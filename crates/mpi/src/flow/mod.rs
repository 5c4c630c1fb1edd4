//! What goes round one ring in one collective, seen from one member: the bytes that it receives from the member before
//! it, and those that it sends to the one after it (big-fat-switches, section 3). Bytes are sent on as soon as they are
//! there, so that a collective takes as long as one link takes for its bytes, whatever the number of members.
//!
//! A flow knows no socket: [`run`](crate::wire::run) moves its bytes.

mod copy;
mod pass;
mod reduce;
#[cfg(test)]
mod tests;

pub use copy::CopyFlow;
pub use pass::PassFlow;
pub use reduce::{Combine, PASSING, ReduceFlow, Round, Step};

/// The bytes of one ring in one collective, at one member.
pub trait Flow {
    /// Number of bytes to receive in all.
    fn to_receive(&self) -> u64;

    /// Number of bytes to send in all.
    fn to_send(&self) -> u64;

    /// Where the next received bytes go. Empty if none can be taken now.
    fn space(&mut self) -> &mut [u8];

    /// So many bytes were received into [`space`](Self::space).
    fn received(&mut self, bytes: usize);

    /// What can be sent now. Empty if nothing is there.
    fn ready(&self) -> &[u8];

    /// So many bytes of [`ready`](Self::ready) were sent.
    fn sent(&mut self, bytes: usize);
}

/// The part of `len` bytes that ring `ring` of `rings` carries, in whole units of `unit` bytes.
#[must_use]
pub fn stripe(len: usize, ring: usize, rings: usize, unit: usize) -> std::ops::Range<usize> {
    let units = len / unit;
    let at = |ring: usize| units * ring / rings * unit;
    let end = if ring + 1 == rings { len } else { at(ring + 1) };
    at(ring)..end
}
