//! Describes the paths of one pair in full: every switch and port on them, and why the planner
//! chose them (`tresse trace`).

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;
use tresse_base::id::{Label, NodeId, SwitchId, TreeId, Vid};
use tresse_base::units::Mac;
use tresse_topology::path::{Path, Segment};
use tresse_topology::vlan::Role;

use super::Plan;

/// All paths of an ordered pair of nodes with every switch and port on them, and why the planner chose them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    /// Format of this object: 1.
    pub format: u32,
    /// Digest of the plan.
    pub generation: String,
    /// Source node.
    pub src: String,
    /// Its stable addresses.
    pub src_addresses: Vec<IpAddr>,
    /// Destination node.
    pub dst: String,
    /// Its stable addresses.
    pub dst_addresses: Vec<IpAddr>,
    /// Fewest switch-to-switch links between the two.
    pub distance: u32,
    /// IP MTU between them: the smallest of all paths.
    pub mtu: u32,
    /// Why the primary path is this one, one sentence per choice; then one per weighted sibling.
    pub why: Vec<String>,
    /// Every path by rank.
    pub paths: Vec<TracedPath>,
}

/// One path of a [`Trace`]: its weight, hops, MTU and segments (each from one node to the next), and what it shares with
/// the primary path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedPath {
    /// 0 is the primary.
    pub rank: u32,
    /// Share of the pair's traffic.
    pub weight: u32,
    /// Is it as short as the fabric allows?
    pub minimal: bool,
    /// Switch-to-switch links crossed.
    pub hops: u32,
    /// IP MTU of this path.
    pub mtu: u32,
    /// Its segments, in order.
    pub segments: Vec<TracedSegment>,
    /// Does it share neither a switch-to-switch link, a switch nor a NIC with the primary? `None`
    /// on the primary itself.
    pub disjoint: Option<bool>,
    /// What it shares with the primary: links `s00:2-s01:3`, switches, NICs `n00 eth0`.
    pub shared: Vec<String>,
}

/// One segment of a [`TracedPath`], from a node to the next: both NICs, the VID, the label stack and all switches
/// between.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedSegment {
    /// Sending node.
    pub from: String,
    /// Its NIC.
    pub nic: String,
    /// That NIC's MAC address.
    pub mac: Mac,
    /// The interface that frames leave by.
    pub interface: String,
    /// VID.
    pub vlan: Option<Vid>,
    /// The label stack on it, the top first: one label for each transit node that is still to come.
    pub labels: Vec<Label>,
    /// Name of the VID's tree.
    pub tree: Option<String>,
    /// What the tree is for.
    pub role: Option<Role>,
    /// Switches in order.
    pub switches: Vec<TracedSwitch>,
    /// Receiving node.
    pub to: String,
    /// Its NIC.
    pub to_nic: String,
    /// That NIC's MAC address.
    pub to_mac: Mac,
}

/// A switch on a path, with the ports by which frames enter and leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TracedSwitch {
    /// Its name.
    pub name: String,
    /// The port that frames come in by.
    pub in_port: u32,
    /// The port that they leave by.
    pub out_port: u32,
}

/// What a path depends on. Names are only made for what two paths share.
#[derive(Default)]
struct Parts {
    links: BTreeSet<u32>,
    switches: BTreeSet<u32>,
    nics: BTreeSet<(NodeId, usize)>,
}

impl Plan {
    /// All paths from `src` to `dst` in full. `src` and `dst` differ.
    #[must_use]
    pub fn trace(&self, src: NodeId, dst: NodeId) -> Trace {
        let paths = self.paths(src, dst);
        let primary = self.parts(&paths[0]);
        let traced: Vec<_> = paths.iter().map(|p| self.traced_path(p, &primary)).collect();
        let mut why = self.why(&paths[0].segments);
        why.extend(self.why_siblings(&paths));
        let of_node = |id: NodeId| {
            (self.cluster.node(id).name.clone(), self.addresses.node[id.index()].clone())
        };
        let ((src_name, src_addresses), (dst_name, dst_addresses)) = (of_node(src), of_node(dst));
        Trace {
            format: 1,
            generation: self.generation.clone(),
            src: src_name,
            src_addresses,
            dst: dst_name,
            dst_addresses,
            distance: self.distance(src, dst),
            mtu: traced.iter().map(|p| p.mtu).min().unwrap_or(0),
            why,
            paths: traced,
        }
    }

