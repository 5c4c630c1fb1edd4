//! Sends numbered datagrams between pairs of nodes, one per millisecond and pair, and measures for how
//! long none of a pair arrived.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tresse_lab::netns;

const PERIOD: Duration = Duration::from_millis(1);
/// Of those so many must arrive for an outage to be over.
const LAST: usize = 20;
const FIRST_PORT: u16 = 21_000;

/// A node that sends or receives datagrams: (its network namespace, its address).
pub type Station = (String, IpAddr);

/// How long one stream of datagrams was interrupted: the time from the first lost datagram to the last,
/// or still interrupted at the end of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outage {
    /// From the first lost datagram to the last one, both included.
    Over(Duration),
    /// The last ones were lost too.
    Lasts,
}

/// Streams of numbered datagrams between pairs of nodes, sent until [`Streams::finish`], which returns
/// how long each stream was interrupted.
pub struct Streams {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<Vec<Instant>>,
    receiver: JoinHandle<Vec<BTreeSet<u64>>>,
}

impl Streams {
    /// From the first of each pair to the second.
    ///
    /// # Errors
    /// A socket that cannot be had, in words.
    pub fn start(pairs: &[(Station, Station)]) -> Result<Self, String> {
        let socket = |(netns, address): &Station, port: u16| {
            let address = SocketAddr::from((*address, port));
            let socket = netns::inside(netns, || UdpSocket::bind(address));
            let socket = socket.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
            socket.set_nonblocking(true).map_err(|e| e.to_string())?;
            Ok::<_, String>(socket)
        };
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for ((from, to), port) in pairs.iter().zip(FIRST_PORT..) {
            receivers.push(socket(to, port)?);
            senders.push((socket(from, port)?, SocketAddr::from((to.1, port))));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, finishes) = (stop.clone(), stop.clone());
        Ok(Self {
            stop,
            sender: std::thread::spawn(move || send(&senders, &ends)),
            receiver: std::thread::spawn(move || receive(&receivers, &finishes)),
        })
    }

    /// Stops; for each pair what became of it.
    ///
    /// # Errors
    /// A thread that has panicked.
    pub fn finish(self) -> Result<Vec<Outage>, String> {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.join().map_err(|_| "the sender panicked")?;
        let received = self.receiver.join().map_err(|_| "the receiver panicked")?;
        let outage = |seen: &BTreeSet<u64>| {
            let mut lost = (0..sent.len()).filter(|number| !seen.contains(&(*number as u64)));
            let first = lost.next();
            let last = lost.next_back().or(first);
            if last.is_some_and(|last| last + LAST > sent.len()) {
                return Outage::Lasts;
            }
            Outage::Over(
                first.zip(last).map_or(Duration::ZERO, |(a, b)| sent[b] - sent[a] + PERIOD),
            )
        };
        Ok(received.iter().map(outage).collect())
    }
}

fn send(sockets: &[(UdpSocket, SocketAddr)], stop: &AtomicBool) -> Vec<Instant> {
    let mut sent = Vec::new();
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let number = sent.len() as u64;
        sent.push(Instant::now());
        for (socket, to) in sockets {
            // One that cannot be sent for want of a route is lost like any other.
            let _ = socket.send_to(&number.to_be_bytes(), to);
        }
        due += PERIOD;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    sent
}

fn receive(sockets: &[UdpSocket], stop: &AtomicBool) -> Vec<BTreeSet<u64>> {
    let mut received = vec![BTreeSet::new(); sockets.len()];
    let mut end = None;
    let mut bytes = [0; 8];
    loop {
        for (socket, received) in sockets.iter().zip(&mut received) {
            while socket.recv(&mut bytes).is_ok_and(|n| n == bytes.len()) {
                received.insert(u64::from_be_bytes(bytes));
            }
        }
        if stop.load(Ordering::Relaxed) {
            let end = *end.get_or_insert_with(|| Instant::now() + Duration::from_millis(500));
            if Instant::now() > end {
                return received;
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
