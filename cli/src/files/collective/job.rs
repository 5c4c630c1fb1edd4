//! What is to be moved from where to where.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tresse_fabric::id::NodeId;
use tresse_ring::shape::{Flow, Shape};
use tresse_ring::talk::Part;

use super::party::Party;
use crate::fail::{Code, Failure};

/// One file or directory that some members get.
#[derive(Debug)]
pub struct Moved {
    /// The member that has it.
    pub from: usize,
    /// What each member has to do with it.
    pub places: Vec<Part>,
}

/// All that is to be done. Members are numbered in the order of the first ring.
#[derive(Debug)]
pub struct Job {
    /// Which nodes they are.
    pub nodes: Vec<NodeId>,
    /// What moves.
    pub parts: Vec<Moved>,
    /// Where everything goes to or comes from, straight: not around.
    pub hub: Option<usize>,
    /// What moves comes from standard input.
    pub input: bool,
}

impl Job {
    /// Two parts cannot have one name.
    pub fn check(&self, party: &Party) -> Result<(), Failure> {
        for member in 0..self.nodes.len() {
            let places = self.parts.iter().map(|part| &part.places[member]);
            let mut seen: BTreeSet<&PathBuf> = places.clone().filter_map(has).collect();
            for path in places.filter_map(got) {
                if !seen.insert(path) {
                    let words = format!(
                        "{}: two of what is copied would have the name {}: put {{from}} in the target",
                        party.name(member),
                        path.display()
                    );
                    return Err(Failure::new(Code::Usage, words));
                }
            }
        }
        Ok(())
    }

    /// Who is to have a part, and has it not.
    pub fn wants(&self, part: usize) -> impl Iterator<Item = usize> + '_ {
        let places = self.parts[part].places.iter().enumerate();
        let wants = |place: &Part| matches!(place, Part::Target { input: false, .. });
        places.filter(move |(_, place)| wants(place)).map(|(member, _)| member)
    }

    /// How all streams come to those that are to have them, over so many rings. What nobody has comes to nobody.
    pub fn flows(
        &self,
        orders: &[Vec<usize>],
        shape: Shape,
        lives: impl Fn(usize) -> bool,
    ) -> Vec<Flow> {
        let members = self.nodes.len();
        let mut flows = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let wants: Vec<usize> = self.wants(number).filter(|member| lives(*member)).collect();
            if !lives(part.from) {
                let stripes = if self.hub.is_some() { 1 } else { orders.len() };
                flows.extend(vec![Flow { parents: vec![None; members] }; stripes]);
            } else if self.hub.is_some() {
                let to = wants.first().copied().unwrap_or(part.from);
                flows.push(Flow::straight(members, part.from, to));
            } else {
                for order in orders {
                    let takes = |m: &usize| *m == part.from || wants.contains(m);
                    let order: Vec<usize> = order.iter().copied().filter(takes).collect();
                    let mut flow = Flow::along(&order, part.from, shape);
                    flow.parents.resize(members, None);
                    flows.push(flow);
                }
            }
        }
        flows
    }
}

/// Where a member has a part, and where it gets one.
fn has(part: &Part) -> Option<&PathBuf> {
    if let Part::Source { path, .. } = part { Some(path) } else { None }
}

fn got(part: &Part) -> Option<&PathBuf> {
    match part {
        Part::Target { path, .. } | Part::Source { copy: Some(path), .. } => Some(path),
        Part::Source { copy: None, .. } | Part::Away => None,
    }
}
