//! The traffic of the soak test and of the trial of changes: numbered datagrams between all pairs of
//! nodes. For each datagram it is known whether it arrived once, more than once, after a later one, or
//! not at all, and when it was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;
use tresse_lab::netns;

/// How often [`Load::account`] looks.
const LOOK: Duration = Duration::from_millis(100);
/// What has not arrived when nothing else has for this long is lost: a busy or an emulated machine is slow,
/// not lossy.
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

/// What went wrong with a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It did not arrive.
    Lost,
    /// It arrived more than once.
    Twice,
    /// It arrived after one of the same pair that was sent later.
    Overtaken,
}

/// A datagram with a fault: its pair of nodes and when it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// From and to.
    pub pair: (String, String),
    /// When it was sent.
    pub sent: Instant,
    /// What went wrong.
    pub fault: Fault,
}

/// The running traffic, numbered datagrams between all pairs of nodes; stopped when
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
    /// The highest number that has arrived.
    highest: Option<u64>,
    open: BTreeMap<u64, Instant>,
    lost: BTreeSet<u64>,
    misses: Vec<Miss>,
}

impl Load {
    /// Starts these pairs, each with its source first; each sends a datagram every `period`.
    ///
    /// # Errors
    /// A namespace that cannot be entered or a socket that cannot be bound.
    pub fn start(pairs: &[(&Station, &Station)], period: Duration) -> Result<Self, String> {
        let (mut senders, mut receivers, mut flows) = (Vec::new(), Vec::new(), Vec::new());
        for ((from, to), port) in pairs.iter().zip(FIRST_PORT..) {
            senders.push((socket(from, port)?, SocketAddr::from((to.address, port))));
            receivers.push(socket(to, port)?);
            flows.push(Flow {
                pair: (from.name.clone(), to.name.clone()),
                sent: 0,
                highest: None,
                open: BTreeMap::new(),
                lost: BTreeSet::new(),
                misses: Vec::new(),
            });
        }
        let flows = Arc::new(Mutex::new(flows));
        let stop = Arc::new(AtomicBool::new(false));
        let (to, end) = (flows.clone(), stop.clone());
        let sender = std::thread::spawn(move || send(&senders, period, &to, &end));
        let (to, end) = (flows.clone(), stop.clone());
        let receiver = std::thread::spawn(move || receive(&receivers, &to, &end));
        Ok(Self { flows, stop, threads: vec![sender, receiver] })
    }

