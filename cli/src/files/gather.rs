//! `tresse gather`: collects a file or directory of every node on one node.

use clap::Args;
use tresse_ring::talk::PartRole;

use super::collective::names;
use super::collective::{CollectiveArgs, Job, Moved, Party, RingArgs, run};
use crate::fail::{Code, Failure};

/// Arguments of `tresse gather`, which fetches a file or directory of every node to one node.
#[derive(Debug, Args)]
pub struct Gather {
    #[command(flatten)]
    args: CollectiveArgs,
    /// The path on each node; {node} in it is the node's name.
    #[arg(value_name = "PATH")]
    path: String,
    /// The node that gets everything, and the path there; {from} in it is the source node. With / at its end it is a
    /// directory, and the source node's name is appended to the name of each file.
    #[arg(value_name = "NODE:TARGET")]
    target: String,
}

impl Gather {
    /// Gathers; exits with 1 if something is missing.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let (node, target) = names::place(&self.target)?;
        let path = names::absolute(&self.path, false)?;
        let target = names::apart(target, &path)?;
        let party = Party::of(&self.args, &RingArgs::NONE, &[node.to_owned()], false)?;
        let nodes = party.rings[0].nodes().to_vec();
        let (hub, members) = (party.member(node).unwrap_or(0), nodes.len());
        let part = |member: usize| {
            let own = names::of_node(&path, party.name(member));
            let to = names::target(&target, &own, node, party.name(member));
            let mut places = vec![PartRole::Away; members];
            let copy = (member == hub && to != own).then(|| to.clone());
            places[member] = PartRole::Source { path: own, piece: None, copy };
            if member != hub {
                places[hub] = PartRole::Target { path: to, input: false };
            }
            Moved { from: member, places }
        };
        let parts = (0..members).filter(|member| party.asked(*member)).map(part).collect();
        run(
            &self.args,
            &RingArgs::NONE,
            &party,
            &Job { nodes, parts, hub: Some(hub), input: false },
            json,
        )
    }
}
