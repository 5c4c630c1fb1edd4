//! Copies files between host and guest, and runs programs of the host in the guest.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Vm;
use super::channel::GuestChannel;
use super::client::ExecRequest;
use super::request::{RequestError, at};
use super::wire::{GuestReply, GuestRequest, MAX_PAYLOAD_BYTES};

impl Vm {
    /// Creates or replaces a file in the guest, and its directories.
    pub fn put(&self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), RequestError> {
        let mut channel = self.channel()?;
        let size_bytes = bytes.len() as u64;
        channel.send(&GuestRequest::Put { path: path.to_owned(), mode, size_bytes }, &[])?;
        for part in bytes.chunks(MAX_PAYLOAD_BYTES) {
            channel.send(&GuestRequest::Data, part)?;
        }
        done(&mut channel)
    }

    /// The bytes of a file in the guest.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, RequestError> {
        let mut channel = self.channel()?;
        channel.send(&GuestRequest::Get { path: path.to_owned() }, &[])?;
        let mut bytes = Vec::new();
        loop {
            match channel.receive()? {
                (GuestReply::Data, part) => bytes.extend(part),
                (GuestReply::Done, _) => return Ok(bytes),
                (GuestReply::Failed { message }, _) => return Err(RequestError::Guest { message }),
                (reply, _) => return Err(RequestError::Answer { reply }),
            }
        }
    }

    /// Whether the guest answers.
    pub fn ping(&self) -> Result<(), RequestError> {
        let mut channel = self.channel()?;
        channel.send(&GuestRequest::Ping, &[])?;
        done(&mut channel)
    }

    /// Copies a program of the host into the guest unless this very file is there already, and
    /// returns its path there. Debug information stays behind.
    pub fn install(&self, program: &Path) -> Result<String, RequestError> {
        let metadata = std::fs::metadata(program).map_err(at(program))?;
        let modified = metadata.modified().map_err(at(program))?;
        let age = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("/opt/tresse/{:x}-{:x}/{name}", age.as_nanos(), metadata.len());
        let mut channel = self.channel()?;
        channel.send(&GuestRequest::Stat { path: path.clone() }, &[])?;
        match channel.receive()? {
            (GuestReply::Done, _) => return Ok(path),
            (GuestReply::Failed { .. }, _) => drop(channel),
            (reply, _) => return Err(RequestError::Answer { reply }),
        }
        let bytes = self.stripped(program)?;
        self.put(&path, metadata.permissions().mode() & 0o777, &bytes)?;
        Ok(path)
    }

    /// Runs a program of the host in the guest, streams joined to ours; its exit code. Files are
    /// put into `/tmp` under their own names first.
    pub fn run_here(
        &self,
        program: &Path,
        args: &[String],
        files: &[PathBuf],
    ) -> Result<i32, RequestError> {
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let mode = std::fs::metadata(file).map_err(at(file))?.permissions().mode() & 0o777;
            let bytes = std::fs::read(file).map_err(at(file))?;
            self.put(&format!("/tmp/{name}"), mode, &bytes)?;
        }
        let mut argv = vec![self.install(program)?];
        argv.extend_from_slice(args);
        let request = ExecRequest {
            argv,
            cwd: Some("/tmp".into()),
            forward_signals: true,
            ..ExecRequest::default()
        };
        self.exec(&request, &mut io::stdout(), &mut io::stderr())
    }

    /// The program without debug information if `strip` is there, else as it is.
    fn stripped(&self, program: &Path) -> Result<Vec<u8>, RequestError> {
        let name = format!("strip.{}.{:?}", std::process::id(), std::thread::current().id());
        let stripped = self.dir.join(name);
        let status = Command::new("strip").arg("-g").arg("-o").args([&stripped, program]).output();
        let source = if status.is_ok_and(|s| s.status.success()) { &stripped } else { program };
        let bytes = std::fs::read(source).map_err(at(source));
        // A copy that is not there needs no removing.
        let _ = std::fs::remove_file(&stripped);
        bytes
    }
}

fn done(channel: &mut GuestChannel) -> Result<(), RequestError> {
    match channel.receive()? {
        (GuestReply::Done, _) => Ok(()),
        (GuestReply::Failed { message }, _) => Err(RequestError::Guest { message }),
        (reply, _) => Err(RequestError::Answer { reply }),
    }
}
