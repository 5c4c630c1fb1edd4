//! Joined planned paths on the study's fabrics whose nodes do not route, judged by a search of the test's own over cables.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::cluster::{Strategy, TopologyShape};
use tresse_topology::path::{Crossing, Path};

use super::*;
use crate::Plan;

/// What can fail: a cable between switches, the cable of a NIC, a switch, a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Link(usize),
    Nic(NodeId, usize),
    Switch(usize),
    Node(NodeId),
}

fn parts(cluster: &Cluster) -> Vec<Part> {
    let nodes = || (0..cluster.nodes.len()).map(NodeId::from);
    let nics = nodes()
        .flat_map(|node| (0..cluster.node(node).nics.len()).map(move |nic| Part::Nic(node, nic)));
    let links = (0..cluster.links.len()).map(Part::Link);
    links
        .chain(nics)
        .chain((0..cluster.switches.len()).map(Part::Switch))
        .chain(nodes().map(Part::Node))
        .collect()
}

/// A fabric some of whose parts have failed, in both directions.
struct Broken<'a> {
    plan: &'a Plan,
    parts: Vec<Part>,
}

impl Broken<'_> {
    fn is_off(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    fn nic_works(&self, node: NodeId, nic: usize) -> bool {
        let of = &self.plan.cluster().node(node).nics[nic];
        let there = match of.peer {
            Some(peer) => {
                !self.is_off(Part::Nic(peer.node, peer.nic)) && !self.is_off(Part::Node(peer.node))
            }
            None => !self.is_off(Part::Switch(of.switch.index())),
        };
        there && !self.is_off(Part::Nic(node, nic)) && !self.is_off(Part::Node(node))
    }

    fn link_works(&self, link: LinkId) -> bool {
        let of = &self.plan.cluster().links[link.index()];
        let switch = |at: SwitchId| !self.is_off(Part::Switch(at.index()));
        !self.is_off(Part::Link(link.index())) && switch(of.a.switch) && switch(of.b.switch)
    }

    fn is_sound(&self, crossing: Crossing) -> bool {
        match crossing {
            Crossing::Out(node, nic) | Crossing::In(node, nic) => self.nic_works(node, nic),
            Crossing::Between(channel) => self.link_works(self.plan.graph.link(channel)),
        }
    }

    /// Is one of the pair's planned paths whole?
    fn has_path(&self, src: NodeId, dst: NodeId) -> bool {
        let is_whole = |path: &Path| {
            self.plan.path_crossings(path).into_iter().all(|crossing| self.is_sound(crossing))
        };
        self.plan.paths(src, dst).iter().any(is_whole)
    }

    /// Has the switch a live node that may be in transit?
    fn has_transit(&self, switch: SwitchId) -> bool {
        self.plan.cluster().nodes.iter().enumerate().any(|(node, of)| {
            let mut nics = of.nics.iter().enumerate();
            let node = NodeId::from(node);
            of.transit && nics.any(|(k, nic)| nic.switch == switch && self.nic_works(node, k))
        })
    }

    /// The nodes that whole cables join with `src`, through nodes that may be in transit and through switches,
    /// perhaps only those that have one.
    fn joined(&self, src: NodeId, all_switches: bool) -> BTreeSet<NodeId> {
        let cluster = self.plan.cluster();
        let (mut nodes, mut switches) = (BTreeSet::from([src]), BTreeSet::new());
        let mut open = vec![src];
        while let Some(node) = open.pop() {
            if node != src && !cluster.node(node).transit {
                continue;
            }
            let mut reached = Vec::new();
            let mut at = Vec::new();
            for (nic, of) in cluster.node(node).nics.iter().enumerate() {
                match of.peer {
                    _ if !self.nic_works(node, nic) => {}
                    Some(peer) => reached.push(peer.node),
                    None => at.push(of.switch),
                }
            }
            while let Some(switch) = at.pop() {
                if !switches.insert(switch) || !all_switches && !self.has_transit(switch) {
                    continue;
                }
                for (link, of) in cluster.links.iter().enumerate() {
                    if self.link_works(LinkId::from(link)) {
                        let ends = [(of.a.switch, of.b.switch), (of.b.switch, of.a.switch)];
                        at.extend(ends.iter().filter(|(a, _)| *a == switch).map(|(_, b)| *b));
                    }
                }
                for (other, of) in cluster.nodes.iter().enumerate() {
                    let other = NodeId::from(other);
                    let mut nics = of.nics.iter().enumerate();
                    if nics.any(|(k, nic)| nic.switch == switch && self.nic_works(other, k)) {
                        reached.push(other);
                    }
                }
            }
            open.extend(reached.into_iter().filter(|node| nodes.insert(*node)));
        }
        nodes.remove(&src);
        nodes
    }
}

