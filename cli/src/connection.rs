//! Connects to this node's daemon.

use std::path::PathBuf;

use clap::Args;
use tresse_control::{Client, DEFAULT_SOCKET};

use crate::fail::Failure;

/// Arguments of the verbs for one node: the path of the control socket of this node's daemon.
#[derive(Debug, Clone, Args)]
pub struct NodeArgs {
    /// The daemon's control socket.
    #[arg(long, value_name = "PATH", env = "TRESSE_SOCKET", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

impl Default for NodeArgs {
    fn default() -> Self {
        Self { socket: DEFAULT_SOCKET.into() }
    }
}

impl NodeArgs {
    /// Connects.
    pub fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.socket)?)
    }
}
