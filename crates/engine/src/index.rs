//! The index of a plan: what control calls need to know of it. It is made once, when the plan is
//! prepared, so that no call has to compute the plan again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tresse_base::id::{NodeId, PathId, SwitchId, TreeId};
use tresse_base::units::{Mac, Prefix};
use tresse_control::{PathLine, SegmentLine};
use tresse_plan::Plan;
use tresse_plan::remaining::{HopState, Remaining};
use tresse_reconcile::Nexthop;
use tresse_slice::first_hop;
use tresse_slice::watch::part::FabricParts;
use tresse_slice::watch::watched_path;
use tresse_topology::cluster::ReflectMode;
use tresse_topology::path::{Crossing, Path, Segment};

/// What control calls need to know of a plan, from the view of one node: the paths from that node,
/// the names of the parts of the fabric (switches, nodes, links, ports and NICs), and the NICs of
/// all nodes by MAC address.
///
/// Paths are kept by number and get their names when they are listed: a large plan has ten
/// thousand paths with a hundred thousand names, which would take as long to make as the slice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// The paths from this node, by destination in the order of the cluster, then by rank.
    pub(super) paths: Vec<PathEntry>,
    /// The segments of all paths.
    segments: Vec<SegmentEntry>,
    /// The switches of all segments.
    switches: Vec<SwitchId>,
    /// The interfaces that paths leave by.
    interfaces: Vec<String>,
    /// The hops between nodes, where nodes watch each other and go round failures.
    pub(super) remaining: Option<Remaining>,
    /// Where detours are used as they are needed: the wires that paths of this node cross, and their rates in bits a second.
    #[serde(default)]
    pub(super) rates: Vec<(Crossing, u64)>,
    /// The parts that operators may name.
    pub(super) parts: FabricParts,
    /// Node and NIC index by MAC address, sorted.
    nics: Vec<(Mac, NodeId, u32)>,
}

/// One path of an [`Index`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PathEntry {
    /// The path.
    pub(super) id: PathId,
    /// Its share of the pair's traffic; 0 for backups.
    pub(super) weight: u32,
    /// The address of its destination.
    pub(super) address: IpAddr,
    /// The watched path whose state is its own.
    pub(super) watched: PathId,
    /// By each address of its destination: the nexthop of traffic on this path.
    pub(super) nexthops: Vec<(Prefix, Nexthop)>,
    /// The crossings of the path.
    pub(super) wires: Vec<Crossing>,
    minimal: bool,
    hops: u32,
    /// Where it stands in `Index::interfaces`.
    interface: u32,
    /// Where they stand in `Index::segments`.
    segments: Range<u32>,
}

/// One segment of a path of an [`Index`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SegmentEntry {
    from: (NodeId, u32),
    to: (NodeId, u32),
    vlan: Option<u16>,
    /// Where they stand in `Index::switches`.
    switches: Range<u32>,
}

impl PathEntry {
    /// The first hops of the path, each with weight 1: in every plan the share is no part of the name.
    pub(super) fn first_hops(&self) -> BTreeSet<Nexthop> {
        self.nexthops.iter().map(|(_, nexthop)| Nexthop { weight: 1, ..nexthop.clone() }).collect()
    }
}

impl Index {
    /// Makes the index of a plan for one of its nodes. O(nodes x paths).
    #[must_use]
    pub fn new(plan: &Plan, node: NodeId) -> Self {
        let cluster = plan.cluster();
        let nics = cluster.nodes.iter().enumerate().flat_map(|(at, node)| {
            (0..).zip(&node.nics).map(move |(nic, of)| (of.mac, NodeId::from(at), nic))
        });
        let mut nics: Vec<_> = nics.collect();
        nics.sort_unstable();
        let mut index = Self {
            remaining: Remaining::of(cluster).filter(|_| cluster.routing.paths > 1),
            parts: FabricParts::of(cluster, plan.graph()),
            nics,
            ..Self::default()
        };
        let mut interfaces = BTreeMap::new();
        for peer in (0..cluster.nodes.len()).map(NodeId::from).filter(|peer| *peer != node) {
            let addresses = plan.addresses();
            let address = addresses.of_node(peer, true).or_else(|| addresses.of_node(peer, false));
            let Some(address) = address else { continue };
            for path in plan.paths(node, peer) {
                index.add(plan, &path, address, &mut interfaces);
            }
        }
        if cluster.routing.reflect == ReflectMode::Adaptive {
            let wires: BTreeSet<Crossing> =
                index.paths.iter().flat_map(|path| path.wires.iter().copied()).collect();
            index.rates = wires.into_iter().map(|wire| (wire, plan.rate(wire).0)).collect();
        }
        index
    }

