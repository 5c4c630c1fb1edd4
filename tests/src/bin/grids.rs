//! Meshes and tori of 64 VLAN-filtering switches, one node each, in the virtual machine: every pair pings, every switch counts
//! what the plan says, and uniform all-to-all traffic is measured under `stp`, `pdor` and `dor`, beside the bound of the plan, the
//! simulator and the figures of the paper, whose last sentence plans this (vlan-minimal-paths, section 5).
//!
//!     grids [KIND-DIMS..]      such as `mesh-8x8`; without any: all three
//!
//! Bounded: about ten minutes a fabric. Exits with 1 where what was measured lies more than a fifth beside the bound.

use std::io::Write;
use std::process::ExitCode;

use tempfile::NamedTempFile;
use tresse_tests::measured::{self, Labs};

/// Faster cables are more than emulated processors can do.
const LABS: Labs<'_> = Labs {
    name: "grids",
    rate: "1M",
    up: &["--no-daemon"],
    load: &["--seconds", "12", "--steps", "8"],
};
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
        rows.push(LABS.row(strategy, path)?);
    }
    println!("\n{kind} {dims}: share of the link rate that every node receives. {paper}");
    measured::print(&rows);
    let beside = |row: &&measured::Row| (row.accepted / row.report.ideal_throughput - 1.0).abs();
    match rows.iter().find(|row| beside(row) > AGREES) {
        Some(row) => Err(format!("{} lies {:.2} beside its bound", row.strategy, beside(&row))),
        None => Ok(()),
    }
}
