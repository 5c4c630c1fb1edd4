//! Detours through reflectors (big-fat-switches-ring-clique-reflector, section 5): how much of the traffic
//! between two switches takes the way that the strategy gives, and how much goes through a node on a
//! third switch that sends it on out of the NIC it came in by.
//!
//! Owns the linear program and the small whole numbers that its shares become; who sends how much, and
//! which ways there are, is the plan's to say.

mod program;
mod shares;

pub use program::{Flow, Network, Optimum, Uses};
pub use shares::{MOST, weights};

use std::collections::BTreeMap;

use serde::Serialize;
use tresse_base::id::{NodeId, SwitchId, TreeId};

/// A node that takes in frames of a pair of switches and sends them on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Detour {
    /// The reflector.
    pub node: NodeId,
    /// Its NIC: frames come in and leave by it.
    pub nic: usize,
    /// The tree that takes them there.
    pub there: TreeId,
    /// The tree that takes them on.
    pub on: TreeId,
    /// Share of the pair's traffic.
    pub weight: u32,
}

/// How the traffic of an ordered pair of switches is split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Share of the way that the strategy gives: at least 1.
    pub direct: u32,
    /// The detours, the greatest share first.
    pub detours: Vec<Detour>,
}

/// All detours of a plan, and what the linear program says of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detours {
    /// By ordered pair of switches, where there are any.
    pub by_pair: BTreeMap<(SwitchId, SwitchId), Split>,
    /// What the program found; `None` where it was not run or found nothing.
    pub found: Option<Found>,
}

impl Detours {
    /// The most paths that one pair uses at once.
    #[must_use]
    pub fn most_ways(&self) -> usize {
        1 + self.by_pair.values().map(|split| split.detours.len()).max().unwrap_or(0)
    }
}

/// What the linear program found. Loads are in units of demand per slowest node link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The highest load over capacity with as many detours a pair as help.
    pub optimum: f64,
    /// Detours that it could choose from.
    pub candidates: usize,
    /// Were some left out because there are too many?
    pub restricted: bool,
}

/// More switches than these, and no detours are sought.
pub const MOST_SWITCHES: usize = 1024;
/// About how many detours the program may choose from, in fabrics of up to [`USUAL_SWITCHES`]; fewer in
/// larger ones, whose ways are long and tie everything to everything.
pub const CANDIDATES: usize = 1 << 12;
/// See [`CANDIDATES`].
pub const USUAL_SWITCHES: usize = 128;
