//! Builds the simulated traffic, that is, which node sends messages to which and when, from the
//! arguments of `tresse simulate`.

use std::collections::BTreeMap;
use std::path::Path;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_sim::model::{Buffers, SimulationModel};
use tresse_sim::network::SimulatedNetwork;
use tresse_sim::traffic::{self, OfferedTraffic, Traced, TrafficPattern};

use super::arguments::{Arrivals, Simulate};
use crate::fail::{Code, Failure};
use crate::input;

impl Simulate {
    /// The traffic of all nodes.
    pub fn traffic_of(
        &self,
        plan: &Plan,
        network: &SimulatedNetwork,
        model: &SimulationModel,
    ) -> Result<OfferedTraffic, Failure> {
        let arrivals = match self.arrivals {
            None | Some(Arrivals::Even) => traffic::Arrivals::Even,
            Some(Arrivals::Poisson) => traffic::Arrivals::Poisson,
        };
        let pattern = self.pattern(plan, network, model)?;
        let traffic = OfferedTraffic { pattern, arrivals, bytes: self.message };
        let longest = model.frames(traffic.largest()).max().unwrap_or(1);
        match model.buffers {
            Buffers::Drop { flits } if flits < longest => {
                let words = format!(
                    "--buffers: a frame of {longest} flits does not fit into a buffer of {flits}"
                );
                Err(Failure::new(Code::Usage, words))
            }
            _ => Ok(traffic),
        }
    }

    fn pattern(
        &self,
        plan: &Plan,
        network: &SimulatedNetwork,
        model: &SimulationModel,
    ) -> Result<TrafficPattern, Failure> {
        let text = self.traffic.as_str();
        let wrong =
            |words: String| Failure::new(Code::Usage, format!("--traffic: `{text}`: {words}"));
        let (kind, rest) =
            text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let nodes = network.nodes as u32;
        match (kind, rest) {
            ("uniform", None) => Ok(TrafficPattern::Uniform),
            ("all-to-all", None) => Ok(TrafficPattern::AllToAll),
            ("ring", None) => Ok(TrafficPattern::Permutation((0..nodes).map(|n| (n + 1) % nodes).collect())),
            ("bit-reversal", None) if nodes.is_power_of_two() => Ok(TrafficPattern::BitReversal),
            ("bit-reversal", None) => Err(wrong(format!("the number of nodes, {nodes}, is not a power of two"))),
            ("local", Some(switches)) => {
                let all = plan.cluster().switches.len() as u32;
                let most = switches.parse().ok().filter(|most| *most <= all).ok_or_else(|| {
                    wrong(format!("expected a number of switches from 0 to {all}, such as local:{}", all.min(3)))
                })?;
                Ok(TrafficPattern::Among(near(plan, most).into()))
            }
            ("hot-spot", Some(rest)) => {
                let (percent, node) =
                    rest.split_once(':').map_or((rest, None), |(p, node)| (p, Some(node)));
                let percent: f64 = percent
                    .parse()
                    .ok()
                    .filter(|percent| (0.0..=100.0).contains(percent))
                    .ok_or_else(|| wrong("expected a percentage, such as hot-spot:5 or hot-spot:5:n03".into()))?;
                let node = match node {
                    Some(name) => {
                        input::node_named(plan.cluster(), name)?
                    }
                    None => NodeId(0),
                };
                Ok(TrafficPattern::HotSpot { node: node.0, share: (percent * 100.0).round() as u32 })
            }
            ("permutation", Some(path)) => {
                permutation(plan, Path::new(path))
            }
            ("trace", Some(path)) => trace(plan, model, Path::new(path)),
            _ => Err(wrong(
                "none of uniform, bit-reversal, local:SWITCHES, hot-spot:PERCENT[:NODE], permutation:FILE, \
                 all-to-all, ring, trace:FILE"
                    .into(),
            )),
        }
    }
}

/// For each node, the nodes at a distance of at most `most` switch-to-switch links on the plan's paths.
fn near(plan: &Plan, most: u32) -> Vec<Vec<u32>> {
    let mut near = vec![Vec::new(); plan.cluster().nodes.len()];
    for (src, dst) in plan.pairs() {
        if plan.distance(src, dst) <= most {
            near[src.index()].push(dst.0);
        }
    }
    near
}

