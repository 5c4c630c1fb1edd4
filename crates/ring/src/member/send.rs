//! The side of the next one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use nix::sys::sendfile::sendfile;

use super::STALL;
use super::state::{Shared, State};
use crate::talk::{Next, Tell};

/// Sent at once.
const PIECE: u64 = 1 << 20;

/// So long the next one may take to write what it has to its disk.
const DISK: Duration = Duration::from_secs(600);

/// What waiting ends with.
enum Go {
    /// That is there now.
    On(u64),
    /// Nobody is to be sent anything any more, or another one is.
    Off,
}

/// Sends to whom it is told, until the end.
pub fn send_all(shared: &Shared, tell: &dyn Fn(Tell)) {
    let mut tried = None;
    loop {
        let next = shared.wait(|state| {
            if state.ended || state.failed {
                return Some(None);
            }
            state.next.flatten().filter(|next| tried != Some(next.number)).map(Some)
        });
        let Some(next) = next else { return };
        tried = Some(next.number);
        let number = next.number;
        match send(shared, next) {
            Ok(true) => tell(Tell::Sent { number }),
            Ok(false) => {}
            Err(error) => tell(Tell::Lost { number, words: error.to_string() }),
        }
    }
}

/// False where another one is to be sent to.
fn send(shared: &Shared, next: Next) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&next.address, STALL)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STALL))?;
    stream.set_write_timeout(Some(STALL))?;
    stream.write_all(&shared.token)?;
    let mut has = [0; 8];
    stream.read_exact(&mut has)?;
    let mut sent = u64::from_be_bytes(has);
    let off = |state: &State| {
        state.ended
            || state.failed
            || state.next.flatten().map(|next| next.number) != Some(next.number)
    };
    let header = shared.wait(|state| if off(state) { Some(None) } else { state.header.map(Some) });
    let Some(header) = header else { return Ok(false) };
    stream.write_all(&header.to_octets())?;
    let file = File::open(&shared.temporary).or_else(|_| File::open(&shared.file))?;
    while sent < header.size {
        let go = shared.wait(|state| match () {
            () if off(state) => Some(Go::Off),
            () if state.has > sent => Some(Go::On(state.has)),
            () => None,
        });
        let Go::On(has) = go else { return Ok(false) };
        let mut at = i64::try_from(sent).map_err(io::Error::other)?;
        let count = sendfile(&stream, &file, Some(&mut at), (has - sent).min(PIECE) as usize);
        let count = count.map_err(io::Error::from)?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file has become shorter",
            ));
        }
        sent += count as u64;
    }
    let hash = shared.wait(|state| if off(state) { Some(None) } else { state.hash.map(Some) });
    let Some(hash) = hash else { return Ok(false) };
    stream.write_all(&hash)?;
    // It writes what it has to its disk.
    stream.set_read_timeout(Some(DISK))?;
    stream.read_exact(&mut [0])?;
    Ok(true)
}
