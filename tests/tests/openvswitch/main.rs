//! The `openvswitch` export run for real: a 3x3 torus of Open vSwitch bridges (userspace datapath)
//! in one network namespace, configured by the scripts as they are, probed with crafted tagged
//! frames. Judged per cable and direction: the kernel needs no 802.1Q for it.
//!
//! Without root, Open vSwitch or python3 the tests are reported as ignored with the reason, and
//! fail where `CI=true`.

mod rig;

use std::collections::BTreeMap;

use libtest_mimic::{Arguments, Failed, Trial};
use pnet::packet::MutablePacket as _;
use pnet::packet::ethernet::{EtherType, EtherTypes, MutableEthernetPacket};
use pnet::packet::vlan::{ClassOfService, MutableVlanPacket};
use rig::{Probe, Rig};
use tresse_base::id::{NodeId, TreeId};
use tresse_base::units::Mac;
use tresse_export::ExportOptions;
use tresse_frame::announce::ETHERTYPE;
use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, Link, Port, Strategy, TopologyShape};

type Body = fn() -> Result<(), Failed>;

fn main() {
    let missing = rig::missing();
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    let tests: [(&str, Body); 5] = [
        ("flooded_frames_cross_exactly_the_tree", flooded_frames_cross_exactly_the_tree),
        ("static_entries_keep_frames_on_the_path", static_entries_keep_frames_on_the_path),
        ("base_vlan_floods_its_tree_and_no_more", base_vlan_floods_its_tree_and_no_more),
        ("lines_on_one_switch_are_apart", lines_on_one_switch_are_apart),
        ("link_aggregation_groups_are_taken", link_aggregation_groups_are_taken),
    ];
    let trials = tests
        .into_iter()
        .map(|(name, body)| match missing.clone() {
            None => Trial::test(name, body),
            Some(reason) => Trial::test(format!("{name} [{reason}]"), move || Err(reason.into()))
                .with_ignored_flag(!ci),
        })
        .collect();
    // Every rig has the same bridge names: one at a time.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit();
}

fn torus(base: Option<u16>) -> Plan {
    let kind = TopologyShape::Torus { dims: vec![3, 3] };
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Dor, 1);
    cluster.vlans.ranges = vec![(100, 199)];
    cluster.vlans.base = base;
    Plan::build(cluster).expect("a 3x3 torus has a plan")
}

/// Which of its cables a group uses for a frame is its own choice, so that nothing is said of frames here.
fn link_aggregation_groups_are_taken() -> Result<(), Failed> {
    let kind = TopologyShape::Torus { dims: vec![3, 3] };
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Minimal, 1);
    cluster.vlans.ranges = vec![(100, 199)];
    cluster.switches.iter_mut().for_each(|switch| {
        switch.lag = true;
        switch.ports += 1;
    });
    let first = cluster.links[0];
    let end = |end: Port| Port { port: cluster.switch(end.switch).ports, ..end };
    let second = Link { a: end(first.a), b: end(first.b), ..first };
    cluster.links.push(second);
    cluster.bundle();
    let plan = Plan::build(cluster)?;
    assert_eq!(plan.cluster().lags.len(), 1);
    Rig::new(&plan, ExportOptions { cyclic: false, static_fdb: true }).run(&[])
}

/// A frame of ours from `src`: an announcement's EtherType, inside an 802.1Q tag where `vid` is given.
fn frame(src: Mac, dst: Mac, vid: Option<u16>) -> Vec<u8> {
    let mut bytes = vec![0x5a; 64];
    let mut ethernet = MutableEthernetPacket::new(&mut bytes).expect("64 bytes are enough");
    ethernet.set_destination(dst.0.into());
    ethernet.set_source(src.0.into());
    ethernet.set_ethertype(EtherType(ETHERTYPE));
    if let Some(vid) = vid {
        ethernet.set_ethertype(EtherTypes::Vlan);
        let mut tag = MutableVlanPacket::new(ethernet.payload_mut()).expect("so are 50");
        tag.set_priority_code_point(ClassOfService(0));
        tag.set_drop_eligible_indicator(0);
        tag.set_vlan_identifier(vid);
        tag.set_ethertype(EtherType(ETHERTYPE));
    }
    bytes
}

const GROUP: Mac = Mac([0x03, 0x54, 0, 0, 0, 1]);

/// Every link of a tree once, away from the sender, and every node port that carries the VLAN.
fn flood(plan: &Plan, from: NodeId, links: &[tresse_base::id::LinkId]) -> BTreeMap<String, u32> {
    let cluster = plan.cluster();
    let mut seen = BTreeMap::new();
    let mut reached = vec![cluster.node(from).nics[0].switch];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        for id in links {
            let link = cluster.link(*id);
            let ends = [(link.a, link.b), (link.b, link.a)];
            for (here, there) in ends {
                if here.switch == at && !reached.contains(&there.switch) {
                    reached.push(there.switch);
                    seen.insert(rig::switch_port(there), 1);
                }
            }
        }
    }
    seen.insert(rig::switch_port_of_node(plan, from), 1);
    seen
}

