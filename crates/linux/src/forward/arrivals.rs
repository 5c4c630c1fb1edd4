//! Blocks an idle forwarding thread until one of its receive rings has a frame or its wake-up
//! socket has a byte, with epoll(7).
//!
//! Edge-triggered: the thread looks at every ring before it sleeps, so a frame that arrives later
//! causes a new event. poll(2) registers every descriptor at every call, which made a round trip on
//! one core measurably longer.

use std::io;
use std::os::unix::net::UnixStream;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::port::Receive;

/// The token of the wake-up socket; ports use their index.
const WAKE: u64 = u64::MAX;

pub(super) struct Arrivals(Epoll);

impl Arrivals {
    pub fn new(wake: &UnixStream) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(wake, edge(WAKE))?;
        Ok(Self(epoll))
    }

    /// Also waits for frames of `port`, until its socket is closed.
    pub fn add(&self, port: usize, receive: &Receive) -> io::Result<()> {
        Ok(self.0.add(&receive.socket, edge(port as u64))?)
    }

    /// Blocks until a frame arrives or the thread is woken. Calls `failed` with each port whose
    /// socket has an error. Returns whether the wake-up socket has data.
    pub fn wait(&self, mut failed: impl FnMut(usize)) -> bool {
        let mut events = [EpollEvent::empty(); 16];
        let count = self.0.wait(&mut events, EpollTimeout::NONE).unwrap_or_default();
        let mut woken = false;
        for event in &events[..count] {
            match event.data() {
                WAKE => woken = true,
                port if event.events().contains(EpollFlags::EPOLLERR) => failed(port as usize),
                _ => {}
            }
        }
        woken
    }
}

fn edge(number: u64) -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, number)
}
