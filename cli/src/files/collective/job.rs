//! The job of a verb that moves files: which files and directories go from which member (node that
//! takes part) to which.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tresse_base::id::NodeId;
use tresse_ring::shape::{Distribution, StreamFlow};
use tresse_ring::talk::PartRole;

use super::party::Party;
use crate::fail::{Code, Failure};

/// One part of a job (a file or directory): the number of the member (node) that has it at the
/// start, and for every member its role: source, target, or neither.
#[derive(Debug)]
pub struct Moved {
    /// The member that has the part.
    pub from: usize,
    /// The role of each member for this part.
    pub places: Vec<PartRole>,
}

/// The work of one run of a verb that moves files: its parts (files or directories), and which
/// member (node that takes part) sends and gets each. Members are numbered in the order of the
/// first ring, that is, of the order in which they pass data on.
#[derive(Debug)]
pub struct Job {
    /// The node of each member.
    pub nodes: Vec<NodeId>,
    /// The parts.
    pub parts: Vec<Moved>,
    /// The member that sends or gets everything directly, if there is one. Otherwise members pass data on.
    pub hub: Option<usize>,
    /// Whether the data comes from standard input.
    pub input: bool,
}

impl Job {
    /// Refuses a job in which two parts would get the same name on one member.
    pub fn check(&self, party: &Party) -> Result<(), Failure> {
        for member in 0..self.nodes.len() {
            let places = self.parts.iter().map(|part| &part.places[member]);
            let mut seen: BTreeSet<&PathBuf> = places.clone().filter_map(has).collect();
            for path in places.filter_map(got) {
                if !seen.insert(path) {
                    let words = format!(
                        "{}: two files would get the name {}: put {{from}} in the target",
                        party.name(member),
                        path.display()
                    );
                    return Err(Failure::new(Code::Usage, words));
                }
            }
        }
        Ok(())
    }

    /// The members that are to get a part.
    pub fn wants(&self, part: usize) -> impl Iterator<Item = usize> + '_ {
        let places = self.parts[part].places.iter().enumerate();
        let wants = |place: &PartRole| matches!(place, PartRole::Target { input: false, .. });
        places.filter(move |(_, place)| wants(place)).map(|(member, _)| member)
    }

    /// One flow per part and ring (one per part with a hub): which member gets the stream from which. A part whose source
    /// is gone flows to no member.
    pub fn flows(
        &self,
        orders: &[Vec<usize>],
        shape: Distribution,
        lives: impl Fn(usize) -> bool,
    ) -> Vec<StreamFlow> {
        let members = self.nodes.len();
        let mut flows = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let wants: Vec<usize> = self.wants(number).filter(|member| lives(*member)).collect();
            if !lives(part.from) {
                let stripes = if self.hub.is_some() { 1 } else { orders.len() };
                flows.extend(vec![StreamFlow { parents: vec![None; members] }; stripes]);
            } else if self.hub.is_some() {
                let to = wants.first().copied().unwrap_or(part.from);
                flows.push(StreamFlow::straight(members, part.from, to));
            } else {
                for order in orders {
                    let takes = |m: &usize| *m == part.from || wants.contains(m);
                    let order: Vec<usize> = order.iter().copied().filter(takes).collect();
                    let mut flow = StreamFlow::along(&order, part.from, shape);
                    flow.parents.resize(members, None);
                    flows.push(flow);
                }
            }
        }
        flows
    }
}

/// The path of a part that a member has.
fn has(part: &PartRole) -> Option<&PathBuf> {
    if let PartRole::Source { path, .. } = part { Some(path) } else { None }
}

/// The path that a member is to write.
fn got(part: &PartRole) -> Option<&PathBuf> {
    match part {
        PartRole::Target { path, .. } | PartRole::Source { copy: Some(path), .. } => Some(path),
        PartRole::Source { copy: None, .. } | PartRole::Away => None,
    }
}
