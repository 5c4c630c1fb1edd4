//! Computes the digest of any serialisable value, the start of the SHA-256 of its postcard encoding (compact, stable,
//! with a published specification). Digests only serve to find out whether two values are equal.

use std::io::BufWriter;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Computes the digest of a sequence of values: [`add`](Self::add) takes the next value, [`finish`](Self::finish)
/// returns the digest in 16 hexadecimal digits.
pub struct Digest(BufWriter<Sha256>);

impl Digest {
    pub fn new() -> Self {
        Self(BufWriter::new(Sha256::new()))
    }

    /// Adds a value.
    pub fn add(&mut self, value: &impl Serialize) {
        postcard::to_io(value, &mut self.0).expect("plain data encodes, and a hash takes it");
    }

    /// The first 8 bytes, in 16 hexadecimal digits.
    pub fn finish(self) -> String {
        let hash = self.0.into_inner().expect("a hash takes every byte").finalize();
        hash.iter().take(8).map(|b| format!("{b:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &impl Serialize) -> String {
        let mut digest = Digest::new();
        digest.add(value);
        digest.finish()
    }

    /// Nodes of one version must agree whatever libraries they were built with.
    #[test]
    fn the_encoding_is_fixed() {
        let value = (300u16, Some("ab"), [false, true], vec![7u8], None::<u8>);
        let bytes = [0xac, 2, 1, 2, b'a', b'b', 0, 1, 1, 7, 0];
        let expected: String =
            Sha256::digest(bytes).iter().take(8).map(|b| format!("{b:02x}")).collect();
        assert_eq!(of(&value), expected);
    }

    #[test]
    fn where_one_text_ends_and_the_next_begins_counts() {
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&vec![vec![1u8], vec![]]), of(&vec![vec![], vec![1u8]]));
        let long = "x".repeat(30_000);
        assert_ne!(of(&long), of(&long[1..].to_owned()));
    }
}
