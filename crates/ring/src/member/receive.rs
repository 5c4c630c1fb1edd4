//! The side of the one before.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::state::{Header, Shared};
use super::{STALL, TOKEN};
use crate::talk::Tell;

/// How often one who waits for the one before looks whether another one has come.
const LOOK: Duration = Duration::from_millis(500);
/// Read at once.
const PIECE: usize = 256 * 1024;

/// What of the file is whole and right, from whom it may come.
pub fn receive_all(shared: &Shared, listener: &TcpListener) -> io::Result<Option<Tell>> {
    let mut file = OpenOptions::new().append(true).open(&shared.temporary)?;
    let mut hasher = blake3::Hasher::new();
    loop {
        let (stream, _) = listener.accept()?;
        if shared.state().ended {
            return Ok(None);
        }
        match receive(shared, listener, stream, &mut file, &mut hasher) {
            Ok(told) => return Ok(Some(told)),
            Err(Problem::Own(error)) => return Err(error),
            // Another one will come.
            Err(Problem::Sender) => {}
        }
    }
}

/// Whose it is.
enum Problem {
    /// The one before is gone, or is somebody else.
    Sender,
    /// The file's.
    Own(io::Error),
}

fn receive(
    shared: &Shared,
    listener: &TcpListener,
    mut stream: TcpStream,
    file: &mut File,
    hasher: &mut blake3::Hasher,
) -> Result<Tell, Problem> {
    let sender = |_: io::Error| Problem::Sender;
    stream.set_read_timeout(Some(STALL)).map_err(sender)?;
    stream.set_nodelay(true).map_err(sender)?;
    let mut token = [0; TOKEN];
    stream.read_exact(&mut token).map_err(sender)?;
    if token != shared.token {
        return Err(Problem::Sender);
    }
    // The one before may itself wait for what comes.
    stream.set_read_timeout(Some(LOOK)).map_err(sender)?;
    let mut has = shared.state().has;
    stream.write_all(&has.to_be_bytes()).map_err(sender)?;
    let mut octets = [0; Header::OCTETS];
    read_all(shared, listener, &mut stream, &mut octets)?;
    let header = Header::from_octets(octets);
    let known = shared.state().header;
    if known.is_some_and(|known| known != header) {
        return Err(Problem::Sender);
    }
    shared.change(|state| state.header = Some(header));
    let mut piece = vec![0; PIECE];
    while has < header.size {
        let most = usize::try_from(header.size - has).unwrap_or(PIECE).min(PIECE);
        let count = read_some(shared, listener, &mut stream, &mut piece[..most])?;
        let named =
            |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", shared.file.display()));
        file.write_all(&piece[..count]).map_err(|e| Problem::Own(named(e)))?;
        has += count as u64;
        shared.change(|state| state.has = has);
        // Whoever sends on does so meanwhile.
        hasher.update(&piece[..count]);
    }
    let mut right = [0; 32];
    read_all(shared, listener, &mut stream, &mut right)?;
    let hash = *hasher.finalize().as_bytes();
    if hash != right {
        let words = format!("{}: the checksum is not that of the source", shared.file.display());
        return Err(Problem::Own(io::Error::new(io::ErrorKind::InvalidData, words)));
    }
    finish(shared, file, header).map_err(Problem::Own)?;
    shared.is_whole(hash);
    // The one before need not know: the file is whole.
    let _ = stream.write_all(&[0]);
    Ok(Tell::Done { octets: has, hash: blake3::Hash::from(hash).to_hex().to_string() })
}

/// What comes next, at least an octet. Where nothing comes, and another one wants to send, the one before is gone.
fn read_some(
    shared: &Shared,
    listener: &TcpListener,
    stream: &mut TcpStream,
    piece: &mut [u8],
) -> Result<usize, Problem> {
    loop {
        match stream.read(piece) {
            Ok(0) => return Err(Problem::Sender),
            Ok(count) => return Ok(count),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let mut waits = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
                let another = poll(&mut waits, PollTimeout::ZERO).is_ok_and(|count| count > 0);
                if another || shared.state().ended {
                    return Err(Problem::Sender);
                }
            }
            Err(_) => return Err(Problem::Sender),
        }
    }
}

fn read_all(
    shared: &Shared,
    listener: &TcpListener,
    stream: &mut TcpStream,
    octets: &mut [u8],
) -> Result<(), Problem> {
    let mut at = 0;
    while at < octets.len() {
        at += read_some(shared, listener, stream, &mut octets[at..])?;
    }
    Ok(())
}

/// Gives it its final name.
fn finish(shared: &Shared, file: &File, header: Header) -> io::Result<()> {
    let mode = if shared.keep { header.mode } else { header.mode & 0o777 & !0o022 };
    file.set_permissions(Permissions::from_mode(mode))?;
    if shared.keep {
        let seconds = Duration::from_secs(header.changed.unsigned_abs());
        let time = if header.changed < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
        file.set_modified(time)?;
    }
    file.sync_all()?;
    fs::rename(&shared.temporary, &shared.file)
}

/// The checksum of the source, while its content is sent.
pub fn hash_source(shared: &Shared) -> io::Result<Option<Tell>> {
    let Some((_, size)) = shared.has() else { return Ok(None) };
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE];
    let mut file = File::open(&shared.file)?.take(size);
    let mut all = 0;
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            break;
        }
        all += count as u64;
        hasher.update(&piece[..count]);
        if shared.state().ended {
            return Ok(None);
        }
    }
    if all != size {
        let words = format!("{}: has become shorter meanwhile", shared.file.display());
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words));
    }
    let hash = *hasher.finalize().as_bytes();
    shared.is_whole(hash);
    Ok(Some(Tell::Done { octets: size, hash: blake3::Hash::from(hash).to_hex().to_string() }))
}
