//! The verbs of `tresse` in the order of its help.

use clap::{CommandFactory, Subcommand};

use crate::fail::{Code, Failure};
use crate::{completion, files, fleet, lab, node, plan, study};

/// The verb (subcommand) of a `tresse` command line, with its arguments.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Compute the plan of a cluster file, or what changes in it.
    Plan(plan::Plan),
    /// Prove what the plan promises, or name what breaks it.
    Check(plan::Check),
    /// List the paths between nodes.
    Paths(plan::Paths),
    /// Show the paths of one pair port by port, and why they are so.
    Trace(plan::Trace),
    /// Search for a wiring: which NIC of each node goes to which switch.
    Design(plan::Design),
    /// Plan in phases who sends to whom by which NIC.
    Schedule(plan::Schedule),
    /// Compare cost and performance of ways to connect N nodes.
    Compare(plan::Compare),
    /// Write switch configurations, node scripts and similar files.
    Export(plan::Export),
    /// Print settings that make MPI, UCX, NCCL or Gloo use the fabric.
    Env(plan::Env),
    /// Print the JSON Schema of the cluster file.
    Schema(plan::Schema),
    /// Rewrite a cluster file in the usual order and spacing.
    Fmt(plan::Fmt),
    /// Install this node's part of the plan of a cluster file.
    Apply(node::Apply),
    /// Keep what the last apply installed.
    Confirm(node::Confirm),
    /// Return to the previous plan.
    Rollback(node::Rollback),
    /// Remove all that was installed here, and forget the plan.
    Withdraw(node::Withdraw),
    /// Make the daemon read and apply its configured cluster file again.
    Reload(node::Reload),
    /// Draft, check and install a plan on hosts that are cabled.
    Up(fleet::Up),
    /// Install one plan on all nodes, or on none.
    Rollout(fleet::Rollout),
    /// Let a spare take a failed node's place, on all nodes or none
    Replace(fleet::Replace),
    /// Keep paths off a switch, a node, a link, a port or a NIC.
    Drain(node::Drain),
    /// Let paths use a drained part of the fabric again.
    Undrain(node::Undrain),
    /// Send to a node by one path only, as long as it works.
    Pin(node::Pin),
    /// Share the traffic to a node among its paths by weights.
    Weight(node::Weight),
    /// Send to a node by all its paths again, as planned.
    Unpin(node::Unpin),
    /// Show which plan this node has, and whether all of it works.
    Status(node::Status),
    /// Return once this node's plan is in the kernel and others answer.
    Wait(node::Wait),
    /// List what is broken, what goes round it, and what is cut off.
    Failures(node::Failures),
    /// Show where the kernel differs from this node's part of the plan.
    Diff(node::Diff),
    /// Print the daemon's counters.
    Counters(node::Counters),
    /// Print the last events, also from before the daemon was started.
    Log(node::Log),
    /// Print events as they happen.
    Monitor(node::Monitor),
    /// Show the load of this node's NICs and what is wrong, refreshed.
    Top(node::Top),
    /// Compare the cables of this node with the cluster file.
    Cables(node::Cables),
    /// Measure whether the fabric is as fast as its plan.
    Probe(fleet::Probe),
    /// Draft a cluster file from what nodes and switches hear by LLDP.
    Discover(fleet::Discover),
    /// Compare the cluster file with the wires, and draft the new one.
    Remap(fleet::Remap),
    /// Print this machine's NICs as a block for the cluster file.
    Macs(node::Macs),
    /// Find what keeps the plan from working on this machine.
    Doctor(node::Doctor),
    /// Use a fused VLAN again, after a new test for loops.
    Unfuse(node::Unfuse),
    /// Collect what is needed to analyse a fault on this machine.
    Bugreport(node::Bugreport),
    /// Copy files from nodes to all others, at the speed of one link.
    Copy(files::Copy),
    /// Send each node its own file, or its piece of one file.
    Scatter(files::Scatter),
    /// Fetch a file or directory of every node to one node.
    Gather(files::Gather),
    /// Send the file or directory of every node to every node.
    Allgather(files::Allgather),
    /// Simulate the plan flit by flit, from low load to saturation.
    Simulate(study::Simulate),
    /// Build the cluster on one machine, and test it there.
    Lab(lab::Lab),
    /// Propose reflectors for the traffic that is measured now.
    Reflect(study::Reflect),
    /// Connect standard input and output to the daemon's socket.
    Bridge(node::Bridge),
    /// Print a completion script for a shell.
    Completion(completion::Completion),
    /// Take part in a copy: the verbs that move files run this on every node.
    #[command(hide = true)]
    RingMember(files::RingMember),
    /// Measure on this node what `tresse probe` asks for.
    #[command(hide = true)]
    ProbeMember(fleet::ProbeMember),
    /// Write the manual pages.
    #[command(hide = true)]
    Man(completion::Man),
}

