//! The nonblocking collectives of a communicator, one after the other, on a thread of their own: they go on while the
//! program computes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::said::say;
use crate::threads;

/// How long a blocking collective waits for those before it, until MPI has its turn.
const PAUSE: Duration = Duration::from_millis(1);

type Work = Box<dyn FnOnce() + Send>;

/// The collectives that were started and are not done.
#[derive(Default)]
pub struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    /// Whether one is under work.
    busy: bool,
    /// Whether the thread has been started.
    started: bool,
    ended: bool,
}

impl Queue {
    /// Has `work` done after all that was pushed before.
    pub fn push(&self, work: Work) {
        let mut state = self.0.lock();
        state.waiting.push_back(work);
        if !state.started {
            let shared = self.0.clone();
            if let Err(error) = threads::spawn(move || shared.serve()) {
                say(format_args!("cannot start a thread: {error}"));
                std::process::abort();
            }
            state.started = true;
        }
        drop(state);
        self.0.changed.notify_all();
    }

    /// Waits until all that was pushed is done. Calls `idle` again and again meanwhile.
    pub fn drain(&self, mut idle: impl FnMut()) {
        let mut state = self.0.lock();
        while state.busy || !state.waiting.is_empty() {
            state = self.0.changed.wait_timeout(state, PAUSE).expect("nobody panics with it").0;
            drop(state);
            idle();
            state = self.0.lock();
        }
    }
}

impl Drop for Queue {
    /// What was pushed is still done.
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                state.busy = true;
                drop(state);
                work();
                state = self.lock();
                state.busy = false;
                self.changed.notify_all();
            } else if state.ended {
                return;
            } else {
                state = self.changed.wait(state).expect("nobody panics with it");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_done_in_order() {
        let done = Arc::new(Mutex::new(Vec::new()));
        let queue = Queue::default();
        for k in 0..100 {
            let done = done.clone();
            queue.push(Box::new(move || done.lock().unwrap().push(k)));
        }
        queue.drain(|| {});
        assert_eq!(*done.lock().unwrap(), (0..100).collect::<Vec<i32>>());
        let last = done.clone();
        queue.push(Box::new(move || last.lock().unwrap().push(100)));
        drop(queue);
        while Arc::strong_count(&done) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(done.lock().unwrap().last(), Some(&100));
    }
}
