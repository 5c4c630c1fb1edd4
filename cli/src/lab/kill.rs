//! `tresse lab kill` and `tresse lab start`: lets the daemons of nodes of a lab die, hang or go on, and starts those that
//! have ended, for trials.

use clap::{Args, ValueEnum};
use nix::sys::signal::Signal;
use tresse_lab::kill::{self, KillError};
use tresse_lab::supervise;

use super::found::{self, Found};
use crate::fail::{Code, Failure};

#[derive(Debug, Args)]
pub struct Kill {
    /// The nodes.
    #[arg(required = true)]
    nodes: Vec<String>,
    /// What its daemon is sent: `kill` ends it at once, `term` lets it end by itself, `stop` makes it
    /// hang until `cont`.
    #[arg(long, value_enum, default_value_t)]
    signal: Sent,
}

/// The signals of `tresse lab kill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Sent {
    #[default]
    Kill,
    Term,
    Stop,
    Cont,
}

#[derive(Debug, Args)]
pub struct Start {
    /// The nodes.
    #[arg(required = true)]
    nodes: Vec<String>,
}

impl Start {
    pub fn run(&self, found: &Found) -> Result<Code, Failure> {
        for node in &self.nodes {
            kill::start(&found.directory, &found.record, node).map_err(failed)?;
            println!("{node}: its daemon is started");
        }
        Ok(Code::Fine)
    }
}

impl Kill {
    pub fn run(&self, found: &Found) -> Result<Code, Failure> {
        let signal = match self.signal {
            Sent::Kill => Signal::SIGKILL,
            Sent::Term => Signal::SIGTERM,
            Sent::Stop => Signal::SIGSTOP,
            Sent::Cont => Signal::SIGCONT,
        };
        let again = supervise::is_there(&found.directory);
        for node in &self.nodes {
            let pid = kill::send(&found.directory, &found.record, node, signal).map_err(failed)?;
            println!("{node}: process {pid} {}", self.signal.deed(again));
        }
        Ok(Code::Fine)
    }
}

impl Sent {
    /// What it does to a daemon, in words.
    fn deed(self, again: bool) -> String {
        let seconds = supervise::RESTART.as_secs();
        match self {
            Self::Kill if again => format!("was killed, it is started again in {seconds} s"),
            Self::Kill => "was killed, and nobody starts it again".into(),
            Self::Term if again => "was asked to end; `tresse lab start` starts it again".into(),
            Self::Term => "was asked to end, and nobody starts it again".into(),
            Self::Stop => "hangs; `--signal cont` ends that".into(),
            Self::Cont => "goes on".into(),
        }
    }
}

fn failed(error: KillError) -> Failure {
    match error {
        KillError::Unknown { .. } => Failure::new(Code::Usage, error),
        _ => found::fault(error),
    }
}
