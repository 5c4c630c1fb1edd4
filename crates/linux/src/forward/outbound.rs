//! The sending sides of all ports (NICs) in one thread: sends frames directly if possible, otherwise through the port's
//! transit buffer. Never blocks, and keeps the order of the frames of a port. TCP segments of one flow that follow each other go
//! as one frame ([`Messages`]).
//!
//! The transit buffers share one bound. Where it is reached the port that holds most loses its oldest frames, so that one
//! that stands still holds no more than its share once others need room; and no frame waits longer than
//! [`TransitBuffer::wait`].

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use socket2::Socket;
use tresse_frame::forward::{Backlog, DropReason, OFFLOAD_HEADER, Pool, Taken};

use super::counters::PortCounting;
use super::messages::Messages;
use crate::sys::packet;

/// How much may wait for ports that cannot send, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitBuffer {
    /// Bytes of memory, all ports together. Each thread has an equal part of it, of at least 256 KiB.
    pub memory_bytes: u64,
    /// A frame that has waited for so long is dropped.
    pub wait: Duration,
}

impl TransitBuffer {
    /// Least memory of one thread: the longest frame and a few pages.
    const LEAST: u64 = 256 * 1024;

    /// The part of one of so many threads.
    pub(super) fn part(self, threads: usize) -> Self {
        let part = self.memory_bytes / threads.max(1) as u64;
        Self { memory_bytes: part.max(Self::LEAST), ..self }
    }
}

impl Default for TransitBuffer {
    /// 64 MiB and a second.
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, wait: Duration::from_secs(1) }
    }
}

/// When a queue that nothing reports is looked at again: soon, as this node's own flows hear of room at once.
const LOOK_AGAIN: Duration = Duration::from_micros(250);

/// What a port with waiting frames waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocked {
    /// Room in the socket's queue.
    Socket,
    /// Room in the interface's queue, which nothing reports.
    Interface,
}

/// The sending side of a port, with its transit buffer.
struct Outbound {
    socket: Arc<Socket>,
    backlog: Backlog,
    blocked: Option<Blocked>,
    /// Does the kernel take frames that are to be cut?
    merges: bool,
    /// Has it not been seen that they must not bypass queueing disciplines?
    bypasses: bool,
}

/// The sending sides of all ports in one thread.
pub(super) struct Outbounds {
    ports: Vec<Outbound>,
    messages: Messages,
    pool: Pool,
    wait_ms: u32,
    epoch: Instant,
}

impl Outbounds {
    /// One for each of these sockets.
    pub fn new(buffer: TransitBuffer, sockets: impl IntoIterator<Item = Arc<Socket>>) -> Self {
        Self {
            ports: sockets.into_iter().map(Outbound::new).collect(),
            messages: Messages::new(),
            pool: Pool::new(buffer.memory_bytes as usize),
            wait_ms: buffer.wait.as_millis().clamp(1, 60_000) as u32,
            epoch: Instant::now(),
        }
    }

    /// Gives a port another socket.
    pub fn set_socket(&mut self, port: usize, socket: Arc<Socket>) {
        let port = &mut self.ports[port];
        (port.socket, port.merges, port.bypasses) = (socket, true, true);
    }

    /// Has these ports from now on: beside each socket, which of the present ports it is, if any. What waits for the
    /// others is lost.
    pub fn replace(
        &mut self,
        buffer: TransitBuffer,
        ports: impl IntoIterator<Item = (Arc<Socket>, Option<usize>)>,
    ) {
        self.pool.set_limit(buffer.memory_bytes as usize);
        let mut before: Vec<Option<Outbound>> = self.ports.drain(..).map(Some).collect();
        for (socket, at) in ports {
            let old = at.and_then(|at| before.get_mut(at)?.take());
            let old = old.map(|old| Outbound { socket: socket.clone(), ..old });
            self.ports.push(old.unwrap_or_else(|| Outbound::new(socket)));
        }
        for gone in before.iter_mut().flatten() {
            while gone.backlog.drop_page(&mut self.pool).frames > 0 {}
        }
    }

    /// Do frames wait for a port?
    pub fn are_blocked(&self) -> bool {
        self.ports.iter().any(|port| port.blocked().is_some())
    }

    /// How long the thread may sleep.
    pub fn timeout(&self) -> Option<Duration> {
        if self.ports.iter().any(|port| port.blocked() == Some(Blocked::Interface)) {
            return Some(LOOK_AGAIN);
        }
        let now = self.now_ms();
        let left = |since: u32| self.wait_ms.saturating_sub(now.wrapping_sub(since)) + 1;
        let least = self.ports.iter().filter_map(|port| port.backlog.since()).map(left).min();
        least.map(|ms| Duration::from_millis(ms.into()))
    }

    /// The sockets that wait for room in their own queues.
    pub fn full(&self) -> impl Iterator<Item = &Socket> {
        let full = |port: &&Outbound| port.blocked() == Some(Blocked::Socket);
        self.ports.iter().filter(full).map(|port| &*port.socket)
    }

