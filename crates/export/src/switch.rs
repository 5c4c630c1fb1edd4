//! The configuration of every switch in a form that is independent of vendors: ports with their VLANs,
//! the base VLAN (the untagged VLAN between switches), static forwarding entries and notes. A link
//! without a VLAN of the plan is in no VLAN (K3), and a node's port carries every VID that the node
//! sends or receives on (K14). The export formats turn this form into text.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tresse_base::id::{NodeId, SwitchId, TreeId, Vid};
use tresse_base::units::Mac;
use tresse_plan::base_vlan;
use tresse_plan::{Line, Plan};
use tresse_topology::cluster::{Learning, Link, Port, Stp};
use tresse_topology::vlan::TreeSpec;

use super::ExportOptions;

/// The configuration of one switch in a form that is independent of vendors: ports, VLANs, static
/// forwarding entries. All lists of ports, VLANs and entries are in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchConfig {
    /// The switch.
    pub switch: SwitchId,
    /// Its name.
    pub name: String,
    /// Name of the fabric.
    pub fabric: String,
    /// Generation of the plan.
    pub generation: String,
    /// Every cabled port, ascending by number.
    pub ports: Vec<PortConfig>,
    /// All VLANs except the base VLAN, ascending by VID: VLAN trees, or lines of nodes on this
    /// switch.
    pub vlans: Vec<VlanConfig>,
    /// The untagged VLAN of all switches, if there is one.
    pub base: Option<Vid>,
    /// An unused VID: the native VLAN if a dialect needs one.
    pub parking: Vid,
    /// Static forwarding entries by (VID, MAC).
    pub fdb: Vec<FdbEntry>,
    /// Ageing time of learned entries.
    pub fdb_age_seconds: u32,
    /// Largest frame, header and FCS included.
    pub max_frame: u32,
    /// Whether flow control must be switched off (K18).
    pub flow_control_off: bool,
    /// Notes to read before applying, one line each.
    pub notes: Vec<String>,
}

/// The configuration of one cabled port of a switch: which VLANs it carries, tagged and untagged, and
/// what it is used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortConfig {
    /// Port number from 1; of a link aggregation group that of its first cable, by which the group is named too.
    pub port: u32,
    /// The ports of a link aggregation group (IEEE 802.1AX), ascending; empty for a port by itself.
    pub group: Vec<u32>,
    /// What the port is for.
    pub role: PortRole,
    /// The other end of the cable: `s01 port 4` or `n03 eth0`; of a group `s01 ports 4,5`.
    pub peer: String,
    /// Tagged VLANs, ascending.
    pub tagged: Vec<Vid>,
    /// The untagged VLAN of this port: that of its line of nodes, else the base VLAN or none.
    pub untagged: Option<Vid>,
}

/// What a cabled switch port is used for: it leads to a node or to another switch, and in the latter
/// case it carries VLANs or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortRole {
    /// Leads to a node's NIC.
    Node,
    /// Leads to the NIC of a node that routes: in its line's VLAN, without tags.
    Access,
    /// Leads to a switch and carries at least one VLAN.
    Trunk,
    /// Leads to a switch and carries nothing.
    Pruned,
}

/// A VLAN that a switch must have: its VID, its name, and the ports that carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlanConfig {
    /// The VID.
    pub vid: Vid,
    /// The tree's or line's name in the plan.
    pub name: String,
    /// Ports that carry it tagged, ascending.
    pub tagged: Vec<u32>,
    /// Ports of a line, which carry it untagged, ascending.
    pub untagged: Vec<u32>,
}

/// A static entry of a switch's forwarding table: frames to this MAC address on this VID leave by this
/// port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FdbEntry {
    /// The VID.
    pub vid: Vid,
    /// The NIC's MAC.
    pub mac: Mac,
    /// The port that leads to the NIC along the tree.
    pub port: u32,
}

/// Returns the configurations of all switches of `plan`, in index order. Costs O(pairs x paths x hops)
/// for the VLANs of node ports and for static forwarding entries, and O(trees x switches) for the rest.
#[must_use]
pub fn configs(plan: &Plan, options: ExportOptions) -> Vec<SwitchConfig> {
    let mut configs = drafts(plan, options);
    configs.iter_mut().for_each(|config| finish(plan, config));
    configs
}

