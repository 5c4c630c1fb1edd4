//! The strategy `direct` for flat neighbourhoods (flat-neighborhood-network-compiler, section 3): switches that no
//! cable joins, and nodes with NICs on several of them. Chooses the NICs that each pair of nodes uses. If two nodes
//! share no switch, it also chooses a transit node, which forwards their frames. It chooses no labels or addresses.
//!
//! **Primary.** If the two nodes share a switch, the paper's basic routing ([`Basic`]) chooses it: pairs with the
//! highest demand come first, then those with the fewest shared switches, and each uses the NICs with the fewest paths
//! so far. If they share none: two segments through a node that shares a switch with each of them, over the NICs with
//! the fewest paths.
//!
//! **Siblings.** Every other switch that the two share carries traffic too, with a weight by the rate of the NICs.
//! This is the paper's advanced routing (section 4); its tuples of NICs are the members of a nexthop group here.
//!
//! **Detours.** With `reflect = true` pairs with much demand also send through third nodes ([`NodeDetours`]). With
//! `use_uplink = true` detours may cross the uplink instead, from a switch of the one to another of the other
//! (flat-neighborhood-network-compiler, section 4.2: hopping by the uplink switch).
//!
//! **Spares.** A node on the uplink switch alone reaches every other by the cables of the uplink: it counts as on each
//! switch, with the one NIC that it has.
//!
//! **Backups.** Two segments through a third node, if possible by other NICs and switches than the paths of lower
//! rank.

use std::collections::BTreeMap;

use tresse_base::id::{NodeId, PathId, TreeId};
use tresse_topology::cluster::{Cluster, Node, ReflectMode};
use tresse_topology::path::{Path, Segment, Segments};

use self::detours::{NodeDetours, Ways};
use super::RoutingError;
use super::basic::{Basic, shared};

mod detours;
pub mod hopping;
mod resources;

/// The result of the strategy `direct`: for each pair of nodes of a flat neighbourhood (every node has NICs on several
/// switches, and no cable joins two switches), the NICs that the pair uses. If the nodes of a pair share no switch, a
/// transit node that shares one with each forwards their frames.
#[derive(Debug, Clone)]
pub struct Direct {
    basic: Basic,
    /// By node, the switch of each NIC; of a node behind the uplink, all switches.
    rows: Vec<Vec<u32>>,
    /// By node: whether it is behind the uplink.
    behind_uplink: Vec<bool>,
    /// Whether paths may cross the uplink that need not.
    use_uplink: bool,
    /// Whether all pairs have paths to use while their own are full.
    adaptive: bool,
    /// By two switches: the transit nodes that are on both.
    relays: BTreeMap<(u32, u32), Vec<Relay>>,
    /// Primaries of pairs that share no switch, by source and destination.
    relayed: BTreeMap<(NodeId, NodeId), Segments>,
    /// By node and NIC: its rate in units of the slowest, at most 255.
    rates: Vec<Vec<u32>>,
    detours: NodeDetours,
}

/// A transit node between two switches, with its NIC on each.
#[derive(Debug, Clone, Copy)]
struct Relay {
    node: NodeId,
    nic: usize,
    to_nic: usize,
}

impl Direct {
    /// Chooses for all pairs. O(pairs x NICs of a node), where most pairs share a switch.
    ///
    /// # Errors
    /// [`RoutingError::NotJoined`] if two nodes share no switch and no transit node shares one with each.
    pub fn new(cluster: &Cluster) -> Result<Self, RoutingError> {
        let nodes = &cluster.nodes;
        let behind_uplink: Vec<bool> =
            (0..nodes.len()).map(|node| cluster.is_behind_uplink(node.into())).collect();
        let row = |(node, is_behind): (&Node, &bool)| match is_behind {
            true => (0..cluster.switches.len() as u32).collect(),
            false => node.nics.iter().map(|nic| nic.switch.0).collect(),
        };
        let rows: Vec<Vec<u32>> = nodes.iter().zip(&behind_uplink).map(row).collect();
        let mut importance = BTreeMap::new();
        for traffic in &cluster.demand {
            for (a, b) in traffic.from.iter().flat_map(|a| traffic.to.iter().map(move |b| (a, b))) {
                let pair = (a.0.min(b.0), a.0.max(b.0));
                *importance.entry(pair).or_insert(0.0) += f64::from(traffic.weight);
            }
        }
        let slowest = nodes.iter().flat_map(|n| &n.nics).map(|nic| nic.rate.0).min().unwrap_or(1);
        let unit = |rate: u64| (rate / slowest.max(1)).clamp(1, 255) as u32;
        let mut direct = Self {
            basic: Basic::of_rows(rows.clone(), &importance),
            rows,
            relays: relays(nodes),
            relayed: BTreeMap::new(),
            rates: nodes
                .iter()
                .map(|n| n.nics.iter().map(|nic| unit(nic.rate.0)).collect())
                .collect(),
            behind_uplink,
            use_uplink: cluster.routing.use_uplink && cluster.uplink().is_some(),
            adaptive: cluster.routing.reflect == ReflectMode::Adaptive,
            detours: NodeDetours::default(),
        };
        direct.relay(cluster)?;
        if cluster.routing.reflect == ReflectMode::Demand {
            direct.detours = NodeDetours::find(
                cluster,
                &Ways {
                    own: &|src, dst| direct.own_carriers(src, dst, cluster.routing.paths),
                    round: &|src, dst| {
                        direct.ways_round(src, dst).map(Segments::from_iter).collect()
                    },
                    across: &|src, dst| direct.ways_across(src, dst).collect(),
                },
            );
        }
        Ok(direct)
    }

