//! Failures on every kind of node-routed fabric, judged by a search and a walk of the test's own.

use std::collections::BTreeSet;

use tresse_topology::cluster::{Strategy, TopologyShape};

use super::*;
use crate::Plan;

/// What can fail: a cable or NIC in one direction or both, a line's switch, a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Out(NodeId, usize),
    In(NodeId, usize),
    Nic(NodeId, usize),
    Line(usize),
    Node(NodeId),
}

struct Fabric {
    plan: Plan,
    remaining: Remaining,
    parts: Vec<Part>,
}

impl Fabric {
    fn new(kind: TopologyShape) -> Self {
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
        let remaining = Remaining::of(plan.cluster()).unwrap();
        let layout = plan.layout().unwrap();
        let mut parts = Vec::new();
        for node in (0..layout.nodes()).map(NodeId::from) {
            parts.push(Part::Node(node));
            for nic in 0..plan.cluster().node(node).nics.len() {
                parts.extend([Part::Out(node, nic), Part::In(node, nic), Part::Nic(node, nic)]);
            }
        }
        if layout.has_switches() {
            parts.extend((0..layout.lines()).map(Part::Line));
        }
        Self { plan, remaining, parts }
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.plan.cluster().nodes.len()).map(NodeId::from)
    }

    /// Does a hop carry packets?
    fn carries(&self, from: NodeId, hop: Hop, off: &BTreeSet<Part>) -> bool {
        let layout = self.plan.layout().unwrap();
        let mut parts = vec![
            Part::Node(from),
            Part::Node(hop.to),
            Part::Out(from, hop.nic),
            Part::Nic(from, hop.nic),
            Part::In(hop.to, hop.to_nic),
            Part::Nic(hop.to, hop.to_nic),
        ];
        if layout.has_switches() {
            parts.push(Part::Line(layout.line(from, hop.nic)));
        }
        parts.iter().all(|part| !off.contains(part))
    }

    /// Whom packets of a node reach.
    fn reached(&self, from: NodeId, off: &BTreeSet<Part>) -> BTreeSet<NodeId> {
        let (mut reached, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(node) = open.pop() {
            if node != from && !self.plan.cluster().node(node).transit {
                continue;
            }
            let hops = self.remaining.hops(node).iter();
            let next = hops.filter(|hop| self.carries(node, **hop, off)).map(|hop| hop.to);
            open.extend(next.filter(|next| reached.insert(*next)));
        }
        reached.remove(&from);
        reached
    }

    /// Every pair arrives that can, without a circle, and with the other nexthop of any one node too.
    /// `seed`: of the hops that broke a short while ago, or are drained.
    fn judge(&self, off: &BTreeSet<Part>, seed: Option<u64>) {
        let arriving = |node: NodeId, at: usize| {
            let number =
                |seed| Random::new(seed << 32 ^ u64::from(node.0) << 8 ^ at as u64).number();
            match seed.map(|seed| number(seed) % 5) {
                Some(0) => HopState::Held,
                Some(1) => HopState::Drained,
                _ => HopState::Sound,
            }
        };
        let state = |node: NodeId, at: usize| match self.carries(
            node,
            self.remaining.hops(node)[at],
            off,
        ) {
            true => arriving(node, at),
            false => HopState::Broken,
        };
        let main = self.plan.node_routes().unwrap();
        let reached: Vec<_> = self.nodes().map(|from| self.reached(from, off)).collect();
        for to in self.nodes() {
            let ways = self.remaining.ways(to, state, |_| true);
            let table = |at: NodeId, came: Option<usize>| {
                let found = main.find(at, came, to).table;
                found.filter(|_| !self.remaining.leads_away(at, to, &ways))
            };
            // By which hop goes what came by this NIC, with the other one at `other`.
            let hop =
                |at: NodeId, came: Option<usize>, other: Option<NodeId>| match ways[at.index()] {
                    Way::Planned => Some(table(at, came).unwrap_or_else(|| main.main(at, to))),
                    Way::Backup => table(at, came).or_else(|| main.backup(at, to)),
                    Way::Around { other: Some(hop), .. } if other == Some(at) => Some(hop),
                    Way::Around { hop, .. } => Some(hop),
                    Way::Unproven => panic!("all is known"),
                    Way::Cut => None,
                };
            let arrives = |from: NodeId, other: Option<NodeId>| {
                let (mut at, mut came) = (from, None);
                for _ in self.nodes() {
                    let next = hop(at, came, other).filter(|hop| self.carries(at, *hop, off));
                    let Some(hop) = next else { return false };
                    (at, came) = (hop.to, Some(hop.to_nic));
                    if at == to {
                        return true;
                    }
                }
                panic!("a circle from {from:?} to {to:?} without {off:?}: {ways:?}");
            };
            for from in self.nodes().filter(|from| *from != to) {
                let can = reached[from.index()].contains(&to) && !off.contains(&Part::Node(from));
                for other in [None, Some(from)] {
                    let arrives = arrives(from, other);
                    assert!(arrives || !can, "{from:?} to {to:?} without {off:?}: {ways:?}");
                }
                let keeps = self.remaining.keeps(from, to, state);
                assert_eq!(keeps, ways[from.index()] == Way::Planned, "{from:?} to {to:?}");
            }
        }
    }
}