impl Verb {
    /// Runs the verb. `C` is the whole command line, for completion scripts and manual pages.
    pub fn run<C: CommandFactory>(self, json: bool) -> Result<Code, Failure> {
        match self {
            Self::Plan(verb) => verb.run(json),
            Self::Check(verb) => verb.run(json),
            Self::Paths(verb) => verb.run(json),
            Self::Trace(verb) => verb.run(json),
            Self::Design(verb) => verb.run(json),
            Self::Schedule(verb) => verb.run(json),
            Self::Compare(verb) => verb.run(json),
            Self::Export(verb) => verb.run(json),
            Self::Env(verb) => verb.run(json),
            Self::Schema(verb) => verb.run(),
            Self::Fmt(verb) => verb.run(json),
            Self::Apply(verb) => verb.run(json),
            Self::Confirm(verb) => verb.run(json),
            Self::Rollback(verb) => verb.run(json),
            Self::Withdraw(verb) => verb.run(json),
            Self::Reload(verb) => verb.run(json),
            Self::Up(verb) => verb.run(json),
            Self::Rollout(verb) => verb.run(json),
            Self::Replace(verb) => verb.run(json),
            Self::Drain(verb) => verb.run(json),
            Self::Undrain(verb) => verb.run(json),
            Self::Pin(verb) => verb.run(json),
            Self::Weight(verb) => verb.run(json),
            Self::Unpin(verb) => verb.run(json),
            Self::Status(verb) => verb.run(json),
            Self::Wait(verb) => verb.run(json),
            Self::Failures(verb) => verb.run(json),
            Self::Diff(verb) => verb.run(json),
            Self::Counters(verb) => verb.run(json),
            Self::Log(verb) => verb.run(json),
            Self::Monitor(verb) => verb.run(json),
            Self::Top(verb) => verb.run(json),
            Self::Cables(verb) => verb.run(json),
            Self::Probe(verb) => verb.run(json),
            Self::Discover(verb) => verb.run(json),
            Self::Remap(verb) => verb.run(json),
            Self::Macs(verb) => verb.run(json),
            Self::Doctor(verb) => verb.run(json),
            Self::Unfuse(verb) => verb.run(json),
            Self::Bugreport(verb) => verb.run(json),
            Self::Copy(verb) => verb.run(json),
            Self::Scatter(verb) => verb.run(json),
            Self::Gather(verb) => verb.run(json),
            Self::Allgather(verb) => verb.run(json),
            Self::Simulate(verb) => verb.run(json),
            Self::Lab(verb) => verb.run(json),
            Self::Reflect(verb) => verb.run(json),
            Self::Bridge(verb) => verb.run(),
            Self::Completion(verb) => verb.run::<C>(),
            Self::RingMember(verb) => verb.run(),
            Self::ProbeMember(verb) => verb.run(),
            Self::Man(verb) => verb.run::<C>(),
        }
    }
}
