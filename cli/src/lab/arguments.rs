//! Arguments of `tresse lab` and its verbs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tresse_lab::vm;

use super::{counters, down, exec, fault, kill, load, ping, up};

/// Arguments of `tresse lab`, which runs a whole cluster on one machine, with a network namespace
/// per node and switch.
#[derive(Debug, Args)]
pub struct Lab {
    /// The lab's name. Default: for `up` the fabric's name, for other verbs the only lab that there is.
    #[arg(long, global = true)]
    pub name: Option<String>,
    /// Use the small virtual machine. Verbs other than `up` find it by themselves if no such lab runs in this kernel.
    #[arg(long, global = true)]
    pub vm: bool,
    /// How the virtual machine runs: tcg (emulated, the same everywhere), kvm or auto.
    #[arg(long, global = true, default_value = "tcg")]
    pub accel: vm::Accel,
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Build the cluster of a file.
    Up(up::Up),
    /// Send echo requests between all ordered pairs of nodes.
    Ping(ping::Ping),
    /// Print the frames per directed link and VLAN.
    Counters(counters::Counters),
    /// Send uniform all-to-all traffic and measure what arrives.
    Load(load::Load),
    /// Run a program in a node or switch.
    Exec(exec::Exec),
    /// Let a link (`s00-s01`, `s00:3`), a switch or a node fail.
    Fail(fault::Fail),
    /// Undo failures.
    Heal(fault::Heal),
    /// Let the daemons of nodes die, hang or go on.
    Kill(kill::Kill),
    /// Start daemons that have ended.
    Start(kill::Start),
    /// List the labs.
    Status,
    /// Remove the lab and all that runs in it.
    Down(down::Down),
    /// Start the daemons, and start those again that die.
    #[command(hide = true)]
    Supervise {
        /// The daemon's program.
        tressed: PathBuf,
    },
    /// Serve requests inside the virtual machine.
    #[command(hide = true)]
    Guest,
}
