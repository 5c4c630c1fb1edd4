//! Sends standard input and signals from the caller to a program in the guest.

use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::channel::{ChannelError, GuestChannel};
use super::request::{ProgramInput, RequestError, at};
use super::wire::{GuestRequest, STDIN_WINDOW_BYTES};

/// Sends standard input to a program in the guest, never more bytes than the guest has granted
/// (`credit`).
pub struct Feed<'a> {
    bytes: &'a [u8],
    descriptor: bool,
    ended: bool,
    /// Bytes that may still be sent.
    pub credit: u64,
}

impl<'a> Feed<'a> {
    pub fn new(input: &'a ProgramInput) -> Self {
        let (bytes, descriptor, ended) = match input {
            ProgramInput::Null => (&[][..], false, true),
            ProgramInput::Bytes(bytes) => (&bytes[..], false, false),
            ProgramInput::Inherit => (&[][..], true, false),
        };
        Self { bytes, descriptor, ended, credit: STDIN_WINDOW_BYTES }
    }

    pub fn wants_descriptor(&self) -> bool {
        self.descriptor && !self.ended && self.credit > 0
    }

    pub fn send_bytes(&mut self, channel: &mut GuestChannel) -> Result<(), ChannelError> {
        while !self.descriptor && !self.ended && self.credit > 0 {
            let (part, rest) =
                self.bytes.split_at(self.bytes.len().min(self.credit as usize).min(CHUNK_BYTES));
            self.bytes = rest;
            self.send(channel, part)?;
        }
        Ok(())
    }

    pub fn send_descriptor(&mut self, channel: &mut GuestChannel) -> Result<(), RequestError> {
        let mut buffer = vec![0; (self.credit as usize).min(CHUNK_BYTES)];
        let got = match nix::unistd::read(io::stdin(), &mut buffer) {
            Err(Errno::EINTR | Errno::EAGAIN) => return Ok(()),
            other => other.map_err(|e| at(Path::new("standard input"))(e.into()))?,
        };
        Ok(self.send(channel, &buffer[..got])?)
    }

    fn send(&mut self, channel: &mut GuestChannel, part: &[u8]) -> Result<(), ChannelError> {
        self.ended = part.is_empty();
        self.credit -= part.len() as u64;
        channel.send(&GuestRequest::Stdin, part)
    }
}

/// SIGINT, SIGTERM and SIGHUP, blocked in this thread and read from a descriptor, so that they can
/// be passed on to a program in the guest. Dropping it restores the thread's signal mask.
pub struct Signals {
    /// For use in `poll`.
    pub descriptor: SignalFd,
    before: SigSet,
}

impl Signals {
    pub fn hold() -> Result<Self, RequestError> {
        let name = Path::new("signals");
        let mut set = SigSet::empty();
        set.extend([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        let before = set.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(|e| at(name)(e.into()))?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let descriptor = SignalFd::with_flags(&set, flags).map_err(|e| at(name)(e.into()))?;
        Ok(Self { descriptor, before })
    }

    pub fn pass_on(&self, channel: &mut GuestChannel) -> Result<(), ChannelError> {
        while let Ok(Some(info)) = self.descriptor.read_signal() {
            channel.send(&GuestRequest::Signal { number: info.ssi_signo as i32 }, &[])?;
        }
        Ok(())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Discards signals that arrived too late to be passed on.
        while let Ok(Some(_)) = self.descriptor.read_signal() {}
        let _ = self.before.thread_set_mask();
    }
}

const CHUNK_BYTES: usize = 64 << 10;