    /// Sends `frames` by port `to`, each preceded by its offload header. Keeps what cannot be sent now.
    pub fn emit<'p>(
        &mut self,
        to: usize,
        frames: &[&[u8]],
        counting: impl Fn(usize) -> &'p PortCounting,
    ) {
        let port = &mut self.ports[to];
        let counted = counting(to);
        let sent = if port.backlog.is_empty() {
            port.send(&mut self.messages, counted, frames)
        } else {
            0
        };
        if sent == frames.len() {
            return;
        }
        let now = self.now_ms();
        for frame in &frames[sent..] {
            if !self.keep(to, now, frame, &counting) {
                counted.drop(DropReason::BufferFull, 1);
                continue;
            }
            let bytes = length(frame);
            let waiting = counted.waiting.fetch_add(bytes, Relaxed) + bytes;
            counted.waiting_most.fetch_max(waiting, Relaxed);
            counted.spilled.add(1, bytes);
        }
    }

    /// Puts a frame into the transit buffer of its port. Returns whether there was room, if need be that of the oldest
    /// frames of the port that holds most.
    fn keep<'p>(
        &mut self,
        to: usize,
        now: u32,
        frame: &[u8],
        counting: &impl Fn(usize) -> &'p PortCounting,
    ) -> bool {
        while !self.ports[to].backlog.push(&mut self.pool, now, frame) {
            // Of several that hold as much, the one that asks.
            let held = |at: &usize| (self.ports[*at].backlog.held(), *at == to);
            let Some(most) = (0..self.ports.len()).max_by_key(held) else { return false };
            let gone = self.ports[most].backlog.drop_page(&mut self.pool);
            if gone.frames == 0 {
                return false;
            }
            lost(counting(most), gone, DropReason::BufferFull);
        }
        true
    }

    /// Drops what has waited for too long, and sends waiting frames as far as ports accept them. Returns whether any
    /// were sent.
    pub fn flush<'p>(&mut self, counting: impl Fn(usize) -> &'p PortCounting) -> bool {
        let mut any = false;
        let before = self.now_ms().wrapping_sub(self.wait_ms);
        for (at, port) in self.ports.iter_mut().enumerate() {
            if port.backlog.is_empty() {
                continue;
            }
            let gone = port.backlog.drop_before(&mut self.pool, before);
            lost(counting(at), gone, DropReason::WaitedTooLong);
            any |= port.flush(&mut self.messages, &mut self.pool, counting(at));
        }
        any
    }

    /// The lower bits are enough: no frame waits for weeks.
    fn now_ms(&self) -> u32 {
        self.epoch.elapsed().as_millis() as u32
    }
}

impl Outbound {
    fn new(socket: Arc<Socket>) -> Self {
        Self { socket, backlog: Backlog::default(), blocked: None, merges: true, bypasses: true }
    }

    /// What the port waits for, if it has waiting frames.
    fn blocked(&self) -> Option<Blocked> {
        self.blocked.filter(|_| !self.backlog.is_empty())
    }

    fn flush(&mut self, messages: &mut Messages, pool: &mut Pool, port: &PortCounting) -> bool {
        let mut any = false;
        while !self.backlog.is_empty() {
            let backlog = std::mem::take(&mut self.backlog);
            let mut frames = [&[][..]; packet::MOST];
            let found = backlog.oldest(&mut frames);
            let sent = self.send(messages, port, &frames[..found]);
            let bytes = frames[..sent].iter().map(|f| length(f)).sum();
            port.waiting.fetch_sub(bytes, Relaxed);
            self.backlog = backlog;
            self.backlog.pop(pool, sent);
            any |= sent > 0;
            if sent < found {
                break;
            }
        }
        any
    }

    /// Returns how many of `frames` are finished: sent, or refused for good.
    fn send(&mut self, messages: &mut Messages, port: &PortCounting, frames: &[&[u8]]) -> usize {
        let mut done = 0;
        let refused = |frames: usize, reason| {
            port.drop(reason, frames as u64);
            frames
        };
        while done < frames.len() {
            let left = &frames[done..];
            messages.divide(left, self.merges);
            let (parts, counts) = messages.parts(left);
            let error = match packet::send_parts(self.socket.as_fd(), &parts, &counts) {
                Ok(sent) => {
                    let sent = &left[..messages.frames(sent)];
                    port.sent.add(sent.len() as u64, sent.iter().map(|f| length(f)).sum());
                    done += sent.len();
                    self.blocked = None;
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) => {
                    self.blocked = Some(Blocked::Socket);
                    break;
                }
                // A NIC that does not cut frames itself: the kernel does, on its way through a queueing discipline.
                Some(libc::ENOBUFS) if self.bypasses && messages.begins_long(left) => {
                    self.bypasses = false;
                    port.cuts.store(true, Relaxed);
                    let _ = packet::bypass_queueing(self.socket.as_fd(), false);
                }
                Some(libc::ENOBUFS) => {
                    self.blocked = Some(Blocked::Interface);
                    break;
                }
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                    port.running.store(false, Relaxed);
                    done += refused(left.len(), DropReason::SendError);
                }
                _ if messages.frames(1) > 1 => self.merges = false,
                _ => done += refused(1, DropReason::SendError),
            }
        }
        done
    }
}

/// Counts frames that were taken out of a port's transit buffer.
fn lost(port: &PortCounting, gone: Taken, reason: DropReason) {
    if gone.frames > 0 {
        let headers = gone.frames * OFFLOAD_HEADER as u64;
        port.waiting.fetch_sub(gone.bytes.saturating_sub(headers), Relaxed);
        port.drop(reason, gone.frames);
    }
}

fn length(frame: &[u8]) -> u64 {
    frame.len().saturating_sub(OFFLOAD_HEADER) as u64
}
