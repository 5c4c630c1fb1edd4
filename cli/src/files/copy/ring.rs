//! `tresse copy --ring`: prints the rings, that is, the orders in which nodes would pass data on,
//! and how long a copy over them would take.

use std::io::Write;

use serde::Serialize;
use tresse_control::FORMAT;

use crate::fail::{Code, Failure};
use crate::files::collective::{Party, Prediction, RingArgs};
use crate::output;

#[derive(Debug, Serialize)]
struct Shown<'a> {
    format: u32,
    /// The nodes in the order of the first ring.
    nodes: Vec<&'a str>,
    /// All rings; no two of them share a directed link.
    rings: Vec<Vec<&'a str>>,
    /// How many links between switches the stages of all rings cross.
    crossings: u32,
    /// How many stages use a directed link that another stage uses too.
    shared: u32,
    #[serde(flatten)]
    prediction: Prediction,
}

/// Prints the rings, that is, the orders in which nodes would pass data on, and the predicted time
/// to copy `bytes` bytes over them.
pub fn show(ring: &RingArgs, party: &Party, bytes: u64, json: bool) -> Result<Code, Failure> {
    let name = |node| party.plan.cluster().node(node).name.as_str();
    let names =
        |ring: &tresse_ring::order::RingOrder| ring.nodes().iter().map(|it| name(*it)).collect();
    let rings: Vec<Vec<&str>> = party.rings.iter().map(names).collect();
    let shown = Shown {
        format: FORMAT,
        nodes: rings[0].clone(),
        rings,
        crossings: party.rings.iter().map(|ring| ring.cost().crossings).sum(),
        shared: party.rings.iter().map(|ring| ring.cost().excess).sum(),
        prediction: ring.predict(party, bytes),
    };
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &shown)?;
        out.flush()?;
        return Ok(Code::Fine);
    }
    for ring in &shown.rings {
        writeln!(out, "{}", ring.join(" "))?;
    }
    writeln!(
        out,
        "# {}, {} links between switches crossed, {} stages share a link",
        output::count(shown.rings.len(), "ring"),
        shown.crossings,
        shown.shared
    )?;
    let prediction = &shown.prediction;
    writeln!(out, "# {bytes} bytes by")?;
    for time in &prediction.times {
        let chosen = if time.shape == prediction.shape { ", chosen" } else { "" };
        writeln!(
            out,
            "#   {:<5} {:.3} s: {:.3} s on the link that carries most, {} stages of {:.0} us one after the other{chosen}",
            time.shape,
            time.seconds,
            time.link_seconds,
            time.depth,
            prediction.latency * 1e6
        )?;
    }
    match prediction.crossover_bytes {
        Some(bytes) => writeln!(out, "# the ring is fastest from {bytes} bytes on")?,
        None => writeln!(out, "# another shape is as fast for every size, and has less latency")?,
    }
    out.flush()?;
    Ok(Code::Fine)
}
