//! Exports that list the nodes of a plan for other programs: `/etc/hosts`, and Slurm's `topology.conf` for its plugin
//! topology/tree.

use std::collections::BTreeMap;

use tresse_base::id::{NodeId, Vid};
use tresse_plan::Plan;

use super::ExportFile;

/// `/etc/hosts` lines of the node addresses.
pub(super) fn hosts(plan: &Plan) -> Vec<ExportFile> {
    let mut out = String::new();
    line!(
        out,
        "# Node addresses of fabric {}, generation {}",
        plan.cluster().name,
        plan.generation()
    );
    for (node, addresses) in plan.cluster().nodes.iter().zip(&plan.addresses().node) {
        for address in addresses {
            line!(out, "{address} {}", node.name);
        }
    }
    vec![ExportFile { name: "hosts".into(), text: out }]
}

/// Leaf switches, or the lines that they hold, with their nodes (by the first NIC), and nodes cabled to nodes as those of
/// one switch; below one top level that stands for the cables between them, which Slurm's tree cannot express.
pub(super) fn slurm(plan: &Plan) -> Vec<ExportFile> {
    let cluster = plan.cluster();
    let mut out = String::new();
    line!(out, "# topology.conf of fabric {}, generation {}", cluster.name, plan.generation());
    line!(out, "# slurm.conf: TopologyPlugin=topology/tree");
    let names: Vec<_> = order(plan).into_iter().map(|n| cluster.node(n).name.as_str()).collect();
    line!(out, "# Order of nodes that keeps neighbours together, for NodeName lines:");
    line!(out, "# {}", names.join(","));
    let mut leaves: BTreeMap<(usize, Option<Vid>), Vec<&str>> = BTreeMap::new();
    let mut cabled = Vec::new();
    for (k, node) in cluster.nodes.iter().enumerate() {
        let Some(nic) = node.nics.first().filter(|nic| nic.peer.is_none()) else {
            cabled.push(node.name.as_str());
            continue;
        };
        let leaf = (nic.switch.index(), plan.line_vid(k.into(), 0));
        leaves.entry(leaf).or_default().push(&node.name);
    }
    let mut switches = Vec::new();
    for ((switch, line), nodes) in &leaves {
        let line = line.map_or_else(String::new, |vid| format!("-vlan{vid}"));
        switches.push(format!("{}{line}", cluster.switches[*switch].name));
        line!(out, "SwitchName={} Nodes={}", switches[switches.len() - 1], hostlist(nodes));
    }
    if !cabled.is_empty() {
        switches.push("tresse-cables".into());
        line!(out, "SwitchName=tresse-cables Nodes={}", hostlist(&cabled));
    }
    if switches.len() > 1 {
        let switches: Vec<&str> = switches.iter().map(String::as_str).collect();
        line!(out, "SwitchName=tresse-top Switches={}", hostlist(&switches));
    }
    vec![ExportFile { name: "topology.conf".into(), text: out }]
}

/// Nodes such that consecutive ones are near each other: on a fabric with dimensions along a snake through
/// all rows, elsewhere by switch.
pub(super) fn order(plan: &Plan) -> Vec<NodeId> {
    let cluster = plan.cluster();
    let grid = tresse_topology::Grid::of(&cluster.kind);
    let mut nodes: Vec<_> = (0..cluster.nodes.len()).map(NodeId::from).collect();
    nodes.sort_by_cached_key(|id| {
        let Some(nic) = cluster.node(*id).nics.first() else { return (vec![u32::MAX], *id) };
        let Some(grid) = &grid else { return (vec![nic.switch.0], *id) };
        let at = grid.coordinates(nic.switch);
        let mut reversed = false;
        let mut key = Vec::with_capacity(grid.dims().len());
        for dim in (0..grid.dims().len()).rev() {
            let x = at[dim];
            key.push(if reversed { grid.dims()[dim] - 1 - x } else { x });
            reversed ^= x % 2 == 1;
        }
        (key, *id)
    });
    nodes
}

/// `n[00-03],x7`: consecutive names with the same letters and the same number of digits in one.
fn hostlist(names: &[&str]) -> String {
    let mut runs: Vec<(&str, usize, u64, u64)> = Vec::new();
    for name in names {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[letters.len()..];
        let number = digits.parse::<u64>().ok();
        match (runs.last_mut(), number) {
            (Some(run), Some(n))
                if (run.0, run.1) == (letters, digits.len()) && run.3.checked_add(1) == Some(n) =>
            {
                run.3 = n;
            }
            (_, Some(n)) => runs.push((letters, digits.len(), n, n)),
            (_, None) => runs.push((name, 0, 0, 0)),
        }
    }
    let spell =
        |&(letters, width, first, last): &(&str, usize, u64, u64)| match (width, first == last) {
            (0, _) => letters.to_string(),
            (_, true) => format!("{letters}{first:0width$}"),
            _ => format!("{letters}[{first:0width$}-{last:0width$}]"),
        };
    runs.iter().map(spell).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    #[test]
    fn hostlists_join_what_is_consecutive() {
        assert_eq!(
            hostlist(&["n08", "n09", "n10", "n12", "login", "n1", "n2"]),
            "n[08-10],n12,login,n[1-2]"
        );
        assert_eq!(hostlist(&["n9", "n10"]), "n9,n10");
        assert_eq!(hostlist(&[]), "");
    }

    #[test]
    fn consecutive_nodes_of_a_mesh_are_adjacent() {
        let kind = TopologyShape::Mesh { dims: vec![3, 2, 3] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Stp, 1)).unwrap();
        let order = order(&plan);
        let switch = |n: NodeId| plan.cluster().node(n).nics[0].switch;
        assert_eq!(order.len(), 18);
        for pair in order.windows(2) {
            assert!(plan.graph().between(switch(pair[0]), switch(pair[1])).is_some(), "{pair:?}");
        }
    }
}
