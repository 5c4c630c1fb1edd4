//! What is copied, a file or a directory, as one run of octets: the content of its files one behind the other.
//!
//! Stripes divide that run among several rings: block `i` of [`BLOCK`] octets belongs to stripe `i` modulo their
//! number, so that all of them are of use for content whose end is not known yet.

mod manifest;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use manifest::{Entry, Kind, Manifest, Name};

/// Octets of a block.
pub const BLOCK: u64 = 1 << 20;

/// Where the octets of a manifest lie.
#[derive(Debug)]
pub struct Content {
    /// Those with octets, and where these begin.
    files: Vec<(u64, PathBuf)>,
    /// Octets in front of the first file's that are not part of it.
    skip: u64,
}

/// Octets of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// The file.
    pub path: &'a Path,
    /// Where in it.
    pub offset: u64,
    /// How many.
    pub octets: u64,
}

impl Content {
    /// That of a manifest whose root is at `root`, but for the first `skip` octets of its first file, which the
    /// manifest does not speak of.
    #[must_use]
    pub fn new(root: &Path, manifest: &Manifest, skip: u64) -> Self {
        let mut files = Vec::new();
        let mut start = 0;
        for entry in &manifest.entries {
            if let Kind::File { size } = entry.kind {
                // One whose end is not known is the only one.
                if size != Some(0) {
                    files.push((start, entry.path.below(root)));
                }
                start += size.unwrap_or(0);
            }
        }
        Self { files, skip }
    }

    /// The files of so many octets of a stripe from `at` on. What is behind the last file is taken for its own.
    pub fn spans(&self, stripe: Stripe, at: u64, octets: u64) -> impl Iterator<Item = Span<'_>> {
        let (mut at, mut left) = (at, octets);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let (position, run) = stripe.place(at);
            let file =
                self.files.partition_point(|(start, _)| *start <= position).checked_sub(1)?;
            let (start, path) = &self.files[file];
            let end = self.files.get(file + 1).map_or(u64::MAX, |(start, _)| *start);
            let octets = left.min(run).min(end - position);
            at += octets;
            left -= octets;
            Some(Span { path, offset: position - start + self.skip, octets })
        })
    }
}

/// One of several stripes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Which.
    pub number: u32,
    /// Of how many, at least one.
    pub of: u32,
}

impl Stripe {
    /// All of it.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// Where an octet of the stripe is in the content, and how many of those behind it are behind it there.
    #[must_use]
    pub fn place(self, at: u64) -> (u64, u64) {
        if self.of == 1 {
            return (at, u64::MAX);
        }
        let block = (at / BLOCK).saturating_mul(u64::from(self.of)) + u64::from(self.number);
        (block.saturating_mul(BLOCK).saturating_add(at % BLOCK), BLOCK - at % BLOCK)
    }

    /// Its octets where the content has so many.
    #[must_use]
    pub fn octets(self, total: u64) -> u64 {
        let (of, number) = (u64::from(self.of), u64::from(self.number));
        let (blocks, rest) = (total / BLOCK, total % BLOCK);
        let own = blocks / of + u64::from(number < blocks % of);
        own * BLOCK + if blocks % of == number { rest } else { 0 }
    }
}

/// How many octets there are from the beginning on without a gap, where each stripe has so many; may be more than
/// the content has.
#[must_use]
pub fn frontier(has: &[u64]) -> u64 {
    let of = has.len() as u32;
    let ends = (0..of).zip(has).map(|(number, has)| Stripe { number, of }.place(*has).0);
    ends.min().unwrap_or(0)
}
