//! Generates fabrics by kind and size (DESIGN section 3): mesh, torus, clique, irregular, flat neighbourhood and
//! the families of [`families`](crate::families), with names, ports, cables and derived MAC addresses. The module `routed` generates the fabrics whose nodes route. This
//! module defines how switches, nodes and ports are numbered. The sizes must be valid: the parser checks them.
//!
//! All switches use their ports alike. With n nodes per switch and c NICs per node, the first c n ports are for NICs:
//! NIC i of a node is on port i n + j + 1, where j is the node's position among the n nodes of its first switch. Then
//! come, for each dimension, the cables to the lower and to the higher neighbour (a mesh leaves the ports free that
//! would lead outside), or, in all other fabrics, one cable after the other by neighbour in index
//! order. Of the families of [`families`](crate::families) only the first switches may have nodes: others use their ports for cables from
//! port 1 on, and have as many as the one of them with the most cables.

mod fabric;
mod routed;

use tresse_base::id::SwitchId;
use tresse_base::units::Rate;
use tresse_base::wiring::Wiring;

use crate::cluster::{Link, Nic, Node, Port, TopologyShape};
use crate::families::Family;
use crate::{Layout, random};

pub use fabric::{Fabric, default_switch, derived_mac};

use fabric::Names;

/// Generates the switches, nodes and cables of a kind of topology. `nodes_per_switch` and `nics_per_node` are keys of
/// the cluster file (see [`usual_nodes_per_switch`]). They are ignored for flat neighbourhoods, and
/// for fabrics without switches such as rings. [`TopologyShape::Explicit`] gives an empty fabric.
#[must_use]
pub fn generate(kind: &TopologyShape, nodes_per_switch: u32, nics_per_node: u32) -> Fabric {
    let first = nodes_per_switch * nics_per_node + 1;
    let (count, ports, links) = match kind {
        TopologyShape::Mesh { dims } => {
            (product(dims), grid_ports(first, dims), grid(dims, false, first))
        }
        TopologyShape::Torus { dims } => {
            (product(dims), grid_ports(first, dims), grid(dims, true, first))
        }
        TopologyShape::Clique { ports } => (ports / 2 + 1, *ports, clique(ports / 2 + 1, first)),
        TopologyShape::Irregular { switches, ports, seed } => {
            let degree = (ports + 1).saturating_sub(first);
            let cables = random::regular(*switches, degree, (*seed).into());
            let (_, links) = by_neighbour(*switches, &cables, |_| first);
            (*switches, *ports, links)
        }
        TopologyShape::Clos { .. }
        | TopologyShape::FatTree { .. }
        | TopologyShape::Hypercube { .. }
        | TopologyShape::Hyperx { .. }
        | TopologyShape::Dragonfly { .. }
        | TopologyShape::SlimFly { .. } => {
            let of = |family: &Family| generate_family(family, nodes_per_switch, nics_per_node);
            return Family::of(kind).as_ref().map_or_else(Fabric::default, of);
        }
        TopologyShape::Explicit => return Fabric::default(),
        TopologyShape::Fnn { wiring, uplink, spares } => {
            return flat(wiring, uplink.as_deref(), spares);
        }
        TopologyShape::Pmesh { .. }
        | TopologyShape::Ring { .. }
        | TopologyShape::DirectMesh { .. }
        | TopologyShape::DirectTorus { .. }
        | TopologyShape::FullMesh { .. }
        | TopologyShape::Cabled { .. } => {
            return Layout::of(kind).map_or_else(Fabric::default, routed::generate);
        }
    };
    let names = Names::new('s', count);
    let switches = (0..count).map(|k| default_switch(names.of(k), ports)).collect();
    Fabric { switches, nodes: nodes(count, nodes_per_switch, nics_per_node), links }
}

/// Returns the default number of nodes per switch of a clique (every switch cabled to every other) whose switches have
/// `ports` ports. Half of the ports are for NICs, so this is half of `ports`, divided by `nics_per_node`.
#[must_use]
pub const fn clique_nodes_per_switch(ports: u32, nics_per_node: u32) -> u32 {
    match (ports / 2).checked_div(nics_per_node) {
        Some(nodes) => nodes,
        None => 0,
    }
}

/// Returns the number of nodes per switch if the cluster file gives none. A clique and a fat tree have as many NICs
/// as half of the ports, at least one node; all others have one node.
#[must_use]
pub fn usual_nodes_per_switch(kind: &TopologyShape, nics_per_node: u32) -> u32 {
    match kind {
        TopologyShape::Clique { ports } => clique_nodes_per_switch(*ports, nics_per_node),
        TopologyShape::FatTree { k } => (k / 2 / nics_per_node.max(1)).max(1),
        _ => 1,
    }
}