    fn traced_path(&self, path: &Path, primary: &Parts) -> TracedPath {
        let hops = path.segments.iter().map(|s| self.hops(s)).sum();
        let shared =
            if path.id.rank == 0 { Vec::new() } else { self.shared(primary, &self.parts(path)) };
        let labels = self.labels(&path.segments);
        let each = path.segments.iter().enumerate();
        let segments = each
            .map(|(i, s)| self.traced_segment(s, labels.get(i..).unwrap_or_default()))
            .collect();
        TracedPath {
            rank: path.id.rank,
            weight: path.weight,
            minimal: self.is_minimal(path),
            hops,
            mtu: self.path_mtu(&path.segments),
            segments,
            disjoint: (path.id.rank > 0).then_some(shared.is_empty()),
            shared,
        }
    }

    fn traced_segment(&self, segment: &Segment, labels: &[Label]) -> TracedSegment {
        let (sender, receiver) = (self.sender(segment), self.receiver(segment));
        let mut channels = Vec::new();
        self.walk(segment, &mut channels);
        let mut at = (sender.switch, sender.port);
        let mut switches = Vec::with_capacity(channels.len() + 1);
        let mut cross = |(switch, in_port), out_port| {
            let name = self.cluster.switch(switch).name.clone();
            switches.push(TracedSwitch { name, in_port, out_port });
        };
        for channel in channels {
            let link = self.cluster.link(self.graph.link(channel));
            let onwards = link.a.switch.0 == self.graph.tail(channel);
            let (out, next) = if onwards { (link.a, link.b) } else { (link.b, link.a) };
            cross(at, out.port);
            at = (next.switch, next.port);
        }
        if at.0 != SwitchId::NONE {
            cross(at, receiver.port);
        }
        let vid = (segment.tree != TreeId::NONE).then(|| self.vid(segment.tree));
        let spec = self.specs.get(segment.tree.index());
        TracedSegment {
            from: self.cluster.node(segment.from).name.clone(),
            nic: sender.name.clone(),
            mac: sender.mac,
            interface: vid
                .map_or_else(|| sender.name.clone(), |vid| sender.vlan_interface(segment.nic, vid)),
            vlan: vid,
            labels: labels.to_vec(),
            tree: spec.map(|spec| spec.name.clone()),
            role: spec.map(|spec| spec.role),
            switches,
            to: self.cluster.node(segment.to).name.clone(),
            to_nic: receiver.name.clone(),
            to_mac: receiver.mac,
        }
    }

    fn parts(&self, path: &Path) -> Parts {
        let mut parts = Parts::default();
        let mut channels = Vec::new();
        for segment in &path.segments {
            channels.clear();
            self.walk(segment, &mut channels);
            parts.links.extend(channels.iter().map(|c| self.graph.link(*c).0));
            let switch = self.sender(segment).switch;
            parts.switches.extend((switch != SwitchId::NONE).then_some(switch.0));
            parts.switches.extend(channels.iter().map(|c| self.graph.head(*c)));
            parts.nics.insert((segment.from, segment.nic));
            parts.nics.insert((segment.to, segment.to_nic));
        }
        parts
    }

