//! `tresse fmt`: rewrites a cluster file in the usual order and spacing, and keeps its comments.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::fail::{self, Code, Failure};
use crate::{input, output};

/// Arguments of `tresse fmt`, which rewrites a cluster file in the usual order and spacing.
#[derive(Debug, Args)]
pub struct Fmt {
    /// The cluster file.
    file: PathBuf,
    /// Change nothing; exit with 1 if the file is not formatted.
    #[arg(long)]
    check: bool,
    /// Print the result and leave the file as it is.
    #[arg(long, conflicts_with = "check")]
    stdout: bool,
}

/// The answer of `--json`.
#[derive(Debug, Serialize)]
struct Formatted<'a> {
    format: u32,
    /// Whether the file was formatted already.
    formatted: bool,
    /// The formatted text, for `--stdout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl Fmt {
    /// Formats the file. A file with problems is refused.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        input::read_cluster(&self.file)?;
        let text = input::read_text(&self.file)?;
        let usual = tresse_cluster::format(&text);
        let formatted = usual == text;
        if !formatted && !self.check && !self.stdout {
            input::replace(&self.file, &usual)?;
        }
        let mut out = output::stdout();
        if json {
            let text = self.stdout.then_some(usual.as_str());
            output::json_line(&mut out, &Formatted { format: 1, formatted, text })?;
        } else if self.stdout {
            out.write_all(usual.as_bytes())?;
        }
        out.flush()?;
        if self.check && !formatted {
            fail::say(&format!("tresse: {} is not formatted: run tresse fmt", self.file.display()));
            return Ok(Code::Fault);
        }
        Ok(Code::Fine)
    }
}
