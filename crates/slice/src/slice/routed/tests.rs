use tresse_topology::Layout;
use tresse_topology::cluster::{Cluster, Strategy};

use super::*;

fn pmesh(dims: &[u32]) -> Plan {
    let kind =
        TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch: 1 };
    Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap()
}

fn direct(kind: TopologyShape) -> Plan {
    Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap()
}

/// The longest route to `to` among those of the lowest metric.
fn lookup(slice: &Slice, to: IpAddr) -> Option<&Nexthop> {
    let hits = slice
        .wanted
        .routes
        .iter()
        .filter(|((dst, metric), _)| *metric == METRIC_PRIMARY && dst.contains(to));
    hits.max_by_key(|((dst, _), _)| dst.len).map(|(_, route)| &route.nexthops[0])
}

/// Hops from `from` to the holder of `to` as the kernel would forward.
fn hops(plan: &Plan, slices: &[Slice], from: usize, to: IpAddr) -> Option<usize> {
    let owner = |address: IpAddr| {
        slices.iter().position(|s| s.wanted.addresses.iter().any(|(_, a)| *a == address))
    };
    let (mut at, goal) = (from, owner(to)?);
    for hops in 0..=plan.cluster().nodes.len() {
        if at == goal {
            return Some(hops);
        }
        let nexthop = lookup(&slices[at], to)?;
        if nexthop.is_on_link() {
            assert!(slices[at].wanted.neighbours.contains_key(&(nexthop.interface.clone(), to)));
            at = goal;
            continue;
        }
        assert!(
            slices[at].wanted.neighbours.contains_key(&(nexthop.interface.clone(), nexthop.via))
        );
        at = owner(nexthop.via)?;
    }
    None
}

/// Issue: every address of a node by as few hops as there are.
#[test]
fn every_address_of_every_node_is_reached_minimally() {
    let plans = [
        pmesh(&[4, 4]),
        pmesh(&[3, 3, 3]),
        pmesh(&[2, 3]),
        direct(TopologyShape::DirectTorus { dims: vec![3, 4] }),
        direct(TopologyShape::Ring { nodes: 5 }),
        direct(TopologyShape::FullMesh { nodes: 4 }),
    ];
    for plan in plans {
        let layout = Layout::of(&plan.cluster().kind).unwrap();
        let n = layout.nodes();
        let slices: Vec<_> = (0..n).map(|k| Slice::of(&plan, k.into())).collect();
        for (s, d) in plan.pairs() {
            let nics = plan.addresses().nic[d.index()].iter().flatten();
            for &to in nics.chain(&plan.addresses().node[d.index()]) {
                let fewest = layout.distance(s, d) as usize;
                assert_eq!(hops(&plan, &slices, s.index(), to), Some(fewest), "{s:?} to {to}");
            }
        }
    }
}

#[test]
fn a_slice_has_a_subnet_route_per_line_and_forwards_on_its_nics_only() {
    let slice = Slice::of(&pmesh(&[4, 4]), NodeId(5));
    let primary = |len: u8| {
        let keys = slice.wanted.routes.keys();
        keys.filter(|(dst, metric)| *metric == METRIC_PRIMARY && dst.len == len).count()
    };
    // d n^(d-1) lines; 15 nodes.
    assert_eq!((primary(29), primary(32)), (2 * 4, 15));
    let nexthop = lookup(&slice, "10.77.0.28".parse().unwrap()).unwrap();
    assert_eq!(
        (nexthop.interface.as_str(), nexthop.via.to_string().as_str()),
        ("eth0", "10.78.0.12")
    );
    let forwarding = slice.wanted.sysctls.keys().filter(|k| k.ends_with("/forwarding"));
    let forwarding: Vec<_> = forwarding.map(String::as_str).collect();
    assert_eq!(forwarding, ["net/ipv4/conf/eth0/forwarding", "net/ipv4/conf/eth1/forwarding"]);
    // K17: switches go on knowing where each NIC is.
    assert_eq!(slice.interfaces.keys().collect::<Vec<_>>(), ["eth0", "eth1"]);
    assert!(slice.interfaces.values().all(|i| i.announces && i.vid.is_none()));
    assert!(slice.wanted.links.len() == 1);
}