    /// The primaries of pairs that share no switch: both directions through one transit node.
    fn relay(&mut self, cluster: &Cluster) -> Result<(), RoutingError> {
        let mut loads = self.basic.loads().to_vec();
        let nodes = self.rows.len();
        for (a, b) in (0..nodes).flat_map(|b| (0..b).map(move |a| (a, b))) {
            if self.basic.nics(a, b).is_some() {
                continue;
            }
            let (src, dst) = (NodeId::from(a), NodeId::from(b));
            let load = |segments: &[Segment; 2]| {
                let nics = segments.iter().flat_map(|s| [(s.from, s.nic), (s.to, s.to_nic)]);
                let loads = nics.map(|(node, nic)| loads[node.index()][nic]);
                loads.clone().max().map(|most| (most, loads.sum::<u32>()))
            };
            let best = self.ways_round(src, dst).min_by_key(load);
            let Some(best) = best else {
                let [a, b] = [a, b].map(|node| cluster.nodes[node].name.clone());
                return Err(RoutingError::NotJoined { a, b });
            };
            for segment in &best {
                loads[segment.from.index()][segment.nic] += 1;
                loads[segment.to.index()][segment.to_nic] += 1;
            }
            let back = [best[1], best[0]].map(|s| direct(s.to, s.to_nic, s.from, s.nic));
            self.relayed.insert((src, dst), best.into_iter().collect());
            self.relayed.insert((dst, src), back.into_iter().collect());
        }
        Ok(())
    }