/// Returns the configurations without the parts that [`finish`] adds.
pub(super) fn drafts(plan: &Plan, options: ExportOptions) -> Vec<SwitchConfig> {
    let cluster = plan.cluster();
    let base = base_vlan(plan);
    let mut configs: Vec<_> = (0..cluster.switches.len())
        .map(|s| empty(plan, SwitchId::from(s), base.as_ref().map(|b| b.0), options))
        .collect();
    let on_link = vlans_of_links(plan);
    let mut in_base = vec![false; cluster.links.len()];
    for link in base.iter().flat_map(|b| &b.1) {
        in_base[link.index()] = true;
    }
    for (i, link) in cluster.links.iter().enumerate() {
        let untagged = base.as_ref().map(|b| b.0).filter(|_| in_base[i]);
        let role = match (on_link[i].is_empty(), untagged) {
            (true, None) => PortRole::Pruned,
            _ => PortRole::Trunk,
        };
        let cables = cluster.cables_of(i.into());
        let ports = |of: fn(&Link) -> Port| cables.iter().map(|cable| of(cable).port).collect();
        let (a, b): (Vec<u32>, Vec<u32>) = (ports(|cable| cable.a), ports(|cable| cable.b));
        for (here, own, there, far) in [(link.a, &a, link.b, &b), (link.b, &b, link.a, &a)] {
            configs[here.switch.index()].ports.push(PortConfig {
                port: here.port,
                group: if own.len() > 1 { sorted(own) } else { Vec::new() },
                role,
                peer: format!("{} {}", cluster.switch(there.switch).name, ports_text(far)),
                tagged: on_link[i].clone(),
                untagged,
            });
        }
    }
    let mut demand = demand(plan, options.static_fdb);
    for (k, node) in cluster.nodes.iter().enumerate() {
        for (i, nic) in node.nics.iter().enumerate() {
            let mut tagged = std::mem::take(&mut demand.vids[k][i]);
            tagged.sort_unstable();
            tagged.dedup();
            let Some(config) = configs.get_mut(nic.switch.index()) else { continue };
            let line = plan.line_vid(k.into(), i);
            config.ports.push(PortConfig {
                port: nic.port,
                group: Vec::new(),
                role: if line.is_some() { PortRole::Access } else { PortRole::Node },
                peer: format!("{} {}", node.name, nic.name),
                tagged,
                untagged: line.or(base.as_ref().map(|b| b.0)),
            });
        }
    }
    for Line { name, vid, switch, ports } in plan.lines() {
        let (tagged, untagged) = (Vec::new(), ports.collect());
        configs[switch.index()].vlans.push(VlanConfig { vid, name, tagged, untagged });
    }
    for (config, fdb) in configs.iter_mut().zip(demand.fdb) {
        config.fdb = fdb;
    }
    configs
}

fn sorted(ports: &[u32]) -> Vec<u32> {
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    ports
}

/// `port 4`, `ports 4,5`.
pub(super) fn ports_text(ports: &[u32]) -> String {
    let numbers: Vec<String> = ports.iter().map(u32::to_string).collect();
    format!("port{} {}", if numbers.len() > 1 { "s" } else { "" }, numbers.join(","))
}

impl SwitchConfig {
    /// The name of the interface to which the VLANs of a port belong: of the port itself, or of its group.
    #[must_use]
    pub fn interface(
        &self,
        port: u32,
        alone: impl Fn(u32) -> String,
        group: impl Fn(u32) -> String,
    ) -> String {
        let is_group = self.ports.iter().any(|of| of.port == port && !of.group.is_empty());
        if is_group { group(port) } else { alone(port) }
    }

    /// The ports that are cabled, those of groups among them, ascending.
    pub(super) fn cabled(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.ports.iter().flat_map(PortConfig::numbers).collect();
        all.sort_unstable();
        all
    }

