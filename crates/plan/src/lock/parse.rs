//! Parses the text of `tresse.lock` into a [`Lock`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::content::{FORMAT, Lock};
use super::error::LockError;
use super::judge;

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    /// Texts that [`emit`](Self::emit) could not have written, except for order, spacing and comments.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let malformed = |error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |n| n + 1);
            LockError::Malformed {
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
                message: error.message().to_owned(),
            }
        };
        let lock: Self = toml::from_str(text).map_err(|error| match toml::from_str(text) {
            Ok(Format { format }) if format != FORMAT => LockError::Format { found: format },
            _ => malformed(error),
        })?;
        if lock.format != FORMAT {
            return Err(LockError::Format { found: lock.format });
        }
        let mut seen = BTreeSet::new();
        let used = lock.vids.iter().map(|(name, v)| (name, v.vid));
        for (tree, vid) in used.chain(lock.retired.vids.iter().map(|v| (&v.tree, v.vid))) {
            if !(1..=4094).contains(&vid.0) || !seen.insert(vid) {
                return Err(LockError::BadVid { tree: tree.clone(), vid });
            }
        }
        let mut at: BTreeMap<&String, &String> = BTreeMap::new();
        for (second, place) in &lock.places {
            if let Some(first) = at.insert(place, second) {
                let (first, second) = (first.clone(), second.clone());
                return Err(LockError::PlaceTwice { first, second, place: place.clone() });
            }
        }
        judge::judge(&lock, text)?;
        Ok(lock)
    }
}
