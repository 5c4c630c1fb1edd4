//! Judges the routes to prefixes of node addresses: whether the longest prefix gives each node's packets the route that
//! the plan has for that node alone, and what becomes of addresses that a prefix holds although no node has them.
//!
//! The routes of a node are values to judge. What the kernel finds in them, by the longest prefix and then the best
//! metric, is computed here.
//!
//! **Holes.** A prefix may hold addresses of no node. That is harmless where each lies in a prefix of `[addressing]
//! nodes`, so that it cannot be anybody else's, and where packets to it end: they are followed from every node until one
//! has no route but the unreachable one. Both is checked up to [`WALKED`] nodes. In larger fabrics the routes of some nodes
//! are judged, spread evenly, and a note says of how many.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_plan::{NodePrefixes, Plan};
use tresse_topology::Hop;

use super::fabric::WALKED;
use crate::Finding;

/// Most addresses of one prefix: more than any field of coordinates leaves unused.
const MOST_HELD: u8 = 24;
/// Nodes whose routes are judged in a larger fabric.
const SAMPLED: usize = 256;

/// Violations and notes.
pub(crate) type Found = (Vec<Finding>, Vec<Finding>);

/// Judges the prefixes of a plan; finds nothing where each node has routes of its own.
pub(crate) fn check(plan: &Plan) -> Found {
    let nodes = plan.nodes_by_address();
    judge(plan, &nodes, &|at| plan.node_prefixes(at, &nodes))
}

/// Judges the prefixes of each node.
fn judge(
    plan: &Plan,
    owners: &[(IpAddr, NodeId)],
    prefixes: &(dyn Fn(NodeId) -> Option<NodePrefixes> + Sync),
) -> Found {
    let nodes = plan.cluster().nodes.len();
    let step = if nodes <= WALKED { 1 } else { nodes.div_ceil(SAMPLED) };
    let tables: Vec<(NodeId, Tables)> = (0..nodes.div_ceil(step))
        .into_par_iter()
        .filter_map(|k| {
            let at = NodeId::from(k * step);
            Some((at, Tables::of(&prefixes(at)?)))
        })
        .collect();
    let wrong = tables.par_iter().filter_map(|(at, tables)| tables.wrong(plan, *at, owners));
    let mut violations: Vec<Finding> = wrong.collect();
    violations.truncate(1);
    let mut notes = Vec::new();
    if step > 1 && !tables.is_empty() {
        let message =
            "have had their routes to prefixes compared with those to single nodes, spread evenly";
        let object = format!("{} of {nodes} nodes", tables.len());
        notes.push(Finding { kind: "sampled-prefixes", object, message: message.into() });
    } else if violations.is_empty() {
        violations.extend(circling(plan, &tables, owners));
    }
    (violations, notes)
}

/// The routes of one node, by prefix, ascending.
struct Table<T> {
    routes: Vec<(Prefix, T)>,
    /// By route: the one with the longest prefix around its own.
    around: Vec<Option<usize>>,
}

impl<T: Copy> Table<T> {
    fn of(routes: &BTreeMap<Prefix, T>) -> Self {
        let mut table = Self { routes: Vec::with_capacity(routes.len()), around: Vec::new() };
        for (prefix, route) in routes {
            // Prefixes are disjoint or one in the other, and a shorter one comes first.
            let around = table.longest(prefix.address);
            table.routes.push((*prefix, *route));
            table.around.push(around);
        }
        table
    }

    /// The route of the longest prefix that holds an address.
    fn find(&self, to: IpAddr) -> Option<T> {
        self.longest(to).map(|at| self.routes[at].1)
    }

    fn longest(&self, to: IpAddr) -> Option<usize> {
        let behind = self.routes.partition_point(|(prefix, _)| prefix.address <= to);
        let mut at = behind.checked_sub(1);
        while let Some(route) = at.filter(|route| !self.routes[*route].0.contains(to)) {
            at = self.around[route];
        }
        at
    }
}

/// The tables of one node.
struct Tables {
    main: Table<(Hop, Option<Hop>)>,
    by_nic: BTreeMap<usize, Table<Hop>>,
}

impl Tables {
    fn of(prefixes: &NodePrefixes) -> Self {
        let by_nic = prefixes.tables.iter().map(|(came, table)| (*came, Table::of(table)));
        Self { main: Table::of(&prefixes.main), by_nic: by_nic.collect() }
    }

