//! Sends traffic in a lab and measures what arrives: uniform all-to-all traffic, or that of a pattern.
//!
//! Every node sends UDP datagrams of one size to the others, in rounds. Each round is a fresh
//! random order of all other nodes, so that all pairs get the same, or what they weigh, and no order repeats. A datagram
//! has arrived when the receiver's socket gets it. Rates are fractions of the rate of a node's
//! link; with a pattern those of its busiest sender, which may have several links. A frame counts with the bytes that the link's rate limiter (`tbf`) counts: Ethernet
//! header, IP, UDP and data, without VLAN tag and FCS.
//!
//! | mode | offered | what it tells |
//! |---|---|---|
//! | [`saturated`] | each node's whole link | accepted throughput past saturation |
//! | [`fair`] | the same for every pair, searched by bisection | the highest rate at which every pair gets its share |
//!
//! The result of `fair` is the one to compare with the channel-load bound (the load per node at
//! which the most loaded direction of any link is full), because that bound assumes uniform traffic
//! that is delivered completely.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tresse_base::random::Random;

pub use self::packet::packet_bytes;
pub use self::traffic::Traffic;
use crate::held;
use crate::netns::{self, NetnsError};
use crate::signals::{Interrupted, Signals};
use crate::state::{Directory, LabState};

mod packet;
mod traffic;

/// Options of a load measurement: what to send, and for how long.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Rate of a node's link.
    pub rate_bps: u64,
    /// Measured time of one trial; a fifth more before it is not counted.
    pub duration: Duration,
    /// IP packet size in bytes.
    pub packet_bytes: usize,
    /// Seed of the orders.
    pub seed: u64,
    /// Largest loss of a trial that counts as delivered.
    pub loss_limit: f64,
    /// Bisection steps of [`fair`].
    pub steps: u32,
}

/// The result of one trial at one load: how much traffic the nodes sent, and how much arrived.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// What every node was to offer, in units of its link's rate.
    pub wanted: f64,
    /// Offered per node, in units of the link rate; what the senders really sent.
    pub offered: f64,
    /// Received per node, likewise.
    pub accepted: f64,
    /// Share of what was sent that did not arrive.
    pub loss: f64,
    /// The worst pair's share of what it was sent.
    pub worst_pair: f64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Little was lost and yet less was sent than wanted: this machine was too slow, and the figure
    /// says nothing about the fabric.
    pub starved: bool,
    /// The ordered pairs that were sent anything: source, destination, datagrams sent and received.
    #[serde(skip)]
    pub pairs: Vec<(usize, usize, u64, u64)>,
}

/// What one ordered pair sent and got in a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairRate {
    /// The sender.
    pub src: String,
    /// The receiver.
    pub dst: String,
    /// Sent, in bits per second of frames.
    pub offered_bps: u64,
    /// Received, likewise.
    pub accepted_bps: u64,
}

/// The result of a load measurement: the trials of [`saturated`] and [`fair`], where asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadReport {
    /// Version of this object: 1.
    pub format: u32,
    /// Nodes that sent and received.
    pub nodes: usize,
    /// The unit: bits per second of a node's link.
    pub rate_bps: u64,
    /// IP packet size in bytes.
    pub packet_bytes: usize,
    /// Past saturation; absent where not asked for.
    pub saturated: Option<Trial>,
    /// The highest offered load that arrived within the loss limit; absent where not asked for or
    /// where none did.
    pub fair: Option<Trial>,
    /// Every trial of the search, in order.
    pub trials: Vec<Trial>,
    /// With a pattern: what each of its pairs got, in the trial at saturation, else in the best one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairRate>,
}

impl Trial {
    /// What each pair sent and got. `nodes`: their names.
    #[must_use]
    pub fn rates(&self, options: &LoadOptions, nodes: &[String]) -> Vec<PairRate> {
        let rate = |datagrams: u64| {
            let bits = datagrams as f64 * frame_bits(options);
            (bits / options.duration.as_secs_f64()) as u64
        };
        let pair = |&(src, dst, sent, received): &(usize, usize, u64, u64)| PairRate {
            src: nodes[src].clone(),
            dst: nodes[dst].clone(),
            offered_bps: rate(sent),
            accepted_bps: rate(received),
        };
        self.pairs.iter().map(pair).collect()
    }
}

