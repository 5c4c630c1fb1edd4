//! `tresse export`: writes switch configurations, node scripts and files for other programs.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tresse_export::{self, ExportFile, ExportOptions, Format};

use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output;

/// Arguments of `tresse export`, which writes switch configurations, node scripts and files for
/// other programs.
#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[arg(help = formats(), value_parser = str::parse::<Format>)]
    format: Format,
    /// Write only the file of this switch, node or VLAN.
    object: Option<String>,
    /// Write one file per object into this directory and print their paths.
    #[arg(long, short = 'o', value_name = "DIR")]
    output: Option<PathBuf>,
    /// For switches: keep the VLANs of this older cluster file beside the new ones, as long as the fabric changes from
    /// one plan to the other.
    #[arg(long, value_name = "OLD")]
    keep: Option<PathBuf>,
    /// Leave out static forwarding (FDB) entries.
    #[arg(long)]
    no_fdb: bool,
}

/// The answer of `--json` without a directory.
#[derive(Debug, Serialize)]
struct Files<'a> {
    format: u32,
    files: Vec<Text<'a>>,
}

#[derive(Debug, Serialize)]
struct Text<'a> {
    name: &'a str,
    text: &'a str,
}

/// The answer of `--json` with a directory.
#[derive(Debug, Serialize)]
struct Written {
    format: u32,
    written: Vec<PathBuf>,
}

impl Export {
    /// Computes the plan and writes the files.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let cluster = input::read_cluster(&self.cluster.file)?;
        let lock = self.cluster.read_lock()?;
        let keep = self.keep.as_deref();
        let change = input::build_after(cluster, lock, &self.cluster.file, keep)?;
        if let (Some(old), false) = (keep, change.held) {
            input::warn_unlocked(old, &self.cluster.lock_path());
        }
        let (plan, old) = (change.plan, change.old);
        let survey = input::accept(&plan, &self.cluster.file)?;
        let cyclic = survey.dependencies.cycle(plan.graph()).is_some();
        let options = ExportOptions { cyclic, static_fdb: !self.no_fdb };
        let files = tresse_export::render_keeping(
            &plan,
            old.as_ref(),
            self.format,
            self.object.as_deref(),
            options,
        )
        .map_err(|e| Failure::new(Code::Usage, e))?;
        let mut out = output::stdout();
        if let Some(directory) = &self.output {
            let written = write_all(directory, &files)?;
            if json {
                output::json_line(&mut out, &Written { format: 1, written })?;
            } else {
                for path in written {
                    writeln!(out, "{}", path.display())?;
                }
            }
        } else if json {
            let files = files.iter().map(|f| Text { name: &f.name, text: &f.text }).collect();
            output::json_line(&mut out, &Files { format: 1, files })?;
        } else {
            print(&mut out, &files)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

/// Prints one file as it is, and several files each below its name, as `head` does.
fn print(out: &mut impl Write, files: &[ExportFile]) -> std::io::Result<()> {
    for (k, file) in files.iter().enumerate() {
        if files.len() > 1 {
            let blank = if k == 0 { "" } else { "\n" };
            writeln!(out, "{blank}==> {} <==", file.name)?;
        }
        out.write_all(file.text.as_bytes())?;
    }
    Ok(())
}

fn write_all(directory: &Path, files: &[ExportFile]) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::with_capacity(files.len());
    for file in files {
        let path = directory.join(&file.name);
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent).map_err(|e| {
            let help = match e.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    "that is a file: name with -o a directory, in which the files are written"
                }
                _ => "name with -o a directory that you may write to",
            };
            let words =
                format!("cannot create the directory {}: {e}\n  help: {help}", parent.display());
            Failure::new(Code::Fault, words)
        })?;
        input::replace(&path, &file.text)?;
        written.push(path);
    }
    Ok(written)
}

fn formats() -> String {
    let names: Vec<_> = Format::all().map(Format::name).collect();
    format!("What to write: {}", names.join(", "))
}
