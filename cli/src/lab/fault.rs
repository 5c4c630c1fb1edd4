//! `tresse lab fail` and `tresse lab heal`.

use clap::Args;
use tresse_lab::fault::{self, FaultError};

use super::found::Found;
use crate::fail::{Code, Failure};

#[derive(Debug, Args)]
pub struct Fail {
    /// Link, switch or node.
    object: String,
    /// Frames vanish, the carrier stays.
    #[arg(long)]
    silent: bool,
}

#[derive(Debug, Args)]
pub struct Heal {
    /// What `fail` was given; everything if left out.
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
    let code = match error {
        FaultError::Unknown { .. } | FaultError::Whole { .. } => Code::Usage,
        _ => Code::Fault,
    };
    Failure::new(code, error)
}
