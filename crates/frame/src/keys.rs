//! The keys of a fabric, and the tags by which its nodes know packets of their own kind: BFD, records and announcements.
//!
//! A tag is the first 16 bytes of the BLAKE3 keyed hash (its keyed mode is a pseudorandom function) over what it is for
//! and the parts it covers, each behind its length. It tells that somebody made the packet who has the key; whether the
//! packet is a copy of an older one is the business of each protocol.
//!
//! A file of keys has one or two lines: the first says how packets are signed, and what either says is taken. A line is
//! a key in 64 hexadecimal digits, or `none`, for packets without a tag. Empty lines, and lines that begin with `#`, are
//! skipped. So keys are changed without a gap, each step on all nodes before the next: `none`, `none` and KEY, KEY and
//! `none`, KEY; likewise OLD, OLD and NEW, NEW and OLD, NEW.

use std::fmt;
use std::sync::Arc;

/// Bytes of a tag.
pub const TAG: usize = 16;

const SECRET: usize = 32;
const NONE: &str = "none";

/// Of the public numbers of keys (`derive_key` of BLAKE3).
const NUMBER: &str = "tresse 2026-11-26 number of a key";

/// A tag, and the number of the key that it was made with: 1 to 255, no secret.
pub type Tagged = (u8, [u8; TAG]);

/// What a tag is for: one kind of packet is not taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// BFD control packets.
    Bfd = 1,
    /// Packets of records.
    Records = 2,
    /// Announcements.
    Announcement = 3,
}

/// The keys of a node. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys(Arc<[Option<Key>]>);

#[derive(Clone, PartialEq, Eq)]
struct Key {
    secret: [u8; SECRET],
    number: u8,
}

/// Why the text of a file of keys cannot be used. No error has any part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// A line that is no key.
    #[error(
        "line {line} is neither a key of 64 hexadecimal digits (`openssl rand -hex 32`) nor `none`"
    )]
    Line {
        /// Its number, from 1.
        line: usize,
    },
    /// A key of one digit, as in a template.
    #[error(
        "line {line}: a key of one and the same digit is no secret: `openssl rand -hex 32` makes one"
    )]
    Weak {
        /// The line, from 1.
        line: usize,
    },
    /// More or fewer lines than are allowed.
    #[error(
        "{found} lines with a key or `none`, expected one or two: the first signs, both are taken"
    )]
    Count {
        /// How many there are.
        found: usize,
    },
    /// Both lines say the same.
    #[error("both lines are the same")]
    Twice,
}

impl Default for Keys {
    /// No key: nothing is signed, and nothing that is signed is taken.
    fn default() -> Self {
        Self([None].into())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.0.iter().map(|key| key.as_ref().map(|key| key.number));
        f.debug_list().entries(numbers).finish()
    }
}

impl Keys {
    /// Reads the text of a file of keys.
    ///
    /// # Errors
    /// [`KeysError`].
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys: Vec<Option<Key>> =
            lines.map(|(line, text)| key(text, line)).collect::<Result<_, _>>()?;
        match keys.as_slice() {
            [] | [_, _, _, ..] => Err(KeysError::Count { found: keys.len() }),
            [a, b] if a == b => Err(KeysError::Twice),
            _ => Ok(Self(keys.into())),
        }
    }

    /// Is what this node sends signed?
    #[must_use]
    pub fn signs(&self) -> bool {
        self.0.first().is_some_and(Option::is_some)
    }

    /// Is what bears no tag taken?
    #[must_use]
    pub fn takes_unsigned(&self) -> bool {
        self.0.contains(&None)
    }

    /// The number of the key that signs; 0 if none does.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.0.first().and_then(Option::as_ref).map_or(0, |key| key.number)
    }

    /// The tag of a packet of these parts; `None` if this node does not sign.
    #[must_use]
    pub fn sign(&self, purpose: Purpose, parts: &[&[u8]]) -> Option<Tagged> {
        let key = self.0.first()?.as_ref()?;
        Some((key.number, key.tag(purpose, parts)))
    }

    /// Is a packet of these parts with this tag of somebody who has one of the keys?
    #[must_use]
    pub fn takes(&self, purpose: Purpose, (number, tag): &Tagged, parts: &[&[u8]]) -> bool {
        let keys = self.0.iter().flatten().filter(|key| key.number == *number);
        keys.into_iter().any(|key| {
            // All bytes are compared, so that the time it takes tells nothing.
            let made = key.tag(purpose, parts);
            made.iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b)) == 0
        })
    }
}

