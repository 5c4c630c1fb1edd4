//! The traffic of the soak test and of the trial of changes: numbered datagrams between all pairs of
//! nodes. For each datagram it is known whether it arrived once, more than once, after a later one, or
//! not at all, and when it was sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use tresse_lab::netns;

/// How often [`Load::account`] looks.
const LOOK: Duration = Duration::from_millis(100);
/// What has not arrived when nothing else has for this long is lost: a busy or an emulated machine is slow,
/// not lossy.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often arrived datagrams are fetched.
const FETCH: Duration = Duration::from_millis(2);
/// Room for what a node has sent and the kernel has not passed on yet, and for what has arrived there and
/// was not fetched yet: a machine that is busy for seconds loses nothing.
const ROOM_BYTES: usize = 16 << 20;
const PORT: u16 = 20_000;

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
    /// When its round began: it was sent then or later.
    pub sent: Instant,
    /// When its round was over: it was sent then or before.
    pub sent_by: Instant,
    /// What went wrong.
    pub fault: Fault,
}

/// The running traffic, numbered datagrams between all pairs of nodes; stopped when
/// dropped.
#[derive(Debug)]
pub struct Load {
    book: Arc<Mutex<Book>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What was sent and has arrived. In each round every pair sends one datagram, with the round's number.
#[derive(Debug, Default)]
struct Book {
    /// Number of the first round in `rounds`; what became of those before is known.
    first: u64,
    /// When each round began, and was over.
    rounds: VecDeque<(Instant, Option<Instant>)>,
    flows: Vec<Flow>,
}

/// The datagrams of one pair.
#[derive(Debug)]
struct Flow {
    pair: (String, String),
    /// The highest number that has arrived.
    highest: Option<u64>,
    /// For each of the book's rounds whether its datagram has arrived.
    arrived: VecDeque<bool>,
    /// How many have not.
    open: usize,
    /// Numbers before the book's rounds that have not arrived.
    lost: BTreeSet<u64>,
    misses: Vec<Miss>,
}

/// A datagram: the index of its pair, and its number.
type Datagram = (u32, u64);
const DATAGRAM_BYTES: usize = 12;

impl Load {
    /// Starts these pairs, each with its source first; each sends a datagram every `period`.
    ///
    /// # Errors
    /// A namespace that cannot be entered or a socket that cannot be bound.
    pub fn start(pairs: &[(&Station, &Station)], period: Duration) -> Result<Self, String> {
        let mut sockets = BTreeMap::new();
        for station in pairs.iter().flat_map(|(from, to)| [from, to]) {
            if !sockets.contains_key(&station.name) {
                sockets.insert(station.name.clone(), Arc::new(socket(station)?));
            }
        }
        let to = |(from, to): &(&Station, &Station)| {
            (sockets[&from.name].clone(), SocketAddr::from((to.address, PORT)))
        };
        let senders: Vec<_> = pairs.iter().map(to).collect();
        let receivers: Vec<_> = sockets.into_values().collect();
        let flow = |(from, to): &(&Station, &Station)| Flow::new(&from.name, &to.name);
        let flows = pairs.iter().map(flow).collect();
        let book = Arc::new(Mutex::new(Book { flows, ..Book::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let (to, end) = (book.clone(), stop.clone());
        let sender = std::thread::spawn(move || send(&senders, period, &to, &end));
        let (to, end) = (book.clone(), stop.clone());
        let receiver = std::thread::spawn(move || receive(&receivers, &to, &end));
        Ok(Self { book, stop, threads: vec![sender, receiver] })
    }

    /// How many datagrams each pair has sent since the start.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        lock(&self.book).next()
    }

    /// Waits until it is known what became of everything sent so far: how much that was since the
    /// last call, and what did not arrive once.
    #[must_use]
    pub fn account(&self) -> (u64, Vec<Miss>) {
        let until = lock(&self.book).next();
        let (mut left, mut since) = (usize::MAX, Instant::now());
        loop {
            let mut book = lock(&self.book);
            let open = book.open(until);
            if open < left {
                (left, since) = (open, Instant::now());
            }
            if open == 0 || since.elapsed() >= PATIENCE {
                return book.close(until);
            }
            drop(book);
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

impl Book {
    /// Number of the next round.
    fn next(&self) -> u64 {
        self.first + self.rounds.len() as u64
    }

    /// Begins a round; returns its number.
    fn begin(&mut self, now: Instant) -> u64 {
        let number = self.next();
        self.rounds.push_back((now, None));
        for flow in &mut self.flows {
            flow.arrived.push_back(false);
            flow.open += 1;
        }
        number
    }

    /// The last round is over.
    fn end(&mut self, now: Instant) {
        if let Some((_, over)) = self.rounds.back_mut() {
            *over = Some(now);
        }
    }

    /// How many datagrams of the rounds before `until` have not arrived.
    fn open(&self, until: u64) -> usize {
        let rounds = (until - self.first) as usize;
        let missing = |flow: &Flow| match flow.open {
            0 => 0,
            _ => flow.arrived.iter().take(rounds).filter(|arrived| !**arrived).count(),
        };
        self.flows.iter().map(missing).sum()
    }

    /// Forgets the rounds before `until`, whose missing datagrams are lost. Returns how many
    /// datagrams these rounds had, and all faults since the last call.
    fn close(&mut self, until: u64) -> (u64, Vec<Miss>) {
        let rounds = (until - self.first) as usize;
        let times: Vec<_> = self.rounds.drain(..rounds).collect();
        let first = std::mem::replace(&mut self.first, until);
        let mut misses = Vec::new();
        for flow in &mut self.flows {
            for ((arrived, sent), number) in flow.arrived.drain(..rounds).zip(&times).zip(first..) {
                if !arrived {
                    flow.open -= 1;
                    flow.lost.insert(number);
                    let (sent, over) = *sent;
                    let sent_by = over.unwrap_or_else(Instant::now);
                    let pair = flow.pair.clone();
                    misses.push(Miss { pair, sent, sent_by, fault: Fault::Lost });
                }
            }
            misses.append(&mut flow.misses);
        }
        ((rounds * self.flows.len()) as u64, misses)
    }

    /// A datagram has arrived.
    fn arrived(&mut self, (flow, number): Datagram) {
        let Some(flow) = self.flows.get_mut(flow as usize) else { return };
        let now = Instant::now();
        let ((sent, over), fault) = match number.checked_sub(self.first).map(|round| round as usize)
        {
            // What arrives after it was counted as lost is lost all the same.
            None => ((now, Some(now)), (!flow.lost.remove(&number)).then_some(Fault::Twice)),
            Some(round) => {
                let Some(sent) = self.rounds.get(round).copied() else { return };
                let fault = if std::mem::replace(&mut flow.arrived[round], true) {
                    Some(Fault::Twice)
                } else {
                    flow.open -= 1;
                    (flow.highest > Some(number)).then_some(Fault::Overtaken)
                };
                (sent, fault)
            }
        };
        flow.highest = flow.highest.max(Some(number));
        let sent_by = over.unwrap_or(now);
        let miss = |fault| Miss { pair: flow.pair.clone(), sent, sent_by, fault };
        flow.misses.extend(fault.map(miss));
    }
}

impl Flow {
    fn new(from: &str, to: &str) -> Self {
        Self {
            pair: (from.into(), to.into()),
            highest: None,
            arrived: VecDeque::new(),
            open: 0,
            lost: BTreeSet::new(),
            misses: Vec::new(),
        }
    }
}

/// All ordered pairs of these stations.
#[must_use]
pub fn all_pairs(stations: &[Station]) -> Vec<(&Station, &Station)> {
    let pairs = stations.iter().flat_map(|a| stations.iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.name != b.name).collect()
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

fn socket(at: &Station) -> Result<UdpSocket, String> {
    let bind = || -> std::io::Result<UdpSocket> {
        let socket = UdpSocket::bind((at.address, PORT))?;
        setsockopt(&socket, sockopt::RcvBufForce, &ROOM_BYTES)?;
        setsockopt(&socket, sockopt::SndBufForce, &ROOM_BYTES)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    let bound = netns::inside(&at.netns, bind).map_err(|e| e.to_string())?;
    bound.map_err(|e| format!("a socket on {}, {} port {PORT}: {e}", at.name, at.address))
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().expect("neither thread panics while it holds this")
}

fn send(
    flows: &[(Arc<UdpSocket>, SocketAddr)],
    period: Duration,
    book: &Mutex<Book>,
    stop: &AtomicBool,
) {
    stay_on_one_processor();
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let number = lock(book).begin(Instant::now());
        for (flow, (socket, to)) in (0u32..).zip(flows) {
            // One that cannot be sent for want of a route is lost like any other.
            let _ = socket.send_to(&emit((flow, number)), to);
        }
        lock(book).end(Instant::now());
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

fn receive(sockets: &[Arc<UdpSocket>], book: &Mutex<Book>, stop: &AtomicBool) {
    let mut bytes = [0; DATAGRAM_BYTES];
    let mut found = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        for socket in sockets {
            while socket.recv(&mut bytes).is_ok_and(|n| n == DATAGRAM_BYTES) {
                found.push(parse(bytes));
            }
        }
        let mut book = lock(book);
        found.drain(..).for_each(|datagram| book.arrived(datagram));
        drop(book);
        std::thread::sleep(FETCH);
    }
}

fn emit((flow, number): Datagram) -> [u8; DATAGRAM_BYTES] {
    let mut bytes = [0; DATAGRAM_BYTES];
    bytes[..4].copy_from_slice(&flow.to_be_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn parse(bytes: [u8; DATAGRAM_BYTES]) -> Datagram {
    let [a, b, c, d, number @ ..] = bytes;
    (u32::from_be_bytes([a, b, c, d]), u64::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Book {
        let flows = vec![Flow::new("a", "b"), Flow::new("b", "a")];
        Book { flows, ..Book::default() }
    }

    fn faults(misses: &[Miss]) -> Vec<(&str, Fault)> {
        misses.iter().map(|miss| (miss.pair.0.as_str(), miss.fault)).collect()
    }

    #[test]
    fn planted_losses_and_copies_are_found() {
        let mut book = book();
        let at = Instant::now();
        for _ in 0..3 {
            book.begin(at);
        }
        for number in 0..3 {
            book.arrived((0, number));
        }
        assert_eq!((book.open(3), book.open(2), book.open(0)), (3, 2, 0));
        book.arrived((1, 1));
        book.arrived((0, 2));
        book.arrived((1, 2));
        let (sent, misses) = book.close(2);
        assert_eq!(sent, 4);
        assert_eq!(faults(&misses), [("a", Fault::Twice), ("b", Fault::Lost)]);
        // What arrives after it was counted as lost is no copy, but the same once more is; datagrams of
        // somebody else do not count.
        book.arrived((1, 0));
        book.arrived((7, 2));
        book.arrived((0, 99));
        book.arrived((0, 0));
        let (sent, misses) = book.close(3);
        assert_eq!((sent, faults(&misses)), (2, vec![("a", Fault::Twice)]));
        assert_eq!((book.next(), book.open(3)), (3, 0));
    }

    #[test]
    fn of_two_that_change_places_the_earlier_one_is_overtaken() {
        let mut book = book();
        for _ in 0..2 {
            book.begin(Instant::now());
        }
        for datagram in [(0, 1), (0, 0), (1, 0), (1, 1)] {
            book.arrived(datagram);
        }
        assert_eq!(faults(&book.close(2).1), [("a", Fault::Overtaken)]);
    }

    #[test]
    fn datagrams_round_trip() {
        let datagram = (7, 1 << 40);
        assert_eq!(parse(emit(datagram)), datagram);
    }
}
