//! The plan in the form that other programs read: the JSON of `tresse plan` and `tresse paths`
//! (DESIGN section 8). It has names instead of indices, and everything is sorted.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use tresse_base::id::{NodeId, SwitchId, TreeId, Vid};
use tresse_base::units::{Mac, Prefix};
use tresse_routing::node_routing::NodeRouting;
use tresse_topology::path::{Path, Segment};
use tresse_topology::vlan::Role;

use super::Plan;
use super::base_vlan;

/// The whole plan as the JSON of `tresse plan`: VLANs, nodes and switches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanView {
    /// Format of this object: 1.
    pub format: u32,
    /// Name of the fabric.
    pub fabric: String,
    /// Digest of the plan.
    pub generation: String,
    /// The root switch of up*/down* routing, if the strategy has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Every VLAN tree; where switches hold several lines of nodes, every line.
    pub vlans: Vec<VlanView>,
    /// Every node, in order.
    pub nodes: Vec<NodeView>,
    /// Every switch, in order.
    pub switches: Vec<SwitchView>,
}

/// One VLAN in the JSON of `tresse plan`: a VLAN tree, or a line of nodes on a P-Mesh switch that holds several lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VlanView {
    /// VID.
    pub id: Vid,
    /// The tree's or line's name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its links as pairs of switch names, parallel links once.
    pub links: Vec<[String; 2]>,
}

/// One node in the JSON of `tresse plan`: its name, addresses and NICs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeView {
    /// Name.
    pub name: String,
    /// Its stable addresses.
    pub addresses: Vec<IpAddr>,
    /// The networks behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<Prefix>,
    /// Is everything else behind it?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gateway: bool,
    /// Its NICs.
    pub nics: Vec<NicView>,
}

/// One NIC of a node in the JSON of `tresse plan`: its MAC address, the other end of its cable, its addresses and its
/// VIDs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NicView {
    /// Name.
    pub name: String,
    /// MAC address.
    pub mac: Mac,
    /// The switch it is cabled to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// The port there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// The node and NIC that it is cabled to, where that is no switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<[String; 2]>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// VIDs that it sends or receives on.
    pub vlans: Vec<Vid>,
}

/// One switch in the JSON of `tresse plan`: its name, and the ports of each VLAN.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwitchView {
    /// Name.
    pub name: String,
    /// Per VID, the ports that carry it tagged.
    pub vlans: BTreeMap<Vid, Vec<u32>>,
    /// Per VID of a line, its ports, which carry it without a tag.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lines: BTreeMap<Vid, Vec<u32>>,
}

/// One path in JSON, as printed on one line of `tresse paths --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathView {
    /// Format of this object: 1.
    pub format: u32,
    /// Source node.
    pub src: String,
    /// Destination node.
    pub dst: String,
    /// 0 is the primary.
    pub rank: u32,
    /// Share of the pair's traffic.
    pub weight: u32,
    /// Is it as short as the fabric allows?
    pub minimal: bool,
    /// Switch-to-switch links crossed.
    pub hops: u32,
    /// Its segments, in order.
    pub segments: Vec<SegmentView>,
}

/// One segment of a path (what plain Ethernet carries from a node to the next) in the JSON of `tresse paths`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentView {
    /// Sending node.
    pub from: String,
    /// Its NIC.
    pub nic: String,
    /// VID; null only where the segment crosses no switch-to-switch link.
    pub vlan: Option<Vid>,
    /// Switches in order.
    pub switches: Vec<String>,
    /// Receiving node.
    pub to: String,
    /// Its NIC.
    pub to_nic: String,
}

impl Plan {
    /// The whole plan by names. O(pairs x paths).
    #[must_use]
    pub fn view(&self) -> PlanView {
        let cluster = self.cluster();
        let name = |s: SwitchId| cluster.switch(s).name.clone();
        let mut tagged: Vec<BTreeMap<Vid, Vec<u32>>> =
            vec![BTreeMap::new(); cluster.switches.len()];
        let mut vlans = Vec::with_capacity(self.specs().len());
        for (t, spec) in self.specs().iter().enumerate() {
            let id = self.vid(TreeId::from(t));
            let mut links = Vec::new();
            for link in self.tree(t.into()).links(self.graph()) {
                let cables = cluster.cables_of(link);
                let link = cluster.link(link);
                links.push([name(link.a.switch), name(link.b.switch)]);
                for port in cables.iter().flat_map(|cable| [cable.a, cable.b]) {
                    tagged[port.switch.index()].entry(id).or_default().push(port.port);
                }
            }
            vlans.push(VlanView { id, name: spec.name.clone(), role: spec.role, links });
        }
        if let Some((id, links)) = base_vlan(self) {
            let ends =
                |link| [name(cluster.link(link).a.switch), name(cluster.link(link).b.switch)];
            let links = links.into_iter().map(ends).collect();
            vlans.push(VlanView { id, name: "stp".into(), role: Role::Base, links });
        }
        let mut lines: Vec<BTreeMap<Vid, Vec<u32>>> = vec![BTreeMap::new(); tagged.len()];
        for line in self.lines() {
            lines[line.switch.index()].insert(line.vid, line.ports.collect());
            let (id, name) = (line.vid, line.name);
            vlans.push(VlanView { id, name, role: Role::Line, links: Vec::new() });
        }
        let mut nodes = Vec::with_capacity(cluster.nodes.len());
        for (k, node) in cluster.nodes.iter().enumerate() {
            let mut nics: Vec<NicView> = node
                .nics
                .iter()
                .enumerate()
                .map(|(i, nic)| NicView {
                    name: nic.name.clone(),
                    mac: nic.mac,
                    switch: nic.peer.is_none().then(|| name(nic.switch)),
                    port: nic.peer.is_none().then_some(nic.port),
                    peer: nic.peer.map(|end| {
                        let node = cluster.node(end.node);
                        [node.name.clone(), node.nics[end.nic].name.clone()]
                    }),
                    addresses: self.addresses().nic[k][i].clone(),
                    vlans: Vec::new(),
                })
                .collect();
            for (nic, tree) in self.uses(NodeId::from(k)).into_keys() {
                let vid = self.vid(tree);
                nics[nic].vlans.push(vid);
                let port = &node.nics[nic];
                tagged[port.switch.index()].entry(vid).or_default().push(port.port);
            }
            nics.iter_mut().for_each(|nic| nic.vlans.sort_unstable());
            let addresses = self.addresses().node[k].clone();
            let (name, prefixes) = (node.name.clone(), node.prefixes.clone());
            nodes.push(NodeView { name, addresses, prefixes, gateway: node.gateway, nics });
        }
        let switches = tagged
            .into_iter()
            .zip(&cluster.switches)
            .zip(lines)
            .map(|((mut vlans, switch), lines)| {
                for ports in vlans.values_mut() {
                    ports.sort_unstable();
                    ports.dedup();
                }
                SwitchView { name: switch.name.clone(), vlans, lines }
            })
            .collect();
        PlanView {
            format: 1,
            fabric: cluster.name.clone(),
            generation: self.generation().into(),
            root: self.updown_order().map(|order| name(SwitchId(order.root()))),
            vlans,
            nodes,
            switches,
        }
    }