    /// Adds a path. `interfaces` has the index of each known interface by NIC and tree.
    fn add(
        &mut self,
        plan: &Plan,
        path: &Path,
        address: IpAddr,
        interfaces: &mut BTreeMap<(usize, TreeId), u32>,
    ) {
        let first = &path.segments[0];
        let interface = *interfaces.entry((first.nic, first.tree)).or_insert_with(|| {
            self.interfaces.push(plan.interface(first.from, first.nic, first.tree));
            (self.interfaces.len() - 1) as u32
        });
        let from = self.segments.len() as u32;
        for segment in &path.segments {
            let entry = self.segment(plan, segment);
            self.segments.push(entry);
        }
        let destinations = &plan.addresses().node[path.id.dst.index()];
        let nexthop = |to: &IpAddr| Some((Prefix::host(*to), first_hop(plan, path, to.is_ipv4())?));
        self.paths.push(PathEntry {
            nexthops: destinations.iter().filter_map(nexthop).collect(),
            wires: plan.path_crossings(path),
            id: path.id,
            weight: path.weight,
            address,
            watched: watched_path(plan, path),
            minimal: plan.is_minimal(path),
            hops: path.segments.iter().map(|segment| plan.hops(segment)).sum(),
            interface,
            segments: from..self.segments.len() as u32,
        });
    }

    fn segment(&mut self, plan: &Plan, segment: &Segment) -> SegmentEntry {
        let from = self.switches.len() as u32;
        plan.each_switch(segment, |switch| self.switches.push(switch));
        SegmentEntry {
            from: (segment.from, segment.nic as u32),
            to: (segment.to, segment.to_nic as u32),
            vlan: (segment.tree != TreeId::NONE).then(|| plan.vid(segment.tree).0),
            switches: from..self.switches.len() as u32,
        }
    }

    /// The paths from the node to the one called `peer`, by rank. O(paths).
    pub(super) fn to(&self, peer: &str) -> &[PathEntry] {
        self.pairs().find(|pair| self.node(pair[0].id.dst) == peer).unwrap_or_default()
    }

