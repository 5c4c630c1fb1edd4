//! Builds a lab: namespaces, cables, switches, nodes, daemons, in that order. If a step fails or a
//! signal arrives, removes everything again.

use tresse_base::id::NodeId;
use tresse_plan::Plan;

use crate::blueprint::{Blueprint, BlueprintError};
use crate::carrier::{self, CarrierError};
use crate::daemons::{self, DaemonError};
use crate::down::{self, DownError};
use crate::netns::{self, NetnsError};

pub use crate::options::{LabEngine, UpOptions};
use crate::probe::{self, ProbeError};
use crate::run::{self, RunError};
use crate::signals::{Interrupted, Signals};
use crate::state::{Directory, LabState, Phase, StateError};
use crate::{install, script, supervise};

/// Why a lab could not be built. Nothing of it is left, unless [`UpError::Left`] says so.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// Not as root.
    #[error("a lab needs root for its namespaces: use sudo, or --vm")]
    NotRoot,
    /// It is there already.
    #[error("lab `{name}` is up already: `tresse lab down --name {name}` first, or another --name")]
    Exists {
        /// Its name.
        name: String,
    },
    /// The kernel.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The plan.
    #[error(transparent)]
    Blueprint(#[from] BlueprintError),
    /// The lab's directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A namespace.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// iproute2.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The daemons.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// A cable that the kernel does not notice.
    #[error(transparent)]
    Carrier(#[from] CarrierError),
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// It could not be built, and what was begun could not be removed.
    #[error("{error}; not removed: {}: try `tresse lab down --name {name}`", listed(left))]
    Left {
        /// Its name.
        name: String,
        /// Why it was not built.
        error: Box<Self>,
        /// What could not be removed.
        left: Vec<DownError>,
    },
}

fn listed(faults: &[DownError]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Builds the lab of a plan completely or not at all, and returns the content of its state file.
/// Each step is reported to `progress` in words.
///
/// # Errors
/// [`UpError`]; everything created so far has been removed.
pub fn up(
    plan: &Plan,
    options: &UpOptions,
    signals: &Signals,
    progress: &mut dyn FnMut(&str),
) -> Result<LabState, UpError> {
    let directory = Directory::of(&options.name)?;
    if !nix::unistd::geteuid().is_root() {
        return Err(UpError::NotRoot);
    }
    let blueprint = Blueprint::of(plan, options.tressed.is_none())?;
    probe::probe(blueprint.needs_vlans(), options.shape)?;
    let mut lock = directory.lock()?;
    match directory.load() {
        Ok(record) if record.phase == Phase::Up => {
            return Err(UpError::Exists { name: options.name.clone() });
        }
        // This process holds the lock, so the process that began this lab is dead.
        Ok(record) => {
            progress("removing what an interrupted `lab up` left");
            down::clear(&directory, &record);
            lock = directory.lock()?;
        }
        Err(StateError::NoLab { .. }) => {}
        Err(other) => return Err(other.into()),
    }
    let mut record = LabState {
        name: options.name.clone(),
        phase: Phase::Building,
        daemons: options.tressed.is_some(),
        shape: options.shape,
        blueprint,
        faults: Vec::new(),
    };
    directory.store(&record)?;
    let guard = Unfinished { directory: &directory, record: record.clone(), armed: true };
    let built = build(plan, &directory, &record, options, signals, progress).and_then(|()| {
        record.phase = Phase::Up;
        Ok(directory.store(&record)?)
    });
    let left = guard.end(built.is_ok());
    match built {
        Err(error) if left.is_empty() => return Err(error),
        Err(error) => {
            let (name, error) = (options.name.clone(), Box::new(error));
            return Err(UpError::Left { name, error, left });
        }
        Ok(()) => {}
    }
    drop(lock);
    Ok(record)
}

/// Takes down what was begun, unless it was finished: on a panic too, when nobody can be told what is
/// left.
struct Unfinished<'a> {
    directory: &'a Directory,
    record: LabState,
    armed: bool,
}

impl Unfinished<'_> {
    /// Keeps what was begun, or takes it down; returns what could not be removed.
    fn end(mut self, keep: bool) -> Vec<DownError> {
        self.armed = false;
        if keep { Vec::new() } else { down::clear(self.directory, &self.record) }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.armed {
            down::clear(self.directory, &self.record);
        }
    }
}

