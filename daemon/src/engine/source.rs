//! What pushes labels onto what this node sends: the encapsulation of the kernel's routes, or where the
//! kernel has none the daemon, which gets the packets through a TUN interface (see `target::tun`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_fabric::id::Label;
use tresse_fabric::units::Mac;

use super::transaction::Job;
use super::{Effect, Engine, Prepared};

/// Who pushes labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceEngine {
    /// The kernel's routes.
    Kernel,
    /// The daemon, through a TUN interface.
    Tun,
}

impl SourceEngine {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Tun => "tun",
        }
    }
}

/// What the daemon pushes: nothing where there are no routes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pushing {
    /// The NICs that paths leave by, by name: MAC and octets of payload that a frame may have.
    pub nics: BTreeMap<String, (Mac, u32)>,
    /// By destination: its labelled paths.
    pub routes: BTreeMap<IpAddr, Vec<PushPath>>,
}

/// A labelled path of [`Pushing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushPath {
    /// The NIC it leaves by.
    pub nic: String,
    /// The VLAN it leaves on; 0: untagged.
    pub vid: u16,
    /// The NIC of the first transit node.
    pub mac: Mac,
    /// The label stack, outermost first.
    pub labels: Vec<Label>,
    /// Its share beside other paths to the destination.
    pub weight: u8,
}

impl Pushing {
    /// These routes, and those of `other` for other destinations.
    fn over(&self, other: &Self) -> Self {
        let mut both = other.clone();
        both.nics.extend(self.nics.clone());
        both.routes.extend(self.routes.clone());
        both
    }
}

impl Prepared {
    /// Does a path of this node begin with labels?
    pub(super) fn pushes(&self) -> bool {
        let routes = self.wanted.routes.values().flat_map(|route| &route.legs);
        routes.chain(self.alternatives.values().flatten()).any(|leg| !leg.labels.is_empty())
    }
}

impl Engine {
    /// What pushes labels here: none where no path needs any.
    pub(super) fn source_engine(&self) -> &'static str {
        let current = self.stored.current.as_ref();
        let pushes = current.is_some_and(|current| current.pushes());
        if pushes { self.settings.engines.sources.word() } else { "none" }
    }

    /// The kernel holds what a job wants: the TUN has no other destinations any more.
    pub(super) fn pushes(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.pushed.clone_from(&job.pushing);
        self.push(job.pushing.clone(), out);
    }

    /// A job is about to change the kernel: destinations of before and of after lead somewhere.
    pub(super) fn pushes_both(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.push(job.pushing.over(&self.pushed), out);
    }

    /// A job is about to be undone.
    pub(super) fn pushes_again(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.push(self.pushed.over(&job.pushing), out);
    }

    fn push(&mut self, pushing: Pushing, out: &mut Vec<Effect>) {
        if self.pushing != pushing {
            self.pushing.clone_from(&pushing);
            out.push(Effect::Push(Box::new(pushing)));
        }
    }
}
