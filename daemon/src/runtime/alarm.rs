//! The main loop's only timer, a timerfd(2). A timer of tokio wakes the thread several times on the
//! way to a distant deadline (twice in 4.3 s), because its timer wheel has levels; this one wakes
//! the thread once.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use tresse_linux::sys::readiness;

/// A timer with one deadline, which is set anew by each wait for it.
pub struct Alarm {
    timer: TimerFd,
    watched: AsyncFd<OwnedFd>,
    at: Option<Instant>,
}

impl Alarm {
    /// A timer without a deadline. Must be called in a runtime with I/O.
    ///
    /// # Errors
    /// Those of timerfd_create(2) and the runtime's.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let watched = readiness::watch(timer.as_fd().try_clone_to_owned()?)?;
        Ok(Self { timer, watched, at: None })
    }

    /// Waits until `at`, or for ever with `None`. Cancel safe; the deadline of the last call
    /// counts.
    ///
    /// # Errors
    /// The timer's.
    pub async fn until(&mut self, at: Option<Instant>) -> io::Result<()> {
        if self.at != at {
            self.set(at)?;
        }
        loop {
            let mut ready = self.watched.readable().await?;
            match self.timer.wait() {
                Ok(()) => {
                    self.at = None;
                    return Ok(());
                }
                // It had expired before the deadline was moved.
                Err(Errno::EAGAIN) => ready.clear_ready(),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn set(&mut self, at: Option<Instant>) -> io::Result<()> {
        match at {
            Some(at) => {
                // Zero would stop the timer.
                let left = at.duration_since(Instant::now()).max(Duration::from_nanos(1));
                let once = Expiration::OneShot(TimeSpec::from_duration(left));
                self.timer.set(once, TimerSetTimeFlags::empty())?;
            }
            None => self.timer.unset()?,
        }
        self.at = at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn it_is_due_when_it_was_last_set() {
        let mut alarm = Alarm::new().unwrap();
        let began = Instant::now();
        alarm.until(Some(began)).await.unwrap();
        for (first, then) in [(10, 30), (60_000, 20), (1, 15)] {
            let at = |ms| Some(Instant::now() + Duration::from_millis(ms));
            let _ = tokio::time::timeout(Duration::from_millis(5), alarm.until(at(first))).await;
            let due = at(then);
            alarm.until(due).await.unwrap();
            assert!(Some(Instant::now()) >= due, "{first} then {then}");
        }
        let never = tokio::time::timeout(Duration::from_millis(20), alarm.until(None)).await;
        assert!(never.is_err());
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    /// How often this thread has gone to sleep so far.
    fn sleeps() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn it_wakes_the_thread_once() {
        let mut alarm = Alarm::new().unwrap();
        alarm.until(Some(Instant::now() + Duration::from_millis(1))).await.unwrap();
        let before = sleeps();
        // The runtime's own timer wakes twice: the lowest level of its wheel spans 64 ms.
        alarm.until(Some(Instant::now() + Duration::from_millis(300))).await.unwrap();
        assert_eq!(sleeps() - before, 1);
    }
}