fn fabrics() -> Vec<Fabric> {
    let pmesh = |dims: [u32; 2]| TopologyShape::Pmesh {
        dims: dims.into(),
        grow_to: dims.into(),
        lines_per_switch: 1,
    };
    let kinds = [
        pmesh([3, 3]),
        TopologyShape::DirectTorus { dims: vec![3, 3] },
        TopologyShape::DirectTorus { dims: vec![2, 2, 2] },
        TopologyShape::DirectMesh { dims: vec![3, 2] },
        TopologyShape::Ring { nodes: 6 },
        TopologyShape::FullMesh { nodes: 5 },
    ];
    kinds.map(Fabric::new).into()
}

#[test]
fn whoever_hops_still_join_is_reached_without_circles_after_two_failures() {
    for fabric in fabrics() {
        fabric.judge(&BTreeSet::new(), None);
        for (at, first) in fabric.parts.iter().enumerate() {
            fabric.judge(&[*first].into(), None);
            fabric.parts[..at]
                .iter()
                .for_each(|second| fabric.judge(&[*first, *second].into(), None));
        }
    }
}

#[test]
fn whoever_hops_still_join_is_reached_without_circles_after_many_failures() {
    let mut random = Random::new(23);
    for mut fabric in fabrics() {
        for round in 0..300_u64 {
            if round == 150 {
                let nodes: Vec<bool> = fabric.nodes().map(|node| node.0 % 3 != 1).collect();
                let mut cluster = fabric.plan.cluster().clone();
                cluster.nodes.iter_mut().zip(&nodes).for_each(|(node, may)| node.transit = *may);
                fabric.remaining = Remaining::of(&cluster).unwrap();
                fabric.plan = Plan::build(cluster).unwrap();
            }
            let parts = 2 + random.below(5);
            let off: BTreeSet<Part> =
                (0..parts).map(|_| fabric.parts[random.below(fabric.parts.len())]).collect();
            fabric.judge(&off, Some(round).filter(|round| round % 3 == 0));
        }
    }
}

#[test]
fn what_nothing_is_known_of_is_used_as_planned_only() {
    let ring = Fabric::new(TopologyShape::Ring { nodes: 4 });
    let to = NodeId(1);
    let place = |from: NodeId, to: NodeId| {
        ring.remaining.hops(from).iter().position(|hop| hop.to == to).unwrap()
    };
    let broken = (NodeId(0), place(NodeId(0), to));
    let state = |of: NodeId, at: usize| match (of, at) == broken {
        true => HopState::Broken,
        false => HopState::Unknown,
    };
    let ways = ring.remaining.ways(to, state, |_| true);
    assert_eq!(ways[..3], [Way::Unproven, Way::Planned, Way::Planned]);
    // To a node that keeps its planned route, by a hop that is known.
    let known = |of: NodeId, at: usize| match (of, at) == (NodeId(0), place(NodeId(0), NodeId(3))) {
        true => HopState::Sound,
        false => state(of, at),
    };
    let ways = ring.remaining.ways(to, known, |_| true);
    assert_eq!(ways[0] == Way::Backup, ways[3] == Way::Planned);
}

/// Its kernel goes on by the planned routes, and goes round nothing.
#[test]
fn a_node_whose_daemon_is_dead_is_crossed_where_its_planned_route_leads_only() {
    let mesh = Fabric::new(TopologyShape::DirectMesh { dims: vec![3, 2] });
    // (0,0), (1,0), (2,0), (0,1), ...
    let [from, dead, to] = [0, 1, 2].map(NodeId);
    let state = |of: NodeId, at: usize| match (of, mesh.remaining.hops(of)[at].to) {
        ends if ends == (dead, to) || ends == (to, dead) => HopState::Broken,
        _ => HopState::Sound,
    };
    let hop = |ways: &[Way]| match ways[from.index()] {
        Way::Around { hop, .. } => hop.to,
        way => panic!("{way:?}"),
    };
    assert_eq!(hop(&mesh.remaining.ways(to, state, |_| true)), dead, "it goes round itself");
    assert_eq!(hop(&mesh.remaining.ways(to, state, |node| node != dead)), NodeId(3));
    let ways = mesh.remaining.ways(NodeId(4), state, |node| node != dead);
    assert_eq!(ways[from.index()], Way::Planned);
}

