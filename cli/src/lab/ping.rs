//! `tresse lab ping`: sends ICMP echo requests from each node of a lab to each other one, and
//! prints the pairs without an answer.

use std::io::Write;

use clap::Args;
use tresse_lab::ping::{self, PingOptions};

use super::found::{self, Found};
use crate::duration::seconds;
use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse lab ping`, which sends ICMP echo requests from each node of a lab to each
/// other one.
#[derive(Debug, Args)]
pub struct Ping {
    /// Echo requests per pair.
    #[arg(long, short = 'c', default_value_t = 1)]
    count: u32,
    /// Seconds to wait for an answer.
    #[arg(long, short = 'W', default_value_t = 1.0)]
    wait: f64,
    /// Use the built-in prober instead of the program `ping`.
    #[arg(long)]
    fast: bool,
    /// Only from this node.
    #[arg(long)]
    from: Option<String>,
    /// Only to this node.
    #[arg(long)]
    to: Option<String>,
    /// Ask the IPv6 addresses.
    #[arg(long, short = '6')]
    ipv6: bool,
}

impl Ping {
    pub fn run(&self, found: &Found, json: bool) -> Result<Code, Failure> {
        let options = PingOptions {
            count: self.count,
            wait: seconds(self.wait)?,
            fast: self.fast,
            from: self.from.clone(),
            to: self.to.clone(),
            ipv6: self.ipv6,
        };
        let report =
            ping::ping(&found.directory, &found.record, &options).map_err(|e| match e {
                ping::PingError::NoNode { .. } | ping::PingError::NoAddress { .. } => {
                    Failure::new(Code::Usage, e)
                }
                other => found::fault(other),
            })?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &report)?;
        } else {
            writeln!(out, "{} of {} pairs answer", report.ok, report.pairs)?;
            for (from, to) in &report.failed {
                writeln!(out, "{from} -> {to}: no answer")?;
            }
        }
        out.flush()?;
        Ok(if report.failed.is_empty() { Code::Fine } else { Code::Fault })
    }
}
