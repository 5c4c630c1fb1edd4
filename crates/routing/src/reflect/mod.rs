//! Plans detours through reflectors (big-fat-switches-ring-clique-reflector, section 5). A reflector is a node that
//! sends a frame out of the NIC that it came in by. For each pair of switches, this module decides how much of the
//! traffic takes the strategy's path, and how much goes through a reflector on a third switch.
//!
//! It contains the linear program that finds these shares, and converts them into small integer weights. The caller
//! supplies the demand and the candidate paths.

mod program;
mod shares;

pub use program::{LinearProgram, Optimum, PairFlow, Uses};
pub use shares::{MOST, weights};

use std::collections::BTreeMap;

use serde::Serialize;
use tresse_base::id::{NodeId, SwitchId, TreeId};

/// A detour of a pair of switches: the reflector (a node that sends the pair's frames out of the NIC that they came in
/// by), the VLAN trees to it and from it, and the weight of the detour.
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

/// How the traffic of an ordered pair of switches is divided between the strategy's path and the detours, by weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Weight of the strategy's path: at least 1.
    pub direct: u32,
    /// The detours, the greatest share first.
    pub detours: Vec<Detour>,
}

/// All detours of a plan, and figures of the linear program that chose them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Detours {
    /// By ordered pair of switches that has detours, and lane.
    pub by_pair: BTreeMap<(SwitchId, SwitchId, u32), Split>,
    /// The result of the program; `None` if it did not run or failed.
    pub found: Option<DetourFigures>,
}

impl Detours {
    /// The most paths that one pair uses at once.
    #[must_use]
    pub fn most_ways(&self) -> usize {
        1 + self.by_pair.values().map(|split| split.detours.len()).max().unwrap_or(0)
    }
}

/// Figures of the linear program that chooses the detours: the lowest congestion (highest load of a link divided by its
/// capacity) that any number of detours reaches, and the candidate detours that it chose from. A capacity of 1 is the
/// rate of the slowest node link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetourFigures {
    /// The highest load divided by capacity if the number of detours of a pair were not limited.
    pub optimum: f64,
    /// The number of candidate detours.
    pub candidates: usize,
    /// Whether candidates were left out because there are too many.
    pub restricted: bool,
    /// Whether some pair would use more detours than it may have.
    pub limited: bool,
}

/// The largest number of switches in a fabric for which detours through reflectors are planned.
pub const MOST_SWITCHES: usize = 1024;
/// The approximate number of candidate detours that the linear program gets in fabrics of up to [`USUAL_SWITCHES`]
/// switches. Larger fabrics get fewer, because their long paths make the program slower.
pub const CANDIDATES: usize = 1 << 12;
/// The largest number of switches in a fabric for which the linear program gets all [`CANDIDATES`], the candidate detours
/// of the whole fabric. In larger fabrics it gets fewer.
pub const USUAL_SWITCHES: usize = 128;