/// p-mesh, section 4.2: d n^(d-1) routes a node, 48 for 24 x 24. Node addresses add 23 columns and the 23 nodes of the own
/// one, backups as many again, and 23 in the table for what arrives by the row.
#[test]
fn a_node_of_24_by_24_has_few_routes() {
    for (paths, main, tables) in [(1, 48 + 46, 0), (2, 48 + 2 * 46, 23)] {
        let kind =
            TopologyShape::Pmesh { dims: vec![24, 24], grow_to: vec![30, 30], lines_per_switch: 1 };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, paths)).unwrap();
        for node in [0, 25, 300, 575] {
            let installed = Slice::of(&plan, NodeId(node)).folded().wanted;
            let found = (installed.all_routes().len(), installed.table_routes().len());
            assert_eq!(found, (main, tables), "n{node}");
            assert_eq!(installed.unreachable.len(), 2);
        }
    }
}

/// On a direct torus ranges of columns have one route, as the spares to them do not depend on the row. Addresses of NICs,
/// which are numbered one after the other, have primaries alone.
#[test]
fn a_node_of_a_torus_of_24_by_24_has_few_routes() {
    let plan = direct(TopologyShape::DirectTorus { dims: vec![24, 24] });
    let nodes = &plan.cluster().addressing.nodes[0];
    for node in [0, 25, 300, 575] {
        let installed = Slice::of(&plan, NodeId(node)).folded().wanted;
        let (main, tables) = (installed.all_routes(), installed.table_routes().len());
        let to_nodes = main.keys().filter(|(dst, _)| nodes.overlaps(dst)).count();
        assert!(to_nodes + tables <= 115, "n{node}: {to_nodes}, {tables}");
        assert!(main.len() + tables <= 560, "n{node}: {}, {tables}", main.len());
    }
}

/// What a daemon and an export install is what the verifier judges.
#[test]
fn folded_routes_are_the_prefixes_of_the_plan() {
    let shared =
        TopologyShape::Pmesh { dims: vec![3, 3], grow_to: vec![3, 3], lines_per_switch: 3 };
    let plans = [
        pmesh(&[4, 4]),
        pmesh(&[3, 4]),
        pmesh(&[2, 3, 3]),
        direct(shared),
        direct(TopologyShape::DirectTorus { dims: vec![4, 3] }),
        direct(TopologyShape::DirectMesh { dims: vec![3, 3] }),
    ];
    for plan in plans {
        for at in (0..plan.cluster().nodes.len()).map(NodeId::from) {
            let prefixes = plan.node_prefixes(at, &plan.nodes_by_address()).unwrap();
            let nics = &plan.cluster().node(at).nics;
            let nexthop = |hop: Hop| Nexthop {
                interface: nics[hop.nic].name.clone(),
                via: plan.addresses().of_nic(hop.to, hop.to_nic, true).unwrap(),
                labels: Vec::new(),
                weight: 1,
            };
            let mut main = BTreeMap::new();
            for (prefix, (primary, backup)) in prefixes.main {
                main.insert((prefix, METRIC_PRIMARY), nexthop(primary));
                main.extend(backup.map(|backup| ((prefix, METRIC_BACKUP), nexthop(backup))));
            }
            let mut tables = BTreeMap::new();
            for (came, table) in prefixes.tables {
                let route = |(to, hop)| ((nics[came].name.clone(), to), nexthop(hop));
                tables.extend(table.into_iter().map(route));
            }
            let wanted = Slice::of(&plan, at).folded().wanted;
            let nodes = &plan.cluster().addressing.nodes[0];
            let all = wanted.all_routes();
            let installed = all.iter().filter(|((dst, _), _)| nodes.contains(dst.address));
            let installed = installed.map(|(key, route)| (*key, route.nexthops[0].clone()));
            assert_eq!(installed.collect::<BTreeMap<_, _>>(), main, "{at:?}");
            assert_eq!(wanted.xy.tables, tables, "{at:?}");
        }
    }
}

/// A node's table by the paper's listings (section 4.2): what is next for an address of dimension `k`
/// whose subnet vector, highest dimension first, is `vector`. `reversed`: the listing's own order of
/// the vector's fields; else that of addresses.
fn listed(m: &[u32], k: usize, vector: &[u32], reversed: bool) -> Option<Vec<u32>> {
    // Both listings have one comparison per field, whatever subnet k it is.
    let _ = k;
    let field = |i: usize| vector[if reversed { i } else { vector.len() - 1 - i }];
    let i = (0..vector.len()).find(|i| m[*i] != field(*i))?;
    let mut next = m.to_vec();
    next[i] = field(i);
    Some(next)
}

