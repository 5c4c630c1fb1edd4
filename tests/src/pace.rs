//! Time limits for tests, which are longer on a slow or busy machine.
//!
//! The slowness of a machine is the product of two measurements. The first is taken once: how long a
//! fixed piece of work takes, compared with a processor of 2020 (an emulated processor needs ten times
//! as long). The second is taken at every check: the number of runnable tasks per processor
//! (`procs_running` of `/proc/stat`).

use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tresse_lab::busy::tasks_per_processor;

/// A time limit that is extended on a slow machine, by no more than five minutes. Call [`Deadline::is_over`] often: each
/// call measures how slow the machine is at that moment.
#[derive(Debug)]
pub struct Deadline {
    left: f64,
    last: Instant,
    end: Instant,
}

impl Deadline {
    /// In so many seconds of an idle, fast machine.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        let last = Instant::now();
        Self { left: time.as_secs_f64(), last, end: last + time + MOST_EXTENDED }
    }

    /// Is the time over?
    pub fn is_over(&mut self) -> bool {
        let now = Instant::now();
        self.left -= now.duration_since(self.last).as_secs_f64() / slowness();
        self.last = now;
        self.left <= 0.0 || now >= self.end
    }
}

/// Is this the emulated machine, whose processor is slow?
#[must_use]
pub fn is_emulated() -> bool {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    processor.contains("QEMU TCG")
}

/// Calls `look` until it succeeds or the time limit `time` has passed, with a pause of `pause` between
/// calls. On a slow machine the time limit and the pauses are longer: `look` may start programs, and
/// these would delay what is waited for.
///
/// # Errors
/// The last error of `look`, after the time limit.
pub fn wait<T, E>(
    time: Duration,
    pause: Duration,
    mut look: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut deadline = Deadline::after(time);
    loop {
        let seen = look();
        if seen.is_ok() || deadline.is_over() {
            return seen;
        }
        thread::sleep(pause.mul_f64(slowness().min(LAZIEST)));
    }
}

/// Measures how long a test takes, and prints this time and the test's name on standard error when
/// dropped; before that it names a test that runs for very long, as that may be one that never ends.
#[derive(Debug)]
pub struct Stopwatch {
    test: String,
    begin: Instant,
    _running: Sender<()>,
}

impl Stopwatch {
    /// Begins to measure the test of that name.
    #[must_use]
    pub fn start(test: &str) -> Self {
        let (running, ended) = mpsc::channel();
        let name = test.to_owned();
        thread::spawn(move || {
            if ended.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{name} still runs after {} s", LONG.as_secs());
            }
        });
        Self { test: test.to_owned(), begin: Instant::now(), _running: running }
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        eprintln!("{:6.1} s  {}", self.begin.elapsed().as_secs_f64(), self.test);
    }
}

/// Returns how many times slower this machine is now than an idle machine with a fast processor; between
/// 1 and 40.
#[must_use]
pub fn slowness() -> f64 {
    static SPEED: LazyLock<f64> = LazyLock::new(speed);
    (*SPEED * tasks_per_processor()).min(MOST)
}

/// Even a machine that is swamped gets on.
const MOST: f64 = 40.0;
/// What is not so by then never will be: a test that fails is told before all that follow have run out of time.
const MOST_EXTENDED: Duration = Duration::from_secs(300);
/// What runs for longer is worth naming.
const LONG: Duration = Duration::from_secs(240);
/// How many times longer pauses get.
const LAZIEST: f64 = 8.0;
/// What [`work`] takes on a fast processor, without optimisation of this crate.
const FAST: Duration = Duration::from_micros(600);

/// The best of some runs: who comes in between does not count.
fn speed() -> f64 {
    let run = |_| {
        let begin = Instant::now();
        black_box(work(black_box(7)));
        begin.elapsed()
    };
    let best = (0..8).map(run).min().unwrap_or(FAST);
    (best.as_secs_f64() / FAST.as_secs_f64()).max(1.0)
}

/// Something that no compiler shortens: each step needs the one before.
fn work(seed: u64) -> u64 {
    (0..500_000u64).fold(seed, |state, k| {
        state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(k).rotate_left(17)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_comes_no_earlier_than_it_says() {
        let (begin, time) = (Instant::now(), Duration::from_millis(30));
        let seen: Result<(), _> = wait(time, Duration::from_millis(5), || Err("not yet"));
        assert_eq!(seen, Err("not yet"));
        assert!(begin.elapsed() >= time);
    }

    #[test]
    fn no_machine_is_faster_than_a_fast_one() {
        assert!(speed() >= 1.0 && slowness() <= MOST);
    }
}
