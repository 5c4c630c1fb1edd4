//! The source engine: pushes MPLS labels onto this node's own packets if its kernel cannot. It reads
//! the packets that the kernel routes to a TUN interface, and sends them with their labels as
//! [`tresse_frame::forward::PushTable`] says. Packets are read into one block of memory, the arena.
//! A packet's headers are written into free room before it. If a TCP packet must be cut into
//! segments, they are written behind it, each with headers of its own:
//!
//! ```text
//! the arena:   [room for headers][packet]   [headers][segment]   [headers][segment]
//! headers:     [offload header, struct virtio_net_hdr][Ethernet header, VLAN tag][labels]
//! ```
//!
//! One thread reads and sends in batches. TCP packets are cut here, because kernels without MPLS
//! segmentation refuse uncut ones behind labels. No checksum is computed here: the offload header
//! says that a checksum is still missing, and the NIC, or the kernel for it, computes it on sending
//! (on a veth pair nobody does, and the receiving kernel does not need it). Each NIC has a bounded
//! buffer for frames that it cannot send at once, as in the forwarding engine. Nothing is allocated,
//! locked or logged per packet.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::Socket;
use tresse_frame::forward::{
    DropReason, MOST_BEFORE, OFFLOAD_HEADER, Offload, PushTable, TcpSegments,
};

use super::counters::{PortCounters, PortCounting};
use super::outbound::{Outbounds, TransitBuffer};
use super::{ForwardError, port};
use crate::kernel::{self, Carried, Tun};
use crate::sys::{packet, readiness};

/// Longest packet in bytes.
const LONGEST: usize = 1 << 16;
/// Bytes kept free before each packet: for its offload header and labels.
const HEAD: usize = (OFFLOAD_HEADER + MOST_BEFORE).next_multiple_of(32);
const ARENA: usize = 4 * LONGEST;
/// What may wait for NICs that cannot send, for all of them together: so much times their number.
const BUFFER_BYTES: u64 = 512 * 1024;

const fn buffer(ports: usize) -> TransitBuffer {
    TransitBuffer { memory_bytes: BUFFER_BYTES * ports as u64, wait: Duration::from_secs(1) }
}

/// A running source engine: pushes labels onto this node's own packets. Dropping it ends its thread
/// and removes the TUN interface.
pub struct Pusher {
    interface: String,
    shared: Arc<Shared>,
    ports: Vec<Port>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// Counters of a source engine, which puts labels on this node's own packets, since its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushCounters {
    /// The TUN interface: packets read from it, and those for which no path exists.
    pub tun: PortCounters,
    /// One entry per NIC that it sends on.
    pub ports: Vec<PortCounters>,
}

/// A NIC that the engine sends on.
#[derive(Clone)]
struct Port {
    interface: String,
    ifindex: u32,
    socket: Arc<Socket>,
    counting: Arc<PortCounting>,
}

/// A table with the counters of its ports.
struct Loaded {
    table: Arc<PushTable>,
    ports: Vec<Port>,
    /// Bytes of the packets that went by each path.
    pushed: Box<[AtomicU64]>,
}

impl Loaded {
    fn new(table: Arc<PushTable>, ports: Vec<Port>) -> Self {
        let pushed = (0..table.paths()).map(|_| AtomicU64::new(0)).collect();
        Self { table, ports, pushed }
    }
}

struct Shared {
    generation: AtomicU64,
    loaded: Mutex<Option<Arc<Loaded>>>,
    tun: PortCounting,
}