    /// Waits until it is known what became of everything sent so far: how much that was since the
    /// last call, and what did not arrive once.
    #[must_use]
    pub fn account(&self) -> (u64, Vec<Miss>) {
        let until = Instant::now();
        let (mut left, mut since) = (usize::MAX, until);
        loop {
            let mut flows = lock(&self.flows);
            let open = flows.iter().flat_map(|flow| flow.open.values());
            let open = open.filter(|sent| **sent <= until).count();
            if open < left {
                (left, since) = (open, Instant::now());
            }
            let late = since.elapsed() >= PATIENCE;
            if late || open == 0 {
                return flows.iter_mut().fold((0, Vec::new()), |(sent, mut misses), flow| {
                    flow.give_up(until);
                    misses.append(&mut flow.misses);
                    (sent + std::mem::take(&mut flow.sent), misses)
                });
            }
            drop(flows);
            std::thread::sleep(LOOK);
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

/// All ordered pairs of these stations.
#[must_use]
pub fn all_pairs(stations: &[Station]) -> Vec<(&Station, &Station)> {
    let pairs = stations.iter().flat_map(|a| stations.iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.name != b.name).collect()
}

impl Flow {
    /// What was sent before `until` and has not arrived is lost.
    fn give_up(&mut self, until: Instant) {
        let lost: Vec<_> =
            self.open.iter().filter(|(_, at)| **at <= until).map(|(n, at)| (*n, *at)).collect();
        for (number, sent) in lost {
            self.open.remove(&number);
            self.lost.insert(number);
            self.misses.push(Miss { pair: self.pair.clone(), sent, fault: Fault::Lost });
        }
    }

    fn arrived(&mut self, number: u64) {
        // What comes after it was given up is lost all the same.
        let mut miss =
            |sent, fault| self.misses.push(Miss { pair: self.pair.clone(), sent, fault });
        match self.open.remove(&number) {
            Some(sent) if self.highest > Some(number) => miss(sent, Fault::Overtaken),
            None if !self.lost.remove(&number) => miss(Instant::now(), Fault::Twice),
            _ => {}
        }
        self.highest = self.highest.max(Some(number));
    }
}

/// Describes datagrams with faults, by pair and fault: how many there are, and from when to when they
/// were sent, in seconds since `began`.
#[must_use]
pub fn describe(began: Instant, misses: &[&Miss]) -> String {
    let mut of: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for miss in misses {
        of.entry((&miss.pair, miss.fault)).or_default().push(since(began, miss.sent));
    }
    let mut text = format!("{} datagrams of {} pairs", misses.len(), of.len());
    for (((from, to), fault), times) in of {
        let what = match fault {
            Fault::Lost => "lost",
            Fault::Twice => "arrived twice",
            Fault::Overtaken => "overtaken",
        };
        let (first, last) = (times[0], times[times.len() - 1]);
        text += &format!("\n  {from} -> {to}: {} {what}, {first:.1} to {last:.1} s", times.len());
    }
    text
}

/// The seconds from `began` to `at`, negative if `at` is before.
#[must_use]
pub fn since(began: Instant, at: Instant) -> f64 {
    at.saturating_duration_since(began).as_secs_f64()
        - began.saturating_duration_since(at).as_secs_f64()
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

fn send(
    sockets: &[(UdpSocket, SocketAddr)],
    period: Duration,
    flows: &Mutex<Vec<Flow>>,
    stop: &AtomicBool,
) {
    stay_on_one_processor();
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
        due += period;
        // A machine that was busy elsewhere does not catch up.
        due = due.max(Instant::now());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Keeps this thread on one processor. A veth hands a frame to the receiving end on the sender's
/// processor, so a sender that moves has frames in the queues of two, and later ones may overtake.
fn stay_on_one_processor() {
    let mut one = CpuSet::new();
    // Where that is refused, datagrams may be reordered.
    let _ = sched_getcpu()
        .and_then(|at| one.set(at))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &one));
}

fn receive(sockets: &[UdpSocket], flows: &Mutex<Vec<Flow>>, stop: &AtomicBool) {
    let mut bytes = [0; 8];
    while !stop.load(Ordering::Relaxed) {
        for (k, socket) in sockets.iter().enumerate() {
            while socket.recv(&mut bytes).is_ok_and(|n| n == bytes.len()) {
                lock(flows)[k].arrived(u64::from_be_bytes(bytes));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        Flow {
            pair: ("a".into(), "b".into()),
            sent: 0,
            highest: None,
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
        assert_eq!((copies.len(), copies[0].fault), (1, Fault::Twice));
        flow.give_up(at + Duration::from_secs(1));
        assert_eq!(flow.misses, [Miss { pair: flow.pair.clone(), sent: at, fault: Fault::Lost }]);
        // Late is lost, and no copy.
        flow.arrived(1);
        assert_eq!(flow.misses.len(), 1);
        flow.arrived(2);
        assert!(flow.open.is_empty() && flow.misses.len() == 1);
        // One that overtakes another is in order, the other is not.
        flow.open.extend([(3, at), (4, at)]);
        flow.arrived(4);
        flow.arrived(3);
        assert_eq!(
            flow.misses[1],
            Miss { pair: flow.pair.clone(), sent: at, fault: Fault::Overtaken }
        );
        assert_eq!(flow.misses.len(), 2);
    }
}
