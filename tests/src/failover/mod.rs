//! Measures for how long traffic is interrupted by failures: injects faults of every kind into a lab,
//! one after another, while numbered datagrams are sent between nodes.

mod routers;
mod stream;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_control::Client;
use tresse_lab::state::Directory;
use tresse_plan::Plan;
use tresse_slice::watch::Crossing;

use crate::fault::{Fault, How, PartKind};
use crate::joined::joined;
use crate::program;

pub use self::routers::Protocol;
use self::routers::{Routers, address};
use self::stream::{Outage, Station, Streams};
use crate::program::output;

/// Name of the lab (`tresse lab --name`) into which faults are injected.
const LAB: &str = "failover";
/// How much longer the repair of several faults may take.
const SEVERAL: Duration = Duration::from_secs(2);
/// How long after the return of a NIC the other one falls silent.
const RETURNED: Duration = Duration::from_millis(1200);
/// How long before a fault the first datagram is sent.
const STARTED: Duration = Duration::from_millis(300);
/// By which sets of faults are drawn.
const SEED: u64 = 23;
const DOWN: [&str; 4] = ["lab", "--name", LAB, "down"];

/// A fabric in which interruptions are measured: its cluster file, how many of its cables fail, and
/// between how many pairs of nodes datagrams are sent.
#[derive(Debug, Clone, Copy)]
pub struct Fabric<'a> {
    /// Name in the table.
    pub name: &'a str,
    /// Its cluster file's `topology`.
    pub topology: &'a str,
    /// The rest of its cluster file.
    pub rest: &'a str,
    /// One in this many cables fails.
    pub every: usize,
    /// Most pairs that send at once.
    pub pairs: usize,
    /// Sets of two or three parts that fail at once, after the single ones.
    pub sets: usize,
}

/// The program that computes routes in the measured fabric: Tresse's daemons, or FRR with one of its
/// protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Router {
    /// Our daemons.
    Tresse,
    /// FRR in their place.
    Frr(Protocol),
}

impl Router {
    const fn words(self) -> &'static str {
        match self {
            Self::Tresse => "Tresse",
            Self::Frr(Protocol::Ospf) => "FRR, OSPF with BFD",
            Self::Frr(Protocol::OpenFabric) => "FRR, OpenFabric",
        }
    }

    /// Returns the time allowed for repair.
    const fn patience(self, interval_ms: u16) -> Duration {
        Duration::from_millis(match self {
            Self::Tresse => interval_ms as u64 * 5 + 500,
            Self::Frr(Protocol::Ospf) => interval_ms as u64 * 5 + 6_000,
            Self::Frr(Protocol::OpenFabric) => 40_000,
        })
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// A kind of fault, and whether the sender that meets it loses its carrier.
    Single { kind: PartKind, how: How, seen: bool },
    /// So many parts fail at once, each in a way of its own.
    AtOnce(usize),
    /// A NIC falls silent soon after the node's other one has returned.
    Again,
}

impl Row {
    /// The row of a trial, for a pair whose frames cross `wires`.
    fn of(trial: &Trial, wires: &[Crossing], routed: bool) -> Self {
        match &trial.faults[..] {
            _ if trial.before.is_some() => Self::Again,
            [fault] => {
                let seen = fault.is_seen(wires, routed);
                Self::Single { kind: fault.kind, how: fault.how, seen }
            }
            faults => Self::AtOnce(faults.len()),
        }
    }

    const fn seen(self) -> bool {
        matches!(self, Self::Single { seen: true, .. })
    }

    fn words(self) -> String {
        let (kind, how, seen) = match self {
            Self::Single { kind, how, seen } => (kind, how, seen),
            Self::AtOnce(parts) => return format!("{parts} parts at once, by chance"),
            Self::Again => return "NIC silent 1.2 s after the node's other one returned".into(),
        };
        let part = match kind {
            PartKind::Switch => "switch",
            PartKind::Nic => "cable of a NIC",
            PartKind::Trunk => "cable between switches",
            PartKind::Node => "node",
        };
        match (how, seen) {
            (How::Dead, true) => format!("{part} dead: the sender loses its carrier"),
            (How::Dead, false) => format!("{part} dead, further on"),
            (How::Silent, _) => format!("{part} silent both ways, carriers stay"),
            (How::OneWay, _) => format!("{part} silent one way, carriers stay"),
        }
    }
}