    fn prefixes(&self) -> impl Iterator<Item = &Prefix> {
        let of_nics = self.by_nic.values().flat_map(|table| table.routes.iter().map(|of| &of.0));
        self.main.routes.iter().map(|of| &of.0).chain(of_nics)
    }

    /// The first fault of the routes of `at`.
    fn wrong(&self, plan: &Plan, at: NodeId, owners: &[(IpAddr, NodeId)]) -> Option<Finding> {
        let (routes, cluster) = (plan.node_routes()?, plan.cluster());
        let finding = |object: String, message: &str| {
            let object = format!("{}, {object}", cluster.node(at).name);
            Some(Finding { kind: "wrong-prefix", object, message: message.into() })
        };
        for (address, to) in owners {
            let name = || cluster.node(*to).name.clone();
            let main = self.main.find(*address);
            if *to == at {
                if main.is_some() || self.by_nic.values().any(|t| t.find(*address).is_some()) {
                    return finding(name(), "a prefix holds the node's own address");
                }
                continue;
            }
            if main != Some((routes.find(at, None, *to).main, routes.backup(at, *to))) {
                return finding(name(), "the longest prefix has another route than the node");
            }
            for came in 0..cluster.node(at).nics.len() {
                let found = self.by_nic.get(&came).and_then(|table| table.find(*address));
                if found != routes.find(at, Some(came), *to).table {
                    let message = "the longest prefix of a table by NIC of arrival has another route \
                                   than the node";
                    return finding(name(), message);
                }
            }
        }
        let ours = &cluster.addressing.nodes;
        let holds_owner = |prefix: &Prefix| {
            let next = owners.partition_point(|(address, _)| *address < prefix.address);
            owners.get(next).is_some_and(|(address, _)| prefix.contains(*address))
        };
        let outside = |prefix: &&Prefix| {
            !ours.iter().any(|of| of.len <= prefix.len && of.contains(prefix.address))
                || prefix.width() - prefix.len > MOST_HELD
                || !holds_owner(prefix)
        };
        let mut all: Vec<&Prefix> = self.prefixes().collect();
        all.sort_unstable();
        let outside = all.into_iter().find(outside)?;
        finding(outside.to_string(), "the prefix is not one of node addresses")
    }
}

/// The first address of no node to which packets go round among nodes, with the node where they begin.
fn circling(
    plan: &Plan,
    tables: &[(NodeId, Tables)],
    owners: &[(IpAddr, NodeId)],
) -> Option<Finding> {
    let is_owned = |of: &IpAddr| owners.binary_search_by_key(of, |(address, _)| *address).is_ok();
    let mut holes = BTreeSet::new();
    let all: BTreeSet<&Prefix> = tables.iter().flat_map(|(_, tables)| tables.prefixes()).collect();
    for prefix in all {
        let held = 1_u128 << (prefix.width() - prefix.len);
        let addresses = (0..held).filter_map(|n| prefix.nth(n));
        holes.extend(addresses.filter(|address| !is_owned(address)));
    }
    let circles = |hole: &IpAddr| {
        tables.iter().map(|(from, _)| *from).find(|from| {
            let (mut at, mut came) = (*from, None);
            for _ in 0..=2 * tables.len() {
                let Some((_, here)) = tables.get(at.index()) else { return false };
                let table = came.and_then(|came| here.by_nic.get(&came)?.find(*hole));
                let Some(hop) = table.or_else(|| Some(here.main.find(*hole)?.0)) else {
                    return false;
                };
                (at, came) = (hop.to, Some(hop.to_nic));
            }
            true
        })
    };
    let holes: Vec<IpAddr> = holes.into_iter().collect();
    let (hole, from) = holes.par_iter().find_map_first(|hole| Some((hole, circles(hole)?)))?;
    let object = format!("{}, {hole}", plan.cluster().node(from).name);
    let message = "packets to this address, which no node has, go round".to_owned();
    Some(Finding { kind: "routing-loop", object, message })
}

#[cfg(test)]
mod tests {
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;

