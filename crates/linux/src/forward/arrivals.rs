//! What a thread without frames sleeps on: its rings and its wake-up socket, by epoll(7).
//!
//! Edge-triggered: the thread looks at every ring before it sleeps, so what arrives in between is a new
//! edge. poll(2), which registers every descriptor at every call, made a round trip on one core longer.

use std::io;
use std::os::unix::net::UnixStream;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::port::Receive;

/// The number of the wake-up socket among the ports.
const WAKE: u64 = u64::MAX;

pub(super) struct Arrivals(Epoll);

impl Arrivals {
    pub fn new(wake: &UnixStream) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(wake, edge(WAKE))?;
        Ok(Self(epoll))
    }

    /// Hears of a port as well, until its socket is closed.
    pub fn add(&self, port: usize, receive: &Receive) -> io::Result<()> {
        Ok(self.0.add(&receive.socket, edge(port as u64))?)
    }

    /// Until there is a frame or news; calls `failed` with a port whose socket has an error. Is there
    /// something in the wake-up socket?
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
