//! `tresse`, the operator's command: one file per verb.
//!
//! Standard output is data, standard error is words (DESIGN section 8).

mod check;
mod fail;
mod fmt;
mod input;
mod lab;
mod output;
mod paths;
mod plan;
mod schema;

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
    Paths(paths::Paths),
    /// Prove what the plan promises, or name what breaks it.
    Check(check::Check),
    /// Print the JSON Schema of the cluster file.
    Schema(schema::Schema),
    /// Rewrite a cluster file in the usual order and spacing.
    Fmt(fmt::Fmt),
    /// Build and use a cluster on one machine.
    Lab(lab::Lab),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = cli.json;
    let result = match cli.verb {
        Verb::Plan(verb) => verb.run(json),
        Verb::Paths(verb) => verb.run(json),
        Verb::Check(verb) => verb.run(json),
        Verb::Schema(verb) => verb.run(),
        Verb::Fmt(verb) => verb.run(),
        Verb::Lab(verb) => verb.run(json),
    };
    fail::finish(result)
}