    /// Every path from `src` to `dst` through a third node, over two switches.
    fn ways_round(&self, src: NodeId, dst: NodeId) -> impl Iterator<Item = [Segment; 2]> + '_ {
        let (a, b) = (&self.rows[src.index()], &self.rows[dst.index()]);
        let ends =
            a.iter().enumerate().flat_map(move |x| b.iter().enumerate().map(move |y| (x, y)));
        ends.flat_map(move |((nic, &s), (to_nic, &d))| {
            let relays = self.relays.get(&(s, d)).map_or(&[][..], Vec::as_slice);
            let others = relays.iter().filter(move |relay| ![src, dst].contains(&relay.node));
            others.map(move |relay| relay.segments(self.nic(src, nic), self.nic(dst, to_nic)))
        })
    }

    /// Every way from a switch of `src` across the uplink to another switch of `dst`; none where paths may not cross it, and
    /// none from and to nodes behind it, all of whose paths do.
    fn ways_across(&self, src: NodeId, dst: NodeId) -> impl Iterator<Item = Segment> + '_ {
        let behind = [src, dst].iter().any(|node| self.behind_uplink[node.index()]);
        let (a, b) = (&self.rows[src.index()], &self.rows[dst.index()]);
        let from = a.iter().enumerate().filter(move |_| self.use_uplink && !behind);
        from.flat_map(move |(nic, s)| {
            let to = b.iter().enumerate().filter(move |(_, d)| *d != s);
            to.map(move |(to_nic, _)| direct(src, nic, dst, to_nic))
        })
    }

    /// Whether a path may have two segments in a plan with `paths` paths for each pair.
    #[must_use]
    pub fn has_relays(&self, paths: u32) -> bool {
        !self.relayed.is_empty() || paths > 1 && !self.relays.is_empty()
    }

    /// The primary from `src` to `dst`.
    #[must_use]
    pub fn primary(&self, src: NodeId, dst: NodeId) -> Segments {
        match self.basic.nics(src.index(), dst.index()) {
            Some((nic, to_nic)) => [self.shared(src, nic, dst, to_nic)].into_iter().collect(),
            None => self.relayed.get(&(src, dst)).cloned().unwrap_or_default(),
        }
    }

    /// Returns at most `most` paths from `src` to `dst`: the primary, the other switches that the two
    /// share, then paths through third nodes.
    #[must_use]
    pub fn paths(&self, src: NodeId, dst: NodeId, most: u32) -> Vec<Path> {
        let mut paths = self.carriers(src, dst, most);
        // The last path crosses the uplink, where one through a third node is before it.
        let across = (self.adaptive && paths.len() as u32 + 1 < most).then_some(most - 1);
        while (paths.len() as u32) < most {
            let crosses = across.filter(|rank| *rank == paths.len() as u32);
            let crossing = crosses.and_then(|_| self.crossing(&paths));
            let Some(segments) = crossing.or_else(|| self.backup(&paths)) else { break };
            let id = PathId { src, dst, rank: paths.len() as u32 };
            paths.push(Path { id, weight: 0, segments });
        }
        paths
    }

    /// The detours of a cluster with `reflect = true`.
    #[must_use]
    pub const fn detours(&self) -> &NodeDetours {
        &self.detours
    }

    /// Returns those of [`paths`](Self::paths) that carry traffic while nothing fails. Detours are those of the cluster's
    /// own `paths`.
    #[must_use]
    pub fn carriers(&self, src: NodeId, dst: NodeId, most: u32) -> Vec<Path> {
        let Some(split) = self.detours.by_pair.get(&(src, dst)) else {
            return self.own_carriers(src, dst, most);
        };
        let path = |((weight, segments), rank): (&(u32, Segments), u32)| {
            let id = PathId { src, dst, rank };
            Path { id, weight: *weight, segments: segments.clone() }
        };
        split.iter().zip(0..most).map(path).collect()
    }

    /// The primary and the other switches that the two share.
    fn own_carriers(&self, src: NodeId, dst: NodeId, most: u32) -> Vec<Path> {
        let primary = self.primary(src, dst);
        let first = primary[0];
        let alone = primary.len() > 1;
        let shared = shared(&self.rows[src.index()], &self.rows[dst.index()]).into_iter();
        let mut shared: Vec<Segment> =
            shared.map(|(nic, to_nic)| self.shared(src, nic, dst, to_nic)).collect();
        // Two that are both behind the uplink share one switch after all.
        shared.dedup();
        // Begins at the primary's NIC, so that not all pairs begin with the same NIC.
        let at = shared.iter().position(|segment| *segment == first).unwrap_or(0);
        let others = (1..shared.len()).map(|i| shared[(at + i) % shared.len()]);
        let siblings = others.map(|segment| [segment].into_iter().collect::<Segments>());
        let all = std::iter::once(primary).chain(siblings.take(most as usize - 1)).zip(0..);
        all.map(|(segments, rank)| {
            let weight = if alone { 1 } else { self.rate(&segments[0]) };
            Path { id: PathId { src, dst, rank }, weight, segments }
        })
        .collect()
    }

    /// The rate of a segment, in units of the slowest NIC.
    fn rate(&self, segment: &Segment) -> u32 {
        let of = |node: NodeId, nic: usize| self.rates[node.index()][nic];
        of(segment.from, segment.nic).min(of(segment.to, segment.to_nic))
    }

    /// A NIC of a node, by its place among the switches that the node is on.
    fn nic(&self, node: NodeId, place: usize) -> (NodeId, usize) {
        let nics = self.rates[node.index()].len();
        (node, if self.behind_uplink[node.index()] { place % nics } else { place })
    }

    /// The segment over a switch that two nodes share.
    fn shared(&self, src: NodeId, at: usize, dst: NodeId, to_at: usize) -> Segment {
        let ((from, nic), (to, to_nic)) = (self.nic(src, at), self.nic(dst, to_at));
        direct(from, nic, to, to_nic)
    }

    /// Returns the path across the uplink whose NICs the paths before it use least, those with traffic first, pairs taking
    /// turns.
    fn crossing(&self, before: &[Path]) -> Option<Segments> {
        let PathId { src, dst, .. } = before[0].id;
        let used = |way: &Segment| {
            let of = |path: &Path| {
                let (first, last) = (path.segments.first(), path.segments.last());
                usize::from(first.is_some_and(|first| first.nic == way.nic))
                    + usize::from(last.is_some_and(|last| last.to_nic == way.to_nic))
            };
            let carriers = before.iter().filter(|path| path.weight > 0);
            (carriers.map(of).sum::<usize>(), before.iter().map(of).sum::<usize>())
        };
        let ways: Vec<Segment> = self.ways_across(src, dst).collect();
        let turn = (src.index() + dst.index()) % ways.len().max(1);
        let in_turn = ways.iter().skip(turn).chain(&ways[..turn]);
        in_turn.min_by_key(|way| used(way)).map(|way| [*way].into_iter().collect())
    }

    /// Returns the path through a third node that has the least in common with the paths before it. The
    /// third nodes are assigned to pairs round-robin.
    fn backup(&self, before: &[Path]) -> Option<Segments> {
        let PathId { src, dst, .. } = before[0].id;
        let taken: Vec<Segment> = before.iter().flat_map(|p| p.segments.iter().copied()).collect();
        let switch = |s: &Segment| match self.behind_uplink[s.from.index()] {
            true => self.rows[s.to.index()][s.to_nic],
            false => self.rows[s.from.index()][s.nic],
        };
        let switches: Vec<u32> = taken.iter().map(switch).collect();
        let nodes = self.rows.len();
        let first_relay = (src.index() + dst.index()) % nodes;
        let mut best = None;
        for (nic, &s) in self.rows[src.index()].iter().enumerate() {
            for (to_nic, &d) in self.rows[dst.index()].iter().enumerate() {
                let Some(relays) = self.relays.get(&(s, d)) else { continue };
                let (before_turn, from_turn) = relays
                    .split_at(relays.partition_point(|relay| relay.node.index() < first_relay));
                let in_turn = from_turn.iter().chain(before_turn);
                let others = in_turn.filter(|relay| ![src, dst].contains(&relay.node));
                let is_taken = |relay: &Relay| taken.iter().any(|s| s.to == relay.node);
                // The first that is free; if none is, the first with another path.
                let found = others.clone().find(|relay| !is_taken(relay)).or_else(|| {
                    others.clone().find(|relay| {
                        let segments = relay.segments(self.nic(src, nic), self.nic(dst, to_nic));
                        !before.iter().any(|path| path.segments[..] == segments)
                    })
                });
                let Some(relay) = found else { continue };
                let common = [s, d].iter().filter(|s| switches.contains(s)).count();
                let late = (relay.node.index() + nodes - first_relay) % nodes;
                let (from, to) = (self.nic(src, nic), self.nic(dst, to_nic));
                let key = (from.1 == taken[0].nic, is_taken(relay), common, late);
                if best.as_ref().is_none_or(|(least, _)| key < *least) {
                    best = Some((key, relay.segments(from, to)));
                }
            }
        }
        best.map(|(_, segments)| segments.into_iter().collect())
    }
}

