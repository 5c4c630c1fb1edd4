//! How long failures last: faults of every kind in a lab, one after the other, under numbered datagrams.

mod stream;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tresse_control::Client;
use tresse_fabric::id::NodeId;
use tresse_fabric::path::Segment;
use tresse_fabric::plan::Plan;
use tresse_lab::run;
use tresse_lab::state::Directory;

use self::stream::{Station, Streams};
use crate::program::output;

/// Pairs that send at once.
const PAIRS: usize = 12;

/// What fails, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// A switch: all that is on it loses its carrier.
    Switch(usize),
    /// The cable of a NIC, both of whose ends lose their carrier.
    Cable(NodeId, usize),
    /// The same cable carries nothing, and nobody loses a carrier.
    Silent(NodeId, usize),
    /// The same cable carries nothing to the node, and all from it.
    OneWay(NodeId, usize),
}

/// A fault, and who sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Switch,
    OwnCable,
    OthersCable,
    Silent,
    OneWay,
}

impl Row {
    const fn words(self) -> &'static str {
        match self {
            Self::Switch => "switch dead: carrier lost at all senders",
            Self::OwnCable => "cable of the sender's NIC: carrier lost there",
            Self::OthersCable => "cable of another NIC on the path: its node says so",
            Self::Silent => "cable silent both ways, carriers stay",
            Self::OneWay => "cable silent to the node alone",
        }
    }
}

/// A fabric and the lab that it is measured in.
pub struct Fabric<'a> {
    /// What it is called in the table.
    pub name: &'a str,
    /// Its cluster file's `topology`.
    pub topology: &'a str,
    /// One of so many NICs has its cable cut.
    pub every: usize,
}

/// Measures a fabric; the lines of a table.
///
/// # Errors
/// What went wrong, in words.
pub fn measure(fabric: &Fabric<'_>, interval_ms: u16) -> Result<Vec<String>, String> {
    let text = format!("[fabric]\nname = \"failover\"\ntopology = {{ {} }}\n", fabric.topology);
    let file = std::env::temp_dir().join(format!("failover-{}.toml", std::process::id()));
    std::fs::write(&file, &text).map_err(|e| e.to_string())?;
    let cluster = tresse_fabric::cluster::parse(&text, "failover").map_err(|e| e.to_string())?;
    let plan = Plan::build(cluster).map_err(|e| e.to_string())?;
    let path = file.display().to_string();
    let interval = interval_ms.to_string();
    output(&["lab", "--name", NAME, "up", &path, "--bfd-ms", &interval, "--engine", "packet"])?;
    let measured = all(fabric, &plan, interval_ms);
    let down = output(&["lab", "--name", NAME, "down"]);
    let _ = std::fs::remove_file(&file);
    let mut rows = measured?;
    down?;
    let silent = 3 * u128::from(interval_ms) + 20;
    Ok(rows
        .iter_mut()
        .map(|(row, outages)| {
            outages.sort_unstable();
            let ms = |at: usize| outages[at].as_millis();
            let (median, worst) = (ms(outages.len() / 2), ms(outages.len() - 1));
            let limit = if matches!(row, Row::Switch | Row::OwnCable) { 20 } else { silent };
            format!(
                "| {} | {} | {} | {median} | {worst} | {limit} |",
                fabric.name,
                row.words(),
                outages.len()
            )
        })
        .collect())
}

const NAME: &str = "failover";

fn all(
    fabric: &Fabric<'_>,
    plan: &Plan,
    interval_ms: u16,
) -> Result<BTreeMap<Row, Vec<Duration>>, String> {
    let directory = Directory::of(NAME).map_err(|e| e.to_string())?;
    let mut rows: BTreeMap<Row, Vec<Duration>> = BTreeMap::new();
    for fault in faults(plan, fabric.every) {
        whole(plan, &directory)?;
        let crossing = crossing(plan, &fault);
        let stations = |(from, to): &(NodeId, NodeId)| {
            (station(plan, &directory, *from), station(plan, &directory, *to))
        };
        let pairs: Vec<(Station, Station)> = crossing.iter().map(stations).collect();
        let streams = Streams::start(&pairs)?;
        std::thread::sleep(Duration::from_millis(300));
        bring(plan, &directory, &fault, true)?;
        std::thread::sleep(Duration::from_millis(u64::from(interval_ms) * 5 + 500));
        let outages = streams.finish()?;
        bring(plan, &directory, &fault, false)?;
        for (pair, outage) in crossing.iter().zip(outages) {
            rows.entry(row(plan, &fault, *pair)).or_default().push(outage);
        }
    }
    Ok(rows)
}

