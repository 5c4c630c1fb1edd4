//! Plans detours through reflectors (big-fat-switches-ring-clique-reflector, section 5): how much
//! of the traffic between two switches takes the strategy's path, and how much goes through a node
//! on a third switch, which sends it out of the NIC on which it arrived.
//!
//! Contains the linear program, and the conversion of its shares into small integer weights. The
//! plan supplies the demand and the candidate paths.

mod program;
mod shares;

pub use program::{Flow, Network, Optimum, Uses};
pub use shares::{MOST, weights};

use std::collections::BTreeMap;

use serde::Serialize;
use tresse_base::id::{NodeId, SwitchId, TreeId};

/// A detour of a pair of switches: the reflector, a node that receives frames of the pair and sends
/// them on, and its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Detour {
    /// The reflector.
    pub node: NodeId,
    /// The NIC on which frames arrive and leave.
    pub nic: usize,
    /// The tree from the source to the reflector.
    pub there: TreeId,
    /// The tree from the reflector to the destination.
    pub on: TreeId,
    /// Share of the pair's traffic.
    pub weight: u32,
}

/// The division of an ordered pair's traffic between the direct path and detours, as weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Weight of the strategy's path: at least 1.
    pub direct: u32,
    /// The detours, the greatest share first.
    pub detours: Vec<Detour>,
}

/// All detours of a plan, and the result of the linear program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detours {
    /// By ordered pair of switches that has detours.
    pub by_pair: BTreeMap<(SwitchId, SwitchId), Split>,
    /// The result of the program; `None` if it did not run or failed.
    pub found: Option<Found>,
}

impl Detours {
    /// The most paths that one pair uses at once.
    #[must_use]
    pub fn most_ways(&self) -> usize {
        1 + self.by_pair.values().map(|split| split.detours.len()).max().unwrap_or(0)
    }
}

/// Figures of the linear program's solution. Loads are in units of demand per slowest node link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The highest load divided by capacity if the number of detours of a pair were not limited.
    pub optimum: f64,
    /// The number of candidate detours.
    pub candidates: usize,
    /// Whether candidates were left out because there are too many.
    pub restricted: bool,
}

/// The number of switches up to which detours are planned.
pub const MOST_SWITCHES: usize = 1024;
/// Approximate number of candidate detours for the linear program, in fabrics of up to
/// [`USUAL_SWITCHES`] switches. Larger fabrics get fewer, because their long paths make the program
/// slower.
pub const CANDIDATES: usize = 1 << 12;
/// The number of switches up to which the full number of [`CANDIDATES`] is used.
pub const USUAL_SWITCHES: usize = 128;