fn build(
    plan: &Plan,
    directory: &Directory,
    record: &LabState,
    options: &UpOptions,
    signals: &Signals,
    progress: &mut dyn FnMut(&str),
) -> Result<(), UpError> {
    let blueprint = &record.blueprint;
    // Which addresses nodes will have nobody knows yet where they have no plan.
    directory.name(if options.bare { &[] } else { &blueprint.nodes })?;
    let places: Vec<&str> = blueprint.places().collect();
    progress(&format!("making {} namespaces", places.len()));
    netns::prepare()?;
    for place in &places {
        signals.check()?;
        let is_switch = blueprint.is_switch(place);
        netns::create(&directory.netns(place), || quiet(is_switch))?;
    }
    progress(&format!("laying {} cables", blueprint.cables.len()));
    run::batch(None, "ip", &script::cables(&blueprint.cables, directory))?;
    signals.check()?;
    progress(&format!("setting up {} switches", blueprint.switches.len()));
    let announcements = record.daemons && probe::counts_announcements();
    each(&blueprint.switches, signals, |switch| {
        let netns = directory.netns(&switch.name);
        let age = switch.fdb_age_seconds;
        let tc = script::shaping(blueprint, &switch.name, record.shape, announcements);
        run::batch(Some(&netns), "ip", &script::bridge(blueprint, &switch.name, age))?;
        run::batch(Some(&netns), "tc", &tc)?;
        run::batch(Some(&netns), "bridge", &script::vlans(blueprint, &switch.name))
    })?;
    progress(&format!("setting up {} nodes", blueprint.nodes.len()));
    let ipv6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
    each(&blueprint.nodes, signals, |node| {
        let netns = directory.netns(&node.name);
        let tc = script::shaping(blueprint, &node.name, record.shape, false);
        run::batch(Some(&netns), "ip", &script::nics(blueprint, &node.name, ipv6))?;
        run::batch(Some(&netns), "tc", &tc)
    })?;
    if !record.daemons {
        // Only now have all NICs carrier: without it the kernel refuses a nexthop.
        let numbered: Vec<_> = blueprint.nodes.iter().enumerate().collect();
        each(&numbered, signals, |(index, node)| {
            let slice = tresse_slice::Slice::of(plan, NodeId::from(*index));
            let wanted = slice.without_daemon();
            install::slice(&directory.netns(&node.name), &wanted, ipv6)?;
            // A daemon mends its node when an interface comes back; here the lab does.
            let file = directory.again_file(&node.name);
            let written = std::fs::write(&file, install::restoring(&wanted));
            written.map_err(|source| RunError::Keep { path: file, source })
        })?;
        carrier::wait(blueprint, directory, signals)?;
    }
    if let Some(tressed) = &options.tressed {
        progress(&format!("starting {} daemons", blueprint.nodes.len()));
        daemons::configure(directory, record, options)?;
        signals.check()?;
        match &options.supervisor {
            Some(tresse) => supervise::start(directory, tresse, tressed)?,
            None => drop(daemons::start(directory, &record.blueprint.node_names(), tressed)?),
        }
        let until = if options.bare { "to answer" } else { "to be in sync" };
        progress(&format!("waiting for every node {until}"));
        daemons::wait(directory, record, options.bare, signals)?;
    }
    Ok(())
}

fn each<I: Sync>(
    items: &[I],
    signals: &Signals,
    work: impl Fn(&I) -> Result<(), RunError> + Sync,
) -> Result<(), UpError> {
    let results = run::parallel(items, run::workers(), |item| {
        signals.check()?;
        Ok(work(item)?)
    });
    results.into_iter().collect()
}

/// Inside a new namespace, before any interface exists: no IPv6 in switches (K3).
fn quiet(switch: bool) {
    if switch {
        for scope in ["all", "default"] {
            let file = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
            // The file is absent on kernels without IPv6, which send nothing either.
            let _ = std::fs::write(file, "1");
        }
    }
}
