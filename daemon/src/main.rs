//! `tressed`, the daemon: makes the kernel of one node equal to the node's slice (its part) of the
//! plan.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use nix::sys::signal::SigSet;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tressed::config::{Config, DEFAULT_PATH};
use tressed::runtime::{Daemon, RunError, chain};

/// Makes the kernel of this node equal to its slice of the fabric's plan.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The configuration; default /etc/tresse/tressed.toml, where it exists.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Apply the stored or configured plan once and exit: 5 where something waits.
    #[arg(long)]
    once: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // The parent may have blocked signals, which would then never arrive.
    let _ = SigSet::all().thread_unblock();
    log();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", chain(&error));
            ExitCode::from(match error {
                RunError::Config(_)
                | RunError::Keys(_)
                | RunError::Engine(_)
                | RunError::Plan(_)
                | RunError::State(_) => 3,
                RunError::Partly(_) => 5,
                RunError::Hold(_)
                | RunError::Bind(_)
                | RunError::Failed(_)
                | RunError::System { .. } => 1,
            })
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), RunError> {
    let config = match &arguments.config {
        Some(path) => Config::load(path)?,
        None if Path::new(DEFAULT_PATH).exists() => Config::load(Path::new(DEFAULT_PATH))?,
        None => Config::default(),
    };
    let daemon = Daemon::new(config)?;
    if arguments.once {
        return daemon.once();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| RunError::System { action: "start the runtime", source })?;
    tokio::task::LocalSet::new().block_on(&runtime, daemon.run())
}

/// Logs to the journal if systemd started the daemon, else to standard error; `RUST_LOG` filters.
fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,zlink=off"));
    let registry = tracing_subscriber::registry().with(filter);
    let journal = std::env::var_os("JOURNAL_STREAM").and_then(|_| tracing_journald::layer().ok());
    // Without a prefix the fields are MESSAGE_ID, KIND and OBJECT, as in the catalogue.
    let journal = journal.map(|journal| journal.with_field_prefix(None));
    match journal {
        Some(journal) => registry.with(journal).init(),
        None => {
            let stderr = tracing_subscriber::fmt::layer()
                .with_ansi(std::io::stderr().is_terminal())
                .with_writer(std::io::stderr);
            registry.with(stderr).init();
        }
    }
}