    /// The link aggregation groups.
    pub(super) fn groups(&self) -> impl Iterator<Item = &PortConfig> {
        self.ports.iter().filter(|port| !port.group.is_empty())
    }

    /// The ports of all link aggregation groups, each with its group.
    pub(super) fn members(&self) -> impl Iterator<Item = (&PortConfig, u32)> {
        self.groups().flat_map(|group| group.group.iter().map(move |port| (group, *port)))
    }
}

impl PortConfig {
    /// The numbers of its ports: its own, or those of the group.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        if self.group.is_empty() { vec![self.port] } else { self.group.clone() }
    }
}

fn empty(plan: &Plan, id: SwitchId, base: Option<Vid>, options: ExportOptions) -> SwitchConfig {
    let cluster = plan.cluster();
    let switch = cluster.switch(id);
    let vlan = |(t, spec): (usize, &TreeSpec)| VlanConfig {
        vid: plan.vid(t.into()),
        name: spec.name.clone(),
        tagged: Vec::new(),
        untagged: Vec::new(),
    };
    let of_plane = plan.specs().iter().enumerate().filter(|(_, spec)| plan.joins(spec.at, id));
    SwitchConfig {
        switch: id,
        name: switch.name.clone(),
        fabric: cluster.name.clone(),
        generation: plan.generation().into(),
        ports: Vec::new(),
        vlans: of_plane.map(vlan).collect(),
        base,
        parking: Vid(1),
        fdb: Vec::new(),
        fdb_age_seconds: switch.fdb_age_seconds,
        max_frame: switch.max_frame,
        flow_control_off: options.cyclic,
        notes: Vec::new(),
    }
}

/// Returns for each cable the VIDs whose trees use it, ascending.
fn vlans_of_links(plan: &Plan) -> Vec<Vec<Vid>> {
    let mut on_link = vec![Vec::new(); plan.cluster().links.len()];
    for tree in (0..plan.specs().len()).map(TreeId::from) {
        for link in plan.tree(tree).links(plan.graph()) {
            on_link[link.index()].push(plan.vid(tree));
        }
    }
    on_link.iter_mut().for_each(|vids| vids.sort_unstable());
    on_link
}

/// VLANs and forwarding entries that the planned paths need.
struct Demand {
    /// Per node, per NIC: VIDs sent or received on (K14), unsorted.
    vids: Vec<Vec<Vec<Vid>>>,
    /// Per switch.
    fdb: Vec<Vec<FdbEntry>>,
}

/// One destination's part of [`Demand`].
struct Towards {
    /// (node, NIC, VID), sending and receiving.
    uses: Vec<(NodeId, usize, Vid)>,
    fdb: Vec<(SwitchId, FdbEntry)>,
}

fn demand(plan: &Plan, fdb: bool) -> Demand {
    let cluster = plan.cluster();
    let parts: Vec<Towards> = (0..cluster.nodes.len())
        .into_par_iter()
        .map(|dst| towards(plan, NodeId::from(dst), fdb))
        .collect();
    let mut demand = Demand {
        vids: cluster.nodes.iter().map(|n| vec![Vec::new(); n.nics.len()]).collect(),
        fdb: vec![Vec::new(); cluster.switches.len()],
    };
    for part in parts {
        for (node, nic, vid) in part.uses {
            let vids = &mut demand.vids[node.index()][nic];
            if vids.last() != Some(&vid) {
                vids.push(vid);
            }
        }
        for (switch, entry) in part.fdb {
            demand.fdb[switch.index()].push(entry);
        }
    }
    demand
}

