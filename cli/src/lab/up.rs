//! `tresse lab up`: builds a lab, that is, the cluster of a file on this machine, with a daemon for
//! each of its nodes unless `--no-daemon` is given.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tresse_base::units::Rate;
use tresse_lab::signals::Signals;
use tresse_lab::state::{Directory, Shaping, StateError};
use tresse_lab::supervise;
use tresse_lab::up::{self, LabEngine, UpError, UpOptions};

use super::found::{fault, state};
use super::status;
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};

/// Arguments of `tresse lab up`, which builds the cluster of a file on this machine.
#[derive(Debug, Args)]
pub struct Up {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Shape every cable to this rate, such as 100M.
    #[arg(long, conflicts_with = "shape")]
    rate: Option<Rate>,
    /// Shape every cable to its rate in the cluster file.
    #[arg(long)]
    shape: bool,
    /// Set up the nodes with iproute2 commands, without daemons.
    #[arg(long)]
    pub no_daemon: bool,
    /// Cables and daemons without a plan, as `tresse up` and `tresse discover` find new machines.
    #[arg(long, conflicts_with = "no_daemon")]
    bare: bool,
    /// Leave daemons that die as they are. Otherwise they are started again after 5 s, as systemd does.
    #[arg(long)]
    no_restart: bool,
    /// The daemon's program. Default: `tressed` beside this program.
    #[arg(long)]
    pub tressed: Option<PathBuf>,
    /// Seconds between announcements of the daemons.
    #[arg(long)]
    announce_seconds: Option<u32>,
    /// Watch paths by BFD with this interval in milliseconds. Without it, failures that no carrier shows are not found.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u16).range(10..=1000))]
    bfd_ms: Option<u16>,
    /// Sign what nodes send to each other: a file of keys, as `key_file` of tressed.toml.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// What forwards labelled frames on transit nodes; `mixed` is kernel and packet on alternate nodes.
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// What pushes labels onto the packets that a node sends.
    #[arg(long, value_enum, default_value_t)]
    source: Source,
}

/// The `source` of `tressed.toml`.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Source {
    #[default]
    Auto,
    Kernel,
    Tun,
}

/// As [`LabEngine`].
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Engine {
    #[default]
    Auto,
    Kernel,
    Packet,
    Mixed,
}

impl Up {
    /// Builds the lab in this kernel.
    pub fn run(&self, name: Option<&str>, json: bool) -> Result<Code, Failure> {
        // Before planning, which starts threads: they inherit the signal mask.
        let signals = Signals::hold().map_err(|e| Failure::new(Code::Fault, e))?;
        let plan = self.cluster.plan()?;
        input::accept(&plan, &self.cluster.file)?;
        let options = UpOptions {
            name: name.map_or_else(|| lab_name(&plan.cluster().name), Into::into),
            shape: match self.rate {
                Some(rate) => Shaping::Rate(rate.0),
                None if self.shape => Shaping::File,
                None => Shaping::None,
            },
            tressed: self.daemon()?,
            bare: self.bare,
            supervisor: (!self.no_restart).then(std::env::current_exe).transpose()?,
            cluster: input::cluster_text(&self.cluster.file)?,
            lock: self.cluster.lock_text()?,
            announce_seconds: self.announce_seconds,
            bfd_ms: self.bfd_ms,
            key_file: self.key.as_deref().map(std::path::absolute).transpose()?,
            engine: match self.engine {
                Engine::Auto => LabEngine::Auto,
                Engine::Kernel => LabEngine::Kernel,
                Engine::Packet => LabEngine::Packet,
                Engine::Mixed => LabEngine::Mixed,
            },
            source: match self.source {
                Source::Auto => "auto",
                Source::Kernel => "kernel",
                Source::Tun => "tun",
            },
        };
        let terminal = std::io::stderr().is_terminal();
        let mut progress = |step: &str| {
            if terminal {
                eprintln!("{step}");
            }
        };
        let record = up::up(&plan, &options, &signals, &mut progress).map_err(failed)?;
        if json {
            status::status(true)?;
        } else {
            let blueprint = &record.blueprint;
            println!(
                "lab {} is up: {} nodes, {} switches, {} cables, generation {}",
                record.name,
                blueprint.nodes.len(),
                blueprint.switches.len(),
                blueprint.cables.len(),
                blueprint.generation
            );
        }
        Ok(Code::Fine)
    }

    /// The daemon's program on this machine; `None` without daemons.
    pub fn daemon(&self) -> Result<Option<PathBuf>, Failure> {
        if self.no_daemon {
            return Ok(None);
        }
        let path = match &self.tressed {
            // Each daemon runs in a directory of its own.
            Some(path) => std::path::absolute(path)?,
            None => std::env::current_exe()?.with_file_name("tressed"),
        };
        if path.is_file() {
            return Ok(Some(path));
        }
        let words =
            format!("no daemon at {}: name it with --tressed, or use --no-daemon", path.display());
        Err(Failure::new(Code::Usage, words))
    }
}

/// Starts the daemons of a lab that is being built, and starts those again that die: what `up` starts
/// in the background.
pub fn supervise(name: Option<&str>, tressed: &Path) -> Result<Code, Failure> {
    let directory = Directory::find(name).map_err(state)?;
    let record = directory.load().map_err(state)?;
    supervise::run(&directory, &record, tressed).map_err(fault)?;
    Ok(Code::Fine)
}

/// Returns the name of the lab for a fabric: the first 20 characters of the fabric's name, with `-`
/// in place of all but ASCII letters, digits and `_`.
pub fn lab_name(fabric: &str) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    fabric.chars().map(good).take(20).collect()
}

fn failed(error: UpError) -> Failure {
    match error {
        UpError::NotRoot => Failure::new(Code::NotPermitted, error),
        UpError::Exists { .. } | UpError::Probe(_) | UpError::State(StateError::BadName { .. }) => {
            Failure::new(Code::Usage, error)
        }
        _ => fault(error),
    }
}
