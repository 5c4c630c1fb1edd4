//! What the threads of a forwarding engine share with the engine's owner: the table in use, the
//! counters, and pending changes for each thread.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use socket2::Socket;
use tresse_frame::forward::ForwardingTable;

use super::counters::{Labels, PortCounting};
use super::port::Receive;

/// A table with the counters of its labels.
pub(super) struct Loaded {
    pub table: Arc<ForwardingTable>,
    pub labels: Labels,
}

/// Changes that one thread has to take over: sockets by port, and whether to stop.
#[derive(Default)]
pub(super) struct News {
    pub stop: bool,
    pub send: Vec<(usize, Arc<Socket>)>,
    pub receive: Vec<(usize, Receive)>,
}

/// The shared state. A thread reads `generation` once per batch, and the rest only if that changed.
pub(super) struct Shared {
    pub generation: AtomicU64,
    pub ports: Vec<PortCounting>,
    loaded: Mutex<Arc<Loaded>>,
    news: Vec<Mutex<News>>,
}

impl Shared {
    pub fn new(table: Arc<ForwardingTable>, ports: usize, threads: usize) -> Self {
        let labels = Labels::default().grown_for(&table);
        Self {
            generation: AtomicU64::new(0),
            ports: (0..ports).map(|_| PortCounting::default()).collect(),
            loaded: Mutex::new(Arc::new(Loaded { table, labels })),
            news: (0..threads).map(|_| Mutex::default()).collect(),
        }
    }

    /// The number of threads.
    pub const fn threads(&self) -> usize {
        self.news.len()
    }

    pub fn loaded(&self) -> Arc<Loaded> {
        lock(&self.loaded).clone()
    }

    /// Makes all threads use `table` from their next batch on.
    pub fn load(&self, table: Arc<ForwardingTable>) {
        let mut loaded = lock(&self.loaded);
        let labels = loaded.labels.grown_for(&table);
        *loaded = Arc::new(Loaded { table, labels });
        self.announce();
    }

    pub fn news(&self, thread: usize) -> News {
        std::mem::take(&mut lock(&self.news[thread]))
    }

    pub fn notify(&self, thread: usize, news: impl FnOnce(&mut News)) {
        news(&mut lock(&self.news[thread]));
        self.announce();
    }

    fn announce(&self) {
        self.generation.fetch_add(1, AcqRel);
    }
}

/// Locks a mutex that cannot be poisoned: no code that holds it can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
