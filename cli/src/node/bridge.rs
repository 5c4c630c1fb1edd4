//! `tresse bridge`: connects standard input and output to the daemon's socket, so that another machine can use the daemon
//! (`ssh n3 tresse bridge`).

use std::io;
use std::net::Shutdown;

use clap::Args;

use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse bridge`, which connects standard input and output to the daemon's socket.
#[derive(Debug, Args)]
pub struct Bridge {
    #[command(flatten)]
    node: NodeArgs,
}

impl Bridge {
    /// Copies in both directions until the daemon or the other machine closes its end.
    pub fn run(&self) -> Result<Code, Failure> {
        let mut socket = self.node.connect()?.into_stream();
        let mut asking = socket.try_clone()?;
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut asking);
            let _ = asking.shutdown(Shutdown::Write);
        });
        let mut out = Unbuffered;
        match io::copy(&mut socket, &mut out) {
            Ok(_) => Ok(Code::Fine),
            Err(error) => Err(error.into()),
        }
    }
}

/// Standard output, flushed after every write: answers end with a zero byte, not with a line end.
struct Unbuffered;

impl io::Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = io::stdout().lock();
        let written = out.write(bytes)?;
        out.flush()?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