#[test]
fn one_drained_part_is_told_from_two() {
    let mesh = Fabric::new(TopologyShape::DirectMesh { dims: vec![3, 2] });
    let place = |fabric: &Fabric, from: u32, to: u32| {
        let hops = fabric.remaining.hops(NodeId(from));
        (NodeId(from), hops.iter().position(|hop| hop.to == NodeId(to)).unwrap())
    };
    let hop = |from, to| place(&mesh, from, to);
    assert!(mesh.remaining.are_of_one_part([]));
    assert!(mesh.remaining.are_of_one_part([hop(0, 1), hop(1, 0)]));
    assert!(!mesh.remaining.are_of_one_part([hop(0, 1), hop(1, 2)]));
    let kind = TopologyShape::Pmesh { dims: vec![3, 3], grow_to: vec![3, 3], lines_per_switch: 1 };
    let pmesh = Fabric::new(kind);
    let hop = |from, to| place(&pmesh, from, to);
    assert!(pmesh.remaining.are_of_one_part([hop(0, 1), hop(1, 2), hop(2, 0)]), "a line");
    assert!(pmesh.remaining.are_of_one_part([hop(0, 1), hop(0, 2), hop(2, 0)]), "a NIC");
    assert!(!pmesh.remaining.are_of_one_part([hop(0, 1), hop(1, 4)]));
}

/// Fabrics whose nodes do not route: a hop is all planned paths of a pair. Judged by a search over the hops.
#[test]
fn planned_paths_are_joined_where_none_is_whole() {
    let torus = TopologyShape::Torus { dims: vec![3, 3] };
    let mesh = TopologyShape::Mesh { dims: vec![3, 2] };
    let mut random = Random::new(23);
    for (kind, nics, paths) in [(torus.clone(), 1, 2), (torus, 2, 4), (mesh, 1, 1)] {
        let plan = Plan::build(Cluster::generated(kind, nics, 1, Strategy::Dor, paths)).unwrap();
        let mut cluster = plan.cluster().clone();
        cluster.nodes[4].transit = false;
        let remaining = Remaining::of(&cluster).unwrap();
        assert!(remaining.joins_paths());
        let crossings = |src, dst| -> Vec<BTreeSet<_>> {
            let paths = plan.paths(src, dst);
            paths.iter().map(|path| plan.path_crossings(path).into_iter().collect()).collect()
        };
        let pairs: Vec<_> = plan.pairs().collect();
        let all: BTreeSet<_> =
            pairs.iter().flat_map(|(src, dst)| crossings(*src, *dst)).flatten().collect();
        let all: Vec<_> = all.into_iter().collect();
        let (mut planned, mut around, mut cut) = (0, 0, 0);
        for _ in 0..60 {
            let count = 2 + random.below(5);
            let broken: BTreeSet<_> = random.some(&all, count).into_iter().collect();
            let is_whole =
                |src, dst| crossings(src, dst).iter().any(|path| path.is_disjoint(&broken));
            let whole: BTreeSet<_> =
                pairs.iter().copied().filter(|(src, dst)| is_whole(*src, *dst)).collect();
            let state = |from: NodeId, at: usize| {
                let to = remaining.hops(from)[at].to;
                if whole.contains(&(from, to)) { HopState::Sound } else { HopState::Broken }
            };
            for to in (0..remaining.nodes()).map(NodeId::from) {
                let ways = remaining.ways(to, state, |_| true);
                for from in (0..remaining.nodes()).map(NodeId::from).filter(|from| *from != to) {
                    let joined =
                        remaining.joined(from, |from, hop| whole.contains(&(from, hop.to)));
                    let walked = remaining.walk(from, to, &ways);
                    assert_eq!(walked.is_some(), joined.contains(&to), "{from:?} to {to:?}");
                    let Some(nodes) = walked else {
                        cut += 1;
                        continue;
                    };
                    assert!(nodes.windows(2).all(|hop| whole.contains(&(hop[0], hop[1]))));
                    match nodes.len() {
                        2 => planned += 1,
                        _ => around += 1,
                    }
                }
            }
        }
        assert!(planned > around && around > 0 && cut > 0, "{planned} {around} {cut}");
    }
}

/// Nothing but its own word shows that a node sends on what is not for itself, and by whole paths.
#[test]
fn paths_are_joined_at_nodes_that_say_that_theirs_are_sound() {
    let torus = TopologyShape::Torus { dims: vec![2, 2] };
    let plan = Plan::build(Cluster::generated(torus, 1, 1, Strategy::Dor, 2)).unwrap();
    let remaining = Remaining::of(plan.cluster()).unwrap();
    let [from, to, other, last] = [0, 3, 1, 2].map(NodeId);
    let way = |known: HopState, speaks: bool| {
        let state = |node: NodeId, at: usize| match (node, remaining.hops(node)[at].to) {
            (node, there) if (node, there) == (from, to) => HopState::Broken,
            (node, there) if (node, there) == (other, to) => known,
            (node, there) if (node, there) == (last, to) => HopState::Broken,
            _ => HopState::Sound,
        };
        let ways = remaining.ways(to, state, |node| speaks || node != other);
        remaining.walk(from, to, &ways)
    };
    assert_eq!(way(HopState::Sound, true), Some(vec![from, other, to]));
    assert_eq!(way(HopState::Held, true), Some(vec![from, other, to]));
    assert_eq!(way(HopState::Unknown, true), Some(vec![from, other, to]), "better than none");
    assert_eq!(way(HopState::Broken, true), None);
    assert_eq!(way(HopState::Sound, false), None);
}
