//! When the kernel is compared with the plan next, and why.

use tresse_base::bucket::Bucket;

/// Number of kernel changes that are observed at once; after that one per [`LOOK_MS`].
const LOOK_BURST: u64 = 20;
const LOOK_MS: u64 = 200;
/// A comparison that takes longer is followed by a rest as long as what it took beyond this.
const QUICK_MS: u64 = 100;
/// First and longest wait before what failed is tried again.
const RETRY_MS: u64 = 1000;
const RETRY_MAX_MS: u64 = 60_000;

/// Why the kernel is compared with the plan. Each covers those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The kernel has changed, or somebody asks: a difference is drift.
    #[default]
    Kernel,
    /// What the kernel is to have has changed: a difference is no drift.
    Target,
    /// The same, and no rate limit delays it.
    Urgent,
    /// A path has broken or come back: the same, and what was last seen of the kernel is good enough.
    Path,
}

/// The next comparison of the kernel with the plan.
#[derive(Debug)]
pub(super) struct Schedule {
    due: Option<(u64, Cause)>,
    /// When the comparison under way began, and until when the next waits: where they are slow, paths that come
    /// and go must not keep this node at them all the time.
    since: Option<u64>,
    rests_until: u64,
    looks: Bucket,
    retry_ms: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        let looks = Bucket::new(LOOK_BURST, LOOK_MS);
        Self { due: None, since: None, rests_until: 0, looks, retry_ms: RETRY_MS }
    }
}

impl Schedule {
    /// It is due at this time, or earlier if it was.
    pub(super) fn request(&mut self, at: u64, cause: Cause) {
        let (earlier, before) = self.due.unwrap_or((at, cause));
        self.due = Some((at.min(earlier), cause.max(before)));
    }

    /// It is due at this time, and not earlier because of what the kernel has told meanwhile.
    pub(super) fn postpone(&mut self, at: u64, cause: Cause) {
        self.due = self.due.filter(|(_, meanwhile)| *meanwhile > Cause::Kernel);
        self.request(at, cause);
    }

    /// When it is to begin.
    pub(super) fn due(&self) -> Option<u64> {
        self.due.map(|(at, _)| at.max(self.rests_until))
    }

    /// Begins it if it is due and no rate limit delays it.
    pub(super) fn begin(&mut self, now: u64) -> Option<Cause> {
        let (_, cause) = self.due.filter(|(at, _)| (*at).max(self.rests_until) <= now)?;
        if let Err(at) = self.looks.take(now)
            && cause < Cause::Urgent
        {
            self.due = Some((at, cause));
            return None;
        }
        self.due = None;
        self.since = Some(now);
        Some(cause)
    }

    /// It has ended, if one was under way.
    pub(super) fn ended(&mut self, now: u64) {
        if let Some(since) = self.since.take() {
            self.rests_until = now + (now - since).saturating_sub(QUICK_MS);
        }
    }

    /// What began has failed: when to try it again, later each time.
    pub(super) fn retry(&mut self, now: u64) -> u64 {
        let at = now + self.retry_ms;
        self.retry_ms = (self.retry_ms * 2).min(RETRY_MAX_MS);
        at
    }

    /// What began has succeeded.
    pub(super) fn succeeded(&mut self) {
        self.retry_ms = RETRY_MS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_and_the_greatest_cause_count() {
        let mut schedule = Schedule::default();
        assert_eq!((schedule.due(), schedule.begin(7)), (None, None));
        schedule.request(100, Cause::Target);
        schedule.request(50, Cause::Kernel);
        assert_eq!((schedule.due(), schedule.begin(49)), (Some(50), None));
        assert_eq!(schedule.begin(50), Some(Cause::Target));
        assert_eq!(schedule.due(), None);
    }

    #[test]
    fn only_what_the_kernel_has_told_is_postponed() {
        let mut schedule = Schedule::default();
        schedule.request(10, Cause::Kernel);
        schedule.postpone(1000, Cause::Kernel);
        assert_eq!(schedule.due(), Some(1000));
        schedule.request(20, Cause::Path);
        schedule.postpone(1000, Cause::Kernel);
        assert_eq!(schedule.begin(20), Some(Cause::Path));
    }

    #[test]
    fn many_changes_of_the_kernel_are_looked_at_together_and_urgent_ones_are_not() {
        let mut schedule = Schedule::default();
        let mut begins = |cause| {
            schedule.request(0, cause);
            let begun = schedule.begin(0);
            schedule.ended(0);
            begun
        };
        assert!((0..LOOK_BURST).all(|_| begins(Cause::Kernel).is_some()));
        assert_eq!(begins(Cause::Kernel), None);
        assert_eq!(begins(Cause::Path), Some(Cause::Path));
        schedule.request(0, Cause::Target);
        assert_eq!((schedule.begin(0), schedule.due()), (None, Some(LOOK_MS)));
    }

    #[test]
    fn a_slow_comparison_is_followed_by_a_rest() {
        let mut schedule = Schedule::default();
        schedule.request(0, Cause::Path);
        assert!(schedule.begin(0).is_some());
        schedule.ended(QUICK_MS + 30);
        schedule.request(QUICK_MS + 30, Cause::Path);
        assert_eq!(schedule.due(), Some(QUICK_MS + 60));
    }

    #[test]
    fn each_failure_makes_the_wait_longer_until_something_succeeds() {
        let mut schedule = Schedule::default();
        let waits: Vec<u64> = (0..8).map(|_| schedule.retry(0)).collect();
        assert_eq!(waits[..3], [RETRY_MS, 2 * RETRY_MS, 4 * RETRY_MS]);
        assert_eq!(waits[7], RETRY_MAX_MS);
        schedule.succeeded();
        assert_eq!(schedule.retry(5), 5 + RETRY_MS);
    }
}
