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
use tresse_frame::keys::Keys;
use tresse_liveness::received::Arrival;
use tresse_liveness::{
    Datagram, Dropped, PathEvent, Seal, Secrets, Sending, SessionState, SessionTable, Timing,
    Watching,
};

use super::error::BfdError;
use super::sockets::{Received, Sockets};

/// What was counted.
#[derive(Debug, Default)]
struct Counting {
    received: AtomicU64,
    malformed: AtomicU64,
    ttl: AtomicU64,
    unknown: AtomicU64,
    unsigned: AtomicU64,
    replayed: AtomicU64,
    sent: AtomicU64,
    echoes: AtomicU64,
    late: AtomicU64,
    slowdown: AtomicU64,
    unsent: AtomicU64,
    taken: AtomicU64,
    /// 1 if the kernel refused the filter of what is received.
    deaf: AtomicU64,
}

/// What the thread is told.
enum Order {
    /// Watch exactly this.
    Watch(Watching),
    /// Sign by these keys, and take what is signed by them.
    Keys(Keys),
}

/// Handle of the running thread that holds the BFD sessions of this node.
pub struct Bfd {
    orders: Option<mpsc::Sender<Order>>,
    wake: UnixStream,
    seen: watch::Receiver<PathEvent>,
    counting: Arc<Counting>,
    thread: Option<JoinHandle<()>>,
}

impl Bfd {
    /// Starts the thread, with nothing to watch, in the caller's network namespace. `secrets`: see
    /// [`SessionTable::with`] and [`Seal::new`].
    ///
    /// # Errors
    /// [`BfdError`].
    pub fn start(timing: Timing, secrets: [Secrets; 2]) -> Result<Self, BfdError> {
        let refused = |step| move |source| BfdError::Refused { step, source };
        let [of_sessions, of_seal] = secrets;
        let table = SessionTable::with(timing, of_sessions);
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
            seal: Seal::new(of_seal),
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
        self.order(Order::Watch(watching));
    }

    /// Signs by these keys, and takes what is signed by them, from now on. Without any at first.
    pub fn set_keys(&self, keys: Keys) {
        self.order(Order::Keys(keys));
    }

    fn order(&self, order: Order) {
        let sent = self.orders.as_ref().map(|orders| orders.send(order));
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

    /// Has the thread ended, or does it not hear what it should, as the kernel refused it?
    #[must_use]
    pub fn is_deaf(&self) -> bool {
        let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        ended || self.counting.deaf.load(Relaxed) > 0
    }

    /// What was counted, by name.
    #[must_use]
    pub fn counters(&self) -> [(&'static str, u64); 14] {
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
            ("bfd_unsigned_total", counting.unsigned.load(Relaxed)),
            ("bfd_replayed_total", counting.replayed.load(Relaxed)),
            ("bfd_echoes_sent_total", counting.echoes.load(Relaxed)),
            ("bfd_unsent_total", counting.unsent.load(Relaxed)),
            ("bfd_ports_taken", counting.taken.load(Relaxed)),
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

/// Does a control packet end its session (RFC 5880, section 6.8.16)?
fn says_goodbye(packet: &[u8]) -> bool {
    packet.get(1).is_some_and(|flags| flags >> 6 == SessionState::AdminDown as u8)
}

struct Worker {
    table: SessionTable,
    sockets: Sockets,
    ordered: mpsc::Receiver<Order>,
    seal: Seal,
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
                    Ok(Order::Watch(watching)) => self.watch(watching, now, &mut out),
                    Ok(Order::Keys(keys)) => self.seal.set_keys(keys),
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

    fn watch(&mut self, watching: Watching, now: Duration, out: &mut Vec<Sending>) {
        let deaf = self.sockets.watch(&watching).is_err();
        self.counting.deaf.store(deaf.into(), Relaxed);
        self.counting.taken.store(self.sockets.taken(), Relaxed);
        let paths = watching.paths.iter();
        let ends = paths.map(|path| (path.source, path.destination)).collect();
        let interfaces = watching.interfaces.values().map(|interface| interface.ifindex).collect();
        self.table.set(watching, now, out);
        // Before their sockets are closed and their peers forgotten: sessions that end say so.
        self.send(out);
        self.sockets.close_others(&interfaces);
        self.seal.retain(&ends);
    }

    fn hear(&mut self, out: &mut Vec<Sending>) {
        let Self { table, sockets, seal, counting, epoch, heard, .. } = self;
        let before = *heard;
        *heard = epoch.elapsed();
        sockets.receive(|Received { content, age }| {
            // What was in a socket at the last look was taken from it then.
            let at = epoch.elapsed().saturating_sub(age).max(before);
            let taken = match content {
                Some(Arrival::Control(datagram)) => table.ends(&datagram).and_then(|ends| {
                    let payload = seal.open(ends, &datagram)?;
                    table.hear(&Datagram { payload: &payload, ..datagram }, at, out)?;
                    if says_goodbye(&payload) && !table.has_session(ends) {
                        seal.forget(ends);
                    }
                    Ok(())
                }),
                Some(Arrival::Echo(echo)) => table.answered(echo, at),
                None => Err(Dropped::Malformed),
            };
            let counter = match taken {
                Ok(()) => &counting.received,
                Err(Dropped::Malformed) => &counting.malformed,
                Err(Dropped::Ttl) => &counting.ttl,
                Err(Dropped::Unknown) => &counting.unknown,
                Err(Dropped::Unsigned) => &counting.unsigned,
                Err(Dropped::Replayed) => &counting.replayed,
            };
            counter.fetch_add(1, Relaxed);
        });
    }

    fn send(&mut self, out: &mut Vec<Sending>) {
        for sending in out.drain(..) {
            if self.sockets.send(&sending, &mut self.seal).is_err() {
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
        // Whole milliseconds, upwards: what is due soon after goes with it.
        let up = |wait: Duration| Duration::from_millis(wait.as_micros().div_ceil(1000) as u64);
        if readiness::poll(&mut watched, until.map(up)).is_ok() && watched[0].revents != 0 {
            let mut words = [0; 64];
            let _ = (&self.woken).read(&mut words);
        }
    }
}
