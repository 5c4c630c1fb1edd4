//! Arguments of `tresse lab` and its verbs.

use clap::{Args, Subcommand};
use tresse_lab::vm;

use super::{counters, down, exec, fault, load, ping, up};

/// A cluster on one machine: a namespace per node and switch.
#[derive(Debug, Args)]
pub struct Lab {
    /// The lab's name; `up` takes the fabric's, other verbs the only lab there is.
    #[arg(long, global = true)]
    pub name: Option<String>,
    /// In the small virtual machine; found by itself where no lab of this name runs natively.
    #[arg(long, global = true)]
    pub vm: bool,
    /// How the virtual machine executes: tcg (the same everywhere), kvm or auto.
    #[arg(long, global = true, default_value = "tcg")]
    pub accel: vm::Accel,
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Build the cluster of a file.
    Up(up::Up),
    /// Ask all ordered pairs of nodes.
    Ping(ping::Ping),
    /// Frames per directed link and VLAN.
    Counters(counters::Counters),
    /// Uniform all-to-all traffic, and what arrives of it.
    Load(load::Load),
    /// Run a program in a node or switch.
    Exec(exec::Exec),
    /// Make a link (`s00-s01`, `s00:3`), a switch or a node fail.
    Fail(fault::Fail),
    /// Undo failures.
    Heal(fault::Heal),
    /// Show the labs there are.
    Status,
    /// Remove the lab and all that runs in it.
    Down(down::Down),
    /// The server inside the virtual machine.
    #[command(hide = true)]
    Guest,
}
