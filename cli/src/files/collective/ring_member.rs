//! `tresse ring-member`: the member process that the verbs which move files start on each node.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;
use tresse_ring::proof;

use super::manual;
use crate::fail::{Code, Failure};

/// How long a member that another program started tries to connect.
const CONNECTING: Duration = Duration::from_secs(10);

/// Arguments of `tresse ring-member`, which other verbs start on each node. All launchers but
/// `manual` give none: requests then come by standard input.
#[derive(Debug, Args)]
pub struct RingMember {
    /// Connect to this address and take requests from there (`--launcher manual`). The token is in `TRESSE_TOKEN`.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "node")]
    connect: Option<SocketAddr>,
    /// The name of this node.
    #[arg(long)]
    node: Option<String>,
}

impl RingMember {
    /// Takes part in a run until it is asked to quit.
    pub fn run(&self) -> Result<Code, Failure> {
        match (&self.connect, &self.node) {
            (Some(address), Some(node)) => {
                let wrong = |words: String| Failure::new(Code::Usage, words);
                let token = std::env::var("TRESSE_TOKEN")
                    .map_err(|_| wrong("--connect: TRESSE_TOKEN is not set".into()))?;
                let token =
                    proof::parse(&token).map_err(|e| wrong(format!("TRESSE_TOKEN: {e}")))?;
                let failed =
                    |e: io::Error| Failure::new(Code::Unreachable, format!("{address}: {e}"));
                let stream = TcpStream::connect_timeout(address, CONNECTING).map_err(failed)?;
                stream.set_read_timeout(Some(CONNECTING)).map_err(failed)?;
                proof::greet(&mut &stream, &token).map_err(failed)?;
                stream.set_read_timeout(None).map_err(failed)?;
                manual::keep_alive(&stream).map_err(failed)?;
                writeln!(&stream, "{node}").map_err(failed)?;
                let input = BufReader::new(stream.try_clone().map_err(failed)?);
                tresse_ring::member::run(input, stream, Some(token)).map_err(failed)?;
            }
            _ => tresse_ring::member::run(io::stdin().lock(), io::stdout(), None)?,
        }
        Ok(Code::Fine)
    }
}
