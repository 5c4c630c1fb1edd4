//! Published problem instances of flat neighbourhood design (which NIC of which PC is cabled to
//! which switch), for the tests and for the example that measures how long a design takes.

use serde_json::Value;

use crate::pattern::{Pattern, PatternKind};
use crate::problem::{Maximize, Required, WiringProblem};

/// Returns all published problem instances of flat neighbourhood design, each as a JSON object.
///
/// # Panics
/// If the file of instances in this crate is not JSON.
pub fn all() -> Vec<Value> {
    serde_json::from_str(include_str!("instances.json")).expect("the file beside this one is JSON")
}

/// Converts a published instance, as [`all`] returns it, into a [`WiringProblem`].
///
/// # Errors
/// If a pattern of the instance does not fit its number of PCs.
pub fn problem(value: &Value) -> Result<WiringProblem, Box<dyn std::error::Error>> {
    let number = |v: &Value| v.as_u64().unwrap_or_default() as u32;
    let list = |v: &Value| v.as_array().into_iter().flatten().map(number).collect::<Vec<u32>>();
    let pcs = number(&value["pcs"]);
    let pattern =
        |kind, dims: &[u32]| Pattern { kind, dims: dims.to_vec(), pairs: vec![], weight: 1.0 };
    let sparse = value["require"].is_object();
    let patterns = match (sparse, value["objective"].is_object()) {
        (true, _) => vec![
            pattern(PatternKind::Ring, &[pcs]),
            pattern(PatternKind::RowsAndColumns, &[16, 8]),
            pattern(PatternKind::AxisLines, &[8, 4, 4]),
            pattern(PatternKind::BitReversal, &[pcs]),
            pattern(PatternKind::Hypercube, &[pcs]),
        ],
        (false, true) => vec![pattern(PatternKind::RowsAndColumns, &[8, 8])],
        (false, false) => Vec::new(),
    };
    let mut problem = WiringProblem {
        nics: match &value["nics"] {
            each @ Value::Number(_) => vec![number(each); pcs as usize],
            each => list(each),
        },
        ports: list(&value["ports"]),
        required: if sparse { Required::Patterns } else { Required::All },
        minimum_pattern_links: 1,
        maximize: if value["objective"].is_object() { Maximize::Patterns } else { Maximize::None },
        weights: Default::default(),
        patterns,
    };
    if value["require"].as_str().is_some_and(|text| text.contains(">=2")) {
        problem.minimum_pattern_links = 2;
    }
    for pattern in &problem.patterns {
        let pairs = pattern.pairs(pcs as usize)?;
        problem.weights.extend(pairs.into_iter().map(|pair| (pair, pattern.weight)));
    }
    Ok(problem)
}
