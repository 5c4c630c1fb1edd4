//! `tresse reflect`: shows the detours through third nodes (reflectors) that a node uses as they are needed, switches that
//! on and off, and proposes detours for the links that are busy now.

mod sample;
mod suggest;

use clap::{Args, Subcommand};

use crate::fail::{Code, Failure};
use crate::node::{ShowDetours, SwitchDetours};

/// Arguments of `tresse reflect`, which shows and proposes detours through reflectors (nodes that relay frames).
#[derive(Debug, Args)]
pub struct Reflect {
    #[command(subcommand)]
    verb: ReflectVerb,
}

#[derive(Debug, Subcommand)]
enum ReflectVerb {
    /// By which paths this node sends now, with the weights of each and why.
    Show(ShowDetours),
    /// Use detours as they are needed again.
    On(SwitchDetours),
    /// Use the paths alone to which the plan gives a share, until `tresse reflect on`.
    Off(SwitchDetours),
    /// Propose reflectors and the cluster file's text for them, from counters of links and nodes.
    Suggest(suggest::Suggest),
}

impl Reflect {
    /// Runs the verb.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        match &self.verb {
            ReflectVerb::Show(verb) => verb.run(json),
            ReflectVerb::On(verb) => verb.run(true, json),
            ReflectVerb::Off(verb) => verb.run(false, json),
            ReflectVerb::Suggest(verb) => verb.run(json),
        }
    }
}