/// What sets of failures did to pairs of nodes that are still joined.
#[derive(Debug, Default)]
struct Tally {
    sets: usize,
    pairs: usize,
    /// By number of planned paths, from 1.
    by_paths: [usize; 8],
    /// Pairs that no planned paths join: each way leads through a switch without a live node in transit.
    cut: usize,
}

impl Tally {
    fn add(&mut self, plan: &Plan, parts: &[Part]) {
        self.sets += 1;
        let broken = Broken { plan, parts: parts.to_vec() };
        let whole: BTreeSet<(NodeId, NodeId)> =
            plan.pairs().filter(|(src, dst)| broken.has_path(*src, *dst)).collect();
        let remaining = Remaining::of(plan.cluster()).unwrap();
        let state = |from, at: usize| match whole.contains(&(from, remaining.hops(from)[at].to)) {
            true => HopState::Sound,
            false => HopState::Broken,
        };
        let nodes = || (0..remaining.nodes()).map(NodeId::from);
        let ways: Vec<_> = nodes().map(|dst| remaining.ways(dst, state, |_| true)).collect();
        for src in nodes() {
            let joined = |all| match broken.is_off(Part::Node(src)) {
                true => BTreeSet::new(),
                false => broken.joined(src, all),
            };
            let walk = |dst: NodeId| remaining.walk(src, dst, &ways[dst.index()]);
            let others = nodes().filter(|dst| *dst != src);
            let found: Vec<_> = others.filter_map(|dst| Some((dst, walk(dst)?))).collect();
            let reached: BTreeSet<NodeId> = found.iter().map(|(dst, _)| *dst).collect();
            let (wanted, possible) = (joined(false), joined(true));
            let words = || format!("{}: {parts:?}: from {src:?}: {found:?}", plan.cluster().name);
            assert!(reached.is_superset(&wanted) && reached.is_subset(&possible), "{}", words());
            self.cut += possible.len() - reached.len();
            for (_, nodes) in &found {
                self.pairs += 1;
                self.by_paths[nodes.len() - 1] += 1;
                assert!(
                    nodes.windows(2).all(|hop| whole.contains(&(hop[0], hop[1]))),
                    "{}",
                    words()
                );
            }
        }
    }

    fn judge(&self, name: &str) {
        println!("{name}: {self:?}");
        let two: usize = self.by_paths[..3].iter().sum();
        let share = |pairs: usize| pairs as f64 / (self.pairs + self.cut) as f64;
        assert!(share(two) >= 0.98, "{name}: {self:?}");
        let many: usize = self.by_paths[4..].iter().sum();
        assert!(share(self.cut) < 0.02 && share(many) < 0.001, "{name}: {self:?}");
    }
}

fn plan(kind: TopologyShape, strategy: Strategy) -> Plan {
    Plan::build(Cluster::generated(kind, 1, 1, strategy, 2)).unwrap()
}

