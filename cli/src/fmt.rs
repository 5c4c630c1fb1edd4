//! `tresse fmt`: a cluster file in the usual order and spacing, comments kept.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tresse_fabric::cluster;

use crate::fail::{Code, Failure};
use crate::{input, output};

/// Arguments of `tresse fmt`.
#[derive(Debug, Args)]
pub struct Fmt {
    /// The cluster file.
    file: PathBuf,
    /// Change nothing; exit with 1 where the file is not formatted.
    #[arg(long)]
    check: bool,
    /// Print the result and leave the file as it is.
    #[arg(long, conflicts_with = "check")]
    stdout: bool,
}

impl Fmt {
    /// Formats. A file with problems is refused as a whole.
    pub fn run(&self) -> Result<Code, Failure> {
        input::read_cluster(&self.file)?;
        let text = input::read_text(&self.file)?;
        let formatted = cluster::format(&text);
        if self.stdout {
            let mut out = output::stdout();
            out.write_all(formatted.as_bytes())?;
            out.flush()?;
            return Ok(Code::Fine);
        }
        if formatted == text {
            return Ok(Code::Fine);
        }
        if self.check {
            return Err(Failure::new(
                Code::Fault,
                format!("{} is not formatted: run tresse fmt", self.file.display()),
            ));
        }
        input::replace(&self.file, &formatted)?;
        Ok(Code::Fine)
    }
}
