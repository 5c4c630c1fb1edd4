//! Writes the place of a switch or node in a generated fabric (coordinates, index or port) as a text that stays the
//! same when the fabric grows. The name does not stay the same: it contains a number that depends on the sizes of the
//! dimensions.

use std::collections::HashSet;

use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_topology::Grid;
use tresse_topology::cluster::{Cluster, Link, TopologyShape};
use tresse_topology::generate::coordinates;

/// Returns the place of a switch as a text that stays the same when the fabric grows. On a mesh or torus: its
/// coordinates, `1,2`, without trailing zeros: if a dimension is added later, the switches that are there get a zero
/// as their last coordinate, and keep their place. In every other generated fabric whose nodes do
/// not route: its index. Otherwise: its name.
#[must_use]
pub fn switch(cluster: &Cluster, id: SwitchId) -> String {
    match &cluster.kind {
        TopologyShape::Mesh { dims } | TopologyShape::Torus { dims } => {
            // Sizes only: a mesh and a torus number alike.
            let grid = Grid::new(dims, false);
            if id.index() < grid.len() {
                return joined(&grid.coordinates(id));
            }
        }
        TopologyShape::Clique { ports } if id.0 < ports / 2 + 1 => return joined(&[id.0]),
        TopologyShape::Irregular { .. }
        | TopologyShape::Clos { .. }
        | TopologyShape::FatTree { .. }
        | TopologyShape::Hypercube { .. }
        | TopologyShape::Hyperx { .. }
        | TopologyShape::Dragonfly { .. }
        | TopologyShape::SlimFly { .. } => return joined(&[id.0]),
        TopologyShape::Clique { .. }
        | TopologyShape::Explicit
        | TopologyShape::Pmesh { .. }
        | TopologyShape::Ring { .. }
        | TopologyShape::DirectMesh { .. }
        | TopologyShape::DirectTorus { .. }
        | TopologyShape::FullMesh { .. }
        | TopologyShape::Cabled { .. }
        | TopologyShape::Fnn { .. } => {}
    }
    cluster.switch(id).name.clone()
}

/// Coordinates without the zeros at the end.
fn joined(numbers: &[u32]) -> String {
    let used = numbers.iter().rposition(|x| *x != 0).map_or(1, |last| last + 1);
    numbers[..used].iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the place of a node as text; `None` where the file lists everything, and only the name identifies a node.
/// On a grid of nodes the place is the coordinates, `1,2`; in a ring, full mesh or wiring table the node index;
/// in other generated fabrics the switch and port of the first NIC, `1,2:1`.
#[must_use]
pub fn node(cluster: &Cluster, id: NodeId) -> Option<String> {
    match &cluster.kind {
        TopologyShape::Pmesh { dims, .. }
        | TopologyShape::DirectMesh { dims }
        | TopologyShape::DirectTorus { dims } => {
            return Some(joined(&coordinates(id.0, dims)));
        }
        TopologyShape::Ring { .. } | TopologyShape::FullMesh { .. } => {
            return Some(joined(&[id.0]));
        }
        // Others are not in the table, and leave it when they take a place there.
        TopologyShape::Fnn { wiring, .. } => {
            return (id.index() < wiring.pcs()).then(|| joined(&[id.0]));
        }
        _ => {}
    }
    let nic = cluster.node(id).nics.first()?;
    let generated = !matches!(cluster.kind, TopologyShape::Explicit | TopologyShape::Cabled { .. });
    generated.then(|| format!("{}:{}", switch(cluster, nic.switch), nic.port))
}

/// Returns cables between switches as text, in ascending order, such as `0:2~1:3 1:2~2:3`. Each end is written as the
/// place of the switch (see [`switch`]) and the port.
#[must_use]
pub fn cables(cluster: &Cluster, links: &[LinkId]) -> String {
    let mut cables: Vec<_> = links.iter().map(|link| cable(cluster, cluster.link(*link))).collect();
    cables.sort_unstable();
    cables.join(" ")
}

/// Returns the cables of `cluster` that a text written by [`cables`] lists. Cables of the text that the cluster no
/// longer has are left out; those of a link aggregation group are one link.
#[must_use]
pub fn links(cluster: &Cluster, text: &str) -> Vec<LinkId> {
    let wanted: HashSet<&str> = text.split(' ').collect();
    let there = cluster.cables().filter(|(_, link)| wanted.contains(&*cable(cluster, link)));
    let mut links: Vec<LinkId> = there.map(|(link, _)| link).collect();
    links.dedup();
    links
}

fn cable(cluster: &Cluster, link: &Link) -> String {
    let mut ends =
        [link.a, link.b].map(|end| format!("{}:{}", switch(cluster, end.switch), end.port));
    ends.sort_unstable();
    ends.join("~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::Strategy;

    fn places(kind: TopologyShape, of: &[u32]) -> Vec<String> {
        let cluster = Cluster::generated(kind, 2, 1, Strategy::Dor, 1);
        of.iter().map(|k| node(&cluster, NodeId(*k)).unwrap()).collect()
    }

    #[test]
    fn growth_changes_no_place() {
        let torus = |dims: &[u32]| TopologyShape::Torus { dims: dims.into() };
        assert_eq!(places(torus(&[3]), &[0, 1, 5]), ["0:1", "0:2", "2:2"]);
        assert_eq!(places(torus(&[3, 3]), &[0, 5, 6, 17]), ["0:1", "2:2", "0,1:1", "2,2:2"]);
        assert_eq!(places(torus(&[4, 3]), &[0, 5, 8, 21]), ["0:1", "2:2", "0,1:1", "2,2:2"]);
        assert_eq!(places(torus(&[3, 3, 3]), &[6, 35]), ["0,1:1", "2,2,1:2"]);
        assert_eq!(places(TopologyShape::Clique { ports: 4 }, &[3]), ["1:2"]);
        let clos = |leaves| TopologyShape::Clos { spines: 2, leaves, cables: 1 };
        assert_eq!(places(clos(4), &[0, 7]), ["0:1", "3:2"]);
        assert_eq!(places(clos(12), &[0, 7]), ["0:1", "3:2"]);
        assert_eq!(places(TopologyShape::Hypercube { dimensions: 3 }, &[9]), ["4:2"]);
    }

    #[test]
    fn listed_nodes_are_known_by_name() {
        let mut cluster =
            Cluster::generated(TopologyShape::Mesh { dims: vec![2] }, 1, 1, Strategy::Dor, 1);
        cluster.kind = TopologyShape::Explicit;
        assert_eq!(node(&cluster, NodeId(1)), None);
        assert_eq!(switch(&cluster, SwitchId(1)), "s1");
    }
}