    fn plan(kind: TopologyShape, paths: u32) -> Plan {
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, paths);
        cluster.addressing.nodes.push("fd77::/64".parse().unwrap());
        cluster.addressing.nics.push("fd78::/64".parse().unwrap());
        Plan::build(cluster).unwrap()
    }

    fn pmesh(dims: &[u32], grow_to: &[u32]) -> TopologyShape {
        TopologyShape::Pmesh { dims: dims.into(), grow_to: grow_to.into(), lines_per_switch: 1 }
    }

    fn kinds() -> [TopologyShape; 8] {
        [
            pmesh(&[4, 4], &[8, 8]),
            pmesh(&[3, 5], &[3, 5]),
            pmesh(&[3, 3, 3], &[3, 3, 3]),
            TopologyShape::DirectTorus { dims: vec![4, 3, 2] },
            TopologyShape::DirectTorus { dims: vec![6, 6] },
            TopologyShape::DirectTorus { dims: vec![9, 5] },
            TopologyShape::DirectMesh { dims: vec![3, 4] },
            TopologyShape::DirectMesh { dims: vec![7, 6] },
        ]
    }

    #[test]
    fn the_longest_prefix_gives_every_node_its_planned_routes() {
        for (kind, paths) in kinds().iter().flat_map(|kind| [(kind, 1), (kind, 2)]) {
            let plan = plan(kind.clone(), paths);
            let nodes = plan.nodes_by_address();
            assert!(plan.node_prefixes(NodeId(0), &nodes).is_some(), "{kind:?}");
            assert_eq!(check(&plan), Found::default(), "{kind:?}");
        }
        let ring = plan(TopologyShape::Ring { nodes: 5 }, 2);
        assert!(ring.node_prefixes(NodeId(0), &ring.nodes_by_address()).is_none());
        assert_eq!(check(&ring), Found::default());
    }

    /// The violation when the prefixes of n5 on 4x4 are changed.
    fn planted(change: impl Fn(&mut NodePrefixes) + Sync) -> String {
        let plan = plan(pmesh(&[4, 4], &[8, 8]), 2);
        let nodes = plan.nodes_by_address();
        let changed = |at| {
            let mut prefixes = plan.node_prefixes(at, &nodes)?;
            if at == NodeId(5) {
                change(&mut prefixes);
            }
            Some(prefixes)
        };
        let (violations, notes) = judge(&plan, &nodes, &changed);
        assert!(notes.is_empty() && violations.len() == 1, "{violations:?}");
        format!("{} {}", violations[0].kind, violations[0].object)
    }

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn every_wrong_prefix_is_a_violation() {
        // n05 is at (1, 1): 10.77.0.18. Column 2 is 10.77.0.33 to .36.
        let column = prefix("10.77.0.32/29");
        let hop = |prefixes: &NodePrefixes, of: &str| prefixes.main[&prefix(of)];
        let without = |all: &mut NodePrefixes| _ = all.main.remove(&column);
        assert_eq!(planted(without), "wrong-prefix n05, n02");
        let longer = |all: &mut NodePrefixes| {
            let other = hop(all, "10.77.0.48/29");
            all.main.insert(prefix("10.77.0.34/32"), other);
        };
        assert_eq!(planted(longer), "wrong-prefix n05, n06");
        let without_backup = |all: &mut NodePrefixes| {
            let (main, _) = hop(all, "10.77.0.32/29");
            all.main.insert(column, (main, None));
        };
        assert_eq!(planted(without_backup), "wrong-prefix n05, n02");
        let own = |all: &mut NodePrefixes| {
            let other = hop(all, "10.77.0.17/32");
            all.main.insert(prefix("10.77.0.16/30"), other);
        };
        assert_eq!(planted(own), "wrong-prefix n05, n05");
        let table = |all: &mut NodePrefixes| all.tables.clear();
        assert_eq!(planted(table), "wrong-prefix n05, n00");
        let foreign = |all: &mut NodePrefixes| {
            let other = hop(all, "10.77.0.17/32");
            all.main.insert(prefix("10.79.0.0/30"), other);
        };
        assert_eq!(planted(foreign), "wrong-prefix n05, 10.79.0.0/30");
    }

    #[test]
    fn an_address_of_no_node_must_not_go_round() {
        let plan = plan(pmesh(&[4, 4], &[8, 8]), 2);
        let owners = plan.nodes_by_address();
        let tables = |back: bool| -> Vec<(NodeId, Tables)> {
            let of = |at: u32| {
                let mut prefixes = NodePrefixes::default();
                let to = NodeId(1 - at.min(1));
                if at == 0 || at == 1 && back {
                    let hop = Hop { nic: 0, to, to_nic: 0 };
                    prefixes.main.insert(prefix("10.77.0.32/29"), (hop, None));
                }
                (NodeId(at), Tables::of(&prefixes))
            };
            (0..16).map(of).collect()
        };
        assert_eq!(circling(&plan, &tables(false), &owners), None);
        let found = circling(&plan, &tables(true), &owners).unwrap();
        assert_eq!((found.kind, found.object.as_str()), ("routing-loop", "n00, 10.77.0.32"));
    }
}
