//! `tresse lab load`: sends traffic from every node of a lab to every other one, and measures which
//! share of it arrives.

use std::io::{IsTerminal, Write};

use clap::{Args, ValueEnum};
use tresse_base::units::Rate;
use tresse_lab::load::{self, LoadOptions, LoadReport, Trial};
use tresse_lab::signals::Signals;
use tresse_lab::state::Shaping;

use super::found::{Found, fault};
use crate::duration::seconds;
use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse lab load`, which sends uniform all-to-all traffic in a lab and measures
/// what arrives.
#[derive(Debug, Args)]
pub struct Load {
    /// Seconds of one trial.
    #[arg(long, short = 't', default_value_t = 4.0)]
    seconds: f64,
    /// The link rate that results are fractions of. Default: the rate that the lab's cables are shaped to.
    #[arg(long)]
    rate: Option<Rate>,
    /// IP packet size in bytes.
    #[arg(long, default_value_t = 1500)]
    packet: usize,
    /// What to measure.
    #[arg(long, value_enum, default_value_t = Mode::Both)]
    mode: Mode,
    /// Number of steps of the search.
    #[arg(long, default_value_t = 6)]
    steps: u32,
    /// The share that may be lost while the traffic still counts as delivered.
    #[arg(long, default_value_t = 0.02)]
    loss: f64,
    /// The seed of the order in which packets are sent.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What `lab load` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The highest equal rate of all pairs that arrives.
    Fair,
    /// What arrives when every node sends all it can.
    Saturated,
    /// Both, one after the other.
    Both,
}

impl Load {
    pub fn run(&self, found: &Found, json: bool) -> Result<Code, Failure> {
        let (directory, record) = (&found.directory, &found.record);
        let rate_bps = match (self.rate, record.shape) {
            (Some(rate), _) => rate.0,
            (None, Shaping::Rate(bps)) => bps,
            (None, _) => {
                let words = "the cables of this lab are not shaped to one rate: name the links' rate with --rate";
                return Err(Failure::new(Code::Usage, words));
            }
        };
        let options = LoadOptions {
            rate_bps,
            duration: seconds(self.seconds)?,
            packet_bytes: self.packet,
            seed: self.seed,
            loss_limit: self.loss,
            steps: self.steps,
        };
        let signals = Signals::hold().map_err(|e| Failure::new(Code::Fault, e))?;
        let terminal = std::io::stderr().is_terminal();
        let mut show = |trial: &Trial| {
            if terminal {
                let percent = 100.0 * trial.loss;
                let slow = if trial.starved { ", this machine is too slow" } else { "" };
                eprintln!("offered {:.3}, {percent:.1} % lost{slow}", trial.offered);
            }
        };
        let mut report = LoadReport {
            format: 1,
            nodes: record.blueprint.nodes.len(),
            rate_bps,
            packet_bytes: self.packet,
            saturated: None,
            fair: None,
            trials: Vec::new(),
        };
        if self.mode != Mode::Fair {
            let trial = load::saturated(directory, record, &options, &signals).map_err(fault)?;
            report.saturated = Some(trial);
        }
        if self.mode != Mode::Saturated {
            (report.fair, report.trials) =
                load::fair(directory, record, &options, &signals, &mut show).map_err(fault)?;
        }
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &report)?;
        } else {
            if let Some(trial) = &report.fair {
                let (share, percent) = (trial.accepted, 100.0 * trial.loss);
                writeln!(
                    out,
                    "all pairs alike: {share:.3} of the link rate per node, {percent:.1} % lost"
                )?;
            }
            if let Some(trial) = &report.saturated {
                let (share, offered) = (trial.accepted, trial.offered);
                writeln!(
                    out,
                    "saturated: {share:.3} of the link rate per node accepted of {offered:.3}"
                )?;
            }
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}
