//! Export for containerlab: a topology file with nodes and switches as `linux` containers, which run the
//! exported bridge and node scripts. Containers share the host's kernel, which needs 802.1Q and VLAN
//! filtering. In fabrics without VLANs, whose nodes forward plain IP, a switch is a container with plain
//! bridges instead: one bridge for each line (the nodes that share the switch in one dimension) that it
//! holds.

use std::collections::BTreeMap;

use serde_json::json;
use tresse_base::id::Vid;
use tresse_plan::Plan;
use tresse_topology::cluster::Port;

use super::ExportFile;
use super::spell::plain;

pub(super) fn render(plan: &Plan) -> Vec<ExportFile> {
    let cluster = plan.cluster();
    let mut out = String::new();
    line!(out, "# Fabric {}, generation {}.", cluster.name, plan.generation());
    let scripts = if plan.cluster().is_untagged() { "" } else { "`tresse export bridge` and " };
    line!(out, "# Beside it: the files of {scripts}`tresse export iproute2`.");
    line!(out, "# The image needs a shell, iproute2 and a process that stays.");
    line!(out, "# TRESSE_IMAGE=... containerlab deploy -t clab.yml");
    line!(out, "name: {}", plain(&cluster.name, 40));
    line!(out, "topology:");
    line!(out, "  defaults:");
    line!(out, "    kind: linux");
    line!(out, "    image: ${{TRESSE_IMAGE:=tresse-lab}}");
    line!(out, "    network-mode: none");
    line!(out, "  nodes:");
    for switch in &cluster.switches {
        if plan.cluster().is_untagged() {
            line!(out, "    {}:", json!(switch.name));
            line!(out, "      exec: {}", json!(plain_bridge(plan, &switch.name)));
        } else {
            container(&mut out, &switch.name, &format!("{}.bridge.sh", switch.name));
        }
    }
    for node in &cluster.nodes {
        container(&mut out, &node.name, &format!("{}.node.sh", node.name));
    }
    line!(out, "  links:");
    for node in &cluster.nodes {
        for nic in node.nics.iter().filter(|nic| nic.peer.is_none()) {
            line!(out, "    - type: veth");
            line!(out, "      endpoints:");
            line!(
                out,
                "        - {{node: {}, interface: {}, mac: \"{}\"}}",
                json!(node.name),
                json!(nic.name),
                nic.mac
            );
            line!(
                out,
                "        - {{node: {}, interface: swp{}}}",
                json!(cluster.switch(nic.switch).name),
                nic.port
            );
        }
    }
    for (a, b) in cluster.direct_cables() {
        line!(out, "    - type: veth");
        line!(out, "      endpoints:");
        for end in [a, b] {
            let node = cluster.node(end.node);
            let nic = &node.nics[end.nic];
            let (node, name) = (json!(node.name), json!(nic.name));
            line!(out, "        - {{node: {node}, interface: {name}, mac: \"{}\"}}", nic.mac);
        }
    }
    for (_, link) in cluster.cables() {
        let end = |p: Port| format!("{}:swp{}", cluster.switch(p.switch).name, p.port);
        line!(out, "    - endpoints: [{}, {}]", json!(end(link.a)), json!(end(link.b)));
    }
    vec![ExportFile { name: "clab.yml".into(), text: out }]
}

fn container(out: &mut String, name: &str, script: &str) {
    line!(out, "    {}:", json!(name));
    line!(out, "      binds: [{}]", json!(format!("{script}:/tresse.sh:ro")));
    line!(out, "      exec: [\"sh /tresse.sh\"]");
}

/// Commands that make a switch of a container whose ports are cabled: one bridge, or one for each of the
/// lines that it holds.
fn plain_bridge(plan: &Plan, name: &str) -> Vec<String> {
    let cluster = plan.cluster();
    let mut bridges: BTreeMap<Option<Vid>, Vec<u32>> = BTreeMap::new();
    let mut plug = |line: Option<Vid>, end: Port| {
        if cluster.switch(end.switch).name == name {
            bridges.entry(line).or_default().push(end.port);
        }
    };
    for (k, node) in cluster.nodes.iter().enumerate() {
        let nics = node.nics.iter().enumerate().filter(|(_, nic)| nic.peer.is_none());
        for (i, nic) in nics {
            plug(plan.line_vid(k.into(), i), Port { switch: nic.switch, port: nic.port });
        }
    }
    cluster.cables().flat_map(|(_, link)| [link.a, link.b]).for_each(|end| plug(None, end));
    let commands = bridges.into_iter().flat_map(|(line, ports)| {
        let bridge = format!("br{}", line.map_or(0, |vid| vid.0));
        let add = format!("ip link add {bridge} type bridge stp_state 0");
        let of_port = |port: u32| format!("ip link set swp{port} master {bridge} up");
        let ports: Vec<_> = ports.into_iter().map(of_port).collect();
        [vec![add], ports, vec![format!("ip link set {bridge} up")]].concat()
    });
    commands.collect()
}
