//! `tresse check --lfts`: checks the forwarding tables of an InfiniBand network.

use std::io::Write;
use std::path::Path;

use tresse_verify::lfts::{Cables, Dump, LftNetwork, LftReport};

use super::findings::findings;
use crate::fail::{Code, Failure};
use crate::{input, output};

/// The name of OpenSM's list of cables.
const LIST: &str = "opensm-subnet.lst";

/// Reads a dump of the forwarding tables of an InfiniBand network and the list of its cables,
/// follows the path of every pair of nodes, and prints the report. Returns [`Code::Fault`] if there
/// is a violation, such as a loop.
pub fn run(dump: &Path, topology: Option<&Path>, json: bool) -> Result<Code, Failure> {
    let network = read(dump, topology)?;
    let report = LftReport::of(&network);
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &report)?;
    } else {
        text(&mut out, &report)?;
    }
    out.flush()?;
    Ok(if report.violations.is_empty() { Code::Fine } else { Code::Fault })
}

fn read(dump: &Path, topology: Option<&Path>) -> Result<LftNetwork, Failure> {
    let text = lossy(dump)?;
    let parsed = Dump::parse(&text, &dump.display().to_string()).map_err(input::refused)?;
    let beside = dump.with_file_name(LIST);
    let from = topology.unwrap_or(&beside);
    let list = lossy(from).map_err(|failure| {
        let advice = "; a dump of tables does not name the cables: give --topology, OpenSM's \
                      opensm-subnet.lst or the output of ibnetdiscover";
        let advice = if topology.is_none() { advice } else { "" };
        Failure { message: format!("{}{advice}", failure.message), ..failure }
    })?;
    let cables = Cables::parse(&list, &from.display().to_string()).map_err(input::refused)?;
    LftNetwork::new(parsed, &text, &cables).map_err(input::refused)
}

/// The text of a file. Descriptions of nodes may contain any bytes.
fn lossy(path: &Path) -> Result<String, Failure> {
    Ok(String::from_utf8_lossy(&input::read_long(path)?).into_owned())
}

fn text(out: &mut impl Write, r: &LftReport) -> std::io::Result<()> {
    let yes = |b: bool| if b { "yes" } else { "no" };
    writeln!(out, "network           {} switches, {} nodes", r.switches, r.nodes)?;
    writeln!(out, "pairs             {} of {} reachable", r.reachable, r.pairs)?;
    writeln!(out, "loop-free         {}", yes(r.loop_free))?;
    writeln!(out, "minimal           {} (mean {:.3} hops)", yes(r.minimal), r.mean_hops)?;
    writeln!(out, "deadlock-free     {} (on one lane)", yes(r.deadlock_free))?;
    for (i, dependency) in r.dependencies.iter().flatten().enumerate() {
        let title = if i == 0 { "cycle" } else { "" };
        let through = dependency.through.join(" -> ");
        writeln!(out, "  {title:<15} {through}, to {}", dependency.destination)?;
    }
    writeln!(out, "link load         max {}, mean {:.3}", r.max_link_load, r.mean_link_load)?;
    writeln!(out, "ideal throughput  {:.4} of a node link", r.ideal_throughput)?;
    findings(out, &r.violations, &r.notes)
}
