//! Pins and weights: which path each packet takes, who else's packets they move, and what becomes of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_control::NodeError;
use tresse_plan::Plan;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, Observed};

use super::steer::{FLAT, asked, host, nics, prepared, prepared_for, steer};
use super::watch::path_event;
use super::{Host, Prepared};
use crate::{Steer, Stored};

const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 5 }\n";
/// Every kind of fabric whose nodes route.
const ROUTED: &[&str] = &[
    RING,
    "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n",
    "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n",
    "[fabric]\ntopology = { kind = \"full-mesh\", nodes = 4 }\n",
    "[fabric]\ntopology = { kind = \"direct-torus\", dims = [3, 3] }\n",
    "[fabric]\ntopology = { kind = \"direct-mesh\", dims = [3, 2] }\n",
];

fn plan(text: &str) -> Plan {
    Plan::build(tresse_cluster::parse(text, "test.toml").unwrap()).unwrap()
}

fn pin(to: &str, rank: u32) -> Steer {
    Steer::Pin { to: to.into(), rank }
}

fn weight(to: &str, weights: &[(u32, u32)]) -> Steer {
    Steer::Weight { to: to.into(), weights: weights.iter().copied().collect() }
}

/// A nexthop of a group: NIC, gateway and weight.
type Member = (String, IpAddr, u16);

/// The nexthops of the kernel's route to an address with this metric.
fn members(observed: &Observed, to: IpAddr, metric: u32) -> Vec<Member> {
    // The longest prefix wins, whatever the metric.
    let ours = observed.routes.keys().filter(|(dst, metric)| {
        dst.contains(to) && [METRIC_PRIMARY, METRIC_BACKUP].contains(metric)
    });
    let longest = ours.map(|(dst, _)| *dst).max_by_key(|dst| dst.len);
    longest.map(|dst| members_of(observed, (dst, metric))).unwrap_or_default()
}

/// The nexthops of one route.
fn members_of(observed: &Observed, key: (Prefix, u32)) -> Vec<Member> {
    let Some(route) = observed.routes.get(&key) else { return Vec::new() };
    let id = route.nexthop.unwrap();
    let group = match &observed.nexthops[&id].group[..] {
        [] => vec![(id, 1)],
        group => group.to_vec(),
    };
    let member = |(id, weight): (u32, u16)| {
        let nexthop = &observed.nexthops[&id];
        (nexthop.interface.clone().unwrap(), nexthop.via.unwrap(), weight)
    };
    group.into_iter().map(member).collect()
}

/// All routes of the main table with their nexthops, whatever the ids of the groups.
fn contents(observed: &Observed) -> BTreeMap<(Prefix, u32), Vec<Member>> {
    let ours = observed.routes.iter().filter(|(_, route)| route.nexthop.is_some());
    ours.map(|(key, _)| (*key, members_of(observed, *key))).collect()
}

/// The gateway that a node's kernel takes for a packet that came in by `nic`, or that it sends itself.
fn gateway(observed: &Observed, nic: Option<&str>, to: IpAddr) -> IpAddr {
    let rules = observed.rules.iter().filter(|rule| Some(rule.interface.as_str()) == nic);
    let table = rules.filter(|rule| rule.ipv4 == to.is_ipv4()).find_map(|rule| {
        let routes = observed.table_routes.iter();
        let routes = routes.filter(|((table, dst, _), _)| *table == rule.table && dst.contains(to));
        routes.max_by_key(|((_, dst, _), _)| dst.len)?.1.via
    });
    table.unwrap_or_else(|| {
        let primary = members(observed, to, METRIC_PRIMARY);
        let all = if primary.is_empty() { members(observed, to, METRIC_BACKUP) } else { primary };
        all[0].1
    })
}

/// The nodes that a packet comes to, by the kernels of all.
fn walked(plan: &Plan, hosts: &[Host], from: NodeId, to: NodeId) -> Vec<NodeId> {
    let address = plan.addresses().node[to.index()][0];
    let (mut at, mut came, mut nodes) = (from, None::<String>, Vec::new());
    while at != to {
        let via = gateway(&hosts[at.index()].kernel.observed, came.as_deref(), address);
        let nics = plan.addresses().nic.iter().enumerate();
        let ends = nics.flat_map(|(node, nics)| nics.iter().enumerate().map(move |n| (node, n)));
        let (node, (nic, _)) = { ends }.find(|(_, (_, own))| own.contains(&via)).unwrap();
        at = NodeId::from(node);
        came = Some(plan.cluster().node(at).nics[nic].name.clone());
        nodes.push(at);
        assert!(nodes.len() <= 2 * hosts.len(), "{from:?} to {to:?} goes round: {nodes:?}");
    }
    nodes
}