/// A line of a file: its place as `FILE:LINE`, and its words.
struct TraceLine<const N: usize> {
    place: String,
    words: [String; N],
}

impl<const N: usize> TraceLine<N> {
    fn wrong(&self, words: &str) -> Failure {
        Failure::new(Code::BadFile, format!("{}: {words}", self.place))
    }

    fn node(&self, plan: &Plan, at: usize) -> Result<NodeId, Failure> {
        let name = &self.words[at];
        let none = || self.wrong(&format!("the fabric has no node `{name}`"));
        plan.cluster().node_named(name).ok_or_else(none)
    }
}

/// The lines of a file that are neither empty nor a comment; each must have N words.
fn lines<const N: usize>(path: &Path) -> Result<Vec<TraceLine<N>>, Failure> {
    let bytes = input::read_long(path)?;
    let name = path.display().to_string();
    let text = tresse_cluster::text_of(&bytes, &name).map_err(input::refused)?;
    let mut all = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            continue;
        }
        let (found, place) = (words.len(), format!("{}:{at}", path.display()));
        let words = <[String; N]>::try_from(words).map_err(|_| {
            let words = format!("{place}: expected {N} words, found {found}");
            Failure::new(Code::BadFile, words)
        })?;
        all.push(TraceLine { place, words });
    }
    Ok(all)
}

/// Reads lines `FROM TO`. A node stands at most once as either.
fn permutation(plan: &Plan, path: &Path) -> Result<TrafficPattern, Failure> {
    let nodes = plan.cluster().nodes.len();
    let mut to: Vec<u32> = (0..nodes as u32).collect();
    let (mut sends, mut receives) = (vec![false; nodes], vec![false; nodes]);
    for line in lines::<2>(path)? {
        let (from, dst) = (line.node(plan, 0)?, line.node(plan, 1)?);
        let [source, target] = &line.words;
        if std::mem::replace(&mut sends[from.index()], true) {
            return Err(line.wrong(&format!("`{source}` sends to another node already")));
        }
        if std::mem::replace(&mut receives[dst.index()], true) {
            return Err(line.wrong(&format!("another node sends to `{target}` already")));
        }
        to[from.index()] = dst.0;
    }
    Ok(TrafficPattern::Permutation(to.into()))
}

/// Reads lines `NANOSECONDS FROM TO BYTES`.
fn trace(plan: &Plan, model: &SimulationModel, path: &Path) -> Result<TrafficPattern, Failure> {
    let mut messages: BTreeMap<u32, Vec<Traced>> = BTreeMap::new();
    for line in lines::<4>(path)? {
        let [at, _, target, size] = &line.words;
        let ns: Option<f64> = at.parse().ok().filter(|ns| (0.0..=1e15).contains(ns));
        let ns = ns.ok_or_else(|| {
            line.wrong(&format!(
                "`{at}`: expected a time in nanoseconds, at most a million seconds"
            ))
        })?;
        let bytes = size.parse().ok().filter(|bytes| (1..=1 << 20).contains(bytes));
        let bytes = bytes.ok_or_else(|| {
            line.wrong(&format!("`{size}`: expected a size from 1 to 1048576 bytes"))
        })?;
        let (from, dst) = (line.node(plan, 1)?, line.node(plan, 2)?.0);
        if from.0 == dst {
            return Err(line.wrong(&format!("`{target}` sends to itself")));
        }
        let at = (ns / model.cycle_ns) as u64;
        messages.entry(from.0).or_default().push(Traced { at, dst, bytes });
    }
    if messages.is_empty() {
        return Err(Failure::new(Code::BadFile, format!("{}: no message", path.display())));
    }
    let nodes = 0..plan.cluster().nodes.len() as u32;
    let sorted = nodes.map(|node| {
        let mut own = messages.remove(&node).unwrap_or_default();
        own.sort_by_key(|message| message.at);
        own
    });
    Ok(TrafficPattern::Trace(sorted.collect()))
}
