//! The board of PMI-1: lines of text over the socket whose descriptor is in `PMI_FD`.
//!
//! `cmd=init`, `cmd=get_my_kvsname`, `cmd=put` before MPI's own use of it, `cmd=get` after: MPI's start contains the
//! barrier that shows all of them to all. Source: MPICH's doc/wiki/developer_guide, "PMI-1 wire protocol".
#![expect(unsafe_code, reason = "a descriptor that the launcher has left open")]

use std::env;
use std::io::{self, Read as _, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::os::unix::net::UnixStream;

/// A key per rank.
const KEY: &str = "tresse-mpi";
/// Longest reply.
const LONGEST: usize = 4096;

/// A connection to the launcher's proxy, which is MPI's too, and stays open.
#[derive(Debug)]
pub struct Pmi {
    stream: ManuallyDrop<UnixStream>,
    store: String,
}

impl Pmi {
    /// Writes the own key. `None` without PMI-1, or where the proxy does not answer as it should.
    pub fn write() -> Option<Self> {
        // The server of Slurm answers a start once for each task, and that one is the MPI's. Hydra says which rank of its host
        // each is.
        if env::var_os("SLURM_JOB_ID").is_some() && env::var_os("MPI_LOCALRANKID").is_none() {
            return None;
        }
        let number = |name| env::var(name).ok()?.parse::<i32>().ok();
        let (descriptor, rank) = (number("PMI_FD")?, number("PMI_RANK")?);
        // SAFETY: the launcher has opened this descriptor for MPI; it is never closed here.
        let stream = ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(descriptor) });
        let mut pmi = Self { stream, store: String::new() };
        pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init").ok()?;
        let reply = pmi.ask("cmd=get_my_kvsname", "my_kvsname").ok()?;
        pmi.store = field(&reply, "kvsname")?.to_owned();
        let put = format!("cmd=put kvsname={} key={KEY}-{rank} value=1", pmi.store);
        pmi.ask(&put, "put_result").ok()?;
        Some(pmi)
    }

    /// Whether a rank has written.
    pub fn read(&mut self, rank: usize) -> bool {
        let get = format!("cmd=get kvsname={} key={KEY}-{rank}", self.store);
        let reply = self.ask(&get, "get_result");
        reply.is_ok_and(|reply| field(&reply, "value") == Some("1"))
    }

    /// Sends a command, and returns the reply, which has to be of this kind and without an error.
    fn ask(&mut self, command: &str, kind: &str) -> io::Result<String> {
        self.stream.write_all(format!("{command}\n").as_bytes())?;
        let mut reply = Vec::new();
        let mut byte = [0];
        // The proxy speaks only when it is asked, and then one line.
        while self.stream.read(&mut byte)? == 1 && byte != *b"\n" && reply.len() < LONGEST {
            reply.push(byte[0]);
        }
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let fine = field(&reply, "cmd") == Some(kind)
            && field(&reply, "rc").is_none_or(|code| code == "0");
        if fine { Ok(reply) } else { Err(io::Error::other(reply)) }
    }
}

/// The value of `name=value` in a line of such words.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let line = "cmd=get_result rc=0 msg=success value=1";
        assert_eq!(field(line, "value"), Some("1"));
        assert_eq!(field(line, "cmd"), Some("get_result"));
        assert_eq!(field(line, "c"), None);
        assert_eq!(field("", "value"), None);
    }
}
