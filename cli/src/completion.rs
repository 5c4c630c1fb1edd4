//! `tresse completion` and `tresse man`: write shell completion scripts and manual pages, generated
//! from clap's definitions of the verbs (subcommands).

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::fail::{Code, Failure};
use crate::{input, output};

/// Arguments of `tresse completion`, which prints a completion script for a shell.
#[derive(Debug, Args)]
pub struct Completion {
    /// The shell that the script is for.
    shell: Shell,
}

impl Completion {
    /// Prints the script.
    pub fn run<C: CommandFactory>(&self) -> Result<Code, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut C::command(), "tresse", &mut script);
        let mut out = output::stdout();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Code::Fine)
    }
}

/// Arguments of `tresse man`, which writes the manual pages.
#[derive(Debug, Args)]
pub struct Man {
    /// The directory for `tresse.1` and one page per verb.
    directory: PathBuf,
}

impl Man {
    /// Writes the pages.
    pub fn run<C: CommandFactory>(&self) -> Result<Code, Failure> {
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(C::command(), &self.directory))
            .map_err(|e| input::unwritable(&self.directory, &e))?;
        Ok(Code::Fine)
    }
}