fn planned(plan: &Plan, from: NodeId, to: NodeId, rank: usize) -> Vec<NodeId> {
    plan.paths(from, to)[rank].segments.iter().map(|segment| segment.to).collect()
}

/// Also where all nodes pin all pairs at a time: no pin moves what others send.
#[test]
fn where_nodes_route_a_pin_moves_its_own_pair_and_no_other() {
    for text in ROUTED {
        let plan = plan(text);
        let all: Vec<NodeId> = (0..plan.cluster().nodes.len()).map(NodeId::from).collect();
        let parts: Vec<Prepared> =
            all.iter().map(|node| prepared_for(&plan, *node, text)).collect();
        let mut hosts: Vec<Host> = parts.iter().map(host).collect();
        let before: Vec<Observed> = hosts.iter().map(|host| host.kernel.observed.clone()).collect();
        let pairs: Vec<_> = plan.pairs().filter(|(a, b)| plan.paths(*a, *b).len() > 1).collect();
        assert!(!pairs.is_empty());
        let name = |node: NodeId| plan.cluster().node(node).name.as_str();
        let judge = |hosts: &[Host], pinned: &BTreeSet<(NodeId, NodeId)>| {
            for (a, b) in plan.pairs() {
                let rank = usize::from(pinned.contains(&(a, b)));
                let way = planned(&plan, a, b, rank);
                assert_eq!(walked(&plan, hosts, a, b), way, "{text} {a:?} {b:?} {pinned:?}");
            }
        };
        judge(&hosts, &BTreeSet::new());
        // Every third pair, then all of them.
        let mut pinned = BTreeSet::new();
        for step in [3, 1] {
            for (a, b) in pairs.iter().step_by(step) {
                let steered = steer(&mut hosts[a.index()], pin(name(*b), 1), false).unwrap();
                let again = pinned.contains(&(*a, *b));
                assert_eq!(steered.moves.len(), usize::from(!again), "{steered:?}");
                pinned.insert((*a, *b));
            }
            judge(&hosts, &pinned);
        }
        for host in &mut hosts {
            let observed = host.kernel.observed.clone();
            host.restart();
            assert_eq!(host.kernel.observed, observed, "a restart changes nothing");
            let status = host.engine.status(host.now);
            assert!(status.in_sync && status.drift.is_empty() && status.backup.is_empty());
        }
        judge(&hosts, &pinned);
        for (a, b) in &pairs {
            steer(&mut hosts[a.index()], Steer::Unpin(name(*b).into()), false).unwrap();
        }
        for (host, before) in hosts.iter().zip(&before) {
            assert_eq!(contents(&host.kernel.observed), contents(before), "{text}");
            assert_eq!(host.kernel.observed.table_routes, before.table_routes, "{text}");
            assert_eq!(host.kernel.observed.rules, before.rules, "{text}");
        }
    }
}

#[test]
fn where_nodes_route_a_pin_gives_way_to_failures_and_drains() {
    let prepared = prepared(RING);
    let mut host = host(&prepared);
    // n0 to n2: by n1, or the long way by n4 and n3.
    let to: IpAddr = "10.77.0.3".parse().unwrap();
    let used = |host: &Host| nics(host, to, METRIC_PRIMARY);
    let nic = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(used(&host), nic("eth1"));
    let dry = asked(&mut host, pin("n2", 1), false, true).unwrap();
    let change = "rank 0 by eth1 through n1 -> rank 1 by eth0 through n4 n3";
    assert_eq!((dry.moves[0].node.as_str(), dry.moves[0].change().as_str()), ("n2", change));
    assert_eq!((dry.moved, used(&host)), (vec![to.to_string()], nic("eth1")));
    steer(&mut host, pin("n2", 1), false).unwrap();
    assert_eq!(used(&host), nic("eth0"));
    assert_eq!(nics(&host, to, METRIC_BACKUP), nic("eth1"), "the kernel falls back by itself");
    let states = |host: &Host| -> Vec<String> {
        let paths = host.engine.paths(Some("n2")).unwrap().paths;
        paths.into_iter().map(|path| path.state).collect()
    };
    assert_eq!(states(&host), ["standby", "active"]);

    let watch = |peer: &str| prepared.watches.paths().iter().find(|w| w.peer == peer).unwrap().id;
    path_event(&mut host, &[watch("n4")]);
    assert_eq!(gateway(&host.kernel.observed, None, to), "10.78.0.3".parse::<IpAddr>().unwrap());
    assert_eq!(states(&host), ["active", "broken"]);
    path_event(&mut host, &[]);
    assert_eq!(used(&host), nic("eth0"));
    // The other path is broken: the pinned one serves what others send through here, too.
    path_event(&mut host, &[watch("n1")]);
    let observed = &host.kernel.observed;
    assert_eq!(gateway(observed, Some("eth0"), to), gateway(observed, None, to));
    path_event(&mut host, &[]);
    let observed = &host.kernel.observed;
    assert_ne!(gateway(observed, Some("eth0"), to), gateway(observed, None, to));

    // A part further on that the pinned path crosses.
    steer(&mut host, Steer::Drain("n3-n4".into()), false).unwrap();
    assert_eq!(used(&host), nic("eth1"));
    assert_eq!(states(&host), ["active", "standby"]);
    steer(&mut host, Steer::Undrain("n3-n4".into()), false).unwrap();
    assert_eq!(used(&host), nic("eth0"));
}