fn flooded_frames_cross_exactly_the_tree() -> Result<(), Failed> {
    let plan = torus(None);
    let rig = Rig::new(&plan, ExportOptions { cyclic: true, static_fdb: false });
    let mut probes = Vec::new();
    for tree in (0..plan.specs().len()).map(TreeId::from) {
        let links = plan.tree(tree).links(plan.graph());
        for k in 0..plan.cluster().nodes.len() {
            let node = NodeId::from(k);
            if !plan.uses(node).contains_key(&(0, tree)) {
                continue;
            }
            let mut want = flood(&plan, node, &links);
            for other in (0..plan.cluster().nodes.len()).map(NodeId::from) {
                if other != node && plan.uses(other).contains_key(&(0, tree)) {
                    want.insert(rig::node_nic(other), 1);
                }
            }
            let mac = plan.cluster().node(node).nics[0].mac;
            let frame = frame(mac, GROUP, Some(plan.vid(tree).0));
            probes.push(Probe { from: rig::node_nic(node), frame, want });
        }
    }
    // Untagged, and a VID of nobody: nothing past the first switch port.
    for vid in [None, Some(50)] {
        let from = NodeId(4);
        let want = BTreeMap::from([(rig::switch_port_of_node(&plan, from), 1)]);
        let frame = frame(plan.cluster().node(from).nics[0].mac, GROUP, vid);
        probes.push(Probe { from: rig::node_nic(from), frame, want });
    }
    rig.run(&probes)
}

fn static_entries_keep_frames_on_the_path() -> Result<(), Failed> {
    let plan = torus(None);
    let rig = Rig::new(&plan, ExportOptions::default());
    let mut probes = Vec::new();
    for (src, dst) in plan.pairs() {
        let segment = plan.paths(src, dst)[0].segments[0];
        let mut want = BTreeMap::from([(rig::switch_port_of_node(&plan, src), 1)]);
        let mut channels = Vec::new();
        plan.walk(&segment, &mut channels);
        for channel in channels {
            let link = plan.cluster().link(plan.graph().link(channel));
            let head = plan.graph().head(channel);
            let end = if link.a.switch.0 == head { link.a } else { link.b };
            want.insert(rig::switch_port(end), 1);
        }
        want.insert(rig::node_nic(dst), 1);
        let macs = [src, dst].map(|n| plan.cluster().node(n).nics[0].mac);
        let frame = frame(macs[0], macs[1], Some(plan.vid(segment.tree).0));
        probes.push(Probe { from: rig::node_nic(src), frame, want });
    }
    rig.run(&probes)
}

fn base_vlan_floods_its_tree_and_no_more() -> Result<(), Failed> {
    let plan = torus(Some(1));
    let (_, links) = tresse_plan::base_vlan(&plan).expect("the file has a base VLAN");
    let rig = Rig::new(&plan, ExportOptions { cyclic: true, static_fdb: false });
    let nodes = || (0..plan.cluster().nodes.len()).map(NodeId::from);
    let probes: Vec<_> = nodes()
        .map(|node| {
            let mut want = flood(&plan, node, &links);
            want.extend(nodes().filter(|n| *n != node).map(|n| (rig::node_nic(n), 1)));
            let frame = frame(plan.cluster().node(node).nics[0].mac, GROUP, None);
            Probe { from: rig::node_nic(node), frame, want }
        })
        .collect();
    rig.run(&probes)
}

/// The test bed of the P-Mesh paper: what a NIC sends goes to the others of its line alone, and with a tag
/// to nobody, be it that of its own line.
fn lines_on_one_switch_are_apart() -> Result<(), Failed> {
    let dims = vec![4, 4];
    let kind = TopologyShape::Pmesh { dims: dims.clone(), grow_to: dims, lines_per_switch: 4 };
    let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).expect("it has a plan");
    let rig = Rig::new(&plan, ExportOptions::default());
    let layout = plan.layout().expect("its nodes route");
    let nodes = || (0..plan.cluster().nodes.len()).map(NodeId::from);
    let mut probes = Vec::new();
    for node in nodes() {
        for (nic, of_nic) in plan.cluster().node(node).nics.iter().enumerate() {
            let own = Port { switch: of_nic.switch, port: of_nic.port };
            let alone = BTreeMap::from([(rig::switch_port(own), 1)]);
            let line = layout.line(node, nic);
            let others = nodes().filter(|n| *n != node && layout.line(*n, nic) == line);
            let mut want = alone.clone();
            want.extend(others.map(|n| (rig::nic_of(n, nic), 1)));
            let from = rig::nic_of(node, nic);
            let mut send = |vid: Option<u16>, want| {
                let frame = frame(of_nic.mac, GROUP, vid);
                probes.push(Probe { from: from.clone(), frame, want });
            };
            send(None, want);
            plan.lines().iter().for_each(|line| send(Some(line.vid.0), alone.clone()));
        }
    }
    rig.run(&probes)
}
