//! `tresse schema`: prints the JSON Schema of the cluster file.

use std::io::Write;

use clap::Args;

use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse schema`, which prints the JSON Schema of the cluster file.
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    /// Prints the schema.
    pub fn run(&self) -> Result<Code, Failure> {
        let mut out = output::stdout();
        writeln!(out, "{}", tresse_cluster::schema().trim_end())?;
        out.flush()?;
        Ok(Code::Fine)
    }
}