    fn shared(&self, a: &Parts, b: &Parts) -> Vec<String> {
        let name = |switch: u32| &self.cluster.switches[switch as usize].name;
        let links = a.links.intersection(&b.links).map(|&link| {
            let link = &self.cluster.links[link as usize];
            let end =
                |p: tresse_topology::cluster::Port| format!("{}:{}", name(p.switch.0), p.port);
            format!("{}-{}", end(link.a), end(link.b))
        });
        let switches = a.switches.intersection(&b.switches).map(|&switch| name(switch).clone());
        let nics = a.nics.intersection(&b.nics).map(|&(id, nic)| {
            let node = self.cluster.node(id);
            format!("{} {}", node.name, node.nics[nic].name)
        });
        links.chain(switches).chain(nics).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    fn plan(torus: bool, strategy: Strategy, nics: u32) -> Plan {
        let dims = vec![4, 4];
        let kind = if torus { TopologyShape::Torus { dims } } else { TopologyShape::Mesh { dims } };
        Plan::build(Cluster::generated(kind, 1, nics, strategy, 2)).unwrap()
    }

    #[test]
    fn every_hop_is_a_cable() {
        for (torus, strategy) in [(true, Strategy::Dor), (false, Strategy::Pdor)] {
            let plan = plan(torus, strategy, 1);
            let end = |p: tresse_topology::cluster::Port| {
                (plan.cluster.switch(p.switch).name.clone(), p.port)
            };
            let cables: BTreeSet<_> = plan
                .cluster
                .links
                .iter()
                .flat_map(|l| [(end(l.a), end(l.b)), (end(l.b), end(l.a))])
                .collect();
            for (src, dst) in plan.pairs() {
                let trace = plan.trace(src, dst);
                for (path, traced) in plan.paths(src, dst).iter().zip(&trace.paths) {
                    let names: Vec<_> =
                        traced.segments[0].switches.iter().map(|s| s.name.clone()).collect();
                    assert_eq!(names, plan.path_view(path).segments[0].switches);
                    for pair in traced.segments[0].switches.windows(2) {
                        let out = (pair[0].name.clone(), pair[0].out_port);
                        let next = (pair[1].name.clone(), pair[1].in_port);
                        assert!(cables.contains(&(out, next)), "{pair:?}");
                    }
                }
                let tree = trace.paths[0].segments[0].tree.as_ref().unwrap();
                assert!(
                    trace.why.last().unwrap().contains(&format!("so {tree}")),
                    "{:?}",
                    trace.why
                );
            }
        }
    }

    #[test]
    fn a_second_nic_makes_backups_disjoint() {
        let second = |nics| {
            let plan = plan(true, Strategy::Dor, nics);
            plan.trace(NodeId(0), NodeId(10)).paths.swap_remove(1)
        };
        let one = second(1);
        assert_eq!(one.disjoint, Some(false));
        assert_eq!(one.shared, ["s00", "s10", "n00 eth0", "n10 eth0"]);
        let two = second(2);
        assert_eq!((two.disjoint, two.shared), (Some(true), vec![]));
    }

    /// The worked examples of vlan-minimal-paths, sections 2.3 and 3.2, in words.
    #[test]
    fn why_tells_the_rule_with_the_numbers_of_the_pair() {
        let why = plan(true, Strategy::Dor, 1).trace(NodeId(0), NodeId(11)).why;
        assert_eq!(
            why,
            [
                "dimension 0, a ring of 4, from 0 to 3: + takes 3, - takes 1, so - (ties go to +); \
                 0 is in the lower half, so the lines are those centred at b = 3, with the link 3-0",
                "dor: dimension 0 from 0 to 3, then dimension 1 from 0 to 2; so VL(-:3,0), the tree \
                 of the source's row x1 = 0",
            ]
        );
        let why = plan(false, Strategy::Pdor, 1).trace(NodeId(0), NodeId(11)).why;
        assert_eq!(
            why,
            ["pdor: odd rows have trees of their own and the source's row x1 = 0 has none: first \
              one step in dimension 1, to row x1 = 1; so VL(-,1)"]
        );
    }
}
