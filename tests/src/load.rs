//! The traffic of the soak test: numbered datagrams between all pairs of nodes. For each datagram it is
//! known whether it arrived once, arrived more than once, or was lost, and when it was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tresse_lab::netns;

/// Every pair sends so often.
const PERIOD: Duration = Duration::from_millis(100);
/// What has not arrived after this long is lost: an emulated machine is slow, not lossy.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PORT: u16 = 20_000;

/// A node of the lab that sends and receives datagrams: its name, network namespace and address.
#[derive(Debug, Clone)]
pub struct Station {
    /// The node.
    pub name: String,
    /// Its namespace.
    pub netns: String,
    /// Its address.
    pub address: IpAddr,
}

/// A datagram of the soak test that was lost or arrived more than once: its pair of nodes and when it
/// was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// From and to.
    pub pair: (String, String),
    /// When it was sent.
    pub sent: Instant,
    /// It arrived more than once, rather than not at all.
    pub twice: bool,
}

/// The running traffic of the soak test, numbered datagrams between all pairs of nodes; stopped when
/// dropped.
#[derive(Debug)]
pub struct Load {
    flows: Arc<Mutex<Vec<Flow>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Flow {
    pair: (String, String),
    sent: u64,
    open: BTreeMap<u64, Instant>,
    lost: BTreeSet<u64>,
    misses: Vec<Miss>,
}

impl Load {
    /// Starts all ordered pairs.
    ///
    /// # Errors
    /// A namespace that cannot be entered or a socket that cannot be bound.
    pub fn start(stations: &[Station]) -> Result<Self, String> {
        let (mut senders, mut receivers, mut flows) = (Vec::new(), Vec::new(), Vec::new());
        let pairs = stations.iter().flat_map(|a| stations.iter().map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| a.name != b.name);
        for ((from, to), port) in pairs.zip(FIRST_PORT..) {
            senders.push((socket(from, port)?, SocketAddr::from((to.address, port))));
            receivers.push(socket(to, port)?);
            flows.push(Flow {
                pair: (from.name.clone(), to.name.clone()),
                sent: 0,
                open: BTreeMap::new(),
                lost: BTreeSet::new(),
                misses: Vec::new(),
            });
        }
        let flows = Arc::new(Mutex::new(flows));
        let stop = Arc::new(AtomicBool::new(false));
        let (to, end) = (flows.clone(), stop.clone());
        let sender = std::thread::spawn(move || send(&senders, &to, &end));
        let (to, end) = (flows.clone(), stop.clone());
        let receiver = std::thread::spawn(move || receive(&receivers, &to, &end));
        Ok(Self { flows, stop, threads: vec![sender, receiver] })
    }

    /// Waits until it is known what became of everything sent so far: how much that was since the
    /// last call, and what did not arrive once.
    #[must_use]
    pub fn account(&self) -> (u64, Vec<Miss>) {
        let until = Instant::now();
        loop {
            let mut flows = lock(&self.flows);
            let late = until.elapsed() >= PATIENCE;
            let done = |flow: &Flow| flow.open.values().all(|sent| *sent > until);
            if late || flows.iter().all(done) {
                return flows.iter_mut().fold((0, Vec::new()), |(sent, mut misses), flow| {
                    flow.give_up(until);
                    misses.append(&mut flow.misses);
                    (sent + std::mem::take(&mut flow.sent), misses)
                });
            }
            drop(flows);
            std::thread::sleep(PERIOD);
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Flow {
    /// What was sent before `until` and has not arrived is lost.
    fn give_up(&mut self, until: Instant) {
        let lost: Vec<_> =
            self.open.iter().filter(|(_, at)| **at <= until).map(|(n, at)| (*n, *at)).collect();
        for (number, sent) in lost {
            self.open.remove(&number);
            self.lost.insert(number);
            self.misses.push(Miss { pair: self.pair.clone(), sent, twice: false });
        }
    }

    fn arrived(&mut self, number: u64) {
        // What comes after it was given up is lost all the same.
        if self.open.remove(&number).is_none() && !self.lost.remove(&number) {
            let sent = Instant::now();
            self.misses.push(Miss { pair: self.pair.clone(), sent, twice: true });
        }
    }
}

fn socket(at: &Station, port: u16) -> Result<UdpSocket, String> {
    let bind = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((at.address, port))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    let bound = netns::inside(&at.netns, bind).map_err(|e| e.to_string())?;
    bound.map_err(|e| format!("a socket on {}, {} port {port}: {e}", at.name, at.address))
}

fn lock(flows: &Mutex<Vec<Flow>>) -> MutexGuard<'_, Vec<Flow>> {
    flows.lock().expect("neither thread panics while it holds this")
}

fn send(sockets: &[(UdpSocket, SocketAddr)], flows: &Mutex<Vec<Flow>>, stop: &AtomicBool) {
    let mut number = 0u64;
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        for (k, (socket, to)) in sockets.iter().enumerate() {
            {
                let flow = &mut lock(flows)[k];
                flow.open.insert(number, Instant::now());
                flow.sent += 1;
            }
            // One that cannot be sent for want of a route is lost like any other.
            let _ = socket.send_to(&number.to_be_bytes(), to);
        }
        number += 1;
        due += PERIOD;
        // A machine that was busy elsewhere does not catch up.
        due = due.max(Instant::now());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn receive(sockets: &[UdpSocket], flows: &Mutex<Vec<Flow>>, stop: &AtomicBool) {
    let mut bytes = [0; 8];
    while !stop.load(Ordering::Relaxed) {
        for (k, socket) in sockets.iter().enumerate() {
            while socket.recv(&mut bytes).is_ok_and(|n| n == bytes.len()) {
                lock(flows)[k].arrived(u64::from_be_bytes(bytes));
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        Flow {
            pair: ("a".into(), "b".into()),
            sent: 0,
            open: BTreeMap::new(),
            lost: BTreeSet::new(),
            misses: Vec::new(),
        }
    }

    #[test]
    fn planted_losses_and_copies_are_found() {
        let mut flow = flow();
        let at = Instant::now();
        flow.open.extend([(0, at), (1, at), (2, at + Duration::from_secs(9))]);
        flow.arrived(0);
        assert_eq!(flow.misses, [], "once is right");
        flow.arrived(0);
        let copies: Vec<_> = flow.misses.drain(..).collect();
        assert_eq!((copies.len(), copies[0].twice), (1, true));
        flow.give_up(at + Duration::from_secs(1));
        assert_eq!(flow.misses, [Miss { pair: flow.pair.clone(), sent: at, twice: false }]);
        // Late is lost, and no copy.
        flow.arrived(1);
        assert_eq!(flow.misses.len(), 1);
        flow.arrived(2);
        assert!(flow.open.is_empty() && flow.misses.len() == 1);
    }
}
