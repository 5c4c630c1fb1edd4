//! `tresse lab counters`: prints the frames and bytes that crossed each link of a lab, per
//! direction and VLAN.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tresse_lab::counters::{self, Counter};

use super::found::{Found, fault};
use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse lab counters`, which prints the frames and bytes that crossed each link,
/// per direction and VLAN.
#[derive(Debug, Args)]
pub struct Counters {
    /// Set all counters to 0.
    #[arg(long)]
    reset: bool,
}

#[derive(Serialize)]
struct CounterLine<'a> {
    format: u32,
    #[serde(flatten)]
    counter: &'a Counter,
}

impl Counters {
    pub fn run(&self, found: &Found, json: bool) -> Result<Code, Failure> {
        if self.reset {
            counters::reset(&found.directory, &found.record).map_err(fault)?;
            return Ok(Code::Fine);
        }
        let all = counters::counters(&found.directory, &found.record).map_err(fault)?;
        let mut out = output::stdout();
        if json {
            for counter in &all {
                output::json_line(&mut out, &CounterLine { format: 1, counter })?;
            }
        } else {
            let mut table = output::table(["FROM", "TO", "VLAN", "FRAMES", "BYTES", "CONTROL"]);
            for c in all.iter().filter(|c| c.frames + c.control_frames > 0) {
                table.add_row([
                    c.from.clone(),
                    c.to.clone(),
                    if c.vlan == 0 { "-".into() } else { c.vlan.to_string() },
                    c.frames.to_string(),
                    c.bytes.to_string(),
                    c.control_frames.to_string(),
                ]);
            }
            writeln!(out, "{}", table.trim_fmt())?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}