/// Follows the listing from `from` to the address of dimension `k` of `to`.
fn listing_arrives(from: &[u32], to: &[u32], k: usize, reversed: bool) -> bool {
    let vector: Vec<u32> = (0..to.len()).rev().filter(|d| *d != k).map(|d| to[d]).collect();
    let mut at = from.to_vec();
    for _ in 0..4 * to.len() {
        if (0..to.len()).filter(|d| *d != k).all(|d| at[d] == to[d]) {
            return true;
        }
        match listed(&at, k, &vector, reversed) {
            Some(next) => at = next,
            None => return false,
        }
    }
    false
}

/// The paper's two listings reach a node by its address of dimension d - 1 only, and the general one
/// only where the vector is read in reverse, which first shows with three dimensions.
#[test]
fn the_listings_of_the_paper_reach_the_last_address_only() {
    for dims in [&[4, 4][..], &[3, 3, 3], &[2, 2, 2, 2]] {
        let kind =
            TopologyShape::Pmesh { dims: dims.into(), grow_to: dims.into(), lines_per_switch: 1 };
        let layout = Layout::of(&kind).unwrap();
        let d = dims.len();
        let at = |n: usize| layout.coordinates(n.into());
        let all = |k: usize, reversed: bool| {
            let pairs = (0..layout.nodes()).flat_map(|a| (0..layout.nodes()).map(move |b| (a, b)));
            pairs.into_iter().all(|(a, b)| listing_arrives(at(a), at(b), k, reversed))
        };
        assert!(all(d - 1, false), "{dims:?}");
        assert!((0..d - 1).all(|k| !all(k, false)), "{dims:?}");
        assert_eq!(all(d - 1, true), d == 2, "{dims:?}");
    }
}

/// The verifier judges the plan's lookups; they say what the slice installs, route by route and no more.
#[test]
fn a_slice_installs_what_the_lookups_of_the_plan_say() {
    let shared =
        TopologyShape::Pmesh { dims: vec![3, 3], grow_to: vec![3, 3], lines_per_switch: 3 };
    let plans = [
        pmesh(&[3, 4]),
        direct(shared),
        direct(TopologyShape::DirectTorus { dims: vec![4, 3, 2] }),
        direct(TopologyShape::DirectMesh { dims: vec![3, 3] }),
        direct(TopologyShape::Ring { nodes: 6 }),
        direct(TopologyShape::FullMesh { nodes: 5 }),
    ];
    for plan in plans {
        let routes = plan.node_routes().unwrap();
        let cluster = plan.cluster();
        for at in (0..cluster.nodes.len()).map(NodeId::from) {
            let slice = Slice::of(&plan, at);
            let nics = &cluster.node(at).nics;
            let nexthop = |hop: Hop| Nexthop {
                interface: nics[hop.nic].name.clone(),
                via: plan.addresses().of_nic(hop.to, hop.to_nic, true).unwrap(),
                labels: Vec::new(),
                weight: 1,
            };
            let all = slice.wanted.all_routes();
            let mut tables = BTreeMap::new();
            for peer in (0..cluster.nodes.len()).map(NodeId::from).filter(|peer| *peer != at) {
                let to = Prefix::host(plan.addresses().of_node(peer, true).unwrap());
                let installed =
                    |metric| all.get(&(to, metric)).map(|route| route.nexthops[0].clone());
                let main = routes.find(at, None, peer).main;
                assert_eq!(installed(METRIC_PRIMARY), Some(nexthop(main)), "{at:?} {peer:?}");
                let backup = routes.backup(at, peer).map(nexthop);
                assert_eq!(installed(METRIC_BACKUP), backup, "{at:?} {peer:?}");
                for (came, nic) in nics.iter().enumerate() {
                    let table = routes.find(at, Some(came), peer).table.map(nexthop);
                    tables.extend(table.map(|nexthop| ((nic.name.clone(), to), nexthop)));
                }
            }
            assert_eq!(slice.wanted.xy.tables, tables, "{at:?}");
        }
    }
}
