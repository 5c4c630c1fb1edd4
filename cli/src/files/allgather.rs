//! `tresse allgather`: sends the file or directory of every node to every node.

use clap::Args;
use tresse_ring::talk::Part;

use super::collective::names;
use super::collective::{CollectiveArgs, Job, Moved, Party, RingArgs, run};
use crate::fail::{Code, Failure};

/// Arguments of `tresse allgather`.
#[derive(Debug, Args)]
pub struct Allgather {
    #[command(flatten)]
    args: CollectiveArgs,
    #[command(flatten)]
    around: RingArgs,
    /// What each node has; {node} in it is its name.
    #[arg(value_name = "PATH")]
    path: String,
    /// Where every node gets that of every node, its own too: {from} in it is the node that has it, {node} the one
    /// that gets it. With / at its end: that directory, with the node's name behind that of the file.
    #[arg(value_name = "TARGET")]
    target: String,
}

impl Allgather {
    /// Gathers; exits with 1 if a node does not have everything.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let path = names::absolute(&self.path, false)?;
        let target = names::apart(&self.target, &path)?;
        let party = Party::of(&self.args, &self.around, &[], true)?;
        let nodes = party.rings[0].nodes().to_vec();
        let part = |from: usize| {
            let own = names::of_node(&path, party.name(from));
            let place = |member: usize| {
                let to = names::target(&target, &own, party.name(member), party.name(from));
                let asked = party.asked(member);
                if member == from {
                    let copy = (asked && to != own).then_some(to);
                    return Part::Source { path: own.clone(), piece: None, copy };
                }
                if asked { Part::Target { path: to, input: false } } else { Part::Away }
            };
            Moved { from, places: (0..nodes.len()).map(place).collect() }
        };
        let parts = (0..nodes.len()).map(part).collect();
        run(&self.args, &self.around, &party, &Job { nodes, parts, hub: None, input: false }, json)
    }
}
