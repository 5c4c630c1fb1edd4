//! `tresse`, the operator's command: one file per verb.
//!
//! Standard output is data, standard error is words (DESIGN section 8).

mod completion;
mod duration;
mod fail;
mod files;
mod fleet;
mod input;
mod lab;
mod node;
mod output;
mod plan;
mod plot;
mod study;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// All the wires, all the time: one fast network out of cheap switches and multi-NIC nodes.
#[derive(Debug, Parser)]
#[command(name = "tresse", version, max_term_width = 100)]
struct Cli {
    /// Print JSON (one object, or one per line).
    #[arg(long, short = 'j', global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Compute the plan of a cluster file, or compare it with an older one.
    Plan(plan::Plan),
    /// List the paths between nodes.
    Paths(plan::Paths),
    /// Prove what the plan promises, or name what breaks it.
    Check(plan::Check),
    /// Follow the paths of one pair through every switch and port, and say why they are so.
    Trace(plan::Trace),
    /// Compare what architectures cost and give for a number of nodes.
    Compare(plan::Compare),
    /// Find the wiring of a flat neighbourhood: which NIC goes to which switch.
    Design(plan::Design),
    /// Simulate the plan flit by flit, from low load to saturation.
    Simulate(study::Simulate),
    /// Propose reflectors for what links and nodes carry now.
    Reflect(study::Reflect),
    /// Write switch configurations, node scripts and other programs' files.
    Export(plan::Export),
    /// Tell MPI, UCX, NCCL or Gloo which interface and addresses to use.
    Env(plan::Env),
    /// Print the JSON Schema of the cluster file.
    Schema(plan::Schema),
    /// Rewrite a cluster file in the usual order and spacing.
    Fmt(plan::Fmt),
    /// Copy files or directories from nodes to all others, at the speed of one link.
    Copy(files::Copy),
    /// Give each node its own file of one node, or its piece of one file.
    Scatter(files::Scatter),
    /// Fetch a file or directory of every node to one node.
    Gather(files::Gather),
    /// Give every node the file or directory of every node.
    Allgather(files::Allgather),
    /// What these run on each node.
    #[command(hide = true)]
    RingMember(files::RingMember),
    /// Build and use a cluster on one machine.
    Lab(lab::Lab),
    /// Show what this node holds and does.
    Status(node::Status),
    /// Show what separates the kernel from this node's part of the plan.
    Diff(node::Diff),
    /// Install this node's part of a cluster file.
    Apply(node::Apply),
    /// Keep what the last apply installed.
    Confirm(node::Confirm),
    /// Return to the previous plan.
    Rollback(node::Rollback),
    /// Leave the kernel as it was found and forget the plan.
    Withdraw(node::Withdraw),
    /// Have the daemon read its configured cluster file again and apply it.
    Reload(node::Reload),
    /// Take a fused VLAN into use again, after a new canary.
    Unfuse(node::Unfuse),
    /// Keep this node's paths off a switch, a node, a link, a port or a NIC.
    Drain(node::Drain),
    /// Use again what was drained.
    Undrain(node::Undrain),
    /// Use one path to a node, as long as it is whole.
    Pin(node::Pin),
    /// Use all paths to a node again.
    Unpin(node::Unpin),
    /// Install one plan on all nodes, or on none.
    Rollout(fleet::Rollout),
    /// Draft a cluster file from what nodes hear: LLDP of switches, and of each other.
    Discover(fleet::Discover),
    /// Lead standard input and output to the daemon's socket, for other hosts.
    Bridge(node::Bridge),
    /// Print events as they happen.
    Monitor(node::Monitor),
    /// Show what NICs carry and what is not as planned, as it changes.
    Top(node::Top),
    /// Print what the daemon has counted.
    Counters(node::Counters),
    /// Compare what is plugged into this node with the cluster file.
    Cables(node::Cables),
    /// Look for what keeps the plan from working on this host.
    Doctor(node::Doctor),
    /// Collect what is needed to look into a fault on this host.
    Bugreport(node::Bugreport),
    /// Print this host's NICs as a block for the cluster file.
    Macs(node::Macs),
    /// Print a completion script.
    Completion(completion::Completion),
    /// Write manual pages.
    #[command(hide = true)]
    Man(completion::Man),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return fail::usage(&error, std::env::args_os().skip(1)),
    };
    let json = cli.json;
    let result = match cli.verb {
        Verb::Plan(verb) => verb.run(json),
        Verb::Paths(verb) => verb.run(json),
        Verb::Check(verb) => verb.run(json),
        Verb::Trace(verb) => verb.run(json),
        Verb::Compare(verb) => verb.run(json),
        Verb::Design(verb) => verb.run(json),
        Verb::Simulate(verb) => verb.run(json),
        Verb::Reflect(verb) => verb.run(json),
        Verb::Export(verb) => verb.run(json),
        Verb::Env(verb) => verb.run(json),
        Verb::Schema(verb) => verb.run(),
        Verb::Fmt(verb) => verb.run(json),
        Verb::Lab(verb) => verb.run(json),
        Verb::Status(verb) => verb.run(json),
        Verb::Diff(verb) => verb.run(json),
        Verb::Apply(verb) => verb.run(json),
        Verb::Confirm(verb) => verb.run(json),
        Verb::Rollback(verb) => verb.run(json),
        Verb::Withdraw(verb) => verb.run(json),
        Verb::Reload(verb) => verb.run(json),
        Verb::Unfuse(verb) => verb.run(json),
        Verb::Drain(verb) => verb.run(json),
        Verb::Undrain(verb) => verb.run(json),
        Verb::Pin(verb) => verb.run(json),
        Verb::Unpin(verb) => verb.run(json),
        Verb::Rollout(verb) => verb.run(json),
        Verb::Copy(verb) => verb.run(json),
        Verb::Scatter(verb) => verb.run(json),
        Verb::Gather(verb) => verb.run(json),
        Verb::Allgather(verb) => verb.run(json),
        Verb::RingMember(verb) => verb.run(),
        Verb::Discover(verb) => verb.run(json),
        Verb::Bridge(verb) => verb.run(),
        Verb::Monitor(verb) => verb.run(json),
        Verb::Top(verb) => verb.run(json),
        Verb::Counters(verb) => verb.run(json),
        Verb::Cables(verb) => verb.run(json),
        Verb::Doctor(verb) => verb.run(json),
        Verb::Bugreport(verb) => verb.run(json),
        Verb::Macs(verb) => verb.run(json),
        Verb::Completion(verb) => verb.run::<Cli>(),
        Verb::Man(verb) => verb.run::<Cli>(),
    };
    fail::finish(result, json)
}
