//! Fails the parts of a node-routed fabric one by one, and counts the pairs whose packets no longer arrive by the
//! routes that nodes hold.

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_topology::Hop;
use tresse_topology::cluster::NicEnd;

use super::fabric::{Fabric, WALKED};
use super::switches;
use super::walk::Walk;
use crate::failures::Worst;
use crate::names::nic_name;
use crate::{Failures, Finding};

/// Most (node, destination) pairs that are walked for failures in a larger one.
const SAMPLED: usize = 1 << 19;

impl Fabric<'_> {
    /// Returns the effect of every single failure under the routes that nodes hold: pairs whose
    /// packets no longer arrive, if every node knows which neighbours it has lost.
    pub fn failures(&self, notes: &mut Vec<Finding>) -> Failures {
        let cluster = self.plan.cluster();
        let layout = self.xy.layout();
        let step =
            if self.nodes <= WALKED { 1 } else { (self.nodes * self.nodes).div_ceil(SAMPLED) };
        let lost = self.walk_failures(step);
        if step > 1 {
            let walked = self.nodes.div_ceil(step);
            notes.push(Finding {
                kind: "sampled-failures",
                object: format!("{} nodes", self.nodes),
                message: format!(
                    "what single failures leave was walked for {walked} destinations, spread evenly; \
                     all else of this report is of all pairs"
                ),
            });
        }
        let nic_name = |nic| nic_name(self.plan, &self.first, nic);
        let switches = match layout.shares_switches() {
            true => switches::lost(self, step),
            false => lost.switches,
        };
        if layout.shares_switches() {
            let pairs = self.nodes.div_ceil(step) * (self.nodes - 1);
            notes.extend(switches::shared(self.plan, &switches, pairs));
        }
        let link = if layout.has_switches() {
            Worst::of(&lost.nics, nic_name)
        } else {
            // A cable is lost with either of its NICs.
            let ends: Vec<_> =
                cluster.direct_cables().map(|(a, b)| (self.nic(a), self.nic(b))).collect();
            let both: Vec<u64> = ends.iter().map(|(a, b)| lost.nics[*a] + lost.nics[*b]).collect();
            Worst::of(&both, |c| format!("{} - {}", nic_name(ends[c].0), nic_name(ends[c].1)))
        };
        Failures {
            link,
            switch: Worst::of(&switches, |s| cluster.switches[s].name.clone()),
            node: Worst::of(&lost.nodes, |n| cluster.nodes[n].name.clone()),
            pairs_without_disjoint_backup: 0,
        }
    }

    /// Walks every (node, destination) whose next hop fails, for one destination in `step`. The
    /// path before the failure is intact, so all sources behind the node share its fate and are
    /// counted with it.
    pub fn walk_failures(&self, step: usize) -> Lost {
        let lost = || Lost {
            nics: vec![0; self.nics],
            switches: vec![0; self.xy.layout().switches()],
            nodes: vec![0; self.nodes],
        };
        (0..self.nodes.div_ceil(step))
            .into_par_iter()
            .fold(
                || (lost(), Walk::of(self), self.unseen()),
                |(mut lost, mut walk, mut seen), d| {
                    let to = NodeId::from(d * step);
                    walk.destination(self, to, &mut seen);
                    for at in (0..self.nodes).filter(|at| *at != to.index()) {
                        self.fail_at(at.into(), to, walk.count[at], &mut lost);
                    }
                    (lost, walk, seen)
                },
            )
            .map(|(lost, ..)| lost)
            .reduce(lost, Lost::merge)
    }

    /// Fails, one by one, everything that the next hop from `at` needs, for the `pairs` that pass
    /// here.
    fn fail_at(&self, at: NodeId, to: NodeId, pairs: u64, lost: &mut Lost) {
        let hop = self.xy.hop(at, to);
        let (own, far) =
            (NicEnd { node: at, nic: hop.nic }, NicEnd { node: hop.to, nic: hop.to_nic });
        let there = |hop: &Hop| NicEnd { node: hop.to, nic: hop.to_nic };
        let lines = self.xy.layout().has_switches();
        let line_of = |end: NicEnd| self.xy.layout().line(end.node, end.nic);
        let line = if lines { line_of(own) } else { 0 };
        // If the path through the spare needs no failed part, packets take it: by its own NIC, the
        // far NIC, line and node.
        let mut met = [self.plan.cluster().routing.paths < 2; 4];
        let (mut here, mut next, mut hops) = (at, self.xy.spare(at, to), 0);
        while let Some(way) = next.filter(|_| !met[0] && hops <= self.nodes) {
            let end = NicEnd { node: here, nic: way.nic };
            met[0] |= end == own || there(&way) == own;
            met[1] |= end == far || there(&way) == far;
            met[2] |= lines && line_of(end) == line;
            met[3] |= here == hop.to || way.to == hop.to;
            hops += 1;
            here = way.to;
            if here == to {
                break;
            }
            next = self.xy.next(here, Some(way.to_nic), to);
        }
        if here != to {
            met = [true; 4];
        }
        let backups = self.plan.cluster().routing.paths > 1;
        let stops = |met: bool, alive: &dyn Fn(NicEnd, &Hop) -> bool| {
            met && !(backups && self.arrives(at, to, alive))
        };
        if stops(met[0], &|end, hop| end != own && there(hop) != own) {
            lost.nics[self.nic(own)] += pairs;
        }
        if hop.to != to && stops(met[3], &|end, next| end.node != hop.to && next.to != hop.to) {
            lost.nodes[hop.to.index()] += pairs;
        }
        // A cable between nodes has failed with the first of its NICs.
        if !lines {
            return;
        }
        if stops(met[1], &|end, hop| end != far && there(hop) != far) {
            lost.nics[self.nic(far)] += pairs;
        }
        // A switch holds one line; several are handled by `switches`.
        if !self.xy.layout().shares_switches() && stops(met[2], &|end, _| line_of(end) != line) {
            lost.switches[line] += pairs;
        }
    }
}

/// Ordered pairs lost to each failure.
#[derive(Debug, Clone)]
pub(super) struct Lost {
    pub nics: Vec<u64>,
    pub switches: Vec<u64>,
    pub nodes: Vec<u64>,
}

impl Lost {
    fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.nics, &other.nics);
        add(&mut self.switches, &other.switches);
        add(&mut self.nodes, &other.nodes);
        self
    }
}
