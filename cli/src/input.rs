//! Reading cluster files and locks; problems are shown with the line they are in.

use std::path::{Path, PathBuf};

use clap::Args;
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tresse_fabric::cluster::{self, Cluster};
use tresse_fabric::lock::Lock;
use tresse_fabric::plan::Plan;

use crate::fail::{Code, Failure};

/// A cluster file with its lock.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// The cluster file.
    pub file: PathBuf,
    /// The lock; default: `tresse.lock` beside the cluster file, where there is one.
    #[arg(long)]
    pub lock: Option<PathBuf>,
}

impl ClusterArgs {
    /// Reads and plans.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let cluster = read_cluster(&self.file)?;
        let lock = self.read_lock()?;
        build(cluster, &lock, &self.file)
    }

    /// Where the lock is or would be.
    pub fn lock_path(&self) -> PathBuf {
        self.lock.clone().unwrap_or_else(|| self.file.with_file_name("tresse.lock"))
    }

    /// The lock, empty where there is none.
    pub fn read_lock(&self) -> Result<Lock, Failure> {
        let path = self.lock_path();
        match std::fs::read_to_string(&path) {
            Ok(text) => Lock::parse(&text)
                .map_err(|e| Failure::new(Code::BadFile, format!("{}: {e}", path.display()))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && self.lock.is_none() => {
                Ok(Lock::default())
            }
            Err(e) => Err(Failure::new(
                Code::BadFile,
                format!("cannot read the lock {}: {e}", path.display()),
            )),
        }
    }
}

/// Reads the text of a file that the operator named.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure::new(Code::BadFile, format!("cannot read {}: {e}", path.display())))
}

/// Reads a cluster file; every problem of it is shown at once.
pub fn read_cluster(path: &Path) -> Result<Cluster, Failure> {
    let text = read_text(path)?;
    let name = path.display().to_string();
    cluster::parse(&text, &name).map_err(|problems| {
        for problem in &problems.problems {
            let mut diagnostic = MietteDiagnostic::new(problem.to_string())
                .with_label(LabeledSpan::new_with_span(Some("here".into()), problem.span.clone()));
            if let Some(help) = &problem.help {
                diagnostic = diagnostic.with_help(help);
            }
            let source = NamedSource::new(&name, text.clone()).with_language("TOML");
            eprint!("{:?}", Report::new(diagnostic).with_source_code(source));
        }
        let n = problems.problems.len();
        let s = if n == 1 { "" } else { "s" };
        Failure::new(Code::BadFile, format!("{name} has {n} problem{s}"))
    })
}

/// Plans a cluster; what is wrong is a matter of the file.
pub fn build(cluster: Cluster, lock: &Lock, path: &Path) -> Result<Plan, Failure> {
    Plan::build_with(cluster, lock)
        .map_err(|e| Failure::new(Code::BadFile, format!("{}: {e}", path.display())))
}

/// Writes a file as a whole: a reader sees the old or the new text, never a part.
pub fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let failure = |e: std::io::Error| {
        Failure::new(Code::Fault, format!("cannot write {}: {e}", path.display()))
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)).map_err(|e| {
        // Nothing half-written stays behind; the first error is the one to tell.
        let _ = std::fs::remove_file(&new);
        failure(e)
    })
}