/// Returns the coordinates (x0, x1, ...) of switch or node `k` on a grid with the sizes N0, N1, ... in `dims`.
/// Dimension 0 varies fastest, as in `k = x0 + N0 x1 + N0 N1 x2 ...`
#[must_use]
pub fn coordinates(mut k: u32, dims: &[u32]) -> Vec<u32> {
    dims.iter()
        .map(|&n| {
            let x = k % n;
            k /= n;
            x
        })
        .collect()
}

fn product(dims: &[u32]) -> u32 {
    dims.iter().product()
}

fn grid_ports(first: u32, dims: &[u32]) -> u32 {
    first - 1 + 2 * dims.len() as u32
}

fn nodes(switches: u32, per_switch: u32, nics_per_node: u32) -> Vec<Node> {
    let names = Names::new('n', switches * per_switch);
    let nic = |k: u32, i: u32| Nic {
        name: format!("eth{i}"),
        mac: derived_mac(k as usize, i as usize),
        mac_derived: true,
        switch: SwitchId((k / per_switch + i) % switches),
        port: i * per_switch + k % per_switch + 1,
        peer: None,
        rate: Rate::GIGABIT,
        mtu: 1500,
    };
    (0..switches * per_switch)
        .map(|k| Node::new(names.of(k), (0..nics_per_node).map(|i| nic(k, i)).collect()))
        .collect()
}

/// Returns the cables of a mesh or torus. Each switch has a cable to its higher neighbour in every dimension;
/// on a torus the last of three or more is cabled to the first. Rows of two have one cable, rows of one none.
fn grid(dims: &[u32], wrap: bool, first: u32) -> Vec<Link> {
    let mut links = Vec::new();
    for k in 0..product(dims) {
        let mut stride = 1;
        for (d, &n) in dims.iter().enumerate() {
            let x = k / stride % n;
            let next = if x + 1 < n {
                Some(k + stride)
            } else if wrap && n > 2 {
                Some(k - x * stride)
            } else {
                None
            };
            if let Some(next) = next {
                let minus = first + 2 * d as u32;
                links.push(cable((k, minus + 1), (next, minus)));
            }
            stride *= n;
        }
    }
    links
}

/// Generates a flat neighbourhood. The `i`-th node of a switch has port `i + 1` there. With an uplink, the port
/// after those of the nodes of each other switch is cabled to it, in order from its first port behind its own nodes.
fn flat(wiring: &Wiring, uplink: Option<&str>, spares: &[String]) -> Fabric {
    let count = wiring.pcs() as u32;
    let names = Names::new('n', count);
    let node = |name| Node::new(name, Vec::new());
    let mut nodes: Vec<Node> = (0..count).map(|k| node(names.of(k))).collect();
    for (switch, members) in wiring.switches.iter().enumerate() {
        for (port, member) in (1..).zip(members) {
            let nics = &mut nodes[*member as usize].nics;
            nics.push(flat_nic(*member as usize, nics.len(), switch.into(), port));
        }
    }
    let count = wiring.switches.len() as u32;
    let names = Names::new('s', count);
    // The uplink is a switch of its own behind the others, or one of them (folded).
    let folded = uplink.and_then(|uplink| (0..count).find(|k| names.of(*k) == uplink));
    let up = folded.unwrap_or(count);
    let cabled = |k: u32| uplink.is_some() && k != up;
    let members = |k: u32| wiring.switches.get(k as usize).map_or(0, |of| of.len() as u32);
    let ports = |k: u32| match Some(k) == folded {
        true => members(k) + count - 1 + spares.len() as u32,
        false => members(k) + u32::from(cabled(k)),
    };
    let switches = (0..count).map(|k| default_switch(names.of(k), ports(k)));
    let own = uplink
        .filter(|_| folded.is_none())
        .map(|name| default_switch(name.to_owned(), count + spares.len() as u32));
    let cables = (0..count).filter(|k| cabled(*k)).zip(members(up) + 1..);
    let links = cables.map(|(k, port)| cable((k, ports(k)), (up, port))).collect();
    // Behind the uplink's cables.
    let first = folded.map_or(count, |folded| members(folded) + count - 1) + 1;
    for (port, name) in (first..).zip(spares).filter(|_| uplink.is_some()) {
        let nic = flat_nic(nodes.len(), 0, SwitchId(up), port);
        nodes.push(Node { nics: vec![nic], ..node(name.clone()) });
    }
    Fabric { switches: switches.chain(own).collect(), nodes, links }
}