/// Every path to one node. Forwarding entries are set where planned frames pass and nowhere else:
/// on a tree there is one way from a switch to a NIC, so paths of different sources agree.
fn towards(plan: &Plan, dst: NodeId, fdb: bool) -> Towards {
    let cluster = plan.cluster();
    let mut found = Towards { uses: Vec::new(), fdb: Vec::new() };
    if plan.cluster().is_untagged() {
        return found;
    }
    let mut seen = BTreeMap::new();
    let mut channels = Vec::new();
    for src in (0..cluster.nodes.len()).map(NodeId::from).filter(|s| *s != dst) {
        for segment in plan.paths(src, dst).iter().flat_map(|p| &p.segments) {
            let vid = plan.vid(segment.tree);
            found.uses.push((segment.from, segment.nic, vid));
            found.uses.push((segment.to, segment.to_nic, vid));
            if !fdb {
                continue;
            }
            let to = plan.receiver(segment);
            channels.clear();
            plan.walk(segment, &mut channels);
            let graph = plan.graph();
            let hops = channels.iter().map(|&c| {
                let (switch, link) = (SwitchId(graph.tail(c)), cluster.link(graph.link(c)));
                (switch, if link.a.switch == switch { link.a.port } else { link.b.port })
            });
            for (switch, port) in hops.chain([(to.switch, to.port)]) {
                seen.insert((switch, vid, to.mac), port);
            }
        }
    }
    found.uses.sort_unstable();
    found.uses.dedup();
    found.fdb.extend(
        seen.into_iter().map(|((switch, vid, mac), port)| (switch, FdbEntry { vid, mac, port })),
    );
    found
}

/// Sorts a draft and adds derived parts: the ports of each VLAN, the parking VID, notes.
pub(super) fn finish(plan: &Plan, config: &mut SwitchConfig) {
    config.ports.sort_unstable_by_key(|p| p.port);
    let mut ports: BTreeMap<Vid, Vec<u32>> = BTreeMap::new();
    for port in &config.ports {
        for vid in &port.tagged {
            ports.entry(*vid).or_default().push(port.port);
        }
    }
    for vlan in &mut config.vlans {
        vlan.tagged = ports.remove(&vlan.vid).unwrap_or_default();
    }
    config.vlans.sort_unstable_by_key(|v| v.vid);
    let taken = |vid: &Vid| {
        let known = config.vlans.binary_search_by_key(vid, |v| v.vid).is_ok();
        known || plan.cluster().vlans.base == Some(vid.0)
    };
    config.parking = (2..=4094).rev().map(Vid).find(|vid| !taken(vid)).unwrap_or(Vid(1));
    config.fdb.sort_unstable();
    let switch = plan.cluster().switch(config.switch);
    let notes = &mut config.notes;
    if let Some(size) = switch.fdb_size
        && config.fdb.len() > size as usize
    {
        notes.push(format!(
            "{} static forwarding entries left out: fdb_size is {size}, addresses are learned",
            config.fdb.len()
        ));
        config.fdb.clear();
    }
    let derived = plan.cluster().nodes.iter().flat_map(|n| &n.nics).any(|n| n.mac_derived);
    if derived && !config.fdb.is_empty() {
        notes.push(
            "static forwarding entries name derived MAC addresses: lab only, fill in real ones \
             (`tresse macs`) before real switches"
                .into(),
        );
    }
    let pruned: Vec<_> = config
        .ports
        .iter()
        .filter(|p| p.role == PortRole::Pruned)
        .map(|p| p.port.to_string())
        .collect();
    if !pruned.is_empty() {
        notes.push(format!("no VLAN uses the cable on port {}: it is pruned", pruned.join(", ")));
    }
    for port in config.ports.iter().filter(|port| !port.group.is_empty()) {
        notes.push(format!(
            "ports {} are one link aggregation group (LACP, active), as lag = true asks for: a flow uses one of its cables",
            port.group.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ));
    }
    if switch.stp == Stp::Mstp {
        notes.push(
            "stp = \"mstp\": if spanning tree cannot be off, map these VLANs to an instance \
             without blocked ports before they carry traffic"
                .into(),
        );
    }
    if switch.learning == Learning::Svl {
        notes.push("learning = \"svl\": one entry per MAC serves all VLANs on this switch".into());
    }
    if switch.max_frame > 1522 {
        notes.push(format!(
            "frames of up to {} bytes (header and FCS included) must pass: set the switch MTU",
            switch.max_frame
        ));
    }
    if config.flow_control_off {
        notes.push(
            "the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric \
             can deadlock"
                .into(),
        );
    }
}
