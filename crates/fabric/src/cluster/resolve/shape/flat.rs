//! `kind = "fnn"`: a wiring table.

use super::super::super::Kind;
use super::super::super::file::Topology;
use super::super::super::problem::{Found, ProblemKind};
use super::super::super::read::{At, Keys};
use super::super::{limits, missing};
use super::{Shape, fits};
use crate::design::Wiring;

pub(super) fn shape(topology: &At<Topology>, found: &mut Found) -> Option<Shape> {
    let Some(wiring) = &topology.value.wiring else {
        if topology.value.lacks("wiring") {
            let help = "such as wiring = \"wiring.txt\", which `tresse design -o` writes";
            missing("wiring", "`topology`", &topology.span, help, found);
        }
        return None;
    };
    let mut refuse = |message: String, help: &str| {
        found.add(ProblemKind::BadWiring, &wiring.span, message, help.to_owned());
        None
    };
    if !wiring.value.contains(':') {
        let message = format!("the wiring table `{}` was not read", wiring.value);
        return refuse(message, "name it relative to the cluster file, or put the table here");
    }
    let table = match Wiring::parse(&wiring.value) {
        Ok(table) => table,
        Err(error) => return refuse(format!("`wiring`, {error}"), "a line is `0: 0 1 2`"),
    };
    let nodes = table.pcs();
    let rows = table.rows(nodes);
    if let Some(alone) = rows.iter().position(Vec::is_empty) {
        let message = format!("`wiring`: PC {alone} is on no switch");
        return refuse(message, "PCs are numbered from 0 without a gap");
    }
    if nodes < 2 {
        return refuse("`wiring` has no two PCs".into(), "a line is `0: 0 1 2`");
    }
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    if most > limits::NICS_PER_NODE as usize {
        let message = format!("`wiring`: a PC is on {most} switches");
        return refuse(message, &format!("this version plans at most {}", limits::NICS_PER_NODE));
    }
    if nodes > limits::FLAT_NODES {
        let message = format!("`wiring`: {nodes} PCs");
        return refuse(message, &format!("this version plans at most {}", limits::FLAT_NODES));
    }
    let fits = fits(nodes as u64, 1, most as u32, wiring, found);
    fits.then_some(Shape::Generated {
        kind: Kind::Fnn { wiring: table },
        nodes_per_switch: 1,
        nics_per_node: 1,
    })
}
