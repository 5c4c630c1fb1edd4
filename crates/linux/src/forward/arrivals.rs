//! Blocks an idle forwarding thread until one of its receive rings has a frame or its wake-up
//! socket has a byte, with epoll(7).
//!
//! Edge-triggered: the thread looks at every ring before it sleeps, so a frame that arrives later
//! causes a new event. poll(2) registers every descriptor at every call, which made a round trip on
//! one core measurably longer. But whoever sends a frame to a registered socket pays for the event, also when this
//! thread is awake: so a thread under load registers nothing.

use std::io;
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::port::Inbound;

/// The token of the wake-up socket; ports use their index.
const WAKE: u64 = u64::MAX;

pub(super) struct Arrivals {
    epoll: Epoll,
    /// Are the ports registered?
    complete: bool,
}

impl Arrivals {
    pub fn new(wake: &UnixStream) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(wake, edge(WAKE))?;
        Ok(Self { epoll, complete: false })
    }

    /// Waits for frames of these ports too. Returns whether it can.
    pub fn register(&mut self, ports: &[Inbound]) -> bool {
        let mut registered = |port: &Inbound| {
            let added = self.epoll.add(&port.receive.socket, edge(port.port as u64));
            matches!(added, Ok(()) | Err(Errno::EEXIST))
        };
        self.complete = self.complete || ports.iter().all(&mut registered);
        self.complete
    }

    /// One of the ports has another socket.
    pub const fn changed(&mut self) {
        self.complete = false;
    }

    /// Waits for frames of no port.
    pub fn withdraw(&mut self, ports: &[Inbound]) {
        if self.complete {
            for port in ports {
                // A socket that is not registered is what is wanted.
                let _ = self.epoll.delete(&port.receive.socket);
            }
            self.complete = false;
        }
    }

    /// Blocks until a frame of a registered port arrives or the thread is woken. Calls `failed` with each port whose
    /// socket has an error. Returns whether the wake-up socket has data.
    pub fn wait(&self, mut failed: impl FnMut(usize)) -> bool {
        let mut events = [EpollEvent::empty(); 16];
        let count = self.epoll.wait(&mut events, EpollTimeout::NONE).unwrap_or_default();
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
