//! `tresse failures`: lists what is believed broken, which nodes this one reaches round it, and which it does not
//! reach.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::answer::Formatted;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output::{self, plain};

/// Arguments of `tresse failures`, which lists what is believed broken.
#[derive(Debug, Args)]
pub struct Failures {
    #[command(flatten)]
    node: NodeArgs,
}

impl Failures {
    /// Asks the daemon and prints; exits with 1 if a node is not reached.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let failures = self.node.connect()?.failures()?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Formatted::new(&failures))?;
        } else {
            for line in &failures.broken {
                let (object, by) = (plain(&line.object), plain(&line.by));
                let ago = ago(line.since).as_secs();
                writeln!(out, "broken {} {object}, says {by}, for {ago} s", line.kind)?;
            }
            for line in &failures.around {
                writeln!(
                    out,
                    "{} goes round: {}",
                    plain(&line.dst),
                    plain(&line.path.join(" > "))
                )?;
            }
            for line in &failures.cut {
                let why = match (line.reason.as_str(), &line.at) {
                    ("no-cable", _) => "no whole cable leads there".into(),
                    (_, Some(at)) => format!("no node in transit on switch {}", plain(at)),
                    (reason, None) => plain(reason).into_owned(),
                };
                writeln!(out, "CUT OFF from {}: {why}", plain(&line.dst))?;
            }
            if failures.broken.is_empty() {
                writeln!(out, "nothing is broken, as far as this node knows")?;
            }
        }
        out.flush()?;
        Ok(if failures.cut.is_empty() { Code::Fine } else { Code::Fault })
    }
}

fn ago(unix_ms: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(unix_ms))
}
