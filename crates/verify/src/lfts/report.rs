//! The result of `tresse check --lfts`, which checks the forwarding tables of an InfiniBand network.

use serde::Serialize;
use tresse_topology::Channel;

use super::LftNetwork;
use super::network::Exit;
use super::walk::{Found, Walk, Witness};
use crate::Finding;

/// The result of `tresse check --lfts`: the findings about the forwarding tables of an InfiniBand
/// network. Fields in common with [`verify::Report`](crate::Report) have the same meaning; here a node
/// is a port of a host, and a primary is the path to the port's base LID (its first address).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LftReport {
    /// Format of this object: 1.
    pub format: u32,
    /// Switches.
    pub switches: usize,
    /// Ports of hosts.
    pub nodes: usize,
    /// Ordered pairs of different nodes.
    pub pairs: u64,
    /// Pairs whose frames arrive.
    pub reachable: u64,
    /// Whether every path that arrives is as short as the cables allow.
    pub minimal: bool,
    /// Whether no frame is sent in a circle.
    pub loop_free: bool,
    /// Whether the channel dependency graph of all paths is acyclic, on one lane.
    pub deadlock_free: bool,
    /// A cycle of directed channels `[from, to]`.
    pub cycle: Option<Vec<[String; 2]>>,
    /// Why each channel of the cycle waits for the next.
    #[serde(rename = "turns")]
    pub dependencies: Option<Vec<ChannelDependency>>,
    /// Mean switch-to-switch cables per path.
    pub mean_hops: f64,
    /// Most paths over one directed switch-to-switch cable.
    pub max_link_load: u64,
    /// Mean over all directed switch-to-switch cables.
    pub mean_link_load: f64,
    /// (nodes - 1) / maximum load over all directed cables, nodes' included, each load scaled by the
    /// slowest node's rate over its own.
    pub ideal_throughput: f64,
    /// Violations of the tables: exit code 1.
    pub violations: Vec<Finding>,
    /// Notes for the operator.
    pub notes: Vec<Finding>,
}

/// A channel dependency: frames that cross three switches in a row occupy the channel (one direction of
/// a cable) from the first switch to the second while they wait for the channel from the second to the
/// third. A cycle of such dependencies can deadlock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelDependency {
    /// The switches.
    pub through: [String; 3],
    /// A node that such frames go to.
    pub destination: String,
}

impl LftReport {
    /// Follows every path of a network. O(nodes' LIDs x switches).
    #[must_use]
    pub fn of(network: &LftNetwork) -> Self {
        let walk = Walk::of(network);
        let nodes = network.hosts.len() as u64;
        let cycle = walk.dependencies.cycle(&network.graph);
        let (mut violations, mut notes) = (Vec::new(), Vec::new());
        violations.extend(looped(network, &walk.looped));
        violations.extend(lost(network, &walk.lost));
        violations.extend(cycle.as_ref().map(|cycle| deadlock(network, cycle)));
        notes.extend(longer(network, &walk.longer));
        if network.rates.is_none() {
            notes.push(Finding {
                kind: "unknown-rate",
                object: "cables".into(),
                message: "not every cable's speed is known: all count as equally fast".into(),
            });
        }
        let ends =
            |c: &Channel| [network.graph.tail(*c), network.graph.head(*c)].map(|s| network.name(s));
        let sum: u64 = walk.loads.iter().sum();
        Self {
            format: 1,
            switches: network.names.len(),
            nodes: network.hosts.len(),
            pairs: nodes * nodes.saturating_sub(1),
            reachable: walk.reachable,
            minimal: walk.longer.first.is_none(),
            loop_free: walk.looped.first.is_none(),
            deadlock_free: cycle.is_none(),
            dependencies: cycle.as_ref().map(|cycle| dependencies(network, cycle)),
            cycle: cycle.map(|cycle| cycle.iter().map(ends).collect()),
            mean_hops: walk.hops as f64 / walk.reachable.max(1) as f64,
            max_link_load: walk.loads.iter().copied().max().unwrap_or(0),
            mean_link_load: sum as f64 / walk.loads.len().max(1) as f64,
            ideal_throughput: ideal_throughput(network, &walk),
            violations,
            notes,
        }
    }
}

impl LftNetwork {
    fn name(&self, switch: u32) -> String {
        self.names[switch as usize].clone()
    }