/// Builds a lab of `fabric`, injects its faults one after another, and returns the measured
/// interruptions as lines of a Markdown table: one line for each kind of fault, with the median and the
/// longest interruption in milliseconds. `interval_ms` is BFD's interval.
///
/// # Errors
/// What failed, in words.
pub fn measure(
    fabric: &Fabric<'_>,
    router: Router,
    interval_ms: u16,
) -> Result<Vec<String>, String> {
    let (topology, rest) = (fabric.topology, fabric.rest);
    let text = format!("[fabric]\nname = \"failover\"\ntopology = {{ {topology} }}\n{rest}");
    let file = std::env::temp_dir().join(format!("failover-{}.toml", std::process::id()));
    std::fs::write(&file, &text).map_err(|e| e.to_string())?;
    let cluster = tresse_cluster::parse(&text, "failover").map_err(|e| e.to_string())?;
    let plan = Plan::build(cluster).map_err(|e| e.to_string())?;
    let path = file.display().to_string();
    let interval = interval_ms.to_string();
    let tressed = program::tressed().display().to_string();
    let up = ["lab", "--name", LAB, "up", &path, "--tressed", &tressed];
    let up = [&up[..], &["--engine", "packet", "--bfd-ms", &interval]].concat();
    output(&up)?;
    let measured = Lab::new(&plan, router, interval_ms, &up).and_then(|lab| lab.all(fabric));
    let down = output(&DOWN);
    let _ = std::fs::remove_file(&file);
    let rows = measured?;
    down?;
    let line = |(row, outages): (Row, Vec<Outage>)| {
        let limit = match row.seen() {
            true => "20".to_owned(),
            false => (3 * u128::from(interval_ms) + 20).to_string(),
        };
        format!(
            "| {} | {} | {} | {} | {} | {limit} |",
            fabric.name,
            router.words(),
            row.words(),
            outages.len(),
            figures(outages)
        )
    };
    Ok(rows.into_iter().map(line).collect())
}

/// Median and worst, in ms.
fn figures(mut outages: Vec<Outage>) -> String {
    outages.sort_unstable();
    let ms = |at: usize| match outages[at] {
        Outage::Over(time) => time.as_millis().to_string(),
        Outage::Lasts => "not mended".to_owned(),
    };
    format!("{} | {}", ms(outages.len() / 2), ms(outages.len() - 1))
}

/// What happens while datagrams are sent.
struct Trial {
    /// This one has failed before, and has returned [`RETURNED`] ago.
    before: Option<Fault>,
    /// These fail at once.
    faults: Vec<Fault>,
}

impl Trial {
    /// Every trial on a fabric, the same for every router.
    fn all(plan: &Plan, fabric: &Fabric<'_>) -> Result<Vec<Self>, String> {
        let mut random = Random::new(SEED);
        let sets = (0..fabric.sets).map(|at| Fault::drawn(plan, 2 + at % 2, &mut random));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let single = Fault::all(plan, fabric.every)?.into_iter().map(|fault| vec![fault]);
        let all = sets.into_iter().chain(single).map(|faults| Self { before: None, faults });
        let mut all: Vec<Self> = all.collect();
        if fabric.sets > 0 {
            let silent = |fault: &Fault| fault.kind == PartKind::Nic && fault.how == How::Silent;
            let nics = Fault::all(plan, 1)?.into_iter().filter(silent);
            let mut of_nodes: BTreeMap<String, Vec<Fault>> = BTreeMap::new();
            for fault in nics {
                let node = fault.object.split(':').next().unwrap_or_default().to_owned();
                of_nodes.entry(node).or_default().push(fault);
            }
            all.extend(of_nodes.into_values().filter_map(|mut nics| {
                let before = nics.pop();
                nics.pop().map(|fault| Self { before, faults: vec![fault] })
            }));
        }
        Ok(all)
    }
}

/// Directed links that the frames of each ordered pair cross.
type Paths = BTreeMap<(NodeId, NodeId), Vec<Crossing>>;

struct Lab<'a> {
    plan: &'a Plan,
    directory: Directory,
    router: Router,
    interval_ms: u16,
    /// Command that builds the lab.
    up: &'a [&'a str],
    frr: Option<Routers>,
}

