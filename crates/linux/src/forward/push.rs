//! The source's engine where the kernel cannot push labels: reads the packets that are routed to a TUN
//! interface and sends them behind their labels, as [`tresse_frame::forward::PushTable`] says.
//!
//! ```text
//! the arena:   [room for labels][packet]   [..][labels][segment]  [..][labels][segment]
//! ```
//!
//! One thread reads and sends in batches; checksums are left to whoever finishes them in any case, TCP
//! that is to be segmented is cut here, since kernels without MPLS segmentation refuse it behind
//! labels. Ports have the same bounded buffers as those of the engine that forwards for others. Per
//! packet nothing is allocated, locked or logged.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use socket2::Socket;
use tresse_frame::forward::{MOST_BEFORE, PushTable, Reason, Segments};

use super::counters::{PortCounters, PortCounting};
use super::offload::Offload;
use super::outbound::Outbound;
use super::{ForwardError, port};
use crate::kernel::Tun;
use crate::sys::ring::OFFLOAD_HEADER;
use crate::sys::{packet, readiness};

/// The longest packet.
const LONGEST: usize = 1 << 16;
/// Before each packet: its offload header, and room for labels.
const HEAD: usize = (OFFLOAD_HEADER + MOST_BEFORE).next_multiple_of(32);
const ARENA: usize = 4 * LONGEST;
/// The most octets that may wait for one port.
const BUFFER_OCTETS: u64 = 512 * 1024;

/// A running source engine. Dropping it ends its thread, and with that the TUN interface.
pub struct Pusher {
    interface: String,
    shared: Arc<Shared>,
    ports: Vec<Port>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// What a pusher has counted since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushCounters {
    /// Packets that came from the TUN interface, as `received`, and those that led nowhere.
    pub tun: PortCounters,
    /// One for each NIC that is sent by.
    pub ports: Vec<PortCounters>,
}

/// A NIC to send by.
#[derive(Clone)]
struct Port {
    interface: String,
    ifindex: u32,
    socket: Arc<Socket>,
    counting: Arc<PortCounting>,
}

/// A table with the ports that it counts.
struct Loaded {
    table: Arc<PushTable>,
    ports: Vec<Port>,
}

struct Shared {
    generation: AtomicU64,
    loaded: Mutex<Option<Arc<Loaded>>>,
    tun: PortCounting,
}

