//! `tresse lab down`: removes a lab (a cluster on one machine) and ends all processes that run in
//! it.

use clap::Args;
use tresse_lab::down;
use tresse_lab::state::Directory;

use super::found::{is_denied, state};
use crate::fail::{Code, Failure};

#[derive(Debug, Args)]
pub struct Down {
    /// Remove every lab.
    #[arg(long)]
    all: bool,
}

impl Down {
    pub fn run(&self, name: Option<&str>) -> Result<Code, Failure> {
        let labs =
            if self.all { Directory::all() } else { vec![Directory::find(name).map_err(state)?] };
        let mut faults = Vec::new();
        for lab in labs {
            faults.extend(down::down(&lab).err().unwrap_or_default());
        }
        if faults.is_empty() {
            return Ok(Code::Fine);
        }
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let denied = faults.iter().any(|fault| is_denied(fault));
        let code = if denied { Code::NotPermitted } else { Code::Fault };
        Err(Failure::new(code, lines.join("\n")))
    }
}