impl Relay {
    /// The two segments from a NIC of one node to one of another.
    fn segments(&self, src: (NodeId, usize), dst: (NodeId, usize)) -> [Segment; 2] {
        [direct(src.0, src.1, self.node, self.nic), direct(self.node, self.to_nic, dst.0, dst.1)]
    }
}

/// By two switches, the nodes on both, ascending; of several NICs on one switch the first serves.
fn relays(nodes: &[Node]) -> BTreeMap<(u32, u32), Vec<Relay>> {
    let mut relays: BTreeMap<_, Vec<Relay>> = BTreeMap::new();
    for (k, node) in nodes.iter().enumerate().filter(|(_, node)| node.transit) {
        let first = |&(i, switch): &(usize, u32)| {
            node.nics[..i].iter().all(|before| before.switch.0 != switch)
        };
        let nics = || node.nics.iter().map(|nic| nic.switch.0).enumerate().filter(first);
        for ((nic, s), (to_nic, d)) in nics().flat_map(|s| nics().map(move |d| (s, d))) {
            if s != d {
                relays.entry((s, d)).or_default().push(Relay { node: k.into(), nic, to_nic });
            }
        }
    }
    relays
}

fn direct(from: NodeId, nic: usize, to: NodeId, to_nic: usize) -> Segment {
    Segment { from, nic, tree: TreeId::NONE, to, to_nic }
}
