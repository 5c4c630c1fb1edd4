//! What pushes labels onto what this node sends: the encapsulation of the kernel's routes, or where the
//! kernel has none the daemon, which gets the packets through a TUN interface (see `target::tun`).

use super::job::Job;
use super::pushing::Pushing;
use super::{Effect, Engine};

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
