//! A member of a ring: takes the file from the one before, and sends what it has of it to the next one at once.
//!
//! Both go on by themselves: what is stored is sent from the file, so that a member whose next one dies sends the
//! rest to the one after, from where that one is.

mod receive;
mod send;
mod state;

use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use crate::talk::{Ask, Join, Tell, hear, say};
use state::Shared;

/// Octets of a token, in front of everything else on a connection.
const TOKEN: usize = 16;
/// A connection on which nothing moves for so long is lost.
const STALL: Duration = Duration::from_secs(10);
/// How often a member tells how much it has.
const TICK: Duration = Duration::from_millis(250);
/// After so many of these it tells it again, and so that it lives.
const ALIVE: u32 = 20;

/// Does what it is asked on `input`, and tells on `output`, until it is to quit or the input ends.
///
/// # Errors
/// What cannot be heard or told. What goes wrong with the file is told.
pub fn run(mut input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
    let output = Mutex::new(output);
    let tell = |what: Tell| {
        let mut output = output.lock().expect("nobody panics with it");
        say(&mut *output, &what)
    };
    let join: Join = match hear(&mut input)? {
        Some(Ask::Join(join)) => join,
        Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "expected to join")),
        None => return Ok(()),
    };
    let begun = token(&join.token).and_then(|token| {
        let listener = TcpListener::bind(SocketAddr::from((join.address, 0)))?;
        let address = listener.local_addr()?;
        Ok((Shared::new(&join, token)?, listener, address))
    });
    let (shared, listener, address) = match begun {
        Ok(begun) => begun,
        Err(error) => return tell(Tell::Failed { words: error.to_string() }),
    };
    tell(Tell::Listens { port: address.port() })?;
    let heard = std::thread::scope(|scope| {
        scope.spawn(|| send::send_all(&shared, &|what| drop(tell(what))));
        scope.spawn(|| {
            let ended = match join.source {
                true => receive::hash_source(&shared),
                false => receive::receive_all(&shared, &listener),
            };
            match ended {
                Ok(Some(done)) => drop(tell(done)),
                Ok(None) => {}
                Err(error) => {
                    shared.fail();
                    drop(tell(Tell::Failed { words: error.to_string() }));
                }
            }
        });
        scope.spawn(|| {
            let (mut told, mut ticks) = (None, 0);
            while !shared.wait_to_end(TICK) {
                let has = shared.has();
                ticks += 1;
                if told != has || ticks == ALIVE {
                    (told, ticks) = (has, 0);
                    let (octets, of) = has.unwrap_or_default();
                    drop(tell(Tell::Has { octets, of }));
                }
            }
        });
        let heard = loop {
            match hear(&mut input) {
                Ok(Some(Ask::Next(next))) => shared.set_next(next),
                Ok(Some(Ask::Quit) | None) => break Ok(()),
                Ok(Some(Ask::Join(_))) => {
                    break Err(io::Error::new(io::ErrorKind::InvalidData, "joined already"));
                }
                Err(error) => break Err(error),
            }
        };
        shared.end();
        // Whoever waits for a connection sees that.
        drop(TcpStream::connect(address));
        heard
    });
    shared.remove_what_is_not_whole();
    heard
}

fn token(text: &str) -> io::Result<[u8; TOKEN]> {
    let wrong =
        || io::Error::new(io::ErrorKind::InvalidData, "the token is not 32 hexadecimal digits");
    let mut token = [0; TOKEN];
    if text.len() != 2 * TOKEN || !text.is_ascii() {
        return Err(wrong());
    }
    for (i, octet) in token.iter_mut().enumerate() {
        *octet = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| wrong())?;
    }
    Ok(token)
}

#[cfg(test)]
mod tests;