#[test]
fn weights_share_a_pair_and_what_breaks_gives_its_share_to_the_others() {
    for (text, ranks) in [(FLAT, 3), (RING, 2), (ROUTED[2], 2)] {
        let prepared = prepared(text);
        let mut host = host(&prepared);
        let before = host.kernel.observed.clone();
        let entries = prepared.index.to("n1").to_vec();
        assert_eq!(entries.len(), ranks);
        let to = entries[0].address;
        let shares = |host: &Host| -> BTreeMap<String, u16> {
            let members = members(&host.kernel.observed, to, METRIC_PRIMARY).into_iter();
            members.map(|(nic, _, weight)| (nic, weight)).collect()
        };
        let at = |rank: usize| prepared.index.interface(&entries[rank]).to_owned();
        let of = |list: &[(usize, u16)]| -> BTreeMap<String, u16> {
            list.iter().map(|(rank, weight)| (at(*rank), *weight)).collect()
        };
        let last = ranks - 1;
        steer(&mut host, weight("n1", &[(0, 1), (1, 3), (last as u32, 3)]), false).unwrap();
        let mut all = of(&[(0, 1), (1, 3), (last, 3)]);
        assert_eq!(shares(&host), all, "{text}");
        let words =
            (0..ranks).map(|rank| format!("rank {rank} weight {}", if rank == 0 { 1 } else { 3 }));
        let words = format!("n1 {}", words.collect::<Vec<_>>().join(", "));
        assert_eq!(host.engine.status(host.now).weighted, [words]);
        // Ranks that are not named keep theirs.
        steer(&mut host, weight("n1", &[(0, 255)]), false).unwrap();
        all.insert(at(0), 255);
        assert_eq!(shares(&host), all, "{text}");
        let observed = host.kernel.observed.clone();
        host.restart();
        assert_eq!(host.kernel.observed, observed);
        path_event(&mut host, &[]);

        path_event(&mut host, &[entries[1].watched]);
        all.remove(&at(1));
        assert_eq!(shares(&host), all, "{text}");
        path_event(&mut host, &[]);
        // 0: out of the sharing as long as another works.
        steer(&mut host, weight("n1", &[(0, 0)]), false).unwrap();
        assert!(!shares(&host).contains_key(&at(0)) && shares(&host)[&at(1)] == 3, "{text}");
        let rest: Vec<_> = entries[1..].iter().map(|entry| entry.watched).collect();
        path_event(&mut host, &rest);
        let found = gateway(&host.kernel.observed, None, to);
        assert_eq!(found, entries[0].nexthops[0].1.via, "{text}");
        path_event(&mut host, &[]);

        // One or the other.
        steer(&mut host, pin("n1", 0), false).unwrap();
        assert_eq!(shares(&host).keys().collect::<Vec<_>>(), [&at(0)], "{text}");
        let status = host.engine.status(host.now);
        assert_eq!((status.pinned.len(), status.weighted.len()), (1, 0));
        steer(&mut host, weight("n1", &[(0, 2), (1, 2)]), false).unwrap();
        let status = host.engine.status(host.now);
        assert_eq!((status.pinned.len(), status.weighted.len()), (0, 1));
        steer(&mut host, Steer::Unpin("n1".into()), false).unwrap();
        assert_eq!(contents(&host.kernel.observed), contents(&before), "{text}");
        assert_eq!(host.kernel.observed.table_routes, before.table_routes, "{text}");
    }
}