fn faults(plan: &Plan, every: usize) -> Vec<Fault> {
    let cluster = plan.cluster();
    let nics = cluster
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(node, of)| (0..of.nics.len()).map(move |nic| (NodeId::from(node), nic)));
    let switched = !cluster.switches.is_empty();
    let mut all: Vec<Fault> = (0..cluster.switches.len()).map(Fault::Switch).collect();
    for (node, nic) in nics.step_by(every) {
        all.push(Fault::Cable(node, nic));
        // A cable between nodes has no bridge that could lose frames and keep the carriers.
        all.extend(switched.then_some(Fault::Silent(node, nic)));
        all.push(Fault::OneWay(node, nic));
    }
    all
}

/// Some of the ordered pairs whose primary crosses it.
fn crossing(plan: &Plan, fault: &Fault) -> Vec<(NodeId, NodeId)> {
    let hit = |segment: &Segment| match *fault {
        Fault::Switch(k) => plan.cluster().node(segment.from).nics[segment.nic].switch.index() == k,
        Fault::Cable(node, nic) | Fault::Silent(node, nic) => {
            (segment.from, segment.nic) == (node, nic)
                || (segment.to, segment.to_nic) == (node, nic)
        }
        Fault::OneWay(node, nic) => (segment.to, segment.to_nic) == (node, nic),
    };
    let all: Vec<_> = plan.pairs().filter(|(a, b)| plan.primary(*a, *b).iter().any(hit)).collect();
    let step = all.len().div_ceil(PAIRS).max(1);
    all.into_iter().step_by(step).collect()
}

fn row(plan: &Plan, fault: &Fault, (from, to): (NodeId, NodeId)) -> Row {
    match fault {
        Fault::Switch(_) => Row::Switch,
        Fault::Silent(..) => Row::Silent,
        Fault::OneWay(..) => Row::OneWay,
        Fault::Cable(node, nic) => {
            // Both ends of a cable between nodes lose their carrier, and so one of them is the sender of
            // each segment that crosses it.
            let direct = plan.cluster().switches.is_empty();
            let sends = |s: &Segment| (s.from, s.nic) == (*node, *nic);
            let own = direct || plan.primary(from, to).iter().any(sends);
            if own { Row::OwnCable } else { Row::OthersCable }
        }
    }
}

fn station(plan: &Plan, directory: &Directory, node: NodeId) -> Station {
    let address: IpAddr = plan.addresses().node[node.index()][0];
    (directory.netns(&plan.cluster().node(node).name), address)
}

fn bring(plan: &Plan, directory: &Directory, fault: &Fault, fails: bool) -> Result<(), String> {
    let nic_name = |node: NodeId, nic: usize| {
        let node = plan.cluster().node(node);
        format!("{}:{}", node.name, node.nics[nic].name)
    };
    let verb = if fails { "fail" } else { "heal" };
    let words = |object: &str, silent: bool| -> Result<(), String> {
        let mut words = vec!["lab", "--name", NAME, verb, object];
        words.extend((silent && fails).then_some("--silent"));
        output(&words).map(drop)
    };
    match *fault {
        Fault::Switch(k) => words(&plan.cluster().switches[k].name, false),
        Fault::Cable(node, nic) => words(&nic_name(node, nic), false),
        Fault::Silent(node, nic) => words(&nic_name(node, nic), true),
        Fault::OneWay(node, nic) => {
            // What is longer than its bucket a tbf drops: all of it.
            let record = directory.load_up().map_err(|e| e.to_string())?;
            let place = &plan.cluster().node(node).name;
            let name = &plan.cluster().node(node).nics[nic].name;
            let cables = record.blueprint.cables.iter();
            let mut ends = cables.flat_map(|cable| [(&cable.a, &cable.b), (&cable.b, &cable.a)]);
            let far = ends.find(|(end, _)| end.place == *place && end.interface == *name);
            let far = far.ok_or_else(|| format!("no cable at {place}:{name}"))?.1;
            let line = match fails {
                true => format!(
                    "qdisc add dev {} root tbf rate 8bit burst 1b limit 1b\n",
                    far.interface
                ),
                false => format!("qdisc del dev {} root\n", far.interface),
            };
            run::batch(Some(&directory.netns(&far.place)), "tc", &line).map_err(|e| e.to_string())
        }
    }
}

/// Waits until every node is in sync, all sessions are up and no path is broken.
fn whole(plan: &Plan, directory: &Directory) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(180);
    for node in &plan.cluster().nodes {
        loop {
            let client = Client::connect(directory.socket(&node.name)).map_err(|e| e.to_string());
            let status = client?.status().map_err(|e| e.to_string())?;
            let up = status.sessions > 0 && status.sessions_up == status.sessions;
            if status.in_sync && status.pending.is_empty() && status.broken.is_empty() && up {
                break;
            }
            if Instant::now() > until {
                return Err(format!("{} does not become whole: {status:?}", node.name));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}