impl Shared {
    /// Gives the thread a new table; `None` ends the thread.
    fn load(&self, loaded: Option<Loaded>) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = loaded.map(Arc::new);
        self.generation.fetch_add(1, AcqRel);
    }

    fn loaded(&self) -> Option<Arc<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Pusher {
    /// Starts to send the packets of `tun` as `table` says. `interfaces` are the NICs of the table,
    /// in the calling thread's network namespace.
    ///
    /// # Errors
    /// The first interface that does not exist, has another MAC address than the table says, or
    /// cannot be opened.
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
        let loaded = Arc::new(Loaded::new(table, ports.clone()));
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
            outbounds: Outbounds::new(
                buffer(ports.len()),
                ports.iter().map(|port| port.socket.clone()),
            ),
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

    /// Replaces the table, whose NICs are `interfaces`, from the next batch on. No packet is lost.
    ///
    /// # Errors
    /// As [`Self::start`]; the old table then stays in use.
    pub fn swap(
        &mut self,
        interfaces: &[String],
        table: Arc<PushTable>,
    ) -> Result<(), ForwardError> {
        self.ports = open(interfaces, &table, &self.ports)?;
        self.shared.load(Some(Loaded::new(table, self.ports.clone())));
        self.wake();
        Ok(())
    }

    /// Looks at every NIC again; call it when links change. Returns the errors of NICs that could
    /// not be opened.
    pub fn refresh(&mut self) -> Vec<ForwardError> {
        let Some(loaded) = self.shared.loaded() else { return Vec::new() };
        let interfaces: Vec<String> = self.ports.iter().map(|p| p.interface.clone()).collect();
        self.swap(&interfaces, loaded.table.clone()).err().into_iter().collect()
    }

    /// Does it still hold its TUN interface? False after somebody deleted that interface.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// The present value of all counters.
    #[must_use]
    pub fn counters(&self) -> PushCounters {
        let ports = self.ports.iter().map(|port| port.counting.now(&port.interface));
        let mut tun = self.shared.tun.now(&self.interface);
        // What the thread did not read in time is seen by the kernel alone.
        if let Ok(Carried { unsent: unread @ 1.., .. }) = kernel::carried(&self.interface) {
            tun.dropped.push((DropReason::RingFull, unread));
        }
        PushCounters { tun, ports: ports.collect() }
    }

    /// Bytes of the packets that went by each path since the table was loaded or this was last called; in the order of the
    /// paths that the table was made of.
    #[must_use]
    pub fn take_pushed(&self) -> Vec<u64> {
        let loaded = self.shared.loaded();
        loaded.iter().flat_map(|of| &of.pushed).map(|bytes| bytes.swap(0, Relaxed)).collect()
    }

    fn wake(&self) {
        // A full socket already holds a wake-up.
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

/// Opens a port for each interface; unchanged ports of `before` are kept.
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

/// The engine's thread.
struct Worker {
    tun: File,
    wake: UnixStream,
    shared: Arc<Shared>,
    loaded: Arc<Loaded>,
    /// One per port of `loaded`.
    outbounds: Outbounds,
    arena: Vec<u8>,
    /// Frames in the arena that are to be sent: (port, start of the offload header, end).
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
                // The TUN interface was deleted.
                Err(_) => break,
            };
            if self.outbounds.are_blocked() {
                busy |= self.outbounds.flush(|port| &self.loaded.ports[port].counting);
            }
            if !busy {
                self.pause();
            }
        }
        self.shared.tun.running.store(false, Relaxed);
    }

    /// Takes over a table. Frames that wait for a port which still exists keep waiting.
    fn take(&mut self, loaded: Arc<Loaded>) {
        let ports = loaded.ports.iter().map(|port| {
            let same = |old: &Port| Arc::ptr_eq(&old.counting, &port.counting);
            (port.socket.clone(), self.loaded.ports.iter().position(same))
        });
        self.outbounds.replace(buffer(loaded.ports.len()), ports);
        self.loaded = loaded;
    }

    /// Reads the packets that are there, as far as the arena has room, and sends them. Returns
    /// whether there were any.
    fn batch(&mut self) -> io::Result<bool> {
        let mut at = 0;
        let (mut packets, mut total) = (0, 0);
        // After the longest packet there must be room for its longest segment.
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
            total += length as u64;
            match self.push(begin, length) {
                Ok(end) => at = end,
                Err(reason) => self.shared.tun.drop(reason, 1),
            }
        }
        self.dispatch();
        self.shared.tun.received.add(packets, total);
        Ok(packets > 0)
    }

    /// Labels the packet at `begin`; returns where the arena is free after the frames to be sent.
    fn push(&mut self, begin: usize, length: usize) -> Result<usize, DropReason> {
        let (head, rest) = self.arena.split_at_mut(begin);
        let (packet, room) = rest.split_at_mut(length);
        let header = head.last_chunk::<OFFLOAD_HEADER>().ok_or(DropReason::Truncated)?;
        let offload = Offload::parse(*header);
        let loaded = self.loaded.clone();
        let push = loaded.table.push(packet)?;
        loaded.pushed[push.path()].fetch_add(length as u64, Relaxed);
        let Some(offload) = offload.filter(|offload| offload.is_segmented()) else {
            if !push.fits(length) {
                return Err(DropReason::TooBig);
            }
            let start = push.write(head);
            let undone = offload.map(|offload| offload.emit_checksum(push.before()));
            let header = undone.unwrap_or_default();
            head[start - OFFLOAD_HEADER..start].copy_from_slice(&header);
            self.going.push((push.nic(), start - OFFLOAD_HEADER, begin + length));
            return Ok(begin + length);
        };
        let (transport, size) = offload.tcp().ok_or(DropReason::Uncuttable)?;
        let mut segments = TcpSegments::new(packet, transport, size)?;
        if !push.fits(segments.longest()) {
            return Err(DropReason::TooBig);
        }
        let header = offload.emit_checksum(push.before());
        let before = OFFLOAD_HEADER + push.before();
        let mut at = 0;
        loop {
            if room.len() - at < before + segments.longest() {
                let outbounds = &mut self.outbounds;
                let (sent, behind) = (&head, &room);
                send(&mut self.going, &loaded, outbounds, |from, to| match from < begin {
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
        let Self { going, loaded, outbounds, arena, .. } = self;
        send(going, loaded, outbounds, |from, to| &arena[from..to]);
    }

    /// Blocks until there is a packet, a new table, or room for waiting frames.
    fn pause(&mut self) {
        let timeout = self.outbounds.timeout();
        let full = self.outbounds.full();
        self.watched.clear();
        self.watched.push(readiness::wait_for(&self.wake, libc::POLLIN));
        self.watched.push(readiness::wait_for(&self.tun, libc::POLLIN));
        self.watched.extend(full.map(|socket| readiness::wait_for(socket, libc::POLLOUT)));
        if readiness::poll(&mut self.watched, timeout).is_ok() && self.watched[0].revents != 0 {
            let mut words = [0; 64];
            let _ = (&self.wake).read(&mut words);
        }
    }
}

/// Sends the frames in `going`, each run of frames for one port with one call.
fn send<'a>(
    going: &mut Vec<(usize, usize, usize)>,
    loaded: &Loaded,
    outbounds: &mut Outbounds,
    frame: impl Fn(usize, usize) -> &'a [u8],
) {
    for run in going.chunk_by(|a, b| a.0 == b.0) {
        for some in run.chunks(packet::MOST) {
            let mut frames = [&[][..]; packet::MOST];
            for (place, (_, from, to)) in frames.iter_mut().zip(some) {
                *place = frame(*from, *to);
            }
            let counting = |port: usize| &*loaded.ports[port].counting;
            outbounds.emit(some[0].0, &frames[..some.len()], counting);
        }
    }
    going.clear();
}
