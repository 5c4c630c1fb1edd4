//! Sends echo requests between all ordered pairs of nodes of a lab.
//!
//! Uses the `ping` program of iputils, which shares no code with this project; or, if the caller
//! wants speed, one thread per node that sends ICMP echo requests itself (RFC 792, RFC 4443).

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};
use tresse_frame::echo;

use crate::held;
use crate::netns::{self, NetnsError};
use crate::run::{self, RunError};
use crate::state::{Directory, LabState};

/// Options of a ping between all pairs of a lab.
#[derive(Debug, Clone)]
pub struct PingOptions {
    /// Echo requests per pair.
    pub count: u32,
    /// How long to wait for an answer.
    pub wait: Duration,
    /// Whether to use the built-in prober instead of `ping`.
    pub fast: bool,
    /// Only from this node.
    pub from: Option<String>,
    /// Only to this node.
    pub to: Option<String>,
    /// IPv6 addresses instead of IPv4 ones.
    pub ipv6: bool,
}

impl Default for PingOptions {
    fn default() -> Self {
        let wait = Duration::from_secs(1);
        Self { count: 1, wait, fast: false, from: None, to: None, ipv6: false }
    }
}

/// The result of a ping between all pairs of a lab: pairs that answered, and pairs that did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PingReport {
    /// Version of this object: 1.
    pub format: u32,
    /// Ordered pairs asked.
    pub pairs: usize,
    /// Pairs with every echo request answered.
    pub ok: usize,
    /// The other pairs, in order.
    pub failed: Vec<(String, String)>,
    /// Echo requests without answer.
    pub lost: u64,
}

/// Why a ping between all pairs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PingError {
    /// A name that is no node.
    #[error("no node `{name}` in this lab")]
    NoNode {
        /// The name.
        name: String,
    },
    /// The node has no address of that family.
    #[error("node {node} has no {} address", if *ipv6 { "IPv6" } else { "IPv4" })]
    NoAddress {
        /// The node.
        node: String,
        /// Of which family.
        ipv6: bool,
    },
    /// A namespace or `ping`.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A socket of the own prober.
    #[error("on {node}: echo socket: {source}")]
    Socket {
        /// The node.
        node: String,
        /// The reason.
        source: io::Error,
    },
}

impl From<NetnsError> for PingError {
    fn from(error: NetnsError) -> Self {
        Self::Run(error.into())
    }
}

/// Sends ICMP echo requests between all ordered pairs of different nodes that the options select,
/// and reports which pairs answered. Asked are the addresses that the nodes have now.
pub fn ping(
    directory: &Directory,
    record: &LabState,
    options: &PingOptions,
) -> Result<PingReport, PingError> {
    let record = &held::now(directory, record)?;
    let nodes = &record.blueprint.nodes;
    for name in [&options.from, &options.to].into_iter().flatten() {
        if !nodes.iter().any(|n| n.name == *name) {
            return Err(PingError::NoNode { name: name.clone() });
        }
    }
    let mut addresses = Vec::with_capacity(nodes.len());
    for node in nodes {
        let address = node.addresses.iter().find(|a| a.is_ipv6() == options.ipv6).copied();
        let missing = || PingError::NoAddress { node: node.name.clone(), ipv6: options.ipv6 };
        addresses.push(address.ok_or_else(missing)?);
    }
    let chosen = |name: &str, only: &Option<String>| only.as_ref().is_none_or(|o| o == name);
    let sources = (0..nodes.len()).filter(|k| chosen(&nodes[*k].name, &options.from));
    let pairs: Vec<(usize, usize)> = sources
        .flat_map(|s| (0..nodes.len()).filter(move |d| *d != s).map(move |d| (s, d)))
        .filter(|(_, d)| chosen(&nodes[*d].name, &options.to))
        .collect();
    let answered = if options.fast {
        echo_all(directory, record, &addresses, &pairs, options)?
    } else {
        let ask = |&(s, d): &(usize, usize)| {
            iputils(&directory.netns(&nodes[s].name), addresses[s], addresses[d], options)
        };
        run::parallel(&pairs, CONCURRENT, ask).into_iter().collect::<Result<_, _>>()?
    };
    let mut report =
        PingReport { format: 1, pairs: pairs.len(), ok: 0, failed: Vec::new(), lost: 0 };
    for (&(s, d), answers) in pairs.iter().zip(answered) {
        let lost = options.count.saturating_sub(answers);
        report.lost += u64::from(lost);
        if lost == 0 {
            report.ok += 1;
        } else {
            report.failed.push((nodes[s].name.clone(), nodes[d].name.clone()));
        }
    }
    Ok(report)
}