/// Those of the eleven fabrics of the study whose nodes do not route.
fn fabrics() -> Vec<Plan> {
    let irregular = |switches| TopologyShape::Irregular { switches, ports: 4, seed: 3 };
    vec![
        plan(TopologyShape::Torus { dims: vec![4, 4] }, Strategy::Dor),
        plan(TopologyShape::Mesh { dims: vec![4, 4] }, Strategy::Dor),
        plan(irregular(16), Strategy::Transit { root: None }),
        plan(irregular(16), Strategy::Updown { root: None }),
        plan(TopologyShape::Clique { ports: 8 }, Strategy::Minimal),
        plan(irregular(32), Strategy::Transit { root: None }),
        plan(irregular(32), Strategy::Updown { root: None }),
        plan(TopologyShape::Torus { dims: vec![4, 4, 4] }, Strategy::Dor),
    ]
}

/// Random sets of failures: cables, NIC cables, switches and nodes as often as the study has them.
fn random_set(plan: &Plan, random: &mut Random, count: usize) -> Vec<Part> {
    let all = parts(plan.cluster());
    let mut set = Vec::new();
    while set.len() < count {
        let of_kind: fn(&&Part) -> bool = match random.below(100) {
            0..60 => |part| matches!(part, Part::Link(_)),
            60..70 => |part| matches!(part, Part::Nic(..)),
            70..85 => |part| matches!(part, Part::Switch(_)),
            _ => |part| matches!(part, Part::Node(_)),
        };
        let of_kind: Vec<Part> = all.iter().filter(of_kind).copied().collect();
        let Some(part) = random.some(&of_kind, 1).pop() else { continue };
        if !set.contains(&part) {
            set.push(part);
        }
    }
    set
}

#[test]
fn whoever_cables_join_is_joined_by_planned_paths_whatever_single_part_has_failed() {
    for plan in fabrics() {
        let mut tally = Tally::default();
        tally.add(&plan, &[]);
        assert_eq!(tally.by_paths[1], tally.pairs);
        let mut all = parts(plan.cluster());
        // The large ones: a part of each sort, from a seed.
        if plan.cluster().nodes.len() > 16 {
            all = Random::new(1).some(&all, 8);
        }
        all.iter().for_each(|part| tally.add(&plan, &[*part]));
        tally.judge(&plan.cluster().name);
    }
}

#[test]
fn whoever_cables_join_is_joined_by_planned_paths_whatever_has_failed() {
    let seed = 7;
    for plan in fabrics().iter().filter(|plan| plan.cluster().nodes.len() <= 16) {
        let mut random = Random::new(seed);
        let mut tally = Tally::default();
        for round in 0..12 {
            let set = random_set(plan, &mut random, 2 + round % 5);
            tally.add(plan, &set);
        }
        tally.judge(&plan.cluster().name);
    }
}

/// All pairs of failures and a thousand random sets of two to six; on the large fabrics some of the pairs. `make soak`.
#[test]
#[ignore = "takes minutes"]
fn long_whoever_cables_join_is_joined_by_planned_paths_whatever_pair_and_set_has_failed() {
    const PAIRS_MOST: usize = 4000;
    let seed = 11;
    let fabrics = fabrics();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let at = || next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        while let Some(plan) = fabrics.get(at()) {
            let mut random = Random::new(seed);
            let all = parts(plan.cluster());
            let pairs = all.iter().enumerate();
            let pairs = pairs.flat_map(|(k, a)| all[..k].iter().map(move |b| [*a, *b]));
            let pairs = random.some(&pairs.collect::<Vec<_>>(), PAIRS_MOST);
            let (mut twos, mut sets) = (Tally::default(), Tally::default());
            pairs.iter().for_each(|pair| twos.add(plan, pair));
            for round in 0..1000 {
                sets.add(plan, &random_set(plan, &mut random, 2 + round % 5));
            }
            let Cluster { name, routing, .. } = plan.cluster();
            twos.judge(&format!("{name} {:?} pairs", routing.strategy));
            sets.judge(&format!("{name} {:?} sets", routing.strategy));
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
}
