//! `tresse reflect`: proposes, for the links that are busy now, detours through reflectors (nodes
//! that send a frame out of the NIC that it came in by).

mod sample;
mod suggest;

use clap::{Args, Subcommand};

use crate::fail::{Code, Failure};

/// Arguments of `tresse reflect`, which proposes detours through reflectors (nodes that relay
/// frames) for the traffic that is measured now.
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
