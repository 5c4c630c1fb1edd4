use std::collections::BTreeMap;

use tresse_base::random::Random;
use tresse_topology::Hop;
use tresse_topology::cluster::{Cable, Cluster, NicEnd, Strategy, TopologyShape};

use super::*;

/// Pairs of nodes, each a cable; a pair twice is two cables.
fn cabled(nodes: u32, pairs: &[(u32, u32)]) -> Cluster {
    of_cables(nodes, &pairs.iter().map(|pair| vec![*pair]).collect::<Vec<_>>())
}

/// Cables, each as the pairs of nodes whose NICs it joins.
fn of_cables(nodes: u32, cables: &[Vec<(u32, u32)>]) -> Cluster {
    let mut nics = vec![0; nodes as usize];
    let mut end = |node: u32| {
        nics[node as usize] += 1;
        NicEnd { node: NodeId(node), nic: nics[node as usize] - 1 }
    };
    let mut cable =
        |pairs: &Vec<(u32, u32)>| Cable(pairs.iter().map(|&(a, b)| [end(a), end(b)]).collect());
    let cables = cables.iter().map(&mut cable).collect();
    Cluster::generated(TopologyShape::Cabled { nodes, cables }, 1, 1, Strategy::Shortest, 2)
}

fn shortest(cluster: &Cluster) -> Shortest {
    Shortest::new(cluster, Layout::of(&cluster.kind).unwrap())
}

/// A connected graph: a random tree, and further cables between any two nodes, also between two that have one.
fn random(nodes: u32, more: u32, seed: u64) -> Cluster {
    let mut random = Random::new(seed);
    let mut below = |n: u32| (random.number() % u64::from(n)) as u32;
    let mut pairs: Vec<(u32, u32)> = (1..nodes).map(|node| (below(node), node)).collect();
    while pairs.len() < (nodes - 1 + more) as usize {
        let (a, b) = (below(nodes), below(nodes));
        if a != b {
            pairs.push((a, b));
        }
    }
    cabled(nodes, &pairs)
}

fn all(shortest: &Shortest) -> impl Iterator<Item = NodeId> + Clone + use<> {
    (0..shortest.layout.nodes()).map(NodeId::from)
}

fn pairs(shortest: &Shortest) -> Vec<(NodeId, NodeId)> {
    let nodes = all(shortest);
    nodes
        .clone()
        .flat_map(|s| nodes.clone().filter(move |d| *d != s).map(move |d| (s, d)))
        .collect()
}

/// The nodes that those hops lead to from `from` that are alive.
fn reached(shortest: &Shortest, from: NodeId, alive: &impl Fn(NicEnd, &Hop) -> bool) -> Vec<bool> {
    let mut seen = vec![false; shortest.layout.nodes()];
    seen[from.index()] = true;
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for hop in shortest.layout.listed_hops(node) {
            let usable = alive(NicEnd { node, nic: hop.nic }, hop);
            if usable && !std::mem::replace(&mut seen[hop.to.index()], true) {
                open.push(hop.to);
            }
        }
    }
    seen
}

/// The number of hops of a packet, if it arrives.
fn walked(
    shortest: &Shortest,
    (src, dst): (NodeId, NodeId),
    alive: &impl Fn(NicEnd, &Hop) -> bool,
) -> Option<usize> {
    let (mut at, mut came, mut hops) = (src, None, 0);
    while at != dst {
        let hop = shortest.next_alive(at, came, dst, alive)?;
        (at, came, hops) = (hop.to, Some(hop.to_nic), hops + 1);
        if hops > 4 * shortest.layout.nodes() {
            return None;
        }
    }
    Some(hops)
}

/// Graphs from trees to dense ones.
fn graphs() -> impl Iterator<Item = (String, Shortest)> {
    let sizes = [(2, 0), (2, 2), (4, 0), (5, 2), (7, 2), (7, 9), (12, 6), (16, 30), (24, 8)];
    let all = sizes.into_iter().flat_map(|size| (0..12).map(move |seed| (size, seed)));
    all.map(|((nodes, more), seed)| {
        let name = format!("{nodes} nodes, {more} cables more, seed {seed}");
        (name, shortest(&random(nodes, more, seed)))
    })
}

#[test]
fn primaries_are_as_short_as_any_and_never_redirected() {
    for (name, shortest) in graphs() {
        for (src, dst) in pairs(&shortest) {
            let primary = shortest.primary(src, dst);
            assert_eq!(primary.len() as u32, shortest.layout.distance(src, dst), "{name}");
            assert_eq!(shortest.distance(src, dst), shortest.layout.distance(src, dst));
            for pair in primary.windows(2) {
                assert_ne!(shortest.hop(pair[1].from, dst).nic, pair[0].to_nic, "{name}");
            }
        }
    }
}

/// The promise of the module `escape`.
#[test]
fn after_any_one_cable_every_packet_arrives_where_a_way_is_left() {
    for (name, shortest) in graphs() {
        for node in all(&shortest) {
            for lost in shortest.layout.listed_hops(node).iter().filter(|hop| hop.to > node) {
                let ends = [(node, lost.nic), (lost.to, lost.to_nic)];
                let alive = |from: NicEnd, _: &Hop| !ends.contains(&(from.node, from.nic));
                for (src, dst) in pairs(&shortest) {
                    let is_left = reached(&shortest, src, &alive)[dst.index()];
                    let hops = walked(&shortest, (src, dst), &alive);
                    assert_eq!(hops.is_some(), is_left, "{name}: {src:?} to {dst:?}, {ends:?}");
                }
            }
        }
    }
}

