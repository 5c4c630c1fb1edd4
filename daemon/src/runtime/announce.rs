//! The sockets for announcements (frames by which NICs make themselves known), one per VLAN
//! interface that is up; on a fabric without VLANs, one per NIC. A task per socket passes received
//! frames to the main loop.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tresse_base::units::Mac;
use tresse_control::CounterLine;
use tresse_engine::Input;
use tresse_frame::announce::{Announcement, WireError};
use tresse_frame::keys::Keys;
use tresse_linux::kernel::AnnounceSocket;

/// Largest number of received announcement frames that wait for the main loop; more are dropped and
/// counted.
pub const FRAMES: usize = 1024;

/// The sockets on which the daemon sends and receives announcements, one per interface.
pub struct Announcers {
    keys: Rc<RefCell<Keys>>,
    sockets: BTreeMap<(String, u32), Announcer>,
    frames: Option<mpsc::Sender<Input>>,
    dropped: Rc<std::cell::Cell<u64>>,
    malformed: Rc<std::cell::Cell<u64>>,
    unsigned: Rc<std::cell::Cell<u64>>,
    unsent: u64,
}

struct Announcer {
    socket: Rc<AnnounceSocket>,
    task: JoinHandle<()>,
    since: Instant,
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Announcers {
    /// Without sockets.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys: Rc::new(RefCell::new(keys)),
            sockets: BTreeMap::new(),
            frames: None,
            dropped: Rc::default(),
            malformed: Rc::default(),
            unsigned: Rc::default(),
            unsent: 0,
        }
    }

    /// Signs by these keys, and takes what is signed by them, from now on.
    pub fn set_keys(&self, keys: Keys) {
        *self.keys.borrow_mut() = keys;
    }

    /// Sets the channel for received frames. Without one (`--once`) no socket is opened.
    pub fn deliver_to(&mut self, frames: mpsc::Sender<Input>) {
        self.frames = Some(frames);
    }

    /// Makes the open sockets those of exactly these interfaces, given by (name, ifindex): an
    /// interface that was deleted and created again gets a new socket.
    pub fn set(&mut self, interfaces: &BTreeSet<(String, u32)>) {
        let Some(frames) = self.frames.clone() else { return };
        self.sockets.retain(|key, _| interfaces.contains(key));
        for key in interfaces {
            if self.sockets.contains_key(key) {
                continue;
            }
            match AnnounceSocket::open(&key.0) {
                Ok(socket) => {
                    let socket = Rc::new(socket);
                    let task = tokio::task::spawn_local(listen(
                        socket.clone(),
                        key.0.clone(),
                        frames.clone(),
                        self.dropped.clone(),
                        self.malformed.clone(),
                        self.unsigned.clone(),
                        self.keys.clone(),
                    ));
                    let since = Instant::now();
                    self.sockets.insert(key.clone(), Announcer { socket, task, since });
                }
                Err(error) => {
                    let error = super::chain(&error);
                    tracing::warn!(interface = key.0, error, "cannot receive announcements");
                }
            }
        }
    }

    /// Sends one announcement. A failure is only counted, because the next announcement follows
    /// soon.
    pub fn send(&mut self, interface: &str, source: Mac, announcement: &Announcement) {
        let socket = self.sockets.iter().find(|((name, _), _)| name == interface);
        let sent = socket.is_some_and(|(_, a)| {
            let sent = a.socket.send(source, announcement, &self.keys.borrow());
            if let Err(error) = &sent {
                tracing::debug!(interface, %error, "an announcement was not sent");
            }
            sent.is_ok()
        });
        self.unsent += u64::from(!sent);
    }

    /// Since when an interface has had a socket.
    pub fn since(&self, interface: &str) -> Option<Instant> {
        let socket = self.sockets.iter().find(|((name, _), _)| name == interface);
        socket.map(|(_, announcer)| announcer.since)
    }

    /// Dropped frames, by reason.
    pub fn counters(&self) -> Vec<CounterLine> {
        [
            ("announcements_dropped_total", self.dropped.get()),
            ("announcements_malformed_total", self.malformed.get()),
            ("announcements_unsigned_total", self.unsigned.get()),
            ("announcements_unsent_total", self.unsent),
        ]
        .map(|(name, value)| CounterLine { name: name.into(), object: String::new(), value })
        .into()
    }
}

async fn listen(
    socket: Rc<AnnounceSocket>,
    interface: String,
    frames: mpsc::Sender<Input>,
    dropped: Rc<std::cell::Cell<u64>>,
    malformed: Rc<std::cell::Cell<u64>>,
    unsigned: Rc<std::cell::Cell<u64>>,
    keys: Rc<RefCell<Keys>>,
) {
    loop {
        match socket.recv(&keys).await {
            Ok(Ok((source, announcement))) => {
                let frame = Input::Frame { interface: interface.clone(), source, announcement };
                if frames.try_send(frame).is_err() {
                    dropped.set(dropped.get() + 1);
                }
            }
            Ok(Err(WireError::Unsigned)) => unsigned.set(unsigned.get() + 1),
            Ok(Err(_)) => malformed.set(malformed.get() + 1),
            Err(error) => {
                // ENETDOWN comes once when the interface goes down. The engine closes the socket
                // when the interface is gone.
                tracing::debug!(interface, %error, "announcement socket");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
