//! `tresse lab fail` and `tresse lab heal`: `fail` makes a link, switch or node of a lab fail, and
//! `heal` ends such failures.

use clap::Args;
use tresse_lab::fault::{self, FaultError};

use super::found::{self, Found};
use crate::fail::{Code, Failure};

#[derive(Debug, Args)]
pub struct Fail {
    /// The link, switch or node.
    object: String,
    /// Drop frames but keep the carrier.
    #[arg(long)]
    silent: bool,
}

#[derive(Debug, Args)]
pub struct Heal {
    /// The object that was given to `fail`. Default: all that failed.
    object: Option<String>,
}

impl Fail {
    pub fn run(&self, found: &Found) -> Result<Code, Failure> {
        fault::fail(&found.directory, &self.object, self.silent).map_err(failed)?;
        Ok(Code::Fine)
    }
}

impl Heal {
    pub fn run(&self, found: &Found) -> Result<Code, Failure> {
        fault::heal(&found.directory, self.object.as_deref()).map_err(failed)?;
        Ok(Code::Fine)
    }
}

fn failed(error: FaultError) -> Failure {
    match error {
        FaultError::Unknown { .. } | FaultError::Whole { .. } => Failure::new(Code::Usage, error),
        _ => found::fault(error),
    }
}