impl Shared {
    /// Tells the thread; `None` ends it.
    fn load(&self, loaded: Option<Loaded>) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = loaded.map(Arc::new);
        self.generation.fetch_add(1, AcqRel);
    }

    fn loaded(&self) -> Option<Arc<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Pusher {
    /// Sends what `tun` gives by `table`, whose NICs are `interfaces`, in the calling thread's network
    /// namespace.
    ///
    /// # Errors
    /// The first interface that is not there, has another MAC than the table says, or is refused.
    pub fn start(
        tun: Tun,
        interfaces: &[String],
        table: Arc<PushTable>,
    ) -> Result<Self, ForwardError> {
        let ports = open(interfaces, &table, &[])?;
        let name = "tresse-push".to_owned();
        let refused = |source| ForwardError::Thread { name: name.clone(), source };
        let (wake, woken) = UnixStream::pair().map_err(refused)?;
        woken.set_nonblocking(true).map_err(refused)?;
        wake.set_nonblocking(true).map_err(refused)?;
        let loaded = Arc::new(Loaded { table, ports: ports.clone() });
        let shared = Arc::new(Shared {
            generation: AtomicU64::new(0),
            loaded: Mutex::new(Some(loaded.clone())),
            tun: PortCounting::default(),
        });
        shared.tun.running.store(true, Relaxed);
        let worker = Worker {
            tun: tun.packets,
            wake: woken,
            shared: shared.clone(),
            outbound: ports.iter().map(|port| Outbound::new(port.socket.clone())).collect(),
            loaded,
            arena: vec![0; ARENA],
            going: Vec::with_capacity(2 * packet::MOST),
            watched: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || worker.run())
            .map_err(refused)?;
        Ok(Self { interface: tun.name, shared, ports, wake, thread: Some(thread) })
    }

    /// Sends by `table` from the next batch on, whose NICs are `interfaces`; no packet is lost by that.
    ///
    /// # Errors
    /// As [`Self::start`]; the table before stays then.
    pub fn swap(
        &mut self,
        interfaces: &[String],
        table: Arc<PushTable>,
    ) -> Result<(), ForwardError> {
        self.ports = open(interfaces, &table, &self.ports)?;
        self.shared.load(Some(Loaded { table, ports: self.ports.clone() }));
        self.wake();
        Ok(())
    }

    /// Looks at every NIC again, to be called when links change. What was not taken, and why.
    pub fn refresh(&mut self) -> Vec<ForwardError> {
        let Some(loaded) = self.shared.loaded() else { return Vec::new() };
        let interfaces: Vec<String> = self.ports.iter().map(|p| p.interface.clone()).collect();
        self.swap(&interfaces, loaded.table.clone()).err().into_iter().collect()
    }

    /// Does it still hold its TUN interface? Not when somebody has deleted that.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// All counters as they are now.
    #[must_use]
    pub fn counters(&self) -> PushCounters {
        let ports = self.ports.iter().map(|port| port.counting.now(&port.interface));
        PushCounters { tun: self.shared.tun.now(&self.interface), ports: ports.collect() }
    }

    fn wake(&self) {
        // Full means that it is woken anyway.
        let _ = (&self.wake).write(&[1]);
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        self.shared.load(None);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A port for each interface; those of `before` that are still the same are kept.
fn open(
    interfaces: &[String],
    table: &PushTable,
    before: &[Port],
) -> Result<Vec<Port>, ForwardError> {
    if table.nics() != interfaces.len() {
        return Err(ForwardError::Nics { table: table.nics(), engine: interfaces.len() });
    }
    let mut ports = Vec::with_capacity(interfaces.len());
    for (nic, interface) in interfaces.iter().enumerate() {
        let state = port::look(interface, table.mac(nic))?;
        let old = before.iter().find(|port| port.interface == *interface);
        let counting = old.map_or_else(Arc::default, |port| port.counting.clone());
        counting.running.store(state.up, Relaxed);
        let socket = match old.filter(|port| port.ifindex == state.ifindex) {
            Some(port) => {
                packet::bypass_queueing(port.socket.as_fd(), !state.shaped)
                    .map_err(ForwardError::refused(interface, "bypass queueing"))?;
                port.socket.clone()
            }
            None => Arc::new(port::send(interface, &state)?),
        };
        let (interface, ifindex) = (interface.clone(), state.ifindex);
        ports.push(Port { interface, ifindex, socket, counting });
    }
    Ok(ports)
}

/// The thread.
struct Worker {
    tun: File,
    wake: UnixStream,
    shared: Arc<Shared>,
    loaded: Arc<Loaded>,
    /// One for each port of `loaded`.
    outbound: Vec<Outbound>,
    arena: Vec<u8>,
    /// Frames in the arena, each behind its offload header: the port and where they are.
    going: Vec<(usize, usize, usize)>,
    watched: Vec<libc::pollfd>,
}

impl Worker {
    fn run(mut self) {
        let mut seen = self.shared.generation.load(Acquire);
        loop {
            let generation = self.shared.generation.load(Acquire);
            if generation != seen {
                seen = generation;
                let Some(loaded) = self.shared.loaded() else { return };
                self.take(loaded);
            }
            let mut busy = match self.batch() {
                Ok(busy) => busy,
                // The interface was deleted.
                Err(_) => break,
            };
            for (outbound, port) in self.outbound.iter_mut().zip(&self.loaded.ports) {
                busy |= outbound.blocked().is_some() && outbound.flush(&port.counting);
            }
            if !busy {
                self.pause();
            }
        }
        self.shared.tun.running.store(false, Relaxed);
    }

    /// Takes over a table; what waits for a port that is still there goes on waiting.
    fn take(&mut self, loaded: Arc<Loaded>) {
        let mut before: Vec<Option<Outbound>> = self.outbound.drain(..).map(Some).collect();
        for port in &loaded.ports {
            let same = |old: &Port| Arc::ptr_eq(&old.counting, &port.counting);
            let old = self.loaded.ports.iter().position(same).and_then(|at| before[at].take());
            let mut outbound = old.unwrap_or_else(|| Outbound::new(port.socket.clone()));
            outbound.socket = port.socket.clone();
            self.outbound.push(outbound);
        }
        self.loaded = loaded;
    }

    /// Reads what there is, as far as the arena takes it, and sends it; was there anything?
    fn batch(&mut self) -> io::Result<bool> {
        let mut at = 0;
        let (mut packets, mut octets) = (0, 0);
        // Behind the longest packet there is room for its longest segment.
        while self.going.len() < packet::MOST && ARENA - at >= 2 * (HEAD + LONGEST) {
            let begin = at + HEAD;
            let read = match self.tun.read(&mut self.arena[begin - OFFLOAD_HEADER..][..LONGEST]) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let length = read.saturating_sub(OFFLOAD_HEADER);
            packets += 1;
            octets += length as u64;
            match self.push(begin, length) {
                Ok(end) => at = end,
                Err(reason) => self.shared.tun.drop(reason, 1),
            }
        }
        self.dispatch();
        self.shared.tun.received.add(packets, octets);
        Ok(packets > 0)
    }

    /// Labels the packet at `begin`; where the arena is free behind what is to be sent.
    fn push(&mut self, begin: usize, length: usize) -> Result<usize, Reason> {
        let (head, rest) = self.arena.split_at_mut(begin);
        let (packet, room) = rest.split_at_mut(length);
        let header = head.last_chunk::<OFFLOAD_HEADER>().ok_or(Reason::Truncated)?;
        let offload = Offload::parse(*header);
        let loaded = self.loaded.clone();
        let push = loaded.table.push(packet)?;
        let Some(offload) = offload.filter(|offload| offload.is_segmented()) else {
            if !push.fits(length) {
                return Err(Reason::TooBig);
            }
            let start = push.write(head);
            let undone = offload.map(|offload| offload.emit_checksum(push.before()));
            let header = undone.unwrap_or_default();
            head[start - OFFLOAD_HEADER..start].copy_from_slice(&header);
            self.going.push((push.nic(), start - OFFLOAD_HEADER, begin + length));
            return Ok(begin + length);
        };
        let (transport, size) = offload.tcp().ok_or(Reason::Uncuttable)?;
        let mut segments = Segments::new(packet, transport, size)?;
        if !push.fits(segments.longest()) {
            return Err(Reason::TooBig);
        }
        let header = offload.emit_checksum(push.before());
        let before = OFFLOAD_HEADER + push.before();
        let mut at = 0;
        loop {
            if room.len() - at < before + segments.longest() {
                let outbound = &mut self.outbound;
                let (sent, behind) = (&head, &room);
                send(&mut self.going, &loaded, outbound, |from, to| match from < begin {
                    true => &sent[from..to],
                    false => &behind[from - begin - length..to - begin - length],
                });
                at = 0;
            }
            let Some(written) = segments.write(&mut room[at + before..]) else { break };
            room[at..at + OFFLOAD_HEADER].copy_from_slice(&header);
            push.write(&mut room[..at + before]);
            let end = at + before + written;
            self.going.push((push.nic(), begin + length + at, begin + length + end));
            at = end;
        }
        Ok(begin + length + at)
    }

    fn dispatch(&mut self) {
        let Self { going, loaded, outbound, arena, .. } = self;
        send(going, loaded, outbound, |from, to| &arena[from..to]);
    }

    /// Until there is a packet, news, or room where frames wait.
    fn pause(&mut self) {
        let timeout_ms = Outbound::timeout_ms(&self.outbound);
        let full = Outbound::full(&self.outbound);
        self.watched.clear();
        self.watched.push(readiness::wait_for(&self.wake, libc::POLLIN));
        self.watched.push(readiness::wait_for(&self.tun, libc::POLLIN));
        self.watched.extend(full.map(|socket| readiness::wait_for(socket, libc::POLLOUT)));
        if readiness::poll(&mut self.watched, timeout_ms).is_ok() && self.watched[0].revents != 0 {
            let mut words = [0; 64];
            let _ = (&self.wake).read(&mut words);
        }
    }
}

/// Sends what is going, each run of frames for one port in one call.
fn send<'a>(
    going: &mut Vec<(usize, usize, usize)>,
    loaded: &Loaded,
    outbound: &mut [Outbound],
    frame: impl Fn(usize, usize) -> &'a [u8],
) {
    for run in going.chunk_by(|a, b| a.0 == b.0) {
        for some in run.chunks(packet::MOST) {
            let mut frames = [&[][..]; packet::MOST];
            for (place, (_, from, to)) in frames.iter_mut().zip(some) {
                *place = frame(*from, *to);
            }
            let counting = &loaded.ports[some[0].0].counting;
            outbound[some[0].0].emit(counting, BUFFER_OCTETS, &frames[..some.len()]);
        }
    }
    going.clear();
}
