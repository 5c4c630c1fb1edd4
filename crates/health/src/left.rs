//! What failures leave of a plan: how the daemons reach a node without some parts of the fabric, once all know of it.
//!
//! This is the code by which they go round failures (`tresse_plan::remaining`): where nodes route, hop by hop;
//! elsewhere over nodes that join planned paths.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_plan::remaining::{self, HopState, Remaining};
use tresse_slice::watch::Crossing;
use tresse_slice::watch::part::{FabricPart, FabricParts};
use tresse_topology::Hop;
use tresse_topology::path::Path;

/// A plan, and what is needed to ask what failures leave of it.
#[derive(Debug)]
pub struct Left<'a> {
    plan: &'a Plan,
    /// The parts that may fail, by name.
    pub parts: FabricParts,
    /// How nodes go round failures.
    remaining: Option<Remaining>,
    /// Do they go round them?
    heals: bool,
    /// By source and destination: what each planned path crosses. Where planned paths are joined.
    paths: BTreeMap<(NodeId, NodeId), Vec<Vec<Crossing>>>,
}

/// How a node is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// By the planned path of this rank.
    Planned(u32),
    /// By these nodes, the ends with them.
    Round(Vec<NodeId>),
    /// Not at all.
    Not,
}

impl<'a> Left<'a> {
    /// Of a plan.
    pub fn new(plan: &'a Plan) -> Self {
        let cluster = plan.cluster();
        let (remaining, heals) = (Remaining::of(cluster), cluster.routing.paths > 1);
        let joins = heals && remaining.as_ref().is_some_and(Remaining::joins_paths);
        let crossed = |(src, dst): (NodeId, NodeId)| {
            let paths = plan.paths(src, dst);
            ((src, dst), paths.iter().map(|path| plan.path_crossings(path)).collect())
        };
        let paths = plan.pairs().filter(|_| joins).map(crossed).collect();
        Self { plan, parts: FabricParts::of(cluster, plan.graph()), remaining, heals, paths }
    }

    /// Are planned paths joined where none is whole?
    pub fn joins_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Do nodes route, each by the next hop?
    fn goes_by_hops(&self) -> bool {
        self.heals && self.remaining.as_ref().is_some_and(|remaining| !remaining.joins_paths())
    }

    /// How `src` reaches `dst` without what these crossings belong to.
    pub fn reached(&self, src: NodeId, dst: NodeId, broken: &BTreeSet<Crossing>) -> Reached {
        match self.first_whole(&self.plan.paths(src, dst), broken) {
            Some(rank) => Reached::Planned(rank),
            None => {
                self.ways(dst, broken).map_or(Reached::Not, |ways| self.by_ways(src, dst, &ways))
            }
        }
    }

    /// The rank of the first path that crosses nothing broken, where nodes choose by path.
    pub fn first_whole(&self, paths: &[Path], broken: &BTreeSet<Crossing>) -> Option<u32> {
        if self.goes_by_hops() {
            return None;
        }
        let whole = |path: &&Path| is_whole(&self.plan.path_crossings(path), broken);
        paths.iter().find(whole).map(|path| path.id.rank)
    }

    /// How each node sends to `dst`, where nodes go round failures.
    pub fn ways(&self, dst: NodeId, broken: &BTreeSet<Crossing>) -> Option<Vec<remaining::Way>> {
        let remaining = self.remaining.as_ref().filter(|_| self.heals)?;
        let state = |from: NodeId, at: usize| match self.is_broken(
            broken,
            from,
            remaining.hops(from)[at],
        ) {
            true => HopState::Broken,
            false => HopState::Sound,
        };
        Some(remaining.ways(dst, state, |_| true))
    }

