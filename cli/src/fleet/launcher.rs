//! The programs by which the nodes of a cluster are reached.

use clap::ValueEnum;

/// The program by which nodes are reached, such as ssh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Launcher {
    /// `ssh NODE`, which must not ask for a password.
    Ssh,
    /// `srun` of Slurm.
    Srun,
    /// The namespaces of the lab on this machine.
    Netns,
}
