//! Prints a wiring and its properties (`tresse design`).

use std::io::Write;

use tresse_base::wiring::Wiring;
use tresse_design::{Answer, Spec};

use crate::output::count;

pub fn answer_text(out: &mut impl Write, answer: &Answer) -> std::io::Result<()> {
    let wiring = Wiring { switches: answer.switches.clone() };
    match (answer.feasible, &answer.proof) {
        (Some(false), Some(proof)) => {
            return writeln!(out, "impossible ({}): {proof}", answer.bound.name);
        }
        (Some(true), _) => {}
        _ => writeln!(
            out,
            "# not found: {} left; the best wiring so far",
            count(answer.uncovered as usize, "uncovered pair")
        )?,
    }
    write!(out, "{wiring}")?;
    writeln!(out, "# links per pair: {:.4} on average", answer.mean_links_per_pair)?;
    if answer.pattern.pairs > 0 {
        let pattern = &answer.pattern;
        writeln!(
            out,
            "# {} pairs in patterns: {} links, {:.4} on average, {} at least",
            pattern.pairs,
            pattern.total,
            pattern.total as f64 / pattern.pairs as f64,
            pattern.min
        )?;
    }
    if let Some(value) = answer.bound.value {
        writeln!(out, "# bound ({}): {value:.4}", answer.bound.name)?;
    }
    if let Some(placement) = &answer.placement {
        let racks = placement.pcs.iter().max().map_or(0, |last| last + 1);
        for rack in 0..racks {
            let list = |of: &[u32]| {
                let there = (0..).zip(of).filter(|(_, at)| **at == rack);
                there.map(|(number, _): (usize, _)| format!(" {number}")).collect::<String>()
            };
            let (pcs, switches) = (list(&placement.pcs), list(&placement.switches));
            writeln!(out, "# rack {rack}: PCs{pcs}; switches{switches}")?;
        }
        let (length, before) = (placement.length, placement.length_by_number);
        writeln!(out, "# cables cross {length} racks, {before} with PCs in order")?;
    }
    writeln!(out, "# {:.2} s, seed {}", answer.seconds, answer.seed)
}

/// Prints how many ports the uplink switch needs, to which every other switch has one cable. The
/// wiring table does not contain it. Prints nothing if the design has no such switch.
pub fn uplinks_text(out: &mut impl Write, spec: &Spec, answer: &Answer) -> std::io::Result<()> {
    let used = answer.switches.iter().filter(|members| !members.is_empty()).count();
    match spec.uplink_ports(used) {
        0 => Ok(()),
        ports => writeln!(
            out,
            "# uplink switch: {ports} ports, {} of them for spares",
            spec.design.spares
        ),
    }
}