/// Both devices of a port fail with its cable, and the backup knows another one.
#[test]
fn after_a_cable_of_two_devices_every_packet_arrives_where_a_way_is_left() {
    // A ring of three with two devices for each cable, as three machines with two such ports each have it.
    let cables: Vec<Vec<(u32, u32)>> =
        [(0, 1), (1, 2), (2, 0)].iter().map(|pair| vec![*pair; 2]).collect();
    let shortest = shortest(&of_cables(3, &cables));
    for lost in 0..3 {
        let alive =
            |from: NicEnd, _: &Hop| shortest.layout.listed_cable(from.node, from.nic) != Some(lost);
        for pair in pairs(&shortest) {
            assert!(walked(&shortest, pair, &alive).is_some(), "{pair:?} without {lost}");
        }
    }
    // Where there is but one cable, its other device is better than nothing.
    let two = self::shortest(&of_cables(2, &[vec![(0, 1), (0, 1)]]));
    let (a, b) = (NodeId(0), NodeId(1));
    assert_ne!(two.spare(a, b).unwrap().nic, two.hop(a, b).nic);
}

/// What a node that fails costs beside its own pairs, before anybody is told: less than one pair in ten.
#[test]
fn most_packets_go_round_a_node_that_fails() {
    let (mut lost, mut left) = (0, 0);
    for (_, shortest) in graphs() {
        for dead in all(&shortest) {
            let alive = |from: NicEnd, hop: &Hop| from.node != dead && hop.to != dead;
            for (src, dst) in pairs(&shortest) {
                if src == dead || dst == dead || !reached(&shortest, src, &alive)[dst.index()] {
                    continue;
                }
                left += 1;
                lost += usize::from(walked(&shortest, (src, dst), &alive).is_none());
            }
        }
    }
    assert!(lost * 10 < left, "{lost} of {left}");
}

/// What a backup's first node is sent goes along the backup, whether or not anything has failed.
#[test]
fn backups_begin_with_another_nic_and_arrive() {
    for (name, shortest) in graphs() {
        for (src, dst) in pairs(&shortest) {
            let Some(backup) = shortest.backup(src, dst) else { continue };
            assert_ne!(backup[0].nic, shortest.hop(src, dst).nic, "{name}");
            assert_eq!(backup.last().unwrap().to, dst, "{name}");
            let mut nodes: Vec<NodeId> = backup.iter().map(|segment| segment.from).collect();
            nodes.sort_unstable();
            nodes.dedup();
            assert_eq!(nodes.len(), backup.len(), "{name}: {backup:?}");
        }
    }
}

fn loads(shortest: &Shortest) -> BTreeMap<(NodeId, usize), usize> {
    let mut loads = BTreeMap::new();
    for segment in pairs(shortest).into_iter().flat_map(|(s, d)| shortest.primary(s, d)) {
        *loads.entry((segment.from, segment.nic)).or_insert(0) += 1;
    }
    loads
}

/// On graphs whose bound is known: a ring, a 4x4 torus, a cube and a complete graph carry the mean everywhere.
#[test]
fn ties_are_balanced_over_cables() {
    let ring = |n: u32| (0..n).map(|k| (k, (k + 1) % n)).collect::<Vec<_>>();
    let torus = (0..16).flat_map(|k| {
        let (x, y) = (k % 4, k / 4);
        [(k, y * 4 + (x + 1) % 4), (k, (y + 1) % 4 * 4 + x)]
    });
    let cube =
        (0..8_u32).flat_map(|k| (0..3).map(move |d| (k, k ^ (1 << d))).filter(|(a, b)| a < b));
    for (name, nodes, pairs, most) in [
        ("ring of 8", 8, ring(8), 9),
        ("ring of 5", 5, ring(5), 3),
        ("torus", 16, torus.collect(), 9),
        ("cube", 8, cube.collect(), 4),
    ] {
        let loads = loads(&shortest(&cabled(nodes, &pairs)));
        let max = loads.values().max().unwrap();
        assert!(*max <= most, "{name}: {max}, {loads:?}");
    }
}

/// Of two cables between two nodes one carries as many destinations as the other; a faster one more.
#[test]
fn parallel_cables_share_by_rate() {
    // Two stars of four leaves each, whose centres are joined by two cables.
    let mut pairs: Vec<(u32, u32)> = (2..6).map(|leaf| (0, leaf)).collect();
    pairs.extend((6..10).map(|leaf| (1, leaf)));
    pairs.extend([(0, 1), (0, 1)]);
    let mut cluster = cabled(10, &pairs);
    let over = |cluster: &Cluster| {
        let loads = loads(&shortest(cluster));
        [4, 5].map(|nic| loads.get(&(NodeId(0), nic)).copied().unwrap_or(0))
    };
    // Five nodes on each side: 25 pairs.
    let both = over(&cluster);
    assert_eq!(both.iter().sum::<usize>(), 25);
    assert!(both.iter().all(|load| *load == 10 || *load == 15), "{both:?}");
    for node in [0, 1] {
        cluster.nodes[node].nics[5].rate.0 *= 4;
    }
    assert_eq!(over(&cluster), [5, 20]);
}

/// The same cables and rates give the same hops, whoever computes them.
#[test]
fn hops_are_a_function_of_the_cluster() {
    let cluster = random(16, 20, 7);
    assert_eq!(shortest(&cluster), shortest(&cluster));
}
