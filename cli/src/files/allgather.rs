//! `tresse allgather`: sends the file or directory of every node to every node.

use clap::Args;
use tresse_ring::talk::PartRole;

use super::collective::names;
use super::collective::{CollectiveArgs, Job, Moved, Party, RingArgs, run};
use crate::fail::{Code, Failure};

/// Arguments of `tresse allgather`, which sends the file or directory of every node to every node.
#[derive(Debug, Args)]
pub struct Allgather {
    #[command(flatten)]
    args: CollectiveArgs,
    #[command(flatten)]
    around: RingArgs,
    /// The path on each node; {node} in it is the node's name.
    #[arg(value_name = "PATH")]
    path: String,
    /// The path that every node's file gets on every node, its own included; {from} in it is the source node, {node}
    /// the receiving node. With / at its end it is a directory, and the source node's name is appended to the name of
    /// each file.
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
                    return PartRole::Source { path: own.clone(), piece: None, copy };
                }
                if asked { PartRole::Target { path: to, input: false } } else { PartRole::Away }
            };
            Moved { from, places: (0..nodes.len()).map(place).collect() }
        };
        let parts = (0..nodes.len()).map(part).collect();
        run(&self.args, &self.around, &party, &Job { nodes, parts, hub: None, input: false }, json)
    }
}
