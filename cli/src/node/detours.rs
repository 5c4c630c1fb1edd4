//! `tresse reflect show`, `on` and `off`: the detours that a node uses as they are needed.

use std::io::Write;

use clap::Args;
use tresse_control::{DetourLine, DetourList, UseLine};

use super::answer::{self, Formatted};
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output::{self, plain};

/// Arguments of `tresse reflect show`.
#[derive(Debug, Args)]
pub struct ShowDetours {
    #[command(flatten)]
    node: NodeArgs,
}

/// Arguments of `tresse reflect on` and `off`.
#[derive(Debug, Args)]
pub struct SwitchDetours {
    #[command(flatten)]
    node: NodeArgs,
}

impl ShowDetours {
    /// Asks the daemon and prints.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let detours = self.node.connect()?.detours()?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Formatted::new(&detours))?;
        } else {
            text(&mut out, &detours)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

impl SwitchDetours {
    /// Tells the daemon.
    pub fn run(&self, used: bool, json: bool) -> Result<Code, Failure> {
        let mut daemon = self.node.connect()?;
        daemon.set_detours(used)?;
        match used {
            _ if !daemon.detours().is_ok_and(|detours| detours.planned) => answer::done(
                if used { "detours-on" } else { "detours-off" },
                "noted; the plan in force has no detours that are used as they are needed, or BFD is off",
                json,
            ),
            true => answer::done("detours-on", "detours are used as they are needed", json),
            false => answer::done(
                "detours-off",
                "this node sends by the paths alone that the plan gives a share",
                json,
            ),
        }
    }
}

fn text(out: &mut impl Write, detours: &DetourList) -> std::io::Result<()> {
    match (detours.planned, detours.used) {
        (false, _) => writeln!(
            out,
            "not in this plan: `[routing] reflect = \"adaptive\"`, and BFD (`bfd` in tressed.toml)"
        )?,
        (true, false) => writeln!(out, "off: `tresse reflect on` uses detours again")?,
        (true, true) => writeln!(out, "on: detours are used as they are needed")?,
    }
    detours.pairs.iter().try_for_each(|pair| pair_text(out, pair))
}

fn pair_text(out: &mut impl Write, pair: &DetourLine) -> std::io::Result<()> {
    let rest = match pair.rests_ms.div_ceil(1000) {
        0..=RESTS => String::new(),
        seconds => format!("; detours get no more for {seconds} s, unless traffic changes much"),
    };
    writeln!(out, "{}: {}{rest}", plain(&pair.dst), plain(&pair.why))?;
    let sum: u32 = pair.paths.iter().map(|path| path.weight).sum();
    let shown = pair.paths.iter().filter(|path| path.weight > 0 || path.bits_per_second > SOME);
    for path in shown {
        let UseLine { rank, weight, planned, nic, through, bits_per_second } = path;
        let share = f64::from(100 * weight) / f64::from(sum.max(1));
        let kind = if *planned { "" } else { ", a detour" };
        let through = through.join(" ");
        writeln!(
            out,
            "  rank {rank} by {} through {}{kind}: {share:.0} %, {:.1} Mbit/s",
            plain(nic),
            plain(&through),
            *bits_per_second as f64 / 1e6
        )?;
    }
    Ok(())
}

/// Any change is followed by a rest of so many seconds.
const RESTS: u64 = 2;
/// Failure detection sends less.
const SOME: u64 = 100_000;