#[test]
fn wrong_weights_are_refused() {
    let prepared = prepared(RING);
    let mut host = host(&prepared);
    let before = host.disk.clone();
    for (weights, word) in [
        (&[(0, 0), (1, 0)][..], "n2: every path of this pair would have weight 0"),
        (&[(0, 0)], "every path of this pair would have weight 0"),
        (&[(2, 1)], "n2: no path from here to this node has rank 2: the ranks are 0, 1"),
        (&[(1, 256)], "n2: weight 256 of rank 1: weights go up to 255"),
        (&[], "n2: no weights are given"),
    ] {
        let error = steer(&mut host, weight("n2", weights), false).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(host.disk, before);
    let one = self::prepared(&format!("{RING}[routing]\npaths = 1\n"));
    let mut host = super::steer::host(&one);
    let error = steer(&mut host, pin("n2", 1), false).unwrap_err().to_string();
    assert!(error.contains("it has one path, of rank 0; `[routing] paths = 2`"), "{error}");
}

/// The ring grows at the far end: the first hop is the same, the path is not.
#[test]
fn a_plan_that_changes_what_ranks_mean_drops_pins_and_weights() {
    let ring = prepared(RING);
    let longer = prepared(&RING.replace('5', "6"));
    for steered in [pin("n2", 1), weight("n2", &[(1, 3)])] {
        let mut host = host(&ring);
        steer(&mut host, steered, false).unwrap();
        // n1 is beside n0 in both, and both ways round are as they were from n0 on.
        steer(&mut host, pin("n1", 0), false).unwrap();
        assert!(host.apply(&longer).unwrap().is_ok());
        host.settle();
        let unpinned = host.published.iter().filter(|(kind, _)| kind == "unpinned").count();
        assert_eq!(unpinned, 1, "{:?}", host.published);
        let status = host.engine.status(host.now);
        assert_eq!((status.pinned, status.weighted.len()), (vec!["n1 rank 0".to_owned()], 0));
        let to = "10.77.0.3".parse().unwrap();
        assert_eq!(members(&host.kernel.observed, to, METRIC_PRIMARY).len(), 1);
    }
}

/// Along a chain, nodes further on send what would be cut through what is drained.
#[test]
fn a_drain_where_nodes_route_lists_all_that_it_cuts_off() {
    let chain = "[fabric]\ntopology = { kind = \"direct-mesh\", dims = [4] }\n";
    let mut host = host(&prepared(chain));
    let refused = steer(&mut host, Steer::Drain("n1-n2".into()), false).unwrap_err();
    let NodeError::WouldCut { destinations, .. } = refused else { panic!("{refused}") };
    assert_eq!(destinations, ["10.77.0.3", "10.77.0.4"]);
    let dry = asked(&mut host, Steer::Drain("n1-n2".into()), false, true).unwrap();
    assert_eq!(dry.cut_nodes, ["n2", "n3"]);
    assert!(host.engine.status(host.now).drained.is_empty());
    let forced = steer(&mut host, Steer::Drain("n1-n2".into()), true).unwrap();
    assert_eq!(forced.cut_nodes, ["n2", "n3"]);

    // A ring has another way, until that has failed.
    let ring = prepared(RING);
    let mut host = super::steer::host(&ring);
    assert!(asked(&mut host, Steer::Drain("n1-n2".into()), false, true).unwrap().cut.is_empty());
    let n4 = ring.watches.paths().iter().find(|watch| watch.peer == "n4").unwrap().id;
    path_event(&mut host, &[n4]);
    let dry = asked(&mut host, Steer::Drain("n1-n2".into()), false, true).unwrap();
    assert_eq!(dry.cut_nodes, ["n2", "n3", "n4"]);
    // With one path each, what crosses it has no other.
    let one = prepared(&format!("{RING}[routing]\npaths = 1\n"));
    let mut host = super::steer::host(&one);
    let dry = asked(&mut host, Steer::Drain("n1-n2".into()), false, true).unwrap();
    assert_eq!(dry.cut_nodes, ["n2"]);
}

#[test]
fn what_older_versions_stored_is_loaded() {
    let host = {
        let mut host = host(&prepared(FLAT));
        steer(&mut host, pin("n1", 2), false).unwrap();
        host
    };
    let stored = serde_json::to_value(&host.disk).unwrap();
    let steering = &stored["steering"];
    assert_eq!(steering["weights"], serde_json::Value::Null, "as before where there are none");
    let keys: Vec<&String> = steering["pinned"]["n1"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["rank", "ways"]);
    let loaded: Stored = serde_json::from_value(stored).unwrap();
    assert_eq!(loaded, host.disk);
}
