//! The sending side of one port (a NIC) in one thread: sends frames directly if possible, otherwise
//! through the port's transit buffer. Never blocks, and keeps the order of frames.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use socket2::Socket;
use tresse_frame::forward::DropReason;

use super::backlog::Backlog;
use super::counters::PortCounting;
use crate::sys::packet;
use crate::sys::ring::OFFLOAD_HEADER;

/// If an interface accepts nothing for this long, the frame offered to it is dropped.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a port with waiting frames waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocked {
    /// Room in the socket's queue.
    Socket,
    /// Room in the interface's queue, which nothing reports; waiting since this time.
    Interface(Instant),
}

/// The sending side of a port, with its transit buffer.
pub(super) struct Outbound {
    pub socket: Arc<Socket>,
    backlog: Backlog,
    blocked: Option<Blocked>,
}

impl Outbound {
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, backlog: Backlog::default(), blocked: None }
    }

    /// What the port waits for, if it has waiting frames.
    pub fn blocked(&self) -> Option<Blocked> {
        self.blocked.filter(|_| !self.backlog.is_empty())
    }

    /// How long a thread may sleep that sends by all of these, in the milliseconds of poll(2): -1 is for
    /// ever.
    pub fn timeout_ms(all: &[Self]) -> i32 {
        let interface = |o: &Self| matches!(o.blocked(), Some(Blocked::Interface(_)));
        if all.iter().any(interface) { 1 } else { -1 }
    }

    /// The sockets that wait for room in their own queues.
    pub fn full(all: &[Self]) -> impl Iterator<Item = &Socket> {
        all.iter().filter(|o| o.blocked() == Some(Blocked::Socket)).map(|o| &*o.socket)
    }

    /// Sends `frames`, each preceded by its offload header. Keeps what cannot be sent now, up to
    /// `limit` bytes waiting for the port in all threads.
    pub fn emit(&mut self, port: &PortCounting, limit: u64, frames: &[&[u8]]) {
        let sent = if self.backlog.is_empty() { self.send(port, frames) } else { 0 };
        for frame in &frames[sent..] {
            let bytes = length(frame);
            let waiting = port.waiting.fetch_add(bytes, Relaxed) + bytes;
            if waiting > limit {
                port.waiting.fetch_sub(bytes, Relaxed);
                port.drop(DropReason::BufferFull, 1);
                continue;
            }
            port.waiting_most.fetch_max(waiting, Relaxed);
            port.spilled.add(1, bytes);
            self.backlog.push(frame);
        }
    }

    /// Sends waiting frames as far as the port accepts them. Returns whether any were sent.
    pub fn flush(&mut self, port: &PortCounting) -> bool {
        let mut any = false;
        while !self.backlog.is_empty() {
            let backlog = std::mem::take(&mut self.backlog);
            let mut frames = [&[][..]; packet::MOST];
            let found = backlog.oldest(&mut frames);
            let sent = self.send(port, &frames[..found]);
            let bytes = frames[..sent].iter().map(|f| length(f)).sum();
            port.waiting.fetch_sub(bytes, Relaxed);
            self.backlog = backlog;
            self.backlog.pop(sent);
            any |= sent > 0;
            if sent < found {
                break;
            }
        }
        any
    }

    /// Returns how many of `frames` are finished: sent, or refused for good.
    fn send(&mut self, port: &PortCounting, frames: &[&[u8]]) -> usize {
        let mut done = 0;
        let refused = |frames: usize, reason| {
            port.drop(reason, frames as u64);
            frames
        };
        while done < frames.len() {
            let error = match packet::send_many(self.socket.as_fd(), &frames[done..]) {
                Ok(sent) => {
                    let sent = &frames[done..done + sent];
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
                Some(libc::ENOBUFS) => {
                    let Some(Blocked::Interface(since)) = self.blocked else {
                        self.blocked = Some(Blocked::Interface(Instant::now()));
                        break;
                    };
                    if since.elapsed() < PATIENCE {
                        break;
                    }
                    self.blocked = None;
                    done += refused(1, DropReason::SendError);
                }
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                    port.running.store(false, Relaxed);
                    done += refused(frames.len() - done, DropReason::SendError);
                }
                _ => done += refused(1, DropReason::SendError),
            }
        }
        done
    }
}

fn length(frame: &[u8]) -> u64 {
    frame.len().saturating_sub(OFFLOAD_HEADER) as u64
}
