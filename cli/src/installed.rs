//! The plan of this machine: that of the file which was named, else the one that its daemon has in force, else that of the
//! installed file.

use std::path::PathBuf;

use clap::Args;
use tresse_base::installed::{CLUSTER_FILE, CLUSTER_VARIABLE};
use tresse_control::PlanFiles;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_topology::cluster::Cluster;

use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};

/// What messages call the files of a plan that no file was named for.
const IN_FORCE: &str = "the plan in force";

/// Arguments of the verbs that use this machine's plan, if no cluster file is named.
#[derive(Debug, Args)]
pub struct InstalledArgs {
    /// The cluster file. Default: that of the plan in force here, else /etc/tresse/cluster.toml.
    file: Option<PathBuf>,
    /// The lock. Default: `tresse.lock` beside the cluster file, if there is one.
    #[arg(long)]
    lock: Option<PathBuf>,
    #[command(flatten)]
    pub daemon: NodeArgs,
}

/// A cluster file and its lock.
struct Source {
    /// For messages.
    name: PathBuf,
    text: String,
    lock: Lock,
}

impl InstalledArgs {
    /// As if no option but these was given.
    pub const fn of(file: Option<PathBuf>, lock: Option<PathBuf>, daemon: NodeArgs) -> Self {
        Self { file, lock, daemon }
    }

    /// Was a file named?
    pub fn is_named(&self) -> bool {
        self.file.is_some() || self.lock.is_some()
    }

    /// Is there a plan in force, or a cluster file? A file that was named is taken to be there.
    pub fn exists(&self) -> bool {
        let in_force = || self.in_force().is_some_and(|plan| plan.cluster.is_some());
        self.is_named() || self.file().exists() || in_force()
    }

    /// The plan.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let Source { name, text, lock } = self.source()?;
        input::build(input::parse(&text, &name)?, &lock, &name)
    }

    /// The cluster alone, for which no plan is computed.
    pub fn cluster(&self) -> Result<Cluster, Failure> {
        let Source { name, text, .. } = self.source()?;
        input::parse(&text, &name)
    }

    /// The path of the cluster file, which need not exist if the plan is the one in force.
    pub fn file(&self) -> PathBuf {
        let installed =
            || std::env::var_os(CLUSTER_VARIABLE).map_or(CLUSTER_FILE.into(), PathBuf::from);
        self.file.clone().unwrap_or_else(installed)
    }

    fn source(&self) -> Result<Source, Failure> {
        if !self.is_named()
            && let Some(PlanFiles { cluster: Some(text), lock, .. }) = self.in_force()
        {
            let name = PathBuf::from(IN_FORCE);
            let wrong = |error| Failure::new(Code::BadFile, format!("{IN_FORCE}: {error}"));
            let lock =
                lock.map_or(Ok(Lock::default()), |lock| Lock::parse(&lock).map_err(wrong))?;
            return Ok(Source { name, text, lock });
        }
        let files = ClusterArgs { file: self.file(), lock: self.lock.clone() };
        let text = input::cluster_text(&files.file)?;
        Ok(Source { lock: files.read_lock()?, name: files.file, text })
    }

    /// The files that the daemon has; `None` if there is no daemon, or one of an older release.
    fn in_force(&self) -> Option<PlanFiles> {
        self.daemon.connect().ok()?.plan().ok()
    }
}
