//! What a member has of one part of a copy (a file, a directory or a piece of a file) as soon as
//! its manifest, the list of its files, is known.

use std::path::Path;

use crate::content::{Content, Manifest};
use crate::frame::Hash;

/// The manifest (list of files) of one part of a copy, its checksum, and where the files are on
/// this node.
#[derive(Debug)]
pub struct Described {
    pub manifest: Manifest,
    /// The encoded manifest, and its checksum.
    pub bytes: Vec<u8>,
    pub hash: Hash,
    pub content: Content,
}

impl Described {
    pub fn new(manifest: Manifest, root: &Path, skip: u64) -> Self {
        let bytes = manifest.to_bytes();
        let hash = *blake3::hash(&bytes).as_bytes();
        let content = Content::new(root, &manifest, skip);
        Self { manifest, bytes, hash, content }
    }
}
