//! The command-line arguments of the verbs that move files.

use std::net::SocketAddr;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::fleet::{FleetArgs, Launcher};
use crate::input::ClusterArgs;

/// Arguments of all verbs that move files: `copy`, `scatter`, `gather` and `allgather`.
#[derive(Debug, Args)]
pub struct CollectiveArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    #[command(flatten)]
    pub fleet: FleetArgs<MemberStart>,
    /// Only for these nodes, such as those that an earlier run missed: n03,n[05-07].
    #[arg(long, value_name = "NODES")]
    pub to: Option<String>,
    /// Keep permissions and modification times.
    #[arg(long)]
    pub keep: bool,
    /// For the launcher `manual`: the address of this machine that the nodes connect to.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
}

impl CollectiveArgs {
    /// The launcher that starts the members; `None` if another program starts them.
    pub const fn launcher(&self) -> Option<Launcher> {
        match self.fleet.launcher() {
            MemberStart::By(launcher) => Some(launcher),
            MemberStart::Manual => None,
        }
    }
}

/// What starts the members of a verb that moves files, which are the processes on the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberStart {
    /// A launcher.
    By(Launcher),
    /// Another program: the command for each node is printed, and each node connects to `--listen`.
    Manual,
}

impl ValueEnum for MemberStart {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::By(Launcher::Ssh),
            Self::By(Launcher::Srun),
            Self::By(Launcher::Netns),
            Self::Manual,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::By(launcher) => launcher.to_possible_value(),
            Self::Manual => Some(PossibleValue::new("manual").help(
                "Another program: the command for each node is printed, and each node connects to `--listen`",
            )),
        }
    }
}

/// Arguments of the verbs that pass data on from node to node: `copy` and `allgather`.
#[derive(Debug, Args)]
pub struct RingArgs {
    /// How nodes pass data on: in a ring (best for much data), down a tree (for little), in rings of rings (between
    /// them), or in the one that is predicted to be fastest.
    #[arg(long, value_enum, default_value = "auto")]
    pub shape: ShapeArg,
    /// Use at most N of the rings that share no link. Default: all that the wiring has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub stripes: Option<u32>,
    /// Seconds to wait for slow nodes when all others are done; never less than the time that those took.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub patience: u64,
}

impl RingArgs {
    /// For the verbs that send straight from or to one node: `scatter` and `gather`.
    pub const NONE: Self = Self { shape: ShapeArg::Ring, stripes: Some(1), patience: u64::MAX };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShapeArg {
    Auto,
    Ring,
    Rings,
    Tree,
}
