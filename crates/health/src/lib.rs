//! One verdict over all nodes of a fabric: which cables, switches, nodes and plans are at fault, by what the broken
//! paths have in common and what nodes say of themselves.
//!
//! Pure: the caller asks the nodes. A node that did not answer is unknown, never healthy.
//!
//! - `evidence` makes one list of all that nodes say: paths that work and paths that do not, each with what it
//!   crosses; NICs that are down; nodes that are silent.
//! - `hearsay` adds what the others have heard of nodes that are silent.
//! - `parts` lists what can be at fault: each cable, switch and node with its crossings.
//! - `suspects` finds the fewest parts that explain what is broken and that nothing that works crosses.
//! - `own` adds what nodes say of themselves alone: another plan, a VLAN out of use, a fault.
//!
//! More questions of what is left of a fabric: [`left`] says what failures leave of a plan, [`sets`] counts that for several at
//! once, and [`cut`] says whom a drain would cut off, by what all nodes say.

#![forbid(unsafe_code)]

pub mod cut;
mod evidence;
mod hearsay;
pub mod left;
mod own;
mod parts;
pub mod sets;
mod suspect;
mod suspects;
#[cfg(test)]
mod tests;

pub use suspect::{Kind, Suspect};
pub use suspects::suspects;

use tresse_control::{BrokenLine, NeighbourList, PathLine, Status};

/// What one node says: its state, its NICs, and its paths with their states.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Its state.
    pub status: Status,
    /// Its NICs.
    pub nics: NeighbourList,
    /// The paths from it.
    pub paths: Vec<PathLine>,
    /// What it believes broken, also by the word of others.
    pub broken: Vec<BrokenLine>,
}

/// What one node of the plan has answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The node's name.
    pub node: String,
    /// None: it did not answer.
    pub said: Option<Said>,
}