    /// One path by names. `distance` is the fewest links between its ends' switches, over all
    /// pairs of their NICs.
    #[must_use]
    pub fn path_view(&self, path: &Path) -> PathView {
        let segments: Vec<_> = path.segments.iter().map(|s| self.segment_view(s)).collect();
        let hops = path.segments.iter().map(|s| self.hops(s)).sum();
        PathView {
            format: 1,
            src: self.cluster().node(path.id.src).name.clone(),
            dst: self.cluster().node(path.id.dst).name.clone(),
            rank: path.id.rank,
            weight: path.weight,
            minimal: self.is_minimal(path),
            hops,
            segments,
        }
    }

    /// Is a path as short as the fabric allows: in links crossed, in a flat neighbourhood in segments too?
    #[must_use]
    pub fn is_minimal(&self, path: &Path) -> bool {
        let primary = self.direct.is_some().then(|| self.primary(path.id.src, path.id.dst).len());
        let hops: u32 = path.segments.iter().map(|s| self.hops(s)).sum();
        primary.is_none_or(|primary| path.segments.len() == primary)
            && hops == self.distance(path.id.src, path.id.dst)
    }

    /// Calls `each` with every switch that a segment crosses, in order.
    pub fn each_switch(&self, segment: &Segment, mut each: impl FnMut(SwitchId)) {
        let first = self.sender(segment).switch;
        if first != SwitchId::NONE {
            each(first);
        }
        let mut channels = Vec::new();
        self.walk(segment, &mut channels);
        channels.iter().for_each(|channel| each(SwitchId(self.graph().head(*channel))));
    }

    fn segment_view(&self, segment: &Segment) -> SegmentView {
        let cluster = self.cluster();
        let mut switches = Vec::new();
        self.each_switch(segment, |switch| switches.push(switch));
        SegmentView {
            from: cluster.node(segment.from).name.clone(),
            nic: self.sender(segment).name.clone(),
            vlan: (segment.tree != TreeId::NONE).then(|| self.vid(segment.tree)),
            switches: switches.iter().map(|s| cluster.switch(*s).name.clone()).collect(),
            to: cluster.node(segment.to).name.clone(),
            to_nic: self.receiver(segment).name.clone(),
        }
    }

    /// Fewest switch-to-switch links between two nodes, over all pairs of their NICs; where nodes
    /// route, fewest hops.
    #[must_use]
    pub fn distance(&self, src: NodeId, dst: NodeId) -> u32 {
        if let Some(next_hops) = &self.next_hops {
            return next_hops.distance(src, dst);
        }
        if self.direct.is_some() {
            // Only what is behind the uplink needs a cable of it, to who is not on that switch too.
            let cluster = self.cluster();
            let on_it = |node| {
                cluster.node(node).nics.iter().any(|nic| Some(nic.switch) == cluster.uplink())
            };
            let behind = [src, dst].iter().any(|node| cluster.is_behind_uplink(*node));
            return u32::from(behind && !(on_it(src) && on_it(dst)));
        }
        let mut distance = Vec::new();
        let mut queue = Vec::new();
        let mut fewest = u32::MAX;
        for from in &self.cluster().node(src).nics {
            if let Some(grid) = &self.grid {
                let to = self.cluster().node(dst).nics.iter();
                fewest = to.map(|n| grid.distance(from.switch, n.switch)).fold(fewest, u32::min);
            } else {
                self.graph().distances(from.switch.0, &mut distance, &mut queue);
                let to = self.cluster().node(dst).nics.iter();
                fewest = to.map(|n| distance[n.switch.index()]).fold(fewest, u32::min);
            }
        }
        if fewest == u32::MAX {
            // On no plane in common: through nodes that are on both.
            return self.primary(src, dst).iter().map(|segment| self.hops(segment)).sum();
        }
        fewest
    }
}
