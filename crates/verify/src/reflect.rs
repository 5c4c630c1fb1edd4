//! Computes how much throughput a plan gains by detours through reflectors (nodes that send a frame out
//! of the NIC by which it came in), for the expected demand. It follows every path, and compares the
//! throughput with that of the primary paths alone and with the optimum of the linear program
//! (big-fat-switches-ring-clique-reflector, section 5).

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_plan::{DetourSearch, Plan};
use tresse_topology::cluster::ReflectMode;
use tresse_topology::demand::Demand;
use tresse_topology::path::Path;

use super::Finding;

/// Sources that are walked in one go: a fixed number, so that sums are the same everywhere.
const CHUNK: usize = 64;

/// Throughput for the expected demand without detours, with the detours of the plan, and at the optimum.
/// A detour is a path through a reflector, a node that sends a frame out of the NIC by which it came in.
/// Throughput is that of the busiest node, in units of a node link's rate. For uniform demand the field
/// `direct` is the ideal throughput.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reflect {
    /// `uniform`, or `listed` in the cluster file.
    pub demand: &'static str,
    /// Throughput of the primaries alone.
    pub direct: f64,
    /// Throughput with the weighted siblings of the plan.
    pub achieved: f64,
    /// The linear program's optimum with any number of detours a pair and exact shares; `None` without
    /// `reflect = true`, or where it was not found.
    pub optimum: Option<f64>,
    /// Detours that the linear program chose from.
    pub candidates: usize,
    /// Whether some detours were left out because there are too many.
    pub restricted: bool,
    /// Ordered pairs of nodes with weighted siblings.
    pub pairs: u64,
    /// Weighted siblings of all of them.
    pub siblings: u64,
    /// Nodes that reflect.
    pub reflectors: usize,
}

/// Loads of the demand.
#[derive(Debug, Clone)]
struct Loads {
    /// By channel, then by sending NIC, then by receiving NIC.
    direct: Vec<f64>,
    split: Vec<f64>,
    /// By node, what it sends and receives itself.
    own: Vec<[u64; 2]>,
    pairs: u64,
    siblings: u64,
    reflectors: BTreeSet<NodeId>,
}

impl Reflect {
    /// Returns the result if the cluster file asks for reflectors or lists a demand. O(pairs with
    /// demand).
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let cluster = plan.cluster();
        if cluster.routing.reflect != ReflectMode::Demand && cluster.demand.is_empty() {
            return None;
        }
        let demand = Demand::of(cluster);
        let loads = Loads::of(plan, &demand);
        let nics = || cluster.nodes.iter().flat_map(|n| &n.nics).map(|nic| nic.rate.0);
        let unit = nics().min().unwrap_or(1) as f64;
        let links =
            (0..plan.graph().channels() as u32).map(|c| cluster.link(plan.graph().link(c)).rate.0);
        let rates: Vec<f64> =
            links.chain(nics()).chain(nics()).map(|rate| rate as f64 / unit).collect();
        let busiest = loads.own.iter().flatten().copied().max().unwrap_or(0) as f64;
        let fits = |loads: &[f64]| {
            let worst = loads.iter().zip(&rates).map(|(l, rate)| l / rate).fold(0.0, f64::max);
            throughput(busiest, worst)
        };
        let (optimum, candidates, restricted) = match plan.detour_search() {
            DetourSearch::Found { congestion, candidates, restricted, .. } => {
                (Some(throughput(busiest, congestion)), candidates, restricted)
            }
            DetourSearch::TooManySwitches { .. } | DetourSearch::NoAnswer => (None, 0, false),
        };
        Some(Self {
            demand: demand.name(),
            direct: fits(&loads.direct),
            achieved: fits(&loads.split),
            optimum,
            candidates,
            restricted,
            pairs: loads.pairs,
            siblings: loads.siblings,
            reflectors: loads.reflectors.len(),
        })
    }

    /// Returns notes for the operator.
    pub(super) fn notes(&self, plan: &Plan) -> Vec<Finding> {
        let mut notes = Vec::new();
        let mut note = |message: String| {
            notes.push(Finding { kind: "reflect", object: "detours".into(), message });
        };
        if plan.cluster().routing.reflect != ReflectMode::Demand {
            return notes;
        }
        let Some(optimum) = self.optimum else {
            note(match plan.detour_search() {
                DetourSearch::TooManySwitches { most } => {
                    format!("none are sought in fabrics of more than {most} switches")
                }
                _ => "the linear program has no answer: there are none".into(),
            });
            return notes;
        };
        if optimum <= self.direct * GAIN {
            note(format!("this demand ({}) gains nothing by them", self.demand));
        } else if self.achieved < optimum * ENOUGH {
            let most = plan.most_detours();
            let paths = plan.cluster().routing.paths;
            let limited = matches!(plan.detour_search(), DetourSearch::Found { limited: true, .. });
            let reason = if limited {
                format!("paths = {paths} leaves each pair {most} of them, more may come nearer")
            } else {
                format!(
                    "paths = {paths} leaves each pair {most} of them, and more would change nothing; the rest is lost as \
                     weights are whole numbers, that of the direct path at least 1"
                )
            };
            note(format!(
                "{:.4} of a node link is reached and {optimum:.4} possible: {reason}",
                self.achieved
            ));
        }
        if self.restricted {
            note(format!(
                "the optimum is that of {} of them, the nearest and idlest of each pair: there are \
                 too many to look at all",
                self.candidates
            ));
        }
        if self.pairs > 0 {
            note(
                "a weighted sibling carries its share of the flows even if its path fails: until \
                 a node notices the failure, that share of the pair's flows is lost"
                    .into(),
            );
        }
        notes
    }
}