    /// The paths from the node, one slice for each destination.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &[PathEntry]> {
        self.paths.chunk_by(|a, b| a.id.dst == b.id.dst)
    }

    /// The paths from the node to a destination.
    pub(super) fn pair(&self, dst: NodeId) -> &[PathEntry] {
        let from = self.paths.partition_point(|path| path.id.dst < dst);
        let count = self.paths[from..].partition_point(|path| path.id.dst == dst);
        &self.paths[from..from + count]
    }

    /// Do nodes route, and watch the hops to their neighbours? Else they watch planned paths.
    pub(super) fn goes_by_hops(&self) -> bool {
        self.remaining.as_ref().is_some_and(|remaining| !remaining.joins_paths())
    }

    /// Are the planned paths of others joined at this node, where they are broken?
    pub(super) fn joins_through(&self, node: NodeId) -> bool {
        let joins = self.remaining.as_ref().filter(|remaining| remaining.joins_paths());
        joins.is_some_and(|remaining| remaining.may_pass(node))
    }

    /// The nodes that a path leads through, in order, without its ends.
    pub(super) fn transit_nodes(&self, path: &PathEntry) -> Vec<String> {
        let segments = slice(&self.segments, &path.segments);
        let transits = segments.split_last().map(|(_, rest)| rest).unwrap_or_default();
        transits.iter().map(|segment| self.node(segment.to.0).to_owned()).collect()
    }

    /// What is known of the hop of a path that is best avoided, where nodes route. `state`: what is known of the hop of
    /// a node that has this place among its [`hops`](Remaining::hops).
    pub(super) fn worst_hop(
        &self,
        path: &PathEntry,
        state: impl Fn(NodeId, usize) -> HopState,
    ) -> HopState {
        let of = |segment: &SegmentEntry| {
            let (node, nic) = segment.from;
            let mut hops = self.remaining.as_ref()?.hops(node).iter();
            let at = hops.position(|hop| (hop.nic as u32, hop.to) == (nic, segment.to.0))?;
            Some(state(node, at))
        };
        let segments = slice(&self.segments, &path.segments);
        segments.iter().filter_map(of).max().unwrap_or_default()
    }

    /// The names of the node and of the NIC with this MAC address.
    #[must_use]
    pub fn nic(&self, mac: Mac) -> Option<(&str, &str)> {
        let at = self.nics.partition_point(|(other, ..)| *other < mac);
        let (found, node, nic) = self.nics.get(at)?;
        if *found == mac { self.parts.nic(*node, *nic) } else { None }
    }

    /// The node that each NIC belongs to, where records are passed on between the ends of planned paths.
    pub(super) fn senders(&self) -> BTreeMap<Mac, NodeId> {
        let joins = self.remaining.as_ref().is_some_and(Remaining::joins_paths);
        let nics = self.nics.iter().filter(|_| joins);
        nics.map(|(mac, node, _)| (*mac, *node)).collect()
    }

    /// The name of a node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &str {
        self.parts.node(node).unwrap_or_default()
    }

    /// Names of the nodes that have any of these addresses, as text.
    pub(super) fn owners(&self, addresses: &[String]) -> Vec<String> {
        let addresses: BTreeSet<IpAddr> = addresses.iter().flat_map(|text| text.parse()).collect();
        let of = |pair: &&[PathEntry]| {
            pair[0].nexthops.iter().any(|(to, _)| addresses.contains(&to.address))
        };
        self.pairs().filter(of).map(|pair| self.node(pair[0].id.dst).to_owned()).collect()
    }

    /// The interface that a path leaves by.
    pub(super) fn interface(&self, path: &PathEntry) -> &str {
        self.interfaces.get(path.interface as usize).map_or("", String::as_str)
    }

    /// A path as it is listed, without its state: the one place where a plan's description of a path
    /// becomes that of the control interface.
    pub(super) fn line(&self, path: &PathEntry) -> PathLine {
        let segments = slice(&self.segments, &path.segments);
        PathLine {
            src: self.node(path.id.src).into(),
            dst: self.node(path.id.dst).into(),
            rank: path.id.rank,
            weight: path.weight,
            minimal: path.minimal,
            hops: path.hops,
            segments: segments.iter().map(|segment| self.segment_line(segment)).collect(),
            state: String::new(),
        }
    }

    fn segment_line(&self, segment: &SegmentEntry) -> SegmentLine {
        let end = |(node, nic)| {
            let (node, nic) = self.parts.nic(node, nic).unwrap_or_default();
            (node.to_owned(), nic.to_owned())
        };
        let ((from, nic), (to, to_nic)) = (end(segment.from), end(segment.to));
        let switches = slice(&self.switches, &segment.switches).iter();
        let switches = switches.map(|at| self.parts.switch(*at).unwrap_or_default().to_owned());
        SegmentLine { from, nic, vlan: segment.vlan, switches: switches.collect(), to, to_nic }
    }
}

/// Part of a list; empty where a recording that was changed by hand names what is not there.
fn slice<'a, T>(list: &'a [T], part: &Range<u32>) -> &'a [T] {
    list.get(part.start as usize..part.end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;

    #[test]
    fn a_path_is_listed_as_tresse_paths_prints_it() {
        let kind = TopologyShape::Mesh { dims: vec![3, 2] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Dor, 2)).unwrap();
        let object = |value: Value| value.as_object().unwrap().clone();
        for src in (0..plan.cluster().nodes.len()).map(NodeId::from) {
            let index = Index::new(&plan, src);
            let mut listed = index.paths.iter();
            for dst in plan.pairs().filter(|pair| pair.0 == src).map(|pair| pair.1) {
                for path in plan.paths(src, dst).iter() {
                    let mut printed = object(json!(plan.path_view(path)));
                    let mut listed = object(json!(index.line(listed.next().unwrap())));
                    assert_eq!(printed.remove("format"), Some(json!(1)));
                    assert_eq!(listed.remove("state"), Some(json!("")));
                    assert_eq!(listed, printed);
                }
            }
            assert_eq!(listed.next(), None);
        }
    }
}
