//! `tresse reflect`: proposes detours through reflectors for the links that are busy now.

mod sample;
mod suggest;

use clap::{Args, Subcommand};

use crate::fail::{Code, Failure};

/// Reflectors for the traffic that there is.
#[derive(Debug, Args)]
pub struct Reflect {
    #[command(subcommand)]
    verb: ReflectVerb,
}

#[derive(Debug, Subcommand)]
enum ReflectVerb {
    /// Propose reflectors and the cluster file's text for them, from counters of links and nodes.
    Suggest(suggest::Suggest),
}

impl Reflect {
    /// Runs the verb.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        match &self.verb {
            ReflectVerb::Suggest(verb) => verb.run(json),
        }
    }
}