    fn pair(&self, witness: Witness) -> String {
        let Witness { switch, host, lid } = witness;
        format!("{} {} (LID {lid})", self.names[switch as usize], self.hosts[host].name)
    }

    fn way(&self, switches: &[u32]) -> String {
        let names: Vec<_> = switches.iter().map(|s| self.names[*s as usize].as_str()).collect();
        names.join(" -> ")
    }
}

fn looped(network: &LftNetwork, found: &Found) -> Option<Finding> {
    let witness = found.first?;
    let way = network.follow(witness.switch, witness.lid);
    let start = way.iter().position(|s| way.last() == Some(s)).unwrap_or(0);
    Some(Finding {
        kind: "loop",
        object: network.pair(witness),
        message: format!("frames go round {}{}", network.way(&way[start..]), more(found)),
    })
}

fn lost(network: &LftNetwork, found: &Found) -> Option<Finding> {
    let witness = found.first?;
    let way = network.follow(witness.switch, witness.lid);
    let last = *way.last()?;
    let why =
        match (network.tables[last as usize].port(witness.lid), network.exit(last, witness.lid)) {
            (None, _) => "has no entry".into(),
            (Some(0), _) => "keeps them itself".into(),
            (Some(port), Exit::Host(h)) => {
                format!("sends them out of port {port}, to {}", network.hosts[h as usize].name)
            }
            (Some(port), _) => format!("sends them out of port {port}, where no cable is"),
        };
    Some(Finding {
        kind: "unreachable",
        object: network.pair(witness),
        message: format!("frames are lost: {} {why}{}", network.name(last), more(found)),
    })
}

fn longer(network: &LftNetwork, found: &Found) -> Option<Finding> {
    let witness = found.first?;
    let way = network.follow(witness.switch, witness.lid);
    Some(Finding {
        kind: "not-minimal",
        object: network.pair(witness),
        message: format!(
            "the path {} is longer than the shortest one{}",
            network.way(&way),
            more(found)
        ),
    })
}

fn more(found: &Found) -> String {
    format!("; {} pairs of nodes are so", found.pairs)
}

fn deadlock(network: &LftNetwork, cycle: &[Channel]) -> Finding {
    let ends = [network.graph.tail(cycle[0]), network.graph.head(cycle[0])];
    Finding {
        kind: "deadlock",
        object: network.way(&ends),
        message: format!(
            "on one lane the channel dependency graph has a cycle of {} channels, and InfiniBand is \
             lossless: frames can wait for each other for ever. An engine that spreads paths over \
             lanes (dfsssp, lash, torus-2QoS) breaks it by them; under one that does not (updn, \
             minhop) take another root or another engine, such as nue",
            cycle.len()
        ),
    }
}

fn dependencies(network: &LftNetwork, cycle: &[Channel]) -> Vec<ChannelDependency> {
    let graph = &network.graph;
    let next = cycle.iter().cycle().skip(1);
    let through = cycle.iter().zip(next);
    let dependency =
        |((from, to), host): ((&Channel, &Channel), Option<usize>)| ChannelDependency {
            through: [graph.tail(*from), graph.head(*from), graph.head(*to)]
                .map(|s| network.name(s)),
            destination: host.map_or_else(String::new, |host| network.hosts[host].name.clone()),
        };
    through.zip(network.users(cycle)).map(dependency).collect()
}

fn ideal_throughput(network: &LftNetwork, walk: &Walk) -> f64 {
    let slowest = network.hosts.iter().filter_map(|host| host.rate).min();
    let scale = |rate: Option<u64>| match (&network.rates, slowest, rate) {
        (Some(_), Some(unit), Some(rate)) => unit as f64 / rate as f64,
        _ => 1.0,
    };
    let rate = |c: Channel| network.rates.as_ref().map(|r| r[network.graph.link(c).index()]);
    let trunks = (0u32..).zip(&walk.loads).map(|(c, load)| *load as f64 * scale(rate(c)));
    let edges = network.hosts.iter().enumerate().map(|(h, host)| {
        let alike = network.at[host.switch as usize].max(1);
        let sent = walk.sent[host.switch as usize] as f64 / alike as f64;
        sent.max(walk.received[h] as f64) * scale(host.rate)
    });
    let worst = trunks.chain(edges).fold(0.0, f64::max);
    if worst > 0.0 { (network.hosts.len() as f64 - 1.0) / worst } else { 0.0 }
}