/// Answers counted by `ping`.
fn iputils(netns: &str, from: IpAddr, to: IpAddr, options: &PingOptions) -> Result<u32, RunError> {
    let (count, wait) = (options.count.to_string(), options.wait.as_secs_f64().to_string());
    let (from, to) = (from.to_string(), to.to_string());
    let args = ["-n", "-q", "-c", &count, "-i", "0.2", "-W", &wait, "-I", &from, &to];
    let output = netns::inside(netns, || run::spawn("ping", &args, ""))?;
    let output = output.map_err(|source| RunError::Start { program: "ping".into(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "1 packets transmitted, 1 received, 0% packet loss, time 0ms"
    let answers = text
        .lines()
        .find(|l| l.contains("packets transmitted"))
        .and_then(|l| l.split(", ").nth(1)?.split_whitespace().next()?.parse().ok());
    if let Some(answers) = answers {
        return Ok(answers);
    }
    // Without a route `ping` ends before its summary: nothing was answered.
    Ok(0)
}

/// Answers counted by ourselves, one thread per source.
fn echo_all(
    directory: &Directory,
    record: &LabState,
    addresses: &[IpAddr],
    pairs: &[(usize, usize)],
    options: &PingOptions,
) -> Result<Vec<u32>, PingError> {
    let nodes = &record.blueprint.nodes;
    let mut sources: Vec<usize> = pairs.iter().map(|(s, _)| *s).collect();
    sources.dedup();
    let results = run::parallel(&sources, CONCURRENT, |&s| {
        let targets: Vec<IpAddr> =
            pairs.iter().filter(|p| p.0 == s).map(|p| addresses[p.1]).collect();
        let node = &nodes[s].name;
        netns::inside(&directory.netns(node), || echo_from(addresses[s], &targets, options))?
            .map_err(|source| PingError::Socket { node: node.clone(), source })
    });
    let mut all = Vec::with_capacity(pairs.len());
    for answers in results {
        all.extend(answers?);
    }
    Ok(all)
}

/// Sends ICMP echo requests from the address `from` of the calling thread's network namespace to
/// every address in `targets`, and returns how many of them each target answered. Of the options
/// only `count` and `wait` are used.
///
/// # Errors
/// If a raw socket cannot be opened or read.
pub fn echo_from(from: IpAddr, targets: &[IpAddr], options: &PingOptions) -> io::Result<Vec<u32>> {
    let (domain, protocol) = match from {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
    };
    let mut socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    let mut answers = vec![0u32; targets.len()];
    for sequence in 0..options.count {
        for (k, to) in targets.iter().enumerate() {
            let request = echo::request(from, *to, k as u16, sequence as u16, MARK);
            // No route or a full queue is a lost request.
            let _ = socket.send_to(&request, &SocketAddr::new(*to, 0).into());
        }
        let deadline = Instant::now() + options.wait;
        let mut missing = targets.len();
        let mut late = 0;
        let mut buffer = [0u8; 2048];
        while missing > 0 && late < QUEUED {
            // What came while this thread did not run has come in time: with no time left, what lies
            // there is still read.
            let left = deadline.saturating_duration_since(Instant::now());
            late += usize::from(left.is_zero());
            socket.set_read_timeout(Some(left.max(AT_ONCE)))?;
            let length = match socket.read(&mut buffer) {
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // A read with a time limit is not begun again by the kernel.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if let Some(reply) = echo::reply(&buffer[..length], from.is_ipv4())
                && reply.data.starts_with(MARK)
                && reply.sequence == sequence as u16
                && let Some(count) = answers.get_mut(usize::from(reply.identifier))
            {
                *count += 1;
                missing -= 1;
            }
        }
    }
    Ok(answers)
}

const CONCURRENT: usize = 32;
/// The shortest wait that a socket takes: none at all would be without end.
const AT_ONCE: Duration = Duration::from_millis(1);
/// More packets than the queue of a socket holds, unless somebody has made it larger.
const QUEUED: usize = 1000;
/// Data of our echo requests, by which their replies are known.
const MARK: &[u8; 8] = b"tresse??";