/// Why the measurement of traffic between the nodes of a lab failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Fewer than two nodes.
    #[error("traffic needs two nodes")]
    TooFew,
    /// A packet that fits no network, or too small for its number.
    #[error("packets of {bytes} bytes cannot be sent: choose 64 to 9000")]
    PacketSize {
        /// The size.
        bytes: usize,
    },
    /// A packet that is larger than what a path takes: it would be sent in fragments.
    #[error(
        "packets of {bytes} bytes do not fit the path {src} -> {dst}, which takes {mtu}: choose at most that"
    )]
    TooLarge {
        /// The size.
        bytes: usize,
        /// The sender.
        src: String,
        /// The receiver.
        dst: String,
        /// The MTU of its route.
        mtu: usize,
    },
    /// A namespace.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// A socket.
    #[error("on {node}: traffic socket: {source}")]
    Socket {
        /// The node.
        node: String,
        /// The reason.
        source: io::Error,
    },
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Runs one trial in which the busiest sender offers traffic at the full rate of its links, and the others in proportion,
/// however much is lost.
pub fn saturated(
    directory: &Directory,
    record: &LabState,
    options: &LoadOptions,
    traffic: &Traffic,
    signals: &Signals,
) -> Result<Trial, LoadError> {
    trial(directory, record, options, traffic, traffic.highest(), signals)
}

/// Searches by bisection for the highest load per node at which at most the share `loss_limit` of
/// the datagrams is lost. Runs up to `steps` trials, the first at the full rate of the busiest sender's links.
/// Returns the best trial, if any stayed within the limit, and all trials in order.
pub fn fair(
    directory: &Directory,
    record: &LabState,
    options: &LoadOptions,
    traffic: &Traffic,
    signals: &Signals,
    progress: &mut dyn FnMut(&Trial),
) -> Result<(Option<Trial>, Vec<Trial>), LoadError> {
    let (mut low, mut high) = (0.0, traffic.highest());
    let (mut best, mut trials) = (None, Vec::new());
    for step in 0..options.steps {
        let load = if step == 0 { high } else { f64::midpoint(low, high) };
        let trial = trial(directory, record, options, traffic, load, signals)?;
        progress(&trial);
        trials.push(trial.clone());
        let delivered = trial.loss <= options.loss_limit;
        let full = !trial.starved;
        if delivered && best.as_ref().is_none_or(|b: &Trial| b.accepted < trial.accepted) {
            best = Some(trial);
        }
        if delivered && step == 0 {
            break;
        }
        // Everything arrived, but less was sent than asked for: the senders' links or the processor
        // limit the rate.
        if delivered && full {
            low = load;
        } else {
            high = load;
        }
    }
    Ok((best, trials))
}

/// What one node's thread brings back: datagrams sent to, and received from, each node.
struct Tally {
    sent: Vec<u64>,
    received: Vec<u64>,
}

