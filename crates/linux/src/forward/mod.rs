//! The `packet` forwarding engine of a transit node: receives labelled frames on raw sockets and
//! sends them on as [`tresse_frame::forward::ForwardingTable`] says.
//!
//! Owns its sockets and threads. Decides nothing about labels and changes nothing in the kernel.
//! The design follows measurements: `AF_PACKET` sockets for all protocols with a filter (a socket
//! for the MPLS EtherType loses the VLAN tag), `TPACKET_V2` rings (V3 delays frames by up to a
//! millisecond), `sendmmsg` straight from the ring.
//!
//! - Each receive ring belongs to one thread; every thread can send on every port. Frames from one
//!   port stay in order. What a port cannot send waits in a transit buffer
//!   (`in-transit-buffers-updown`, section 3) and delays no other port.
//! - Frames that the local kernel made (veth, virtio) may still need a checksum or segmentation;
//!   that is passed on with them. A frame that needs segmentation and still has labels is dropped
//!   as too big.
//! - The kernel also sees every frame (K12), so it must not forward labelled frames itself
//!   (`net.mpls.conf.*.input` = 0).

mod arrivals;
mod counters;
mod error;
mod messages;
mod outbound;
mod port;
mod push;
mod rest;
mod shared;
mod worker;

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::Socket;
use tresse_frame::forward::ForwardingTable;

pub use counters::{Count, ForwardingCounters, LabelCounters, PortCounters};
pub use error::ForwardError;
pub use outbound::TransitBuffer;
pub use push::{PushCounters, Pusher};

use self::arrivals::Arrivals;
use self::outbound::Outbounds;
use self::port::Inbound;
use self::rest::Rest;
use self::shared::Shared;
use self::worker::Worker;
use crate::sys::packet;

/// Configuration of a `packet` forwarding engine: interfaces, threads, sizes of receive rings and
/// transit buffers.
#[derive(Debug, Clone)]
pub struct Config {
    /// Names of the interfaces; a table's NIC index is an index into this list.
    pub interfaces: Vec<String>,
    /// Number of threads; at most one per interface.
    pub threads: usize,
    /// What may wait for ports that cannot send.
    pub buffer: TransitBuffer,
    /// Size of a port's receive ring in bytes; it has room for at least 64 frames.
    pub ring_bytes: usize,
    /// How long an idle thread polls its rings before it sleeps, if polling pays.
    pub watch: Duration,
}

impl Config {
    /// Defaults for these interfaces: a thread per core but no more than interfaces, transit
    /// buffers of 64 MiB in all, for a second, rings of 4 MiB (2,048 frames at an MTU of 1,500), polling for 50
    /// microseconds.
    #[must_use]
    pub fn new(interfaces: Vec<String>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads: cores.min(interfaces.len()),
            interfaces,
            buffer: TransitBuffer::default(),
            ring_bytes: 4 << 20,
            watch: Duration::from_micros(50),
        }
    }
}

/// A running `packet` forwarding engine, which forwards labelled frames through raw sockets.
/// Dropping it stops its threads.
pub struct ForwardingEngine {
    shared: Arc<Shared>,
    ports: Vec<Held>,
    threads: Vec<Running>,
    ring_bytes: usize,
}

/// A port's interface as it was when the port was opened.
struct Held {
    interface: String,
    ifindex: u32,
    slot: usize,
    /// One send socket per thread.
    sockets: Vec<Arc<Socket>>,
}

struct Running {
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// The largest number of ports of an engine.
const MOST_PORTS: usize = 1024;

impl ForwardingEngine {
    /// Opens the sockets in the calling thread's network namespace and starts the threads.
    ///
    /// # Errors
    /// The first interface that does not exist, has another MAC address than the table says, or
    /// cannot be opened.
    pub fn start(config: &Config, table: Arc<ForwardingTable>) -> Result<Self, ForwardError> {
        let count = config.interfaces.len();
        if count == 0 || count > MOST_PORTS {
            return Err(ForwardError::Count { found: count, most: MOST_PORTS });
        }
        fits(&table, count)?;
        let threads = config.threads.clamp(1, count);
        let shared = Arc::new(Shared::new(table.clone(), count, threads));
        let mut inbound: Vec<Vec<Inbound>> = (0..threads).map(|_| Vec::new()).collect();
        let mut ports = Vec::with_capacity(count);
        for (port, interface) in config.interfaces.iter().enumerate() {
            let state = port::look(interface, table.mac(port))?;
            let receive = port::receive(interface, &state, config.ring_bytes)?;
            inbound[port % threads].push(Inbound { port, receive });
            let send = |_| port::send(interface, &state).map(Arc::new);
            let sockets = (0..threads).map(send).collect::<Result<Vec<_>, _>>()?;
            shared.ports[port].running.store(state.up, Relaxed);
            let (interface, slot) = (interface.clone(), port::slot(state.mtu_bytes));
            ports.push(Held { interface, ifindex: state.ifindex, slot, sockets });
        }
        let ring_bytes = config.ring_bytes;
        let mut engine = Self { shared, ports, threads: Vec::new(), ring_bytes };
        for (number, inbound) in inbound.into_iter().enumerate() {
            let running = engine.spawn(number, inbound, config)?;
            engine.threads.push(running);
        }
        Ok(engine)
    }

