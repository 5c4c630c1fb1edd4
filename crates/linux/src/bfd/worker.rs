//! The thread that runs the BFD sessions. Each round it reads received packets, then handles
//! timers, then sends. A thread that was delayed reads all waiting packets before it decides which
//! sessions were silent.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::sys::readiness;
use tokio::sync::watch;
use tresse_liveness::{Dropped, PathEvent, Secrets, Sending, SessionTable, Timing, Watching};

use super::error::BfdError;
use super::sockets::{Arrival, Received, Sockets};

/// What was counted.
#[derive(Debug, Default)]
struct Counting {
    received: AtomicU64,
    malformed: AtomicU64,
    ttl: AtomicU64,
    unknown: AtomicU64,
    sent: AtomicU64,
    echoes: AtomicU64,
    late: AtomicU64,
    slowdown: AtomicU64,
    unsent: AtomicU64,
}

/// Handle of the running thread that holds the BFD sessions of this node.
pub struct Bfd {
    orders: Option<mpsc::Sender<Watching>>,
    wake: UnixStream,
    seen: watch::Receiver<PathEvent>,
    counting: Arc<Counting>,
    thread: Option<JoinHandle<()>>,
}

impl Bfd {
    /// Starts the thread, with nothing to watch, in the caller's network namespace. `secrets`: see
    /// [`SessionTable::with`].
    ///
    /// # Errors
    /// [`BfdError`].
    pub fn start(timing: Timing, secrets: Secrets) -> Result<Self, BfdError> {
        let refused = |step| move |source| BfdError::Refused { step, source };
        let table = SessionTable::with(timing, secrets);
        let sockets = Sockets::open(table.identifier())?;
        let (wake, woken) = UnixStream::pair().map_err(refused("make a pair of sockets"))?;
        for end in [&wake, &woken] {
            end.set_nonblocking(true).map_err(refused("set a socket non-blocking"))?;
        }
        let (orders, ordered) = mpsc::channel();
        let (path_events, seen) = watch::channel(PathEvent::default());
        let counting = Arc::new(Counting::default());
        let epoch = Instant::now();
        let worker = Worker {
            table,
            sockets,
            ordered,
            woken,
            path_events,
            epoch,
            heard: Duration::ZERO,
            counting: counting.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("bfd".into())
            .spawn(|| worker.run())
            .map_err(refused("start a thread"))?;
        Ok(Self { orders: Some(orders), wake, seen, counting, thread: Some(thread) })
    }

    /// Watches exactly this.
    pub fn set(&self, watching: Watching) {
        let sent = self.orders.as_ref().map(|orders| orders.send(watching));
        if sent.is_some_and(|sent| sent.is_ok()) {
            // Full: it is awake already.
            let _ = (&self.wake).write(&[0]);
        }
    }

    /// The state of the paths, as it changes.
    #[must_use]
    pub fn path_events(&self) -> watch::Receiver<PathEvent> {
        self.seen.clone()
    }

    /// What was counted, by name.
    #[must_use]
    pub fn counters(&self) -> [(&'static str, u64); 11] {
        let counting = &*self.counting;
        let seen = self.seen.borrow();
        [
            ("bfd_sessions", seen.sessions.len() as u64),
            ("bfd_paths_broken", seen.down.len() as u64),
            ("bfd_packets_sent_total", counting.sent.load(Relaxed)),
            ("bfd_packets_received_total", counting.received.load(Relaxed)),
            ("bfd_malformed_total", counting.malformed.load(Relaxed)),
            ("bfd_wrong_ttl_total", counting.ttl.load(Relaxed)),
            ("bfd_unknown_total", counting.unknown.load(Relaxed)),
            ("bfd_echoes_sent_total", counting.echoes.load(Relaxed)),
            ("bfd_unsent_total", counting.unsent.load(Relaxed)),
            ("bfd_late_wakeups_total", counting.late.load(Relaxed)),
            ("bfd_slowdown", counting.slowdown.load(Relaxed)),
        ]
    }
}

impl Drop for Bfd {
    fn drop(&mut self) {
        self.orders = None;
        let _ = (&self.wake).write(&[0]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    table: SessionTable,
    sockets: Sockets,
    ordered: mpsc::Receiver<Watching>,
    woken: UnixStream,
    path_events: watch::Sender<PathEvent>,
    epoch: Instant,
    /// When the sockets were read last.
    heard: Duration,
    counting: Arc<Counting>,
}

impl Worker {
    fn run(mut self) {
        let mut out = Vec::new();
        loop {
            self.table.wake(self.epoch.elapsed());
            self.hear(&mut out);
            let now = self.epoch.elapsed();
            let ended = loop {
                match self.ordered.try_recv() {
                    Ok(watching) => self.table.set(watching, now, &mut out),
                    Err(mpsc::TryRecvError::Empty) => break false,
                    Err(mpsc::TryRecvError::Disconnected) => break true,
                }
            };
            if ended {
                self.table.stop(now, &mut out);
            }
            self.table.poll(now, &mut out);
            self.send(&mut out);
            if ended {
                return;
            }
            if let Some(event) = self.table.news(now) {
                self.path_events.send_replace(event);
            }
            self.pause();
        }
    }

    fn hear(&mut self, out: &mut Vec<Sending>) {
        let Self { table, sockets, counting, epoch, heard, .. } = self;
        let before = *heard;
        *heard = epoch.elapsed();
        sockets.receive(|Received { content, age }| {
            // What was in a socket at the last look was taken from it then.
            let at = epoch.elapsed().saturating_sub(age).max(before);
            let taken = match content {
                Arrival::Control(datagram) => table.hear(&datagram, at, out),
                Arrival::Echo(echo) => table.answered(echo, at),
            };
            let counter = match taken {
                Ok(()) => &counting.received,
                Err(Dropped::Malformed) => &counting.malformed,
                Err(Dropped::Ttl) => &counting.ttl,
                Err(Dropped::Unknown) => &counting.unknown,
            };
            counter.fetch_add(1, Relaxed);
        });
    }

    fn send(&self, out: &mut Vec<Sending>) {
        for sending in out.drain(..) {
            if self.sockets.send(&sending).is_err() {
                self.counting.unsent.fetch_add(1, Relaxed);
            }
        }
        self.counting.sent.store(self.table.packets, Relaxed);
        self.counting.echoes.store(self.table.echoes, Relaxed);
        self.counting.late.store(self.table.late, Relaxed);
        self.counting.slowdown.store(self.table.slowdown().into(), Relaxed);
    }

    /// Until something comes in, or time brings something.
    fn pause(&self) {
        let mut watched = vec![readiness::wait_for(&self.woken, libc::POLLIN)];
        watched.extend(self.sockets.descriptors().map(|s| readiness::wait_for(s, libc::POLLIN)));
        let until = self.table.deadline().map(|at| at.saturating_sub(self.epoch.elapsed()));
        // Upwards: one that wakes too early wakes twice.
        let up = |wait: Duration| wait.as_micros().div_ceil(1000).try_into().unwrap_or(i32::MAX);
        if readiness::poll(&mut watched, until.map_or(-1, up)).is_ok() && watched[0].revents != 0 {
            let mut words = [0; 64];
            let _ = (&self.woken).read(&mut words);
        }
    }
}