/// NIC number `nic` of node number `node` of a flat neighbourhood.
fn flat_nic(node: usize, nic: usize, switch: SwitchId, port: u32) -> Nic {
    Nic {
        name: format!("eth{nic}"),
        mac: derived_mac(node, nic),
        mac_derived: true,
        switch,
        port,
        peer: None,
        rate: Rate::GIGABIT,
        mtu: 1500,
    }
}

fn clique(count: u32, first: u32) -> Vec<Link> {
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    pairs.map(|(a, b)| cable((a, first + b - 1), (b, first + a))).collect()
}

/// Lays cables, given by their ends in ascending order, from the port `first` of each switch on. Returns the port after
/// the last one that is used, for each switch, and the cables. A switch's ports to other switches are in the order of the
/// indices of those switches.
fn by_neighbour(
    count: u32,
    cables: &[(u32, u32)],
    first: impl Fn(u32) -> u32,
) -> (Vec<u32>, Vec<Link>) {
    let mut next: Vec<u32> = (0..count).map(first).collect();
    let mut port = |switch: u32| {
        let port = next[switch as usize];
        next[switch as usize] += 1;
        (switch, port)
    };
    // Ascending by lower switch: so each switch meets its lower neighbours first, all in order.
    let links = cables.iter().map(|(a, b)| cable(port(*a), port(*b))).collect();
    (next, links)
}

fn generate_family(family: &Family, nodes_per_switch: u32, nics_per_node: u32) -> Fabric {
    let has_nodes = |switch: u32| switch < family.homes;
    let first = |switch| if has_nodes(switch) { nodes_per_switch * nics_per_node + 1 } else { 1 };
    let (next, links) = by_neighbour(family.switches, &family.cables, first);
    let most = |among: &[u32]| among.iter().max().map_or(1, |next| (next - 1).max(1));
    let (with, without) = next.split_at(family.homes as usize);
    let ports = [most(without), most(with)];
    let names = Names::new('s', family.switches);
    let switch = |k| default_switch(names.of(k), ports[usize::from(has_nodes(k))]);
    Fabric {
        switches: (0..family.switches).map(switch).collect(),
        nodes: nodes(family.homes, nodes_per_switch, nics_per_node),
        links,
    }
}

