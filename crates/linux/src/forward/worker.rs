//! One forwarding thread: reads frames from the rings of its own ports, looks up in batches where
//! they go, and sends each batch port by port, straight from the rings.
//!
//! Nothing is allocated, locked or logged per frame. Once per batch the thread looks for changes: a
//! new table, a port opened again, the end.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use smallvec::SmallVec;
use socket2::Socket;
use tresse_frame::forward::{Arrival, DropReason, OFFLOAD_HEADER, Offload, Tag};
use tresse_frame::mpls;

use super::arrivals::Arrivals;
use super::counters::PortCounting;
use super::outbound::Outbounds;
use super::port::{Inbound, Receive};
use super::rest::Rest;
use super::shared::{Loaded, News, Shared};
use crate::sys::ring::Slot;
use crate::sys::{packet, readiness};

const BATCH: usize = packet::MOST;
/// Bytes of the longest frame that segmentation offload makes, with its offload header.
const LONG: usize = OFFLOAD_HEADER + 18 + (1 << 16) + 64;

/// The state of one forwarding thread.
pub(super) struct Worker {
    pub shared: Arc<Shared>,
    pub number: usize,
    pub inbound: Vec<Inbound>,
    pub outbounds: Outbounds,
    pub wake: UnixStream,
    pub rest: Rest,
    pub arrivals: Arrivals,
    /// Descriptors that it polls while frames wait for room, or where it cannot register ports; a field to keep its memory.
    pub watched: Vec<libc::pollfd>,
}

impl Worker {
    /// Forwards frames until it is stopped.
    pub fn run(mut self) {
        let mut seen = self.shared.generation.load(Acquire);
        let mut loaded = self.shared.loaded();
        let mut long = vec![0; LONG];
        loop {
            let generation = self.shared.generation.load(Acquire);
            if generation != seen {
                seen = generation;
                loaded = self.shared.loaded();
                let news = self.shared.news(self.number);
                if news.stop {
                    return;
                }
                self.take(news);
            }
            let mut found = 0;
            for inbound in &mut self.inbound {
                found += serve(inbound, &mut self.outbounds, &self.shared, &loaded, &mut long);
            }
            let blocked = self.outbounds.are_blocked();
            let sent = blocked && self.outbounds.flush(|port| &self.shared.ports[port]);
            if found > 0 {
                self.rest.found(found);
                if self.rest.is_under_load() {
                    self.arrivals.withdraw(&self.inbound);
                }
            } else if !sent {
                self.rest.found_none();
                self.pause(seen);
            }
        }
    }

    fn take(&mut self, news: News) {
        for (port, socket) in news.send {
            self.outbounds.set_socket(port, socket);
        }
        for (port, receive) in news.receive {
            if let Some(inbound) = self.inbound.iter_mut().find(|i| i.port == port) {
                inbound.receive = receive;
                self.arrivals.changed();
            }
        }
    }

    /// Blocks until there is a frame, a change, or room for waiting frames.
    fn pause(&mut self, generation: u64) {
        let inbound = &self.inbound;
        let news = || self.shared.generation.load(Relaxed) != generation;
        let seen = || inbound.iter().any(|i| i.receive.ring.ready()) || news();
        if !self.outbounds.are_blocked() {
            if self.rest.watch(seen) {
                return;
            }
            if self.arrivals.register(&self.inbound) {
                return self.sleep();
            }
        }
        let timeout = self.outbounds.timeout();
        let full = self.outbounds.full();
        self.watched.clear();
        self.watched.push(readiness::wait_for(&self.wake, libc::POLLIN));
        self.watched
            .extend(inbound.iter().map(|i| readiness::wait_for(&i.receive.socket, libc::POLLIN)));
        self.watched.extend(full.map(|socket| readiness::wait_for(socket, libc::POLLOUT)));
        if readiness::poll(&mut self.watched, timeout).is_err() {
            return;
        }
        for (inbound, watched) in inbound.iter().zip(&self.watched[1..]) {
            if watched.revents & libc::POLLERR != 0 {
                failed(inbound, &self.shared);
            }
        }
        if self.watched[0].revents != 0 {
            self.woken();
        }
    }

    /// Blocks until there is a frame or a change.
    fn sleep(&self) {
        let port_failed = |port| {
            self.inbound.iter().filter(|i| i.port == port).for_each(|i| failed(i, &self.shared));
        };
        if self.arrivals.wait(port_failed) {
            self.woken();
        }
    }

    fn woken(&self) {
        let mut words = [0; 64];
        let _ = (&self.wake).read(&mut words);
    }
}

/// Handles a socket error: the interface went down.
fn failed(inbound: &Inbound, shared: &Shared) {
    if let Ok(Some(_)) = inbound.receive.socket.take_error() {
        shared.ports[inbound.port].running.store(false, Relaxed);
    }
}