impl Key {
    fn tag(&self, purpose: Purpose, parts: &[&[u8]]) -> [u8; TAG] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(&[purpose as u8]);
        for part in parts {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let hash = hasher.finalize();
        *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
    }
}

/// What one line says.
fn key(text: &str, line: usize) -> Result<Option<Key>, KeysError> {
    if text == NONE {
        return Ok(None);
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = text.as_bytes().iter().map(digit).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * SECRET);
    let digits = digits.ok_or(KeysError::Line { line })?;
    if digits.iter().all(|digit| *digit == digits[0]) {
        return Err(KeysError::Weak { line });
    }
    let mut secret = [0; SECRET];
    for (byte, pair) in secret.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    let number = blake3::derive_key(NUMBER, &secret)[0].max(1);
    Ok(Some(Key { secret, number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    const NEW: &str = "f00102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f";

    fn keys(lines: &[&str]) -> Keys {
        Keys::parse(&lines.join("\n")).unwrap()
    }

    #[test]
    fn each_step_of_a_change_of_keys_is_understood_by_the_one_before() {
        for steps in [
            [vec!["none"], vec!["none", OLD], vec![OLD, "none"], vec![OLD]],
            [vec![OLD], vec![OLD, NEW], vec![NEW, OLD], vec![NEW]],
        ] {
            for two in steps.windows(2) {
                for (from, to) in [(&two[0], &two[1]), (&two[1], &two[0])] {
                    let (from, to) = (keys(from), keys(to));
                    match from.sign(Purpose::Bfd, &[b"a"]) {
                        Some(tag) => assert!(to.takes(Purpose::Bfd, &tag, &[b"a"])),
                        None => assert!(to.takes_unsigned()),
                    }
                }
            }
        }
        assert!(!keys(&[OLD]).takes_unsigned() && keys(&[OLD]).signs());
        assert!(Keys::default().takes_unsigned() && !Keys::default().signs());
        assert_eq!(keys(&["none"]), Keys::default());
    }

    #[test]
    fn a_tag_covers_its_purpose_and_where_parts_end() {
        let keys = keys(&["# of the rack", "", OLD]);
        let tag = keys.sign(Purpose::Bfd, &[b"ab", b"c"]).unwrap();
        assert!(keys.takes(Purpose::Bfd, &tag, &[b"ab", b"c"]));
        assert!(!keys.takes(Purpose::Records, &tag, &[b"ab", b"c"]));
        assert!(!keys.takes(Purpose::Bfd, &tag, &[b"a", b"bc"]));
        assert!(!keys.takes(Purpose::Bfd, &tag, &[b"abc"]));
        let (number, mut bytes) = tag;
        bytes[TAG - 1] ^= 1;
        assert!(!keys.takes(Purpose::Bfd, &(number, bytes), &[b"ab", b"c"]));
        assert!(!keys.takes(Purpose::Bfd, &(number ^ 1, tag.1), &[b"ab", b"c"]));
    }

    /// The value is that of `b3sum --keyed`.
    #[test]
    fn tag_is_that_of_blake3() {
        let (_, tag) = keys(&[OLD]).sign(Purpose::Announcement, &[b"abc"]).unwrap();
        let mut bytes = vec![3, 0, 0, 0, 0, 0, 0, 0, 3];
        bytes.extend(b"abc");
        let secret: Vec<u8> = (0..32).collect();
        let whole = blake3::keyed_hash(&secret.try_into().unwrap(), &bytes);
        assert_eq!(tag, whole.as_bytes()[..TAG]);
    }

    #[test]
    fn what_is_no_file_of_keys_is_refused_without_a_word_of_the_keys() {
        let cases = [
            ("", KeysError::Count { found: 0 }),
            ("# nothing\n", KeysError::Count { found: 0 }),
            ("none\nnone", KeysError::Twice),
            ("secret", KeysError::Line { line: 1 }),
            (&OLD[1..], KeysError::Line { line: 1 }),
            (&format!("none\n\n{OLD}0"), KeysError::Line { line: 3 }),
            (&format!("{OLD}\n{NEW}\nnone"), KeysError::Count { found: 3 }),
            (&format!("{OLD}\n{}", OLD.to_uppercase()), KeysError::Twice),
            (&"0".repeat(64), KeysError::Weak { line: 1 }),
            (&"ä".repeat(32), KeysError::Line { line: 1 }),
        ];
        for (text, error) in cases {
            assert_eq!(Keys::parse(text).unwrap_err(), error, "{text}");
            assert!(!error.to_string().contains("0001"));
        }
        assert!(!format!("{:?}", keys(&[OLD])).contains("01"));
    }
}
