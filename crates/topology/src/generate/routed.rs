//! Generates the fabrics whose nodes route. On a P-Mesh a node has one NIC per dimension, cabled to a switch; in the
//! other kinds it has one NIC for each node that it is cabled to.
//!
//! On a P-Mesh, the nodes that differ in one coordinate only are a line, and share a switch. A switch holds one or
//! several lines. Lines are assigned to switches in order: dimension 0 first, within a dimension by the node number
//! without that dimension. On its switch, the node at coordinate x of a line has the (x + 1)-th port of that line; the
//! ports of a line follow those of the lines before it.

use tresse_base::id::{NodeId, SwitchId};
use tresse_base::units::Rate;

use super::fabric::{Fabric, Names, default_switch, derived_mac};
use crate::Layout;
use crate::cluster::{Nic, NicEnd, Node};

/// Returns the nodes and switches of a layout.
pub(super) fn generate(layout: Layout) -> Fabric {
    let names = Names::new('n', layout.nodes() as u32);
    let nodes = (0..layout.nodes()).map(|k| node(&layout, &names, k.into())).collect();
    if !layout.has_switches() {
        return Fabric { nodes, ..Fabric::default() };
    }
    let count = layout.switches() as u32;
    let names = Names::new('s', count);
    let ports = |k| layout.ports(layout.lines_of(SwitchId(k)));
    let switches = (0..count).map(|k| default_switch(names.of(k), ports(k))).collect();
    Fabric { switches, nodes, ..Fabric::default() }
}

fn node(layout: &Layout, names: &Names, id: NodeId) -> Node {
    // On a line that a switch joins, every node is a neighbour of every other.
    let hops = if layout.has_switches() { Vec::new() } else { layout.neighbours(id) };
    let nic = |(i, name): (usize, String)| {
        let to = hops.iter().find(|hop| hop.nic == i);
        let (switch, port) = match to {
            Some(_) => (SwitchId::NONE, 0),
            None => (layout.switch(layout.line(id, i)), layout.port(id, i)),
        };
        Nic {
            name,
            mac: derived_mac(id.index(), i),
            mac_derived: true,
            switch,
            port,
            peer: to.map(|hop| NicEnd { node: hop.to, nic: hop.to_nic }),
            rate: Rate::GIGABIT,
            mtu: 1500,
        }
    };
    let nics = layout.nic_names(id).into_iter().enumerate().map(nic).collect();
    Node::new(names.of(id.0), nics)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::cluster::{Cluster, Strategy, TopologyShape};
    use tresse_base::id::NodeId;

    fn cluster(kind: TopologyShape) -> Cluster {
        Cluster::generated(kind, 1, 1, Strategy::Xy, 1)
    }

    fn pmesh(dims: &[u32]) -> TopologyShape {
        TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch: 1 }
    }

    /// p-mesh, section 4.0: dimension j has the product of the other sizes switches, each of M_j ports.
    #[test]
    fn a_p_mesh_has_a_switch_per_line_and_a_nic_per_dimension() {
        for (dims, switches) in
            [(&[4, 4][..], 8), (&[3, 3, 3], 27), (&[12, 24], 36), (&[2, 3, 4], 26)]
        {
            let cluster = cluster(pmesh(dims));
            assert_eq!(cluster.switches.len(), switches, "{dims:?}");
            let nics = cluster.nodes.iter().flat_map(|n| &n.nics);
            let ports: HashSet<_> = nics.clone().map(|n| (n.switch, n.port)).collect();
            assert_eq!(ports.len(), dims.len() * cluster.nodes.len());
            let all: u32 = cluster.switches.iter().map(|s| s.ports).sum();
            assert_eq!(all as usize, ports.len());
            assert!(nics.clone().all(|n| n.port <= cluster.switch(n.switch).ports && n.port > 0));
        }
        let four = cluster(pmesh(&[4, 4]));
        let row: Vec<_> = (4..8).map(|k| four.nodes[k].nics[0].switch.0).collect();
        let column: Vec<_> = [1, 5, 9, 13].map(|k: usize| four.nodes[k].nics[1].switch.0).into();
        assert_eq!((row, column), (vec![1; 4], vec![5; 4]));
        let ports: Vec<_> = four.nodes[6].nics.iter().map(|nic| nic.port).collect();
        assert_eq!(ports, [3, 2]);
    }

    /// p-mesh, figure 4: two switches stand for eight.
    #[test]
    fn lines_on_one_switch_have_ports_of_their_own() {
        let dims = vec![4, 4];
        let two = cluster(TopologyShape::Pmesh {
            dims: dims.clone(),
            grow_to: dims,
            lines_per_switch: 4,
        });
        assert_eq!(two.switches.iter().map(|s| s.ports).collect::<Vec<_>>(), [16, 16]);
        let of = |k: usize| two.nodes[k].nics.iter().map(|n| (n.switch.0, n.port)).collect();
        let ends: [Vec<(u32, u32)>; 3] = [0, 6, 15].map(of);
        assert_eq!(ends, [[(0, 1), (1, 1)], [(0, 7), (1, 10)], [(0, 16), (1, 16)]]);
    }

    #[test]
    fn direct_cables_join_two_nics_each() {
        let count = |kind| {
            let cluster = cluster(kind);
            for (k, node) in cluster.nodes.iter().enumerate() {
                for (i, nic) in node.nics.iter().enumerate() {
                    let peer = nic.peer.unwrap();
                    let back = cluster.node(peer.node).nics[peer.nic].peer.unwrap();
                    assert_eq!((back.node, back.nic), (NodeId::from(k), i));
                }
            }
            assert_eq!(cluster.switches.len(), 0);
            cluster.direct_cables().count()
        };
        assert_eq!(count(TopologyShape::Ring { nodes: 8 }), 8);
        assert_eq!(count(TopologyShape::Ring { nodes: 2 }), 1);
        assert_eq!(count(TopologyShape::DirectTorus { dims: vec![4, 4] }), 32);
        assert_eq!(count(TopologyShape::DirectTorus { dims: vec![2, 3, 4] }), 12 + 24 + 24);
        assert_eq!(count(TopologyShape::DirectMesh { dims: vec![4, 4] }), 24);
        assert_eq!(count(TopologyShape::DirectMesh { dims: vec![2, 3, 2] }), 6 + 8 + 6);
        assert_eq!(count(TopologyShape::FullMesh { nodes: 5 }), 10);
    }

    #[test]
    fn nics_are_named_by_dimension_minus_then_plus() {
        let names = |kind, k: usize| {
            let nics = cluster(kind).nodes[k].nics.clone();
            nics.into_iter().map(|n| n.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names(TopologyShape::DirectTorus { dims: vec![4, 4] }, 0),
            "eth0 eth1 eth2 eth3"
        );
        assert_eq!(names(TopologyShape::DirectMesh { dims: vec![3, 3] }, 0), "eth1 eth3");
        assert_eq!(names(TopologyShape::DirectMesh { dims: vec![3, 3] }, 8), "eth0 eth2");
        assert_eq!(names(TopologyShape::FullMesh { nodes: 4 }, 2), "eth0 eth1 eth2");
        assert_eq!(names(pmesh(&[3, 3, 3]), 5), "eth0 eth1 eth2");
    }
}
