//! What is measured, by the plan: cables, ways through nodes, and disjoint pairs at once.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::path::{Crossing, Path};

/// Pairs of nodes are not looked at beyond so many: a cover of all cables was found long before, or the fabric is so large that
/// only a part of it is probed at once.
const LOOKED_AT: usize = 200_000;

/// One end of what is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// The address by which it is reached.
    pub address: IpAddr,
    /// The NIC that the traffic leaves by, as planned.
    pub nic: usize,
}

/// What kind of thing is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A cable between two nodes.
    Cable,
    /// A planned path between two nodes, across switches.
    Path,
    /// A planned path through a node that forwards.
    Through,
    /// A pair that sends while other pairs do, whose paths share no cable with it.
    Together,
}

/// Something to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub kind: Kind,
    /// Its ends' names: `n0:eth0 - n1:eth1`, `n0 > n5`.
    pub name: String,
    /// The end that sends; of a cable or path the other one does so too, afterwards.
    pub a: End,
    /// The other end.
    pub b: End,
    /// The nodes that forward between them.
    pub by: Vec<NodeId>,
    /// The lowest line rate on the way, in bit/s.
    pub rate: u64,
    /// The largest packet that the plan carries, in bytes with the IP header.
    pub mtu: u32,
}

impl Target {
    /// What a TCP connection gets at most, in bit/s: of each frame the payload beside headers, preamble and gap (IEEE
    /// 802.3), with TCP's time stamps.
    #[must_use]
    pub fn promised(&self) -> f64 {
        let headers = if self.a.address.is_ipv4() { 52 } else { 72 };
        let (payload, wire) = (self.mtu.saturating_sub(headers), self.mtu + 38);
        self.rate as f64 * f64::from(payload) / f64::from(wire)
    }

    /// The nodes that have something to do.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        [self.a.node, self.b.node].into_iter().chain(self.by.iter().copied())
    }
}

/// All that is measured of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Targets {
    /// Cables between nodes; where there are switches, paths that cross all cables that primary paths cross.
    pub cables: Vec<Target>,
    /// For each node that forwards one path through it.
    pub through: Vec<Target>,
    /// Pairs that share no cable in their direction.
    pub together: Vec<Target>,
}

impl Targets {
    /// Those among nodes for which `is_in` is true. O(paths) of at most 200,000 pairs.
    #[must_use]
    pub fn of(plan: &Plan, is_in: impl Fn(NodeId) -> bool) -> Self {
        let mut targets = Self::default();
        if let Some(layout) = plan.layout() {
            targets.cables = cables(plan, layout);
            targets.cables.retain(|target| target.nodes().all(&is_in));
        }
        let is_listed = !targets.cables.is_empty();
        let (mut crossed, mut taken) = (BTreeSet::new(), BTreeSet::new());
        let (mut led, mut sends, mut receives) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let pairs = plan.pairs().filter(|(a, b)| is_in(*a) && is_in(*b)).take(LOOKED_AT);
        let mut near = Vec::new();
        for (a, b) in pairs {
            let Some(path) = plan.carriers(a, b).into_iter().next() else { continue };
            let by: Vec<NodeId> = path.segments[1..].iter().map(|segment| segment.from).collect();
            if !by.iter().copied().all(&is_in) {
                continue;
            }
            let crossings = plan.path_crossings(&path);
            if !is_listed && a < b {
                let back = plan.carriers(b, a).into_iter().next();
                let back = back.iter().flat_map(|path| plan.path_crossings(path));
                let both: Vec<Crossing> = crossings.iter().copied().chain(back).collect();
                if both.iter().any(|crossing| !crossed.contains(crossing)) {
                    crossed.extend(both);
                    targets.cables.extend(target(plan, Kind::Path, &path, &crossings));
                }
            }
            if let [through] = by[..]
                && led.insert(through)
            {
                targets.through.extend(target(plan, Kind::Through, &path, &crossings));
            }
            near.push((crossings.len(), path, crossings));
        }
        // Each to the next, so that no two are left whose partners have each other.
        let nodes = plan.cluster().nodes.len();
        near.sort_by_key(|(length, path, _)| {
            let (a, b) = (path.id.src.index(), path.id.dst.index());
            (*length, (b + nodes - a) % nodes, a)
        });
        for (_, path, crossings) in near {
            let (a, b) = (path.id.src, path.id.dst);
            let is_free = !sends.contains(&a) && !receives.contains(&b);
            if is_free && crossings.iter().all(|crossing| !taken.contains(crossing)) {
                taken.extend(crossings.iter().copied());
                sends.insert(a);
                receives.insert(b);
                targets.together.extend(target(plan, Kind::Together, &path, &crossings));
            }
        }
        targets
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Target> {
        self.cables.iter().chain(&self.through).chain(&self.together)
    }
}

/// The cables between nodes; on a line of nodes at one switch those of each with the next.
fn cables(plan: &Plan, layout: &tresse_topology::Layout) -> Vec<Target> {
    let nodes = layout.nodes();
    let mut seen = BTreeSet::new();
    let mut cables = Vec::new();
    for node in (0..nodes).map(NodeId::from) {
        let nics = &plan.cluster().node(node).nics;
        let hops = layout.neighbours(node);
        for nic in 0..nics.len() {
            let next = hops.iter().filter(|hop| hop.nic == nic);
            let after = |to: NodeId| (to.index() + nodes - node.index()) % nodes;
            let Some(hop) = next.min_by_key(|hop| after(hop.to)) else { continue };
            let ends = [(node, nic), (hop.to, hop.to_nic)];
            if !seen.insert(ends) || seen.contains(&[ends[1], ends[0]]) {
                continue;
            }
            let end = |(node, nic): (NodeId, usize)| {
                let address = *plan.addresses().nic[node.index()][nic].first()?;
                Some(End { node, address, nic })
            };
            let (Some(a), Some(b)) = (end(ends[0]), end(ends[1])) else { continue };
            let [one, other] = ends.map(|(node, nic)| &plan.cluster().node(node).nics[nic]);
            let name = |(node, nic): (NodeId, usize)| {
                let node = plan.cluster().node(node);
                format!("{}:{}", node.name, node.nics[nic].name)
            };
            cables.push(Target {
                kind: Kind::Cable,
                name: format!("{} - {}", name(ends[0]), name(ends[1])),
                a,
                b,
                by: Vec::new(),
                rate: one.rate.0.min(other.rate.0),
                mtu: plan.nic_mtu(one).min(plan.nic_mtu(other)),
            });
        }
    }
    cables
}

fn target(plan: &Plan, kind: Kind, path: &Path, crossings: &[Crossing]) -> Option<Target> {
    let (first, last) = (path.segments.first()?, path.segments.last()?);
    let end = |node: NodeId, nic| {
        let address = *plan.addresses().node[node.index()].first()?;
        Some(End { node, address, nic })
    };
    let name = |node: NodeId| plan.cluster().node(node).name.as_str();
    let (from, to) = (name(first.from), name(last.to));
    let by: Vec<NodeId> = path.segments[1..].iter().map(|segment| segment.from).collect();
    Some(Target {
        kind,
        name: match (kind, &by[..]) {
            (Kind::Path, _) => format!("{from} - {to}"),
            (Kind::Through, [through]) => format!("{from} > {} > {to}", name(*through)),
            _ => format!("{from} > {to}"),
        },
        a: end(first.from, first.nic)?,
        b: end(last.to, last.to_nic)?,
        by,
        rate: crossings.iter().map(|crossing| plan.rate(*crossing).0).min()?,
        // Routes have that of the narrowest path of a pair, as a backup may need labels.
        mtu: plan
            .paths(first.from, last.to)
            .iter()
            .map(|path| plan.path_mtu(&path.segments))
            .min()?,
    })
}

#[cfg(test)]
mod tests {
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;

