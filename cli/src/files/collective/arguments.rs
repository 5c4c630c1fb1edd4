//! Arguments of the verbs that move files.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use crate::fleet::FleetArgs;
use crate::input::ClusterArgs;

/// Arguments of all verbs that move files.
#[derive(Debug, Args)]
pub struct CollectiveArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// To these nodes alone, such as those that missed it: n03,n[05-07].
    #[arg(long, value_name = "NODES")]
    pub to: Option<String>,
    /// Keep permissions and times of change.
    #[arg(long)]
    pub keep: bool,
    /// Where members connect to, for the launcher `manual`: an address of this host that nodes reach.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
}

/// Arguments of the verbs that pass data on from node to node: `copy` and `allgather`.
#[derive(Debug, Args)]
pub struct RingArgs {
    /// Who sends to whom: a ring for much, a tree for little, rings of rings between them.
    #[arg(long, value_enum, default_value = "auto")]
    pub shape: ShapeArg,
    /// At most so many rings that share no link, of those that the wiring has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub stripes: Option<u32>,
    /// Seconds to wait for nodes that are too slow, when all others are done; at least as long as these took.
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