fn trial(
    directory: &Directory,
    record: &LabState,
    options: &LoadOptions,
    traffic: &Traffic,
    load: f64,
    signals: &Signals,
) -> Result<Trial, LoadError> {
    let record = &held::now(directory, record)?;
    let nodes = &record.blueprint.nodes;
    let n = nodes.len();
    if n < 2 {
        return Err(LoadError::TooFew);
    }
    if !(64..=9000).contains(&options.packet_bytes) {
        return Err(LoadError::PacketSize { bytes: options.packet_bytes });
    }
    let flows = traffic.flows() as usize;
    let addresses: Vec<IpAddr> =
        nodes.iter().filter_map(|k| k.addresses.first().copied()).collect();
    let sockets = nodes
        .iter()
        .zip(&addresses)
        .map(|(node, address)| {
            let failed = |source| LoadError::Socket { node: node.name.clone(), source };
            let opened = netns::inside(&directory.netns(&node.name), || {
                // The first one receives, too.
                let ports = std::iter::once(PORT).chain(std::iter::repeat_n(0, flows - 1));
                ports.map(|port| open(*address, port)).collect::<io::Result<Vec<UdpSocket>>>()
            });
            opened?.map_err(failed)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let (start, sending, receiving) =
        (Barrier::new(2 * n + 1), AtomicBool::new(true), AtomicBool::new(true));
    let pace = |node| frame_bits(options) / (load * traffic.part(node) * options.rate_bps as f64);
    let (sent, received) = thread::scope(|scope| {
        let (addresses, start) = (&addresses, &start);
        let (sending, receiving) = (&sending, &receiving);
        let senders: Vec<_> = sockets
            .iter()
            .enumerate()
            .map(|(k, sockets)| {
                let (to, pace) = (traffic.round(k), pace(k));
                scope.spawn(move || {
                    start.wait();
                    send(sockets, k, to, addresses, options, pace, sending)
                })
            })
            .collect();
        let receivers: Vec<_> = sockets
            .iter()
            .map(|sockets| {
                scope.spawn(move || {
                    start.wait();
                    receive(&sockets[0], n, options, receiving)
                })
            })
            .collect();
        start.wait();
        let until = Instant::now() + options.duration.mul_f64(1.2);
        while Instant::now() < until && signals.check().is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
        sending.store(false, Ordering::Relaxed);
        let sent: Vec<_> = senders.into_iter().map(|h| h.join().expect("senders return")).collect();
        receiving.store(false, Ordering::Relaxed);
        let received: Vec<_> =
            receivers.into_iter().map(|h| h.join().expect("receivers return")).collect();
        (sent, received)
    });
    signals.check()?;
    let tallies: Vec<Tally> =
        sent.into_iter().zip(received).map(|(sent, received)| Tally { sent, received }).collect();
    Ok(summary(&tallies, options, load, traffic.senders()))
}

/// Datagrams carry the sender's index. `to`: the destinations of a round.
fn send(
    sockets: &[UdpSocket],
    own: usize,
    mut to: Vec<usize>,
    addresses: &[IpAddr],
    options: &LoadOptions,
    pace: f64,
    sending: &AtomicBool,
) -> Vec<u64> {
    let headers = if addresses[own].is_ipv4() { 28 } else { 48 };
    let mut payload = vec![0u8; options.packet_bytes - headers];
    payload[..4].copy_from_slice(&(own as u32).to_be_bytes());
    let mut random =
        Random::new(options.seed ^ (own as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut sent = vec![0u64; addresses.len()];
    let began = Instant::now();
    let warm = options.duration.mul_f64(0.2);
    // Nodes start at different points of their first interval, as independent hosts would.
    let phase = random.fraction();
    let mut number = 0u64;
    while !to.is_empty() && sending.load(Ordering::Relaxed) {
        random.shuffle(&mut to);
        for &to in &to {
            let due = Duration::from_secs_f64((number as f64 + phase) * pace);
            while began.elapsed() < due {
                thread::sleep(due.saturating_sub(began.elapsed()).min(SLICE));
                if !sending.load(Ordering::Relaxed) {
                    return sent;
                }
            }
            if !sending.load(Ordering::Relaxed) {
                return sent;
            }
            let counted = (warm..warm + options.duration).contains(&began.elapsed());
            let to_address = SocketAddr::new(addresses[to], PORT);
            let flow = if sockets.len() > 1 { random.below(sockets.len()) } else { 0 };
            let socket = &sockets[flow];
            if socket.send_to(&payload, to_address).is_ok() && counted {
                sent[to] += 1;
            }
            number += 1;
        }
    }
    sent
}

/// Counts what arrives in the same window as the senders count, whenever it was sent: what an
/// overloaded link only stores in its queue is not accepted.
fn receive(
    socket: &UdpSocket,
    nodes: usize,
    options: &LoadOptions,
    receiving: &AtomicBool,
) -> Vec<u64> {
    let began = Instant::now();
    let warm = options.duration.mul_f64(0.2);
    let mut received = vec![0u64; nodes];
    let mut buffer = [0u8; 16];
    while receiving.load(Ordering::Relaxed) {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        if length < 4 || !(warm..warm + options.duration).contains(&began.elapsed()) {
            continue;
        }
        let from = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]) as usize;
        if let Some(count) = received.get_mut(from) {
            *count += 1;
        }
    }
    received
}

/// `senders`: by how many nodes as busy as the busiest all is divided.
fn summary(tallies: &[Tally], options: &LoadOptions, load: f64, senders: f64) -> Trial {
    let sent: u64 = tallies.iter().flat_map(|t| &t.sent).sum();
    let received: u64 = tallies.iter().flat_map(|t| &t.received).sum();
    let per_node =
        frame_bits(options) / (senders * options.duration.as_secs_f64() * options.rate_bps as f64);
    let mut pairs = Vec::new();
    for (s, from) in tallies.iter().enumerate() {
        for (d, to) in tallies.iter().enumerate().filter(|(d, _)| from.sent[*d] > 0) {
            pairs.push((s, d, from.sent[d], to.received[s]));
        }
    }
    let arrived = pairs.iter().map(|(_, _, sent, received)| *received as f64 / *sent as f64);
    let worst_pair = arrived.fold(1.0, f64::min);
    // Datagrams that were queued before the window and arrive in it do not count as offered in it.
    let received = received.min(sent);
    let offered = sent as f64 * per_node;
    let loss = if sent == 0 { 1.0 } else { 1.0 - received as f64 / sent as f64 };
    Trial {
        wanted: load,
        offered,
        accepted: received as f64 * per_node,
        loss,
        starved: loss <= options.loss_limit && offered < FULFILLED * load,
        worst_pair,
        sent,
        received,
        pairs,
    }
}

/// Bits of a frame as tbf counts them.
fn frame_bits(options: &LoadOptions) -> f64 {
    (options.packet_bytes + 14) as f64 * 8.0
}

fn open(address: IpAddr, port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddr::new(address, port))?;
    let buffers = socket2::SockRef::from(&socket);
    // The kernel counts a datagram against its sender's buffer until it arrives, also across veth.
    // A small buffer would act as a window and prevent the drops that the fabric should cause.
    buffers.set_send_buffer_size(8 << 20)?;
    buffers.set_recv_buffer_size(8 << 20)?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    Ok(socket)
}

const PORT: u16 = 9077;
/// A trial that sends less than this share of what it should is starved.
const FULFILLED: f64 = 0.97;
const SLICE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> LoadOptions {
        LoadOptions {
            rate_bps: 1_000_000,
            duration: Duration::from_secs(1),
            packet_bytes: 986,
            seed: 1,
            loss_limit: 0.02,
            steps: 6,
        }
    }

    #[test]
    fn a_frame_of_8000_bits_125_times_a_second_is_the_whole_link() {
        let tally = |sent: [u64; 2], received: [u64; 2]| Tally {
            sent: sent.to_vec(),
            received: received.to_vec(),
        };
        let full = [tally([0, 125], [0, 125]), tally([125, 0], [125, 0])];
        let trial = summary(&full, &options(), 1.0, 2.0);
        assert!((trial.accepted - 1.0).abs() < 1e-9 && !trial.starved);
        let half = [tally([0, 125], [0, 125]), tally([125, 0], [50, 0])];
        let trial = summary(&half, &options(), 1.0, 2.0);
        assert!((trial.worst_pair - 0.4).abs() < 1e-9 && trial.loss > 0.29);
        let slow = [tally([0, 60], [0, 60]), tally([60, 0], [60, 0])];
        assert!(summary(&slow, &options(), 1.0, 2.0).starved);
    }

    #[test]
    fn an_order_is_a_permutation_and_repeats_with_its_seed() {
        let order = |seed| {
            let mut items: Vec<usize> = (0..15).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..15).collect::<Vec<_>>());
    }
}