fn cable(a: (u32, u32), b: (u32, u32)) -> Link {
    let port = |(switch, port)| Port { switch: SwitchId(switch), port };
    Link { a: port(a), b: port(b), rate: Rate::GIGABIT }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn torus(dims: &[u32]) -> TopologyShape {
        TopologyShape::Torus { dims: dims.into() }
    }

    fn pairs(fabric: &Fabric) -> Vec<(u32, u32)> {
        fabric.links.iter().map(|l| (l.a.switch.0, l.b.switch.0)).collect()
    }

    fn assert_ports_unique_and_in_range(fabric: &Fabric) {
        let nics = fabric.nodes.iter().flat_map(|n| &n.nics).map(|n| (n.switch, n.port));
        let ends = fabric.links.iter().flat_map(|l| [l.a, l.b]).map(|p| (p.switch, p.port));
        let mut used = HashSet::new();
        for (switch, port) in nics.chain(ends) {
            assert!(used.insert((switch, port)), "port {port} of {switch:?} used twice");
            assert!((1..=fabric.switches[switch.index()].ports).contains(&port));
        }
    }

    #[test]
    fn torus_has_wrap_cables_and_a_mesh_has_none() {
        let fabric = generate(&torus(&[4, 4]), 1, 1);
        assert_eq!((fabric.switches.len(), fabric.nodes.len(), fabric.links.len()), (16, 16, 32));
        assert!(pairs(&fabric).contains(&(3, 0)) && pairs(&fabric).contains(&(12, 0)));
        let fabric = generate(&TopologyShape::Mesh { dims: vec![4, 4] }, 1, 1);
        assert_eq!(fabric.links.len(), 24);
        assert!(!pairs(&fabric).contains(&(3, 0)));
    }

    #[test]
    fn small_torus_dimensions_have_one_cable_or_none() {
        assert_eq!(pairs(&generate(&torus(&[2]), 1, 1)), [(0, 1)]);
        assert_eq!(pairs(&generate(&torus(&[1]), 1, 1)), []);
        assert_eq!(pairs(&generate(&torus(&[3]), 1, 1)), [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(pairs(&generate(&torus(&[1, 2]), 1, 1)), [(0, 1)]);
        assert_eq!(generate(&torus(&[2, 3, 4]), 1, 1).links.len(), 12 + 24 + 24);
    }

    #[test]
    fn ports_are_nodes_then_minus_and_plus_per_dimension() {
        let fabric = generate(&torus(&[4, 4]), 2, 1);
        let first = fabric.links[0];
        assert_eq!((first.a.switch.0, first.a.port), (0, 4));
        assert_eq!((first.b.switch.0, first.b.port), (1, 3));
        let up = fabric.links[1];
        assert_eq!((up.b.switch.0, up.a.port, up.b.port), (4, 6, 5));
        assert_eq!(fabric.nodes[3].nics[0].switch, SwitchId(1));
        assert_eq!(fabric.nodes[3].nics[0].port, 2);
        assert_eq!(fabric.switches[0].ports, 6);
    }

    #[test]
    fn second_nic_goes_to_the_next_switch_and_wraps() {
        let fabric = generate(&torus(&[4, 4]), 1, 2);
        assert_eq!(fabric.nodes[15].nics[1].switch, SwitchId(0));
        assert_eq!(fabric.nodes[15].nics[1].name, "eth1");
        assert_eq!(fabric.nodes[15].nics[1].port, 2);
    }

    #[test]
    fn every_generated_port_is_used_once_and_exists() {
        for (nodes, nics) in [(1, 1), (3, 1), (1, 2), (2, 3)] {
            for dims in [&[4, 4][..], &[5], &[2, 2, 2], &[1, 3], &[1], &[3, 4, 5]] {
                assert_ports_unique_and_in_range(&generate(&torus(dims), nodes, nics));
                let mesh = TopologyShape::Mesh { dims: dims.into() };
                assert_ports_unique_and_in_range(&generate(&mesh, nodes, nics));
            }
        }
        for ports in [2, 3, 4, 5, 8, 24] {
            for nics in 1..=2 {
                let nodes = clique_nodes_per_switch(ports, nics);
                assert_ports_unique_and_in_range(&generate(
                    &TopologyShape::Clique { ports },
                    nodes,
                    nics,
                ));
            }
        }
    }

    fn families() -> Vec<TopologyShape> {
        vec![
            TopologyShape::Clos { spines: 4, leaves: 8, cables: 1 },
            TopologyShape::Clos { spines: 3, leaves: 2, cables: 2 },
            TopologyShape::Clos { spines: 1, leaves: 1, cables: 1 },
            TopologyShape::FatTree { k: 2 },
            TopologyShape::FatTree { k: 6 },
            TopologyShape::Hypercube { dimensions: 4 },
            TopologyShape::Hyperx { dims: vec![4, 1, 3] },
            TopologyShape::Dragonfly { groups: 9, routers: 4, global: 2 },
            TopologyShape::Dragonfly { groups: 6, routers: 3, global: 2 },
            TopologyShape::SlimFly { q: 5 },
        ]
    }

    /// Of the switches with nodes, and of the others, one uses its last port.
    #[test]
    fn families_use_every_port_once_and_have_no_more_than_they_need() {
        for (nodes, nics) in [(1, 1), (3, 1), (2, 3)] {
            for kind in families() {
                let fabric = generate(&kind, nodes, nics);
                assert_ports_unique_and_in_range(&fabric);
                let homes = Family::of(&kind).unwrap().homes;
                for first in [0, homes as usize] {
                    let Some(switch) = fabric.switches.get(first) else { continue };
                    let ends = fabric.links.iter().flat_map(|l| [l.a, l.b]);
                    let last = ends.filter(|end| (end.switch.0 < homes) == (first == 0));
                    assert_eq!(last.map(|end| end.port).max(), Some(switch.ports), "{kind:?}");
                }
            }
        }
    }

    /// NICs first, on leaves and edge switches alone; cables by neighbour; parallel ones beside each other.
    #[test]
    fn ports_of_leaves_and_spines() {
        let fabric = generate(&TopologyShape::Clos { spines: 2, leaves: 3, cables: 2 }, 2, 2);
        assert_eq!(fabric.switches.iter().map(|s| s.ports).collect::<Vec<_>>(), [8, 8, 8, 6, 6]);
        let of_leaf = |leaf| {
            let of = fabric.links.iter().filter(move |l| l.a.switch == SwitchId(leaf));
            of.map(|l| (l.a.port, l.b.switch.0, l.b.port)).collect::<Vec<_>>()
        };
        assert_eq!(of_leaf(0), [(5, 3, 1), (6, 3, 2), (7, 4, 1), (8, 4, 2)]);
        assert_eq!(of_leaf(2), [(5, 3, 5), (6, 3, 6), (7, 4, 5), (8, 4, 6)]);
        let last = &fabric.nodes[5].nics;
        assert_eq!((last[0].switch, last[0].port), (SwitchId(2), 2));
        assert_eq!((last[1].switch, last[1].port), (SwitchId(0), 4), "the next switch with nodes");
        let tree = generate(&TopologyShape::FatTree { k: 4 }, 2, 1);
        assert!(tree.switches.iter().all(|switch| switch.ports == 4));
        assert_eq!((tree.nodes.len(), tree.nodes[15].nics[0].switch), (16, SwitchId(7)));
    }

    /// A hypercube is a mesh of sizes 2, and numbered alike.
    #[test]
    fn a_hypercube_has_the_cables_of_a_mesh() {
        let cube = pairs(&generate(&TopologyShape::Hypercube { dimensions: 4 }, 1, 1));
        let mesh = pairs(&generate(&TopologyShape::Mesh { dims: vec![2; 4] }, 1, 1));
        assert_eq!(cube.iter().collect::<HashSet<_>>(), mesh.iter().collect());
        assert_eq!(cube.len(), mesh.len());
    }

    /// With these sizes every cable stays in its ports; more leaves only give the spines higher numbers.
    #[test]
    fn growth_that_moves_no_cable() {
        let hyperx = |dims: &[u32]| TopologyShape::Hyperx { dims: dims.into() };
        let clos = |spines, leaves| TopologyShape::Clos { spines, leaves, cables: 2 };
        let ends = |kind: &TopologyShape, shift: u32| -> HashSet<[(u32, u32); 2]> {
            let of = |end: Port| {
                let behind = matches!(kind, TopologyShape::Clos { leaves: 4, .. });
                let moves = behind && end.switch.0 >= 4;
                (end.switch.0 + if moves { shift } else { 0 }, end.port)
            };
            generate(kind, 2, 1).links.iter().map(|link| [of(link.a), of(link.b)]).collect()
        };
        let cube = |dimensions| TopologyShape::Hypercube { dimensions };
        for (small, large, shift) in [
            (cube(3), cube(4), 0),
            (hyperx(&[3, 3]), hyperx(&[3, 4]), 0),
            (clos(2, 4), clos(3, 4), 0),
            (clos(2, 4), clos(2, 5), 1),
        ] {
            assert!(ends(&small, shift).is_subset(&ends(&large, 0)), "{small:?} {large:?}");
        }
        assert!(!ends(&hyperx(&[3, 3]), 0).is_subset(&ends(&hyperx(&[4, 3]), 0)));
    }

    #[test]
    fn clique_joins_every_pair_once() {
        let fabric = generate(&TopologyShape::Clique { ports: 8 }, 4, 1);
        assert_eq!((fabric.switches.len(), fabric.nodes.len(), fabric.links.len()), (5, 20, 10));
        assert_eq!(pairs(&fabric).into_iter().collect::<HashSet<_>>().len(), 10);
        let last = fabric.links[9];
        assert_eq!((last.a.switch.0, last.a.port, last.b.switch.0, last.b.port), (3, 8, 4, 8));
    }

    #[test]
    fn names_are_padded_to_the_largest_index() {
        let name = |dims: &[u32]| generate(&torus(dims), 1, 1).switches[0].name.clone();
        assert_eq!(name(&[10]), "s0");
        assert_eq!(name(&[11]), "s00");
        assert_eq!(name(&[10, 10]), "s00");
        assert_eq!(name(&[101]), "s000");
    }

    #[test]
    fn derived_macs_are_distinct_and_local() {
        let fabric = generate(&torus(&[16, 17]), 1, 2);
        let macs: HashSet<_> = fabric.nodes.iter().flat_map(|n| &n.nics).map(|n| n.mac).collect();
        assert_eq!(macs.len(), 2 * 16 * 17);
        assert_eq!(derived_mac(258, 1).to_string(), "02:54:00:01:02:01");
    }

    #[test]
    fn coordinates_run_dimension_zero_fastest() {
        assert_eq!(coordinates(7, &[4, 3, 2]), [3, 1, 0]);
        assert_eq!(coordinates(23, &[4, 3, 2]), [3, 2, 1]);
    }
}
