//! Copies files into and out of the guest.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::port::{GuestPort, SessionEnd};
use crate::vm::wire::{GuestReply, GuestRequest, MAX_PAYLOAD_BYTES};

/// Receives the content of a file, which the client sends after a [`GuestRequest::Put`], and writes the
/// file. Reads all its bytes even after a file error, so that the next frame on the port is the
/// next request. The inner result is that of the file, the outer one that of the port.
pub fn put(
    port: &mut GuestPort,
    path: &str,
    mode: u32,
    size_bytes: u64,
) -> Result<Result<(), String>, SessionEnd> {
    let part = format!("{path}.tresse-part");
    let mut file = create(&part);
    let mut left = size_bytes;
    while left > 0 {
        let (request, payload) = port.receive()?;
        if request != GuestRequest::Data || payload.len() as u64 > left {
            return Ok(Err(format!("{path}: expected {left} more bytes, got another request")));
        }
        left -= payload.len() as u64;
        file = file.and_then(|mut file| file.write_all(&payload).map(|()| file));
    }
    let outcome = file
        .and_then(|file| file.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&part, path));
    Ok(outcome.map_err(|e| format!("{path}: {e}")))
}

/// Sends the content of a file in the guest to the client; the caller sends the last reply. The
/// inner result is that of the file, the outer one that of the port.
pub fn get(port: &mut GuestPort, path: &str) -> Result<Result<(), String>, SessionEnd> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(format!("{path}: {error}"))),
    };
    let mut buffer = vec![0; MAX_PAYLOAD_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Ok(())),
            Ok(got) => port.send(&GuestReply::Data, &buffer[..got])?,
            Err(error) => return Ok(Err(format!("{path}: {error}"))),
        }
    }
}

fn create(path: &str) -> io::Result<File> {
    if let Some(parent) = Path::new(path).parent() {
        fs::create_dir_all(parent)?;
    }
    File::create(path)
}
