//! The command-line arguments of the verbs that move files.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use crate::fleet::FleetArgs;
use crate::input::ClusterArgs;

/// Arguments of all verbs that move files: `copy`, `scatter`, `gather` and `allgather`.
#[derive(Debug, Args)]
pub struct CollectiveArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// Only for these nodes, such as those that an earlier run missed: n03,n[05-07].
    #[arg(long, value_name = "NODES")]
    pub to: Option<String>,
    /// Keep permissions and modification times.
    #[arg(long)]
    pub keep: bool,
    /// For the launcher `manual`: the address of this host that the nodes connect to.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
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
