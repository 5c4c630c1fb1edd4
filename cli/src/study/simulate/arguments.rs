//! Arguments of `tresse simulate`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};

use super::transit_buffer::TransitBuffer;

/// Arguments of `tresse simulate`, which simulates the traffic of a plan flit by flit.
#[derive(Debug, Args)]
pub struct Simulate {
    /// The cluster file.
    #[arg(required_unless_present = "paper")]
    pub file: Option<PathBuf>,
    /// The lock. Default: `tresse.lock` beside the cluster file, if there is one.
    #[arg(long)]
    pub lock: Option<PathBuf>,
    /// Repeat the whole evaluation of a paper instead of simulating a file's plan.
    #[arg(long, value_enum, conflicts_with_all = ["file", "lock", "strategies", "model", "traffic", "message", "loads",
        "fail", "csv", "plot", "links", "seeds"])]
    pub paper: Option<Paper>,
    /// Plan with each of these strategies instead of the file's: stp,pdor,dor.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub strategies: Vec<String>,
    /// Switched Ethernet with cut-through, or wormhole switching with stop and go as in Myrinet.
    #[arg(long, value_enum, default_value_t = Switching::Ethernet)]
    pub model: Switching,
    /// What nodes send: uniform, bit-reversal, local:SWITCHES, hot-spot:PERCENT or hot-spot:PERCENT:NODE,
    /// permutation:FILE (lines `FROM TO`), all-to-all, ring or trace:FILE (lines `NANOSECONDS FROM TO BYTES`).
    #[arg(long, value_name = "PATTERN", default_value = "uniform")]
    pub traffic: String,
    /// Message size in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 512,
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub message: u32,
    /// Messages start at even intervals (the default) or at random ones.
    #[arg(long, value_enum)]
    pub arrivals: Option<Arrivals>,
    /// Size of channel buffers: unlimited, lossless:FLITS (a full buffer stops the sender) or drop:FLITS. Default: as
    /// the model says; for `--paper vlan` drop:134, one frame.
    #[arg(long, value_name = "KIND")]
    pub buffers: Option<String>,
    /// What may wait in a transit node, all its NICs together, and for how long (`transit_buffer` in tressed.toml):
    /// MEMORY or MEMORY,WAIT, such as 16M,50ms. Default: 64M,1000ms, as in `tressed`; `--model wormhole` drops nothing.
    #[arg(long, value_name = "MEMORY,WAIT")]
    pub transit_buffer: Option<TransitBuffer>,
    /// Where frames wait in a switch. Default: at its inputs.
    #[arg(long, value_enum)]
    pub queues: Option<Queues>,
    /// Simulate only these loads, as fractions of a node link's rate: 0.1,0.5.
    #[arg(long, value_name = "LOADS", value_delimiter = ',')]
    pub loads: Vec<f64>,
    /// Cycles of a run. Default: 100,000, or as many as 700 messages take on a node's link; for a trace 100,000 after
    /// its last message; for `--paper itb` 500,000.
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=1 << 40))]
    pub cycles: Option<u64>,
    /// How many cycles at the beginning are not measured. Default: a tenth of all; for a trace none.
    #[arg(long, value_name = "CYCLES")]
    pub warm_up: Option<u64>,
    /// For `--paper itb`: how many random networks of each size.
    #[arg(long, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub networks: Option<u32>,
    /// For `--paper itb`: only networks with these numbers of switches. Default: 8,16,32,64.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(["8", "16", "32", "64"])
            .map(|text| text.parse::<u32>().unwrap_or_default()))]
    pub switches: Vec<u32>,
    /// The seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run each load with this many seeds, `--seed` and those that follow it, and combine their results.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: u64,
    /// Let a part fail: a switch, a node, `s0-s1`, `s0:3` or `n2:eth0`; may be repeated. Each pair uses its first path
    /// that still works.
    #[arg(long, value_name = "OBJECT")]
    pub fail: Vec<String>,
    /// Print the results as CSV.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write a CSV file with the share of the time that each link was used, and the most flits in the buffer behind it.
    #[arg(long, value_name = "FILE")]
    pub links: Option<PathBuf>,
    /// Draw latency against accepted traffic to this file, .svg or .png.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Paper {
    /// vlan-minimal-paths: mesh and torus by stp, pdor and dor.
    Vlan,
    /// in-transit-buffers: up*/down* paths, and minimal paths through transit nodes, on random networks.
    Itb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switching {
    Ethernet,
    Wormhole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    Even,
    Poisson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Queues {
    Input,
    Output,
}
