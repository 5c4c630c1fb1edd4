//! A part of a copy whose manifest is known.

use std::path::Path;

use crate::content::{Content, Manifest};
use crate::frame::Hash;

/// The manifest of a part of a copy, and where its files are on this node.
#[derive(Debug)]
pub struct Described {
    pub manifest: Manifest,
    /// The encoded manifest, and its checksum.
    pub octets: Vec<u8>,
    pub hash: Hash,
    pub content: Content,
}

impl Described {
    pub fn new(manifest: Manifest, root: &Path, skip: u64) -> Self {
        let octets = manifest.to_octets();
        let hash = *blake3::hash(&octets).as_bytes();
        let content = Content::new(root, &manifest, skip);
        Self { manifest, octets, hash, content }
    }
}