    /// How `src` reaches `dst` by these ways.
    pub fn by_ways(&self, src: NodeId, dst: NodeId, ways: &[remaining::Way]) -> Reached {
        if ways[src.index()] == remaining::Way::Planned && !self.joins_paths() {
            return Reached::Planned(0);
        }
        let walked = self.remaining.as_ref().and_then(|remaining| remaining.walk(src, dst, ways));
        let Some(nodes) = walked else { return Reached::Not };
        if self.joins_paths() {
            return Reached::Round(nodes);
        }
        let leads_by = |path: &&Path| {
            let on = path.segments.iter().map(|segment| segment.to);
            std::iter::once(src).chain(on).eq(nodes.iter().copied())
        };
        match self.plan.paths(src, dst).iter().find(leads_by) {
            Some(path) => Reached::Planned(path.id.rank),
            None => Reached::Round(nodes),
        }
    }

    /// The nodes that whole cables join to one, over switches and nodes in transit.
    pub fn joined(&self, from: NodeId, broken: &BTreeSet<Crossing>) -> BTreeSet<NodeId> {
        if let Some(remaining) = self.remaining.as_ref().filter(|of| !of.joins_paths()) {
            return remaining.joined(from, |from, hop| !is_broken(broken, from, hop));
        }
        let cluster = self.plan.cluster();
        // No path uses the cables of an uplink but those of nodes that are on no other switch.
        let uplinks = cluster.links.iter().filter(|link| cluster.is_uplink(link));
        let uplinks = uplinks.filter_map(|link| {
            let name = format!("{}:{}", cluster.switch(link.a.switch).name, link.a.port);
            self.parts.named(&name).ok()
        });
        let without = broken.iter().copied().chain(crossings(&uplinks.collect::<Vec<_>>()));
        let may = |node: NodeId| cluster.node(node).transit;
        let mut joined = self.parts.joined_over(from, &without.collect(), may);
        let behind = |node: &NodeId| cluster.is_behind_uplink(*node);
        let nodes = (0..cluster.nodes.len()).map(NodeId::from);
        if nodes.clone().any(|node| behind(&node)) {
            let all = self.parts.joined_over(from, broken, may);
            joined.extend(all.into_iter().filter(|node| behind(&from) || behind(node)));
        }
        joined
    }

    /// Is a hop broken: a cable, or all planned paths from one node to another?
    fn is_broken(&self, broken: &BTreeSet<Crossing>, from: NodeId, hop: Hop) -> bool {
        match self.paths.get(&(from, hop.to)) {
            Some(paths) => !paths.iter().any(|path| is_whole(path, broken)),
            None => is_broken(broken, from, hop),
        }
    }

    /// The names of all parts that fail by themselves: switches, nodes, cables.
    pub fn names(&self) -> Vec<String> {
        let cluster = self.plan.cluster();
        let switches = cluster.switches.iter().map(|switch| switch.name.clone());
        let nodes = cluster.nodes.iter().map(|node| node.name.clone());
        let port = |link: &tresse_topology::cluster::Link| {
            format!("{}:{}", cluster.switch(link.a.switch).name, link.a.port)
        };
        let links = cluster.links.iter().map(port);
        // A cable between two nodes has one of its NICs as its name.
        let other = |(_, end): (_, tresse_topology::cluster::NicEnd)| (end.node, end.nic);
        let other: BTreeSet<_> = cluster.direct_cables().map(other).collect();
        let nics = cluster.nodes.iter().enumerate().flat_map(|(at, node)| {
            let nics = node.nics.iter().enumerate();
            let own = nics.filter(|(nic, _)| !other.contains(&(NodeId::from(at), *nic)));
            own.map(|(_, nic)| format!("{}:{}", node.name, nic.name)).collect::<Vec<_>>()
        });
        switches.chain(nodes).chain(links).chain(nics).collect()
    }
}

fn is_whole(crossed: &[Crossing], broken: &BTreeSet<Crossing>) -> bool {
    crossed.iter().all(|crossing| !broken.contains(crossing))
}

fn is_broken(broken: &BTreeSet<Crossing>, from: NodeId, hop: Hop) -> bool {
    !is_whole(&[Crossing::Out(from, hop.nic), Crossing::In(hop.to, hop.to_nic)], broken)
}

/// All crossings of some parts.
pub fn crossings<'a>(parts: impl IntoIterator<Item = &'a FabricPart>) -> BTreeSet<Crossing> {
    parts.into_iter().flat_map(|part| part.wires().iter().copied()).collect()
}
