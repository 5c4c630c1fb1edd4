//! `tresse counters`: prints the counters of this node's daemon.

use std::io::Write;

use clap::Args;

use super::answer::Formatted;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse counters`, which prints the daemon's counters.
#[derive(Debug, Args)]
pub struct Counters {
    #[command(flatten)]
    node: NodeArgs,
}

impl Counters {
    /// Asks the daemon and prints.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let counters = self.node.connect()?.counters()?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Formatted::new(&counters))?;
        } else {
            let mut table = output::table(["COUNTER", "OBJECT", "VALUE"]);
            for line in &counters.counters {
                table.add_row([
                    line.name.clone(),
                    output::plain(&line.object).into_owned(),
                    line.value.to_string(),
                ]);
            }
            writeln!(out, "{table}")?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}
