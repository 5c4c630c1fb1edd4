//! Prepares a part of a copy (a file, a directory or a piece of a file) on this node: as its
//! source, or as an unfinished copy.

use std::io;
use std::path::{Path, PathBuf};

use super::described::Described;
use super::known::Known;
use super::partial::Partial;
use crate::content::{EntryKind, Manifest, ManifestEntry};
use crate::frame::MANIFEST;
use crate::talk::PartRole;
use crate::wrong;

/// The role of this node for one part of a copy: the part is sent from here, received here, or
/// neither.
#[derive(Debug)]
pub enum OpenPart {
    Source { path: PathBuf, piece: Option<(u32, u32)>, copy: Option<Partial> },
    Target { partial: Partial, input: bool },
    Away,
}

impl OpenPart {
    /// Removes what was created for a part before any data arrived.
    pub fn undo(&self) {
        match self {
            Self::Target { partial, .. } | Self::Source { copy: Some(partial), .. } => {
                partial.remove_if_empty();
            }
            Self::Source { .. } | Self::Away => {}
        }
    }
}

/// Prepares one part of a copy on this node: reads the manifest (list of files) of a source, or
/// opens the unfinished copy of a target. Adds the bytes of a source to `bytes`, the total of all
/// sources, which becomes `None` if its length is unknown (standard input).
pub fn place(part: PartRole, known: &mut Known, bytes: &mut Option<u64>) -> io::Result<OpenPart> {
    Ok(match part {
        PartRole::Source { path, piece, copy } => {
            let described = source(&path, piece)?;
            if described.bytes.len() > MANIFEST as usize {
                let words = format!(
                    "{}: the names of all files take {} bytes, and at most {MANIFEST} can be \
                     sent: copy it in parts",
                    path.display(),
                    described.bytes.len()
                );
                return Err(wrong(words));
            }
            let size = described.manifest.bytes().unwrap_or(0);
            *bytes = bytes.and_then(|bytes| bytes.checked_add(size));
            let copy = copy.map(|path| Partial::open(&path)).transpose()?.map(|(copy, _)| copy);
            if let Some(copy) = &copy {
                let can = copy.can_become(&described.manifest).and_then(|()| copy.clear());
                can.inspect_err(|_| copy.remove_if_empty())?;
            }
            OpenPart::Source { path, piece, copy }
        }
        PartRole::Target { path, input } => {
            let (partial, left) = Partial::open(&path)?;
            known.left = left.filter(|left| left.bytes > 0 && !input);
            *bytes = bytes.filter(|_| !input);
            OpenPart::Target { partial, input }
        }
        PartRole::Away => OpenPart::Away,
    })
}

/// Reads the manifest (list of files) of the file or directory that this node sends from `path`. If
/// `piece` is `(number, count)`, returns only that one of `count` equal pieces of the file.
pub fn source(path: &Path, piece: Option<(u32, u32)>) -> io::Result<Described> {
    let mut manifest = Manifest::of(path)?;
    let mut skip = 0;
    if let Some((piece, of)) = piece {
        let [ManifestEntry { kind: EntryKind::File { size: Some(size) }, .. }] =
            &mut manifest.entries[..]
        else {
            return Err(wrong(format!("{}: only a file is cut into pieces", path.display())));
        };
        let cut = |at: u32| (u128::from(*size) * u128::from(at) / u128::from(of.max(1))) as u64;
        skip = cut(piece);
        *size = cut(piece + 1) - skip;
        manifest.start = skip;
    }
    Ok(Described::new(manifest, path, skip))
}