    fn plan(kind: TopologyShape, strategy: Strategy) -> Plan {
        Plan::build(Cluster::generated(kind, 1, 1, strategy, 2)).unwrap()
    }

    fn names(targets: &[Target]) -> Vec<&str> {
        targets.iter().map(|target| target.name.as_str()).collect()
    }

    #[test]
    fn a_ring_has_its_cables_its_nodes_and_pairs_of_neighbours() {
        let targets = Targets::of(&plan(TopologyShape::Ring { nodes: 4 }, Strategy::Xy), |_| true);
        assert_eq!(targets.cables.len(), 4, "{:?}", names(&targets.cables));
        assert!(names(&targets.cables).contains(&"n0:eth1 - n1:eth0"));
        assert_eq!(targets.through.len(), 4);
        assert_eq!(targets.together.len(), 4, "{:?}", names(&targets.together));
        assert!(targets.cables.iter().all(|t| (t.promised() - 941.5e6).abs() < 1e6));
        let some =
            Targets::of(&plan(TopologyShape::Ring { nodes: 4 }, Strategy::Xy), |node| node.0 < 2);
        assert_eq!((some.cables.len(), some.through.len()), (1, 0));
    }

    #[test]
    fn a_p_mesh_has_each_node_with_the_next_of_its_lines() {
        let kind =
            TopologyShape::Pmesh { dims: vec![3, 4], grow_to: vec![3, 4], lines_per_switch: 1 };
        let targets = Targets::of(&plan(kind, Strategy::Xy), |_| true);
        // Four lines of three and three of four, each a ring.
        assert_eq!(targets.cables.len(), 4 * 3 + 3 * 4);
    }

    #[test]
    fn paths_across_switches_cross_all_that_primaries_cross() {
        let plan = plan(TopologyShape::Torus { dims: vec![3, 3] }, Strategy::Dor);
        let targets = Targets::of(&plan, |_| true);
        let all: BTreeSet<Crossing> =
            plan.pairs().flat_map(|(a, b)| plan.path_crossings(&plan.carriers(a, b)[0])).collect();
        let both = |t: &Target| {
            let ways = [(t.a.node, t.b.node), (t.b.node, t.a.node)];
            ways.into_iter().flat_map(|(a, b)| plan.path_crossings(&plan.carriers(a, b)[0]))
        };
        let crossed: BTreeSet<Crossing> = targets.cables.iter().flat_map(both).collect();
        assert_eq!(crossed, all);
        assert!(targets.cables.len() < 36 && targets.cables.iter().all(|t| t.kind == Kind::Path));
        let mut used = BTreeSet::new();
        for target in &targets.together {
            for crossing in plan.path_crossings(&plan.carriers(target.a.node, target.b.node)[0]) {
                assert!(used.insert(crossing), "{}", target.name);
            }
        }
        assert!(targets.together.len() >= 8, "{:?}", names(&targets.together));
    }
}
