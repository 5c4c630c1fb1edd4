//! Numbered datagrams between pairs of nodes, sent steadily while something else happens.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tresse_base::id::NodeId;

use super::lab::Lab;

/// What became of the datagrams of one pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    pub pair: (NodeId, NodeId),
    pub sent: u64,
    pub lost: Vec<u64>,
    pub duplicated: Vec<u64>,
    pub reordered: Vec<u64>,
}

/// Traffic that runs until [`Traffic::finish`].
pub struct Traffic {
    pairs: Vec<(NodeId, NodeId)>,
    stop: Arc<AtomicBool>,
    sender: JoinHandle<Vec<BTreeSet<u64>>>,
    receiver: JoinHandle<Vec<Vec<u64>>>,
    dropped_before: u64,
}

const PERIOD: Duration = Duration::from_millis(20);
const FIRST_PORT: u16 = 20_000;

impl Traffic {
    /// One datagram per pair every 20 ms.
    pub fn start(lab: &Lab, pairs: &[(NodeId, NodeId)]) -> Self {
        let socket = |node: NodeId, port: u16| {
            let address = SocketAddr::from((lab.address(node), port));
            let socket = lab.inside(lab.now.node(node), || UdpSocket::bind(address)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for (&(from, to), port) in pairs.iter().zip(FIRST_PORT..) {
            receivers.push(socket(to, port));
            senders.push((socket(from, port), SocketAddr::from((lab.address(to), port))));
        }
        let dropped_before = dropped_by_machine();
        let stop = Arc::new(AtomicBool::new(false));
        let (stop_sender, stop_receiver) = (stop.clone(), stop.clone());
        let sender = std::thread::spawn(move || send(&senders, &stop_sender));
        let receiver = std::thread::spawn(move || receive(&receivers, &stop_receiver));
        Self { pairs: pairs.to_vec(), stop, sender, receiver, dropped_before }
    }

    /// Stops sending, waits for what is under way, and judges. Says how many frames of the whole lab were
    /// dropped because the machine it runs on could not keep up.
    pub fn finish(self) -> Vec<Flow> {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.join().unwrap();
        let received = self.receiver.join().unwrap();
        let dropped = dropped_by_machine() - self.dropped_before;
        if dropped > 0 {
            eprintln!("this machine dropped {dropped} frames for want of time");
        }
        let flows = self.pairs.into_iter().zip(sent).zip(received);
        flows.map(|((pair, sent), received)| judge(pair, &sent, &received)).collect()
    }
}

/// Frames that found the queue of their processor full, since the machine started.
fn dropped_by_machine() -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let dropped = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    dropped.map(|number| u64::from_str_radix(number, 16).unwrap()).sum()
}

fn send(sockets: &[(UdpSocket, SocketAddr)], stop: &AtomicBool) -> Vec<BTreeSet<u64>> {
    let mut sent = vec![BTreeSet::new(); sockets.len()];
    let mut due = Instant::now();
    let mut number = 0u64;
    while !stop.load(Ordering::Relaxed) {
        for ((socket, to), sent) in sockets.iter().zip(&mut sent) {
            // One that cannot be sent for want of a route is lost like any other.
            let _ = socket.send_to(&number.to_be_bytes(), to);
            sent.insert(number);
        }
        number += 1;
        due += PERIOD;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    sent
}

fn receive(sockets: &[UdpSocket], stop: &AtomicBool) -> Vec<Vec<u64>> {
    let mut received = vec![Vec::new(); sockets.len()];
    let mut end = None;
    let mut bytes = [0; 8];
    loop {
        for (socket, received) in sockets.iter().zip(&mut received) {
            while socket.recv(&mut bytes).is_ok_and(|n| n == bytes.len()) {
                received.push(u64::from_be_bytes(bytes));
            }
        }
        if stop.load(Ordering::Relaxed) {
            let end = *end.get_or_insert_with(|| Instant::now() + Duration::from_secs(1));
            if Instant::now() > end {
                return received;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn judge(pair: (NodeId, NodeId), sent: &BTreeSet<u64>, received: &[u64]) -> Flow {
    let (mut seen, mut highest) = (BTreeSet::new(), None);
    let (mut duplicated, mut reordered) = (Vec::new(), Vec::new());
    for &number in received {
        if !seen.insert(number) {
            duplicated.push(number);
        } else if highest.is_some_and(|h| number < h) {
            reordered.push(number);
        }
        highest = highest.max(Some(number));
    }
    let lost = sent.difference(&seen).copied().collect();
    Flow { pair, sent: sent.len() as u64, lost, duplicated, reordered }
}