/// Forwards one batch of received frames. Returns how many.
fn serve(
    inbound: &mut Inbound,
    outbounds: &mut Outbounds,
    shared: &Shared,
    loaded: &Loaded,
    long: &mut [u8],
) -> usize {
    let Receive { socket, ring } = &mut inbound.receive;
    if !ring.ready() {
        return 0;
    }
    let port = &shared.ports[inbound.port];
    let mut going = SmallVec::<[(usize, &[u8]); BATCH]>::new();
    let (mut taken, mut received, mut losing) = (0, 0, false);
    let mut long = Some(long);
    for slot in ring.frames(BATCH) {
        if slot.queued && long.is_none() {
            break;
        }
        taken += 1;
        received += slot.wire as u64;
        losing |= slot.losing;
        let judged = match slot.queued {
            false => judge(loaded, inbound.port, slot),
            true => fetch(socket, slot, long.take().unwrap_or_default())
                .and_then(|slot| judge(loaded, inbound.port, slot)),
        };
        match judged {
            Ok(leaving) => going.push(leaving),
            Err(reason) => port.drop(reason, 1),
        }
    }
    if taken == 0 {
        return 0;
    }
    port.received.add(taken as u64, received);
    dispatch(&going, outbounds, shared);
    drop(going);
    ring.release(taken);
    if losing {
        count_lost(socket, port);
    }
    taken
}

/// Sends a batch, port by port and in order.
fn dispatch(going: &[(usize, &[u8])], outbounds: &mut Outbounds, shared: &Shared) {
    let counting = |port: usize| &shared.ports[port];
    // Single frames are the common case in request and reply traffic.
    if let [(to, frame)] = *going {
        return outbounds.emit(to, &[frame], counting);
    }
    let mut left = going.len();
    let mut done = [false; BATCH];
    for first in 0..going.len() {
        if left == 0 {
            return;
        }
        if done[first] {
            continue;
        }
        let to = going[first].0;
        let mut frames = [&[][..]; BATCH];
        let mut count = 0;
        for at in first..going.len() {
            if going[at].0 == to {
                frames[count] = going[at].1;
                done[at] = true;
                count += 1;
            }
        }
        left -= count;
        outbounds.emit(to, &frames[..count], counting);
    }
}

/// Decides on a frame: returns its port and the bytes to send, offload header first.
fn judge<'slot>(
    loaded: &Loaded,
    port: usize,
    slot: Slot<'slot>,
) -> Result<(usize, &'slot [u8]), DropReason> {
    let (header, frame) =
        slot.bytes.split_first_chunk_mut::<OFFLOAD_HEADER>().ok_or(DropReason::Truncated)?;
    let offload = Offload::parse(*header);
    let mut arrival = Arrival {
        tag: slot.tag.map(|(tpid, tci)| Tag { tpid, tci }),
        cut: slot.wire > frame.len(),
        longest: None,
    };
    let mut headers = 0;
    if let Some(offload) = offload.filter(|o| o.is_segmented()) {
        arrival.longest = offload.longest(frame);
        headers = offload.headers(frame).unwrap_or_default();
        arrival.cut |= arrival.longest.is_none() || !mpls_ends(frame);
    }
    let leaving = loaded.table.decide(port, arrival, frame)?;
    loaded.labels.add(leaving.label, (frame.len() - leaving.start) as u64);
    let start = leaving.start;
    let left = match offload {
        None => Offload::nothing(*header),
        Some(offload) => offload.emit(start, headers.saturating_sub(start)),
    };
    slot.bytes[start..start + OFFLOAD_HEADER].copy_from_slice(&left);
    Ok((leaving.nic, &slot.bytes[start..]))
}

/// Does a frame that needs segmentation have one label only? Behind labels the kernel does not
/// segment frames from a packet socket.
fn mpls_ends(frame: &[u8]) -> bool {
    let stack = frame.get(14..).unwrap_or_default();
    mpls::stack_len(stack) == Some(mpls::ENTRY_LEN)
}

/// Reads a frame that was too long for its slot from the socket's queue.
fn fetch<'long>(
    mut socket: &Socket,
    slot: Slot<'_>,
    long: &'long mut [u8],
) -> Result<Slot<'long>, DropReason> {
    let length = socket.read(long).map_err(|_| DropReason::TooBig)?;
    let bytes = long.get_mut(..length).ok_or(DropReason::TooBig)?;
    Ok(Slot { bytes, wire: slot.wire, tag: slot.tag, queued: false, losing: false })
}

fn count_lost(socket: &Socket, port: &PortCounting) {
    if let Ok(lost) = packet::take_lost(socket.as_fd()) {
        port.drop(DropReason::RingFull, u64::from(lost));
    }
}
