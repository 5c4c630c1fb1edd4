//! `tresse lab status`: lists the labs on this machine.

use std::io::Write;

use serde::Serialize;
use tresse_lab::state::{Directory, LabState, Phase};

use super::found::state;
use crate::fail::{Code, Failure};
use crate::output;

/// One lab of the list.
#[derive(Debug, Serialize)]
struct StatusLine<'a> {
    format: u32,
    name: &'a str,
    phase: Phase,
    generation: &'a str,
    nodes: usize,
    switches: usize,
    cables: usize,
    daemons: bool,
    failed: Vec<&'a str>,
}

/// Prints one line for each lab of this machine: its name, size, digest of its plan and failed
/// parts, and whether it is up or unfinished.
pub fn status(json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    let records: Vec<LabState> =
        Directory::all().iter().map(Directory::load).collect::<Result<_, _>>().map_err(state)?;
    let lines = records.iter().map(|record| StatusLine {
        format: 1,
        name: &record.name,
        phase: record.phase,
        generation: &record.blueprint.generation,
        nodes: record.blueprint.nodes.len(),
        switches: record.blueprint.switches.len(),
        cables: record.blueprint.cables.len(),
        daemons: record.daemons,
        failed: record.faults.iter().map(|f| f.object.as_str()).collect(),
    });
    let mut table =
        output::table(["LAB", "PHASE", "NODES", "SWITCHES", "CABLES", "GENERATION", "FAILED"]);
    for line in lines {
        if json {
            output::json_line(&mut out, &line)?;
        } else {
            let phase = if line.phase == Phase::Up { "up" } else { "unfinished" };
            table.add_row([
                line.name.to_owned(),
                phase.into(),
                line.nodes.to_string(),
                line.switches.to_string(),
                line.cables.to_string(),
                line.generation.into(),
                line.failed.join(" "),
            ]);
        }
    }
    if !json && !table.is_empty() {
        writeln!(out, "{}", table.trim_fmt())?;
    }
    Ok(Code::Fine)
}
