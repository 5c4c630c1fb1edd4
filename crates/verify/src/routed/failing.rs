//! Fails the parts of a node-routed fabric one by one, and counts the pairs whose packets no longer arrive by the
//! routes that nodes hold. Backups are judged on the way: each must arrive while nothing has failed, by other NICs
//! than the primary's first one, and in at most [`ASIDE`] hops more than the shortest path by these; where the file lists the
//! cables, more are no fault, but said.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_topology::Hop;
use tresse_topology::cluster::{NicEnd, Strategy};

use super::fabric::{Fabric, WALKED};
use super::faults::{Faults, least};
use super::switches;
use super::walk::{Seen, Walk};
use crate::failures::Worst;
use crate::names::{nic_name, of_pair};
use crate::{Failures, Finding, Report};

/// Hops that a backup may take beside the shortest path around its first cable: a step aside, and one back.
const ASIDE: u32 = 2;
/// Most (node, destination) pairs that are walked for failures in a larger one.
const SAMPLED: usize = 1 << 19;

impl Fabric<'_> {
    /// Adds to the report the effect of every single failure under the routes that nodes hold: pairs whose
    /// packets no longer arrive, if every node knows which neighbours it has lost. Faults of backups are violations.
    pub fn failures(&self, report: &mut Report) {
        let cluster = self.plan.cluster();
        let notes = &mut report.notes;
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
        let nic_name = |nic| nic_name(self.plan, &self.wires.first, nic);
        let mut faults = Faults { longer: self.too_long(lost.long), ..lost.faults };
        if cluster.routing.strategy == Strategy::Shortest {
            // A node has one redirection for the failures of all hops behind it.
            let long = "the backup is more than two hops longer than the shortest path by other NICs: nodes on it send \
                        on for failures farther away too";
            notes.extend(of_pair(self.plan, "long-backup", faults.longer.take(), long));
        }
        report.loop_free &= faults.looping.is_none();
        report.violations.extend(faults.of_backups(self.plan));
        let switches = match self.wires.shared {
            true => switches::lost(self, step),
            false => lost.switches,
        };
        if self.wires.shared {
            let pairs = self.nodes.div_ceil(step) * (self.nodes - 1);
            notes.extend(switches::shared(self, &switches, pairs));
        }
        let link = if self.wires.switched {
            Worst::of(&lost.nics, nic_name)
        } else {
            // A cable is lost with any of its NICs.
            let mut cables: BTreeMap<u32, (u64, [usize; 2])> = BTreeMap::new();
            for (a, b) in cluster.direct_cables() {
                let ends = [a, b].map(|end| self.nic(end));
                let cable = cables.entry(self.wires.cable[ends[0]]).or_insert((0, ends));
                cable.0 += ends.iter().map(|nic| lost.nics[*nic]).sum::<u64>();
            }
            let (lost, ends): (Vec<u64>, Vec<[usize; 2]>) = cables.into_values().unzip();
            Worst::of(&lost, |c| format!("{} - {}", nic_name(ends[c][0]), nic_name(ends[c][1])))
        };
        report.failures = Failures {
            link,
            switch: Worst::of(&switches, |s| cluster.switches[s].name.clone()),
            node: Worst::of(&lost.nodes, |n| cluster.nodes[n].name.clone()),
            pairs_without_disjoint_backup: 0,
        };
    }

    /// Walks every (node, destination) whose next hop fails, for one destination in `step`. The
    /// path before the failure is intact, so all sources behind the node share its fate and are
    /// counted with it.
    pub fn walk_failures(&self, step: usize) -> Lost {
        let lost = || Lost {
            nics: vec![0; self.nics],
            switches: vec![0; self.plan.cluster().switches.len()],
            nodes: vec![0; self.nodes],
            faults: Faults::default(),
            long: Vec::new(),
        };
        (0..self.nodes.div_ceil(step))
            .into_par_iter()
            .fold(
                || (lost(), Walk::of(self), Seen::none(self)),
                |(mut lost, mut walk, mut seen), d| {
                    let to = NodeId::from(d * step);
                    walk.destination(self, to, &mut seen);
                    walk.measure(to);
                    for at in (0..self.nodes).filter(|at| *at != to.index()) {
                        self.fail_at(at.into(), to, &walk, &mut lost);
                    }
                    (lost, walk, seen)
                },
            )
            .map(|(lost, ..)| lost)
            .reduce(lost, Lost::merge)
    }

    /// Fails, one by one, everything that the next hop from `at` needs, for the pairs that pass here.
    fn fail_at(&self, at: NodeId, to: NodeId, walk: &Walk, lost: &mut Lost) {
        let hop = self.routes.find(at, None, to).main;
        if !self.wires.lead(at, &hop) {
            return; // The survey of the primaries has found it.
        }
        let pairs = walk.count[at.index()];
        if hop.to != to && self.routes.find(hop.to, Some(hop.to_nic), to).table.is_some() {
            lost.faults.redirected = least(lost.faults.redirected, (at, to));
        }
        let (own, far) =
            (NicEnd { node: at, nic: hop.nic }, NicEnd { node: hop.to, nic: hop.to_nic });
        let there = |hop: &Hop| NicEnd { node: hop.to, nic: hop.to_nic };
        let line = self.wire(own);
        // A cable between nodes may join several pairs of NICs, which fail together.
        let cable = |end: NicEnd| self.wires.cable[self.nic(end)];
        // If the path of the backup needs no failed part, packets take it: by its own NIC, the far NIC, line, node and cable.
        let mut met = [false; 5];
        let backup = self.routes.backup(at, to);
        let (mut here, mut next, mut hops, mut misled) = (at, backup, 0, false);
        while let Some(way) = next.filter(|_| !met[0] && hops <= self.nodes) {
            if !self.wires.lead(here, &way) {
                misled = true;
                break;
            }
            let end = NicEnd { node: here, nic: way.nic };
            met[0] |= end == own || there(&way) == own;
            if self.wires.switched {
                met[1] |= end == far || there(&way) == far;
                met[2] |= self.wire(end) == line;
            }
            met[3] |= here == hop.to || way.to == hop.to;
            met[4] |= cable(end) == cable(own);
            hops += 1;
            here = way.to;
            if here == to {
                break;
            }
            let found = self.routes.find(here, Some(way.to_nic), to);
            next = Some(found.table.unwrap_or(found.main));
        }
        if here != to {
            met = [true; 5];
        }
        if backup.is_some() {
            if misled {
                lost.faults.misled = least(lost.faults.misled, (at, to));
            } else if met[0] {
                lost.faults.looping = least(lost.faults.looping, (at, to));
            } else if hops as u32 > walk.depth[at.index()] + ASIDE {
                lost.long.push(LongBackup { at, nic: hop.nic, to, hops: hops as u32 });
            }
        }
        let backups = self.plan.cluster().routing.paths > 1;
        let stops = |met: bool, alive: &dyn Fn(NicEnd, &Hop) -> bool| {
            met && !(backups && self.arrives(at, to, alive))
        };
        let stopped = match self.wires.switched {
            true => stops(met[0], &|end, hop| end != own && there(hop) != own),
            false => stops(met[4], &|end, _| cable(end) != cable(own)),
        };
        if stopped {
            lost.nics[self.nic(own)] += pairs;
        }
        if hop.to != to && stops(met[3], &|end, next| end.node != hop.to && next.to != hop.to) {
            lost.nodes[hop.to.index()] += pairs;
        }
        // A cable between nodes has failed with the first of its NICs.
        if !self.wires.switched {
            return;
        }
        if stops(met[1], &|end, hop| end != far && there(hop) != far) {
            lost.nics[self.nic(far)] += pairs;
        }
        // A switch holds one line; several are handled by `switches`.
        if !self.wires.shared && stops(met[2], &|end, _| self.wire(end) != line) {
            lost.switches[line as usize] += pairs;
        }
    }

    /// Returns the first pair whose backup is more than [`ASIDE`] hops longer than the shortest path that does not
    /// leave by the primary's first NIC. One search for each such NIC: O(NICs) each.
    fn too_long(&self, mut long: Vec<LongBackup>) -> Option<(NodeId, NodeId)> {
        long.sort_unstable_by_key(|backup| (backup.at, backup.nic, backup.to));
        let of_nic: Vec<&[LongBackup]> =
            long.chunk_by(|a, b| (a.at, a.nic) == (b.at, b.nic)).collect();
        let first = |backups: &&[LongBackup]| {
            let fewest = self.wires.around(backups[0].at, backups[0].nic);
            let found =
                backups.iter().find(|b| b.hops > fewest[b.to.index()].saturating_add(ASIDE));
            found.map(|backup| (backup.at, backup.to))
        };
        of_nic.par_iter().filter_map(first).min()
    }
}

/// A backup that is more than [`ASIDE`] hops longer than the primary.
#[derive(Debug, Clone, Copy)]
struct LongBackup {
    at: NodeId,
    /// The NIC by which the primary leaves.
    nic: usize,
    to: NodeId,
    hops: u32,
}

/// Ordered pairs lost to each failure.
#[derive(Debug, Clone)]
pub(super) struct Lost {
    pub nics: Vec<u64>,
    pub switches: Vec<u64>,
    pub nodes: Vec<u64>,
    /// Of backups.
    faults: Faults,
    long: Vec<LongBackup>,
}

impl Lost {
    fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.nics, &other.nics);
        add(&mut self.switches, &other.switches);
        add(&mut self.nodes, &other.nodes);
        self.faults = self.faults.merge(other.faults);
        self.long.extend(other.long);
        self
    }
}