impl<'a> Lab<'a> {
    fn new(
        plan: &'a Plan,
        router: Router,
        interval_ms: u16,
        up: &'a [&'a str],
    ) -> Result<Self, String> {
        let directory = Directory::of(LAB).map_err(|e| e.to_string())?;
        let frr = match router {
            Router::Tresse => None,
            Router::Frr(protocol) => Some(Routers::start(plan, &directory, protocol, interval_ms)?),
        };
        Ok(Self { plan, directory, router, interval_ms, up, frr })
    }

    fn all(&self, fabric: &Fabric<'_>) -> Result<BTreeMap<Row, Vec<Outage>>, String> {
        let mut rows: BTreeMap<Row, Vec<Outage>> = BTreeMap::new();
        let routed = self.frr.is_some() || self.plan.layout().is_some();
        for trial in Trial::all(self.plan, fabric)? {
            let paths = self.whole()?;
            let crossing = self.crossing(&paths, &trial, fabric.pairs);
            if crossing.is_empty() {
                continue;
            }
            let patience = self.router.patience(self.interval_ms);
            if let Some(before) = &trial.before {
                before.bring(LAB, &self.directory, true)?;
                std::thread::sleep(patience);
                before.bring(LAB, &self.directory, false)?;
                std::thread::sleep(RETURNED.saturating_sub(STARTED));
            }
            let pairs: Vec<(Station, Station)> = crossing
                .iter()
                .map(|(from, to)| (self.station(*from), self.station(*to)))
                .collect();
            let streams = Streams::start(&pairs)?;
            std::thread::sleep(STARTED);
            for fault in &trial.faults {
                fault.bring(LAB, &self.directory, true)?;
            }
            let one = trial.faults.len() == 1 && trial.before.is_none();
            std::thread::sleep(patience + if one { Duration::ZERO } else { SEVERAL });
            let outages = streams.finish()?;
            for fault in &trial.faults {
                fault.bring(LAB, &self.directory, false)?;
            }
            let words: Vec<String> = trial.faults.iter().map(Fault::words).collect();
            for (pair, outage) in crossing.iter().zip(outages) {
                eprintln!("{}, {}: {pair:?} {outage:?}", fabric.name, words.join(", "));
                rows.entry(Row::of(&trial, &paths[pair], routed)).or_default().push(outage);
            }
        }
        Ok(rows)
    }

    /// Returns some of the pairs whose frames cross the faults and that are joined by what is left.
    fn crossing(&self, paths: &Paths, trial: &Trial, most: usize) -> Vec<(NodeId, NodeId)> {
        let faults = &trial.faults;
        let lost = faults.iter().flat_map(|fault| fault.wires.iter().copied()).collect();
        let joined = joined(self.plan, &lost);
        let hit = |wires: &[Crossing]| faults.iter().chain(&trial.before).any(|f| f.hits(wires));
        let hit = paths.iter().filter(|(pair, wires)| hit(wires) && joined.contains(pair));
        let all: Vec<_> = hit.map(|(pair, _)| *pair).collect();
        let step = all.len().div_ceil(most).max(1);
        all.into_iter().step_by(step).collect()
    }

    fn station(&self, node: NodeId) -> Station {
        let own = || self.plan.addresses().node[node.index()][0];
        let address = self.frr.as_ref().map_or_else(own, |_| IpAddr::V4(address(node)));
        (self.directory.netns(&self.plan.cluster().node(node).name), address)
    }

    /// Waits until the fabric has recovered; returns the paths then. Our paths that broke several
    /// times are held down for up to a minute: instead the lab is rebuilt.
    fn whole(&self) -> Result<Paths, String> {
        if self.frr.is_none() {
            match self.whole_within(Duration::from_secs(8)) {
                Err(_) => {
                    output(&DOWN)?;
                    output(self.up)?;
                }
                whole => return whole,
            }
        }
        self.whole_within(Duration::from_secs(180))
    }

    fn whole_within(&self, time: Duration) -> Result<Paths, String> {
        let until = Instant::now() + time;
        loop {
            let found = match &self.frr {
                Some(frr) => frr.watched().and_then(|()| frr.paths(self.plan, &self.directory)),
                None => self.ours(),
            };
            match found {
                Err(words) if Instant::now() > until => {
                    return Err(format!("it does not become whole: {words}"));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
                Ok(paths) => return Ok(paths),
            }
        }
    }

    /// Returns the planned paths if every node is in sync, all sessions are up and no path is
    /// broken.
    fn ours(&self) -> Result<Paths, String> {
        for node in &self.plan.cluster().nodes {
            let client = Client::connect(self.directory.socket(&node.name));
            let status =
                client.and_then(|mut client| client.status()).map_err(|e| e.to_string())?;
            let up = status.sessions > 0 && status.sessions_up == status.sessions;
            if !(status.in_sync && status.pending.is_empty() && status.broken.is_empty() && up) {
                return Err(format!("{}: {status:?}", node.name));
            }
        }
        let wires = |(from, to)| {
            let primary = self.plan.primary(from, to);
            let wires = primary.iter().flat_map(|segment| self.plan.crossings(segment));
            ((from, to), wires.collect())
        };
        Ok(self.plan.pairs().map(wires).collect())
    }
}
