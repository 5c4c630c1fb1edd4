//! `tresse scatter`: sends from one node to each other node a file of its own, or a piece of one
//! file.

use clap::Args;
use tresse_base::id::NodeId;
use tresse_ring::talk::PartRole;

use super::collective::names;
use super::collective::{CollectiveArgs, Job, Moved, Party, RingArgs, run};
use crate::fail::{Code, Failure};

/// Arguments of `tresse scatter`, which sends to each node a file of its own, or its piece of one
/// file.
#[derive(Debug, Args)]
pub struct Scatter {
    #[command(flatten)]
    args: CollectiveArgs,
    /// The source: a node and a path on it. n00:/data/{node}.bin is one file or directory per node. Without {node} one
    /// file is cut into equal pieces, one per node in the order of the cluster file.
    #[arg(value_name = "NODE:PATH")]
    source: String,
    /// The path on each node, the source included; {node} in it is the node's name.
    #[arg(value_name = "TARGET")]
    target: String,
}

impl Scatter {
    /// Scatters; exits with 1 if a node does not have its file.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let (node, path) = names::place(&self.source)?;
        let path = names::absolute(path, false)?;
        names::absolute(&self.target, true)?;
        let party = Party::of(&self.args, &RingArgs::NONE, &[node.to_owned()], false)?;
        let nodes = party.rings[0].nodes().to_vec();
        let (hub, members) = (party.member(node).unwrap_or(0), nodes.len());
        let each = path.to_string_lossy().contains("{node}");
        // Pieces are numbered in the order of the cluster file, not of the ring. --to does not change them.
        let part = |(at, own_node): (usize, &NodeId)| {
            let member = nodes.iter().position(|it| it == own_node)?;
            let name = party.name(member);
            let own = names::of_node(&path, name);
            let target = names::target(&self.target, &own, name, node);
            let mut places = vec![PartRole::Away; members];
            let piece = (!each).then_some((at as u32, party.all.len() as u32));
            if member != hub {
                places[member] = PartRole::Target { path: target.clone(), input: false };
            }
            let copy = (member == hub && target != own).then_some(target);
            places[hub] = PartRole::Source { path: own, piece, copy };
            party.asked(member).then_some(Moved { from: hub, places })
        };
        let parts = party.all.iter().enumerate().filter_map(part).collect();
        run(
            &self.args,
            &RingArgs::NONE,
            &party,
            &Job { nodes, parts, hub: Some(hub), input: false },
            json,
        )
    }
}
