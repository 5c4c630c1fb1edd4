//! Mutual proof that both ends of a connection know the token of the run. The token itself is never
//! sent:
//!
//! | sender | bytes | field |
//! |---|---|---|
//! | connecting end | 16 | a number that it never used before, a |
//! | accepting end | 16 | a number that it never used before, b |
//! | accepting end | 32 | BLAKE3 of `welcome`, a and b, keyed by the token |
//! | connecting end | 32 | BLAKE3 of `greet`, a and b, keyed by the token |

use std::fs::File;
use std::io::{self, Read, Write};

use crate::frame::array;
use crate::wrong;

/// The token of a run: 128 secret bits that only its members know.
pub type Token = [u8; 16];

const GREET: &[u8] = b"greet";
const WELCOME: &[u8] = b"welcome";

/// Runs the mutual proof on a connection that this end has opened: returns once the other end has
/// proved that it knows the token of the run, and this end has sent its own proof.
///
/// # Errors
/// The other end does not know the token; errors of reading and writing.
pub fn greet(stream: &mut (impl Read + Write), token: &Token) -> io::Result<()> {
    let a = number()?;
    stream.write_all(&a)?;
    let b = array(stream)?;
    // Compared in the same time wherever they differ.
    if blake3::Hash::from(array::<32>(stream)?) != keyed(token, WELCOME, &a, &b) {
        return Err(wrong("the other member does not know the token of this run"));
    }
    stream.write_all(keyed(token, GREET, &a, &b).as_bytes())
}

/// Runs the mutual proof on a connection that this end has accepted: sends the proof of this end,
/// and returns once the other end has proved that it knows the token of the run.
///
/// # Errors
/// The other end does not know the token; errors of reading and writing.
pub fn welcome(stream: &mut (impl Read + Write), token: &Token) -> io::Result<()> {
    let (a, b) = (array(stream)?, number()?);
    stream.write_all(&[&b[..], keyed(token, WELCOME, &a, &b).as_bytes()].concat())?;
    if blake3::Hash::from(array::<32>(stream)?) != keyed(token, GREET, &a, &b) {
        return Err(wrong("the other member does not know the token of this run"));
    }
    Ok(())
}

/// Returns 128 random bits.
///
/// # Errors
/// Errors of the kernel's random generator.
pub fn number() -> io::Result<[u8; 16]> {
    array(&mut File::open("/dev/urandom")?)
}

/// Formats a token as 32 hexadecimal digits.
#[must_use]
pub fn text(token: &Token) -> String {
    token.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a token from 32 hexadecimal digits.
///
/// # Errors
/// Anything but 32 hexadecimal digits.
pub fn parse(text: &str) -> io::Result<Token> {
    let wrong = || wrong("the token is not 32 hexadecimal digits");
    let mut token = Token::default();
    if text.len() != 2 * token.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    for (i, byte) in token.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| wrong())?;
    }
    Ok(token)
}

fn keyed(token: &Token, who: &[u8], a: &[u8; 16], b: &[u8; 16]) -> blake3::Hash {
    let key = blake3::derive_key("tresse ring-member 2026-11 both ends know the token", token);
    blake3::keyed_hash(&key, &[who, a, b].concat())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_those_who_know_the_token_are_let_in() {
        for (one, other) in [([7; 16], [7; 16]), ([7; 16], [8; 16])] {
            let (mut left, mut right) = UnixStream::pair().unwrap();
            let greeting = std::thread::spawn(move || greet(&mut left, &one).is_ok());
            let welcomed = welcome(&mut right, &other).is_ok();
            assert_eq!((greeting.join().unwrap(), welcomed), (one == other, one == other));
        }
    }

    #[test]
    fn a_token_is_what_it_was() {
        let token = number().unwrap();
        assert_eq!(parse(&text(&token)).unwrap(), token);
        for wrong in ["", "00", &"0".repeat(31), &"g".repeat(32), &"+1".repeat(16)] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
