//! Keeps the table of the source engine up to date, and names what pushes MPLS labels onto this
//! node's own packets: the kernel's routes or, if the kernel cannot, the source engine, which is
//! the daemon with a TUN interface from which it gets the packets (see `target::tun`).

use super::job::Job;
use super::pushing::Pushing;
use super::{Effect, Engine};

impl Engine {
    /// The name of what pushes labels here; `none` if no path has labels.
    pub(super) fn source_engine(&self) -> &'static str {
        let current = self.stored.current.as_ref();
        let pushes = current.is_some_and(|current| current.pushes());
        if pushes { self.settings.engines.sources.word() } else { "none" }
    }

    /// Sets the source engine's table after the kernel equals the target: only its destinations
    /// remain.
    pub(super) fn pushes(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.pushed.clone_from(&job.pushing);
        self.push(job.pushing.clone(), out);
    }

    /// Sets the source engine's table before a transaction: destinations of the old and the new
    /// state.
    pub(super) fn pushes_both(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.push(job.pushing.over(&self.pushed), out);
    }

    /// Sets the source engine's table before a transaction is undone.
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