    fn spawn(
        &self,
        number: usize,
        inbound: Vec<Inbound>,
        config: &Config,
    ) -> Result<Running, ForwardError> {
        let name = format!("tresse-fwd-{number}");
        let refused = |source| ForwardError::Thread { name: name.clone(), source };
        let (wake, woken) = UnixStream::pair().map_err(refused)?;
        woken.set_nonblocking(true).map_err(refused)?;
        wake.set_nonblocking(true).map_err(refused)?;
        let sockets = self.ports.iter().map(|port| port.sockets[number].clone());
        let threads = self.shared.threads();
        let arrivals = Arrivals::new(&woken).map_err(refused)?;
        let worker = Worker {
            shared: self.shared.clone(),
            number,
            inbound,
            outbounds: Outbounds::new(config.buffer.part(threads), sockets),
            wake: woken,
            rest: Rest::new(config.watch),
            arrivals,
            watched: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || worker.run())
            .map_err(refused)?;
        Ok(Running { wake, thread: Some(thread) })
    }

    /// Replaces the table: every thread uses the new one from its next batch on. No frame is lost.
    ///
    /// # Errors
    /// If the table has another number of NICs than the engine has ports.
    pub fn swap(&self, table: Arc<ForwardingTable>) -> Result<(), ForwardError> {
        fits(&table, self.ports.len())?;
        self.shared.load(table);
        Ok(())
    }

    /// Looks at every interface again; call it when links change. Opens interfaces that came back
    /// under the same name or have a larger MTU, and checks again whether a queueing discipline
    /// delays frames (K13). Returns the errors of interfaces that could not be opened.
    pub fn refresh(&mut self) -> Vec<ForwardError> {
        let table = self.shared.loaded().table.clone();
        let mut errors = Vec::new();
        for port in 0..self.ports.len() {
            let taken = self.take(port, &table);
            let running = matches!(taken, Ok(true));
            self.shared.ports[port].running.store(running, Relaxed);
            errors.extend(taken.err());
        }
        errors
    }

    /// Opens the port anew if its interface changed. Returns whether the interface is up.
    fn take(&mut self, port: usize, table: &ForwardingTable) -> Result<bool, ForwardError> {
        let held = &mut self.ports[port];
        let interface = &held.interface;
        let state = port::look(interface, table.mac(port))?;
        let slot = port::slot(state.mtu_bytes);
        let counting = &self.shared.ports[port];
        if held.ifindex == state.ifindex && held.slot >= slot {
            let bypasses = !state.shaped && !counting.cuts.load(Relaxed);
            for socket in &held.sockets {
                packet::bypass_queueing(socket.as_fd(), bypasses)
                    .map_err(ForwardError::refused(interface, "bypass queueing"))?;
            }
            return Ok(state.up);
        }
        counting.cuts.store(false, Relaxed);
        let receive = port::receive(interface, &state, self.ring_bytes)?;
        let send = |_: &_| port::send(interface, &state).map(Arc::new);
        let sockets = self.threads.iter().map(send).collect::<Result<Vec<_>, _>>()?;
        let owner = port % self.threads.len();
        for (number, socket) in sockets.iter().enumerate() {
            self.shared.notify(number, |news| news.send.push((port, socket.clone())));
        }
        self.shared.notify(owner, |news| news.receive.push((port, receive)));
        (held.ifindex, held.slot, held.sockets) = (state.ifindex, slot, sockets);
        self.wake();
        Ok(state.up)
    }

    /// The present value of all counters.
    #[must_use]
    pub fn counters(&self) -> ForwardingCounters {
        let ports = self.ports.iter().zip(&self.shared.ports);
        ForwardingCounters {
            ports: ports.map(|(held, counting)| counting.now(&held.interface)).collect(),
            labels: self.shared.loaded().labels.now(),
        }
    }

    /// Stops the threads and waits until they have ended. Frames in transit buffers are lost.
    pub fn stop(self) {
        drop(self);
    }

    fn wake(&self) {
        for running in &self.threads {
            // A full socket already holds a wake-up.
            let _ = (&running.wake).write(&[1]);
        }
    }
}

impl Drop for ForwardingEngine {
    fn drop(&mut self) {
        for number in 0..self.threads.len() {
            self.shared.notify(number, |news| news.stop = true);
        }
        self.wake();
        for thread in self.threads.iter_mut().filter_map(|running| running.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn fits(table: &ForwardingTable, ports: usize) -> Result<(), ForwardError> {
    match table.nics() {
        nics if nics == ports => Ok(()),
        nics => Err(ForwardError::Nics { table: nics, engine: ports }),
    }
}