/// Notes on detours that are used as they are needed.
pub(super) fn adaptive_notes(plan: &Plan) -> Vec<Finding> {
    let cluster = plan.cluster();
    if cluster.routing.reflect != ReflectMode::Adaptive {
        return Vec::new();
    }
    let nodes = cluster.nodes.len();
    let sources = (0..nodes).step_by(nodes.div_ceil(LOOKED_AT).max(1)).map(NodeId::from);
    let pairs: Vec<(NodeId, NodeId)> = sources
        .flat_map(|src| {
            (0..nodes).map(NodeId::from).filter(move |dst| *dst != src).map(move |dst| (src, dst))
        })
        .collect();
    let has_detour = |(src, dst): &(NodeId, NodeId)| {
        let paths = plan.paths(*src, *dst);
        let over = |path: &Path| path.segments.len() > 1 || plan.cluster().routing.use_uplink;
        paths.iter().any(|path| path.weight == 0 && over(path))
    };
    let with = pairs.par_iter().filter(|pair| has_detour(pair)).count();
    let message = match (with, plan.detour_search()) {
        (0, DetourSearch::TooManySwitches { most }) => {
            format!("none are planned in fabrics of more than {most} switches")
        }
        (0, _) => "no pair has a path through a third node: more `paths`, or nodes with `transit = true` beside \
                   other switches, give them some"
            .into(),
        _ => format!(
            "{with} of {} pairs looked at have paths through third nodes{}, which nodes use while their own are full \
             and BFD runs (`bfd` in tressed.toml)",
            pairs.len(),
            if cluster.routing.use_uplink { " or across the uplink" } else { "" }
        ),
    };
    vec![Finding { kind: "reflect", object: "detours".into(), message }]
}

/// So many nodes are looked at.
const LOOKED_AT: usize = 10;

/// A larger factor is a gain worth reporting; a smaller one counts as equal to the optimum.
const GAIN: f64 = 1.0001;
const ENOUGH: f64 = 0.98;

fn throughput(busiest: f64, worst: f64) -> f64 {
    if worst > 0.0 { busiest / worst } else { 0.0 }
}

impl Loads {
    fn of(plan: &Plan, demand: &Demand) -> Self {
        let nodes: Vec<NodeId> = (0..plan.cluster().nodes.len()).map(NodeId::from).collect();
        let first = plan.first_nics();
        let parts: Vec<Self> = nodes
            .par_chunks(CHUNK)
            .map(|sources| {
                let mut loads = Self::empty(plan);
                sources.iter().for_each(|src| loads.add(plan, demand, *src, &first));
                loads
            })
            .collect();
        parts.into_iter().fold(Self::empty(plan), Self::merge)
    }

    fn empty(plan: &Plan) -> Self {
        let nics: usize = plan.cluster().nodes.iter().map(|node| node.nics.len()).sum();
        let resources = plan.graph().channels() + 2 * nics;
        Self {
            direct: vec![0.0; resources],
            split: vec![0.0; resources],
            own: vec![[0; 2]; plan.cluster().nodes.len()],
            pairs: 0,
            siblings: 0,
            reflectors: BTreeSet::new(),
        }
    }

    fn add(&mut self, plan: &Plan, demand: &Demand, src: NodeId, first: &[usize]) {
        let channels = plan.graph().channels();
        let nics = (self.direct.len() - channels) / 2;
        let mut way = Vec::new();
        for (dst, weight) in demand.from(src) {
            self.own[src.index()][0] += weight;
            self.own[dst.index()][1] += weight;
            let paths = plan.carriers(src, dst);
            let sum: u32 = paths.iter().map(|path| path.weight).sum();
            self.pairs += u64::from(paths.len() > 1);
            self.siblings += paths.len() as u64 - 1;
            for path in &paths {
                let share = weight as f64 * f64::from(path.weight) / f64::from(sum);
                for segment in &path.segments {
                    way.clear();
                    plan.walk(segment, &mut way);
                    let sends = channels + first[segment.from.index()] + segment.nic;
                    let receives = channels + nics + first[segment.to.index()] + segment.to_nic;
                    for at in way.iter().map(|c| *c as usize).chain([sends, receives]) {
                        self.split[at] += share;
                        if path.id.rank == 0 {
                            self.direct[at] += weight as f64;
                        }
                    }
                }
                if path.id.rank > 0 {
                    self.reflectors.extend(path.segments[1..].iter().map(|s| s.from));
                }
            }
        }
    }

    fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [f64], b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.direct, &other.direct);
        add(&mut self.split, &other.split);
        for (mine, more) in self.own.iter_mut().zip(&other.own) {
            (mine[0], mine[1]) = (mine[0] + more[0], mine[1] + more[1]);
        }
        self.pairs += other.pairs;
        self.siblings += other.siblings;
        self.reflectors.extend(other.reflectors);
        self
    }
}
