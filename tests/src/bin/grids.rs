//! Meshes and tori of 64 VLAN-filtering switches, one node each, in the virtual machine: every pair pings, every switch counts
//! what the plan says, and uniform all-to-all traffic is measured under `stp`, `pdor` and `dor`, beside the bound of the plan, the
//! simulator and the figures of the paper, whose last sentence plans this (vlan-minimal-paths, section 5).
//!
//!     grids [KIND-DIMS..]      such as `mesh-8x8`; without any: all three
//!
//! Bounded: about ten minutes a fabric. What lies more than a fifth beside the bound is measured again with cables of half the rate,
//! twice at most, as a slow machine may not emulate the faster ones; exits with 1 if it still does.

use std::io::Write;
use std::process::ExitCode;

use tempfile::NamedTempFile;
use tresse_tests::measured::{self, Labs};

const LABS: Labs<'_> = Labs {
    name: "grids",
    rate: RATES[0],
    up: &["--no-daemon"],
    load: &["--seconds", "12", "--steps", "8"],
};
/// Faster cables are more than emulated processors can do.
const RATES: [&str; 3] = ["1M", "500K", "250K"];
/// By how much a measured throughput may differ from the plan's bound.
const AGREES: f64 = 0.2;
/// Kind, dimensions, and what the paper states of it.
const GRIDS: [(&str, &str, &str); 3] = [
    ("mesh", "8x8", ""),
    ("torus", "8x8", ""),
    ("torus", "4x4x4", "the paper, by simulation: dor up to 902 % (figure 9(f))"),
];

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let names = GRIDS.map(|(kind, dims, _)| format!("{kind}-{dims}"));
    if let Some(unknown) = asked.iter().find(|asked| !names.contains(asked)) {
        eprintln!("grids: {unknown} is none of {}", names.join(", "));
        return ExitCode::from(2);
    }
    let mut code = ExitCode::SUCCESS;
    for ((kind, dims, paper), name) in GRIDS.iter().zip(&names) {
        if !asked.is_empty() && !asked.contains(name) {
            continue;
        }
        let result = grid(kind, dims, paper);
        // Whatever happened, nothing of the lab stays behind.
        if let Err(words) = result.and(LABS.down()) {
            eprintln!("grids: {name}: {words}");
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn grid(kind: &str, dims: &str, paper: &str) -> Result<(), String> {
    let mut rows = Vec::new();
    println!("\n== {kind} {dims}");
    for strategy in ["stp", "pdor", "dor"] {
        if !rows.is_empty() {
            LABS.down()?;
        }
        let mut file = NamedTempFile::with_suffix(".toml").map_err(|e| e.to_string())?;
        let dims = dims.replace('x', ", ");
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"{kind}\", dims = [{dims}] }}\n\
             [routing]\nstrategy = \"{strategy}\"\npaths = 1\n"
        );
        file.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
        let path = file.path().to_str().ok_or("a temporary directory without a name in UTF-8")?;
        let mut row = LABS.row(strategy, path)?;
        for rate in &RATES[1..] {
            if beside(&row) <= AGREES {
                break;
            }
            println!("   {:.2} beside its bound: again, with cables of {rate}", beside(&row));
            LABS.down()?;
            row = Labs { rate, ..LABS }.row(strategy, path)?;
        }
        rows.push(row);
    }
    println!("\n{kind} {dims}: share of the link rate that every node receives. {paper}");
    measured::print(&rows);
    match rows.iter().find(|row| beside(row) > AGREES) {
        Some(row) => Err(format!("{} lies {:.2} beside its bound", row.strategy, beside(row))),
        None => Ok(()),
    }
}

/// By how much what was measured lies beside the bound.
fn beside(row: &measured::Row) -> f64 {
    (row.accepted / row.report.ideal_throughput - 1.0).abs()
}
