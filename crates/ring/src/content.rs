//! The copied file or directory as one byte sequence: the contents of its files, one after another.
//!
//! Stripes divide that sequence among several rings (orders in which the members pass data on):
//! block `i` of [`BLOCK`] bytes belongs to stripe `i` modulo the number of stripes. So all rings
//! carry data even while the length of the content is unknown.

mod manifest;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use manifest::{EntryKind, Manifest, ManifestEntry, Name};

/// Size in bytes of a block. The copied data is divided into blocks, which are assigned to the
/// stripes in turn.
pub const BLOCK: u64 = 1 << 20;

/// The copied files as one byte sequence: finds the file and the offset in it for any position in
/// the sequence.
#[derive(Debug)]
pub struct Content {
    /// Files that are not empty, each with the position at which its content begins.
    files: Vec<(u64, PathBuf)>,
    /// Bytes at the start of the first file that are not copied.
    skip: u64,
}

/// A range of bytes of one copied file: path, offset and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// The file.
    pub path: &'a Path,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Content {
    /// Returns the content of a manifest whose root is at `root`. The first `skip` bytes of the
    /// first file are left out; the manifest does not count them.
    #[must_use]
    pub fn new(root: &Path, manifest: &Manifest, skip: u64) -> Self {
        let mut files = Vec::new();
        let mut start = 0;
        for entry in &manifest.entries {
            if let EntryKind::File { size } = entry.kind {
                // One whose end is not known is the only one.
                if size != Some(0) {
                    files.push((start, entry.path.below(root)));
                }
                start += size.unwrap_or(0);
            }
        }
        Self { files, skip }
    }

    /// Returns the file ranges that hold `bytes` bytes of a stripe from position `at` on.
    /// Positions past the end are mapped to the last file.
    pub fn spans(&self, stripe: Stripe, at: u64, bytes: u64) -> impl Iterator<Item = Span<'_>> {
        let (mut at, mut left) = (at, bytes);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let (position, run) = stripe.place(at);
            let file =
                self.files.partition_point(|(start, _)| *start <= position).checked_sub(1)?;
            let (start, path) = &self.files[file];
            let end = self.files.get(file + 1).map_or(u64::MAX, |(start, _)| *start);
            let bytes = left.min(run).min(end - position);
            at += bytes;
            left -= bytes;
            Some(Span { path, offset: position - start + self.skip, bytes })
        })
    }
}

/// One stripe of the copied data: of every `of` blocks in sequence, the block with index `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Number of the stripe, from 0.
    pub number: u32,
    /// Number of stripes, at least 1.
    pub of: u32,
}

impl Stripe {
    /// The only stripe of an undivided content.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// Returns the position in the content of byte `at` of the stripe, and how many bytes follow
    /// there without a gap.
    #[must_use]
    pub fn place(self, at: u64) -> (u64, u64) {
        if self.of == 1 {
            return (at, u64::MAX);
        }
        let block = (at / BLOCK).saturating_mul(u64::from(self.of)) + u64::from(self.number);
        (block.saturating_mul(BLOCK).saturating_add(at % BLOCK), BLOCK - at % BLOCK)
    }

    /// Returns the bytes of this stripe if the content has `total` bytes.
    #[must_use]
    pub fn bytes(self, total: u64) -> u64 {
        let (of, number) = (u64::from(self.of), u64::from(self.number));
        let (blocks, rest) = (total / BLOCK, total % BLOCK);
        let own = blocks / of + u64::from(number < blocks % of);
        own * BLOCK + if blocks % of == number { rest } else { 0 }
    }
}

/// Returns how many bytes of the copied data are present from its beginning without a gap. `has`
/// gives the number of bytes present of each stripe. The result may exceed the length of the data,
/// which is not known here.
#[must_use]
pub fn frontier(has: &[u64]) -> u64 {
    let of = has.len() as u32;
    let ends = (0..of).zip(has).map(|(number, has)| Stripe { number, of }.place(*has).0);
    ends.min().unwrap_or(0)
}
