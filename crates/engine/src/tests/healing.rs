//! What failures elsewhere do to the routes of a node that routes.

use std::net::IpAddr;

use tresse_base::id::PathId;
use tresse_base::units::Prefix;
use tresse_frame::records::Origin;
use tresse_liveness::records::PathState;
use tresse_reconcile::{GuardRule, METRIC_BACKUP, METRIC_ICMP, METRIC_PRIMARY, Nexthop};

use super::watch::{path_event, plan, settled, torus};
use super::*;
use crate::prepared::digest;

/// A ring of six, seen by node 0 if nothing else is said.
struct Ring {
    plan: Plan,
    host: Host,
}

impl Ring {
    fn new() -> Self {
        Self::of(NodeId(0), |_| ())
    }

    fn of(node: NodeId, change: impl FnOnce(&mut Cluster)) -> Self {
        let kind = TopologyShape::Ring { nodes: 6 };
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
        change(&mut cluster);
        let plan_of = Plan::build(cluster).unwrap();
        let prepared = plan(&plan_of, node);
        let mut host = Host::new(false);
        for (name, (mac, _)) in &prepared.wanted.nics {
            host.kernel.observed.links.get_mut(name).unwrap().mac = Some(*mac);
        }
        settled(&prepared, &mut host);
        Self { plan: plan_of, host }
    }

    fn origin(&self, node: u32) -> Origin {
        Origin(u64::from_be_bytes(digest(&self.plan.cluster().nodes[node as usize].name)))
    }

    /// What a node says if it hears nothing on its hop to a neighbour, or all.
    fn says(&self, node: u32, broken: Option<u32>) -> Report {
        let hops = self.plan.layout().unwrap().neighbours(NodeId(node));
        let state = |to: NodeId| match broken == Some(to.0) {
            true => PathState::Broken,
            false => PathState::Sound,
        };
        let generation = digest(self.plan.generation());
        let hops = hops.iter().map(|hop| state(hop.to)).collect();
        Report { generation, hops, ..Report::default() }
    }

    fn hears(&mut self, reports: &[(u32, Option<u32>)]) {
        let report = |(node, broken): &(u32, Option<u32>)| {
            (self.origin(*node), Some(self.says(*node, *broken)))
        };
        let reports = reports.iter().map(report).collect();
        self.host.input(Input::Reports(reports));
        self.host.settle();
    }

    /// The neighbour to which packets for a node are sent, by metric.
    fn sends(&self, to: u32) -> [Option<u32>; 2] {
        let address = self.plan.addresses().node[to as usize][0];
        let observed = &self.host.kernel.observed;
        let owner = |via: IpAddr| {
            let nics = &self.plan.addresses().nic;
            nics.iter().position(|nics| nics.iter().flatten().any(|of| *of == via)).unwrap() as u32
        };
        [METRIC_PRIMARY, METRIC_BACKUP].map(|metric| {
            let route = observed.routes.get(&(Prefix::host(address), metric))?;
            let object = &observed.nexthops[&route.nexthop.unwrap()];
            let member = object.group.first().map(|(id, _)| &observed.nexthops[id]);
            Some(owner(member.unwrap_or(object).via.unwrap()))
        })
    }

    /// Number of routes by the NIC of arrival.
    fn redirected(&self) -> usize {
        self.host.kernel.observed.table_routes.len()
    }
}

fn all(broken: &[(u32, u32)]) -> Vec<(u32, Option<u32>)> {
    let of = |node: u32| broken.iter().find(|(from, _)| *from == node).map(|(_, to)| *to);
    (1..6).map(|node| (node, of(node))).collect()
}

#[test]
fn a_cable_between_two_others_is_gone_round_and_taken_again() {
    let mut ring = Ring::new();
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    ring.hears(&all(&[]));
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    let redirected = ring.redirected();
    ring.hears(&all(&[(1, 2), (2, 1)]));
    assert!(ring.redirected() < redirected);
    // The one way there is; by the other NIC packets would come back.
    assert_eq!(ring.sends(2), [Some(5), None]);
    assert_eq!(ring.sends(1), [Some(1), Some(5)], "what is not concerned stays");
    ring.hears(&all(&[]));
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    assert_eq!(ring.redirected(), redirected);
}

#[test]
fn a_cable_is_gone_round_by_the_word_of_the_end_that_has_no_carrier() {
    let mut ring = Ring::new();
    ring.hears(&all(&[]));
    let hops = ring.plan.layout().unwrap().neighbours(NodeId(2));
    let dark = hops.iter().find(|hop| hop.to == NodeId(1)).unwrap().nic;
    let report = Report { dark: [dark].into(), ..ring.says(2, Some(1)) };
    ring.host.input(Input::Reports([(ring.origin(2), Some(report.clone()))].into()));
    ring.host.settle();
    assert_eq!(ring.sends(2), [Some(5), None]);
    // Where carriers stay, each end knows what it hears.
    let report = Report { dark: [].into(), ..report };
    ring.host.input(Input::Reports([(ring.origin(2), Some(report))].into()));
    ring.host.settle();
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
}

#[test]
fn who_is_cut_off_has_no_route() {
    let mut ring = Ring::new();
    ring.hears(&all(&[(1, 2), (2, 1), (3, 4), (4, 3)]));
    assert_eq!([1, 2, 3, 4].map(|node| ring.sends(node)[0]), [Some(1), None, None, Some(5)]);
    ring.hears(&all(&[(3, 4), (4, 3)]));
    assert_eq!([1, 2, 3, 4].map(|node| ring.sends(node)[0]), [Some(1), Some(1), Some(1), Some(5)]);
}

#[test]
fn own_and_others_failures_add_up() {
    let mut ring = Ring::new();
    let own = PathId { src: NodeId(0), dst: NodeId(1), rank: 0 };
    path_event(&mut ring.host, &[own]);
    // The planned answer: what lies behind is not known.
    assert_eq!([1, 2, 3].map(|node| ring.sends(node)), [[None, Some(5)]; 3]);
    ring.hears(&all(&[]));
    let said = ring.host.said.clone().unwrap();
    assert_eq!(said.hops.iter().filter(|state| **state == PathState::Broken).count(), 1);
    let used = |ring: &Ring| [1, 2, 3].map(|node| ring.sends(node).into_iter().flatten().next());
    assert_eq!(used(&ring), [Some(5); 3]);
    ring.hears(&all(&[(1, 0), (2, 3), (3, 2)]));
    assert_eq!(used(&ring), [None, None, Some(5)]);
    // One that says nothing: its neighbours know.
    let silent = ring.origin(3);
    ring.host.input(Input::Reports([(silent, None)].into()));
    ring.host.settle();
    assert_eq!(used(&ring), [None, None, Some(5)]);
    path_event(&mut ring.host, &[]);
    assert_eq!([1, 2, 3].map(|node| ring.sends(node)[0]), [Some(1), Some(1), Some(5)]);
}

#[test]
fn what_others_said_of_failures_outlives_the_daemon() {
    let mut ring = Ring::new();
    ring.hears(&all(&[(1, 2), (2, 1)]));
    ring.host.restart();
    assert_eq!(ring.sends(2), [Some(5), None]);
    // Who says nothing for long is not believed for ever.
    ring.host.run_until(ring.host.now + 300_000);
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    assert!(ring.host.disk.reports.is_empty());
    ring.hears(&all(&[(1, 2), (2, 1)]));
    assert_eq!(ring.sends(2), [Some(5), None]);
    ring.hears(&all(&[]));
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    assert!(ring.host.disk.reports.is_empty());
}

/// Reports of another plan say nothing of this one.
#[test]
fn reports_of_another_plan_are_left_aside() {
    let mut ring = Ring::new();
    let mut report = ring.says(1, Some(2));
    report.generation = [1; 8];
    ring.host.input(Input::Reports([(ring.origin(1), Some(report))].into()));
    ring.host.settle();
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
}

#[test]
fn failures_are_listed_with_who_says_so_since_when_and_what_they_do() {
    let mut ring = Ring::new();
    let list = |ring: &Ring| ring.host.engine.failures(ring.host.now, 5_000_000).unwrap();
    let nothing = list(&ring);
    assert_eq!((nothing.broken.len(), nothing.around.len(), nothing.cut.len()), (0, 0, 0));
    ring.hears(&all(&[(1, 2), (2, 1)]));
    let began = ring.host.now - 60_000;
    let found = list(&ring);
    let [broken] = &found.broken[..] else { panic!("{:?}", found.broken) };
    assert_eq!((&*broken.kind, &*broken.object), ("hop", "n1:eth1-n2:eth0"));
    assert_eq!(&*broken.by, "n1, n2");
    assert_eq!(broken.since, 5_000_000 - (ring.host.now - began));
    let around: Vec<String> = found.around.iter().map(|line| line.path.join(" ")).collect();
    assert_eq!(around, ["n0 n5 n4 n3 n2", "n0 n5 n4 n3"]);
    assert!(found.cut.is_empty());
    // Nobody hears n2 any more.
    ring.hears(&all(&[(1, 2), (3, 2)]));
    let found = list(&ring);
    let broken: Vec<_> = found.broken.iter().map(|b| (&*b.kind, &*b.object, &*b.by)).collect();
    assert_eq!(broken, [("node", "n2", "n1, n3")]);
    let cut: Vec<_> = found.cut.iter().map(|line| (&*line.dst, &*line.reason)).collect();
    assert_eq!(cut, [("n2", "no-cable")]);
    assert_eq!(ring.host.engine.status(ring.host.now).cut, ["n2"]);
}

/// The first gateway is n3, the second n5.
fn with_gateways(cluster: &mut Cluster) {
    for (node, order) in [(3, 1), (5, 2)] {
        let node = &mut cluster.nodes[node];
        (node.gateway, node.gateway_order) = (true, order);
    }
}

#[test]
fn a_gateway_without_a_way_out_is_used_last() {
    let mut ring = Ring::of(NodeId(0), with_gateways);
    ring.hears(&all(&[]));
    let gateways = |ring: &Ring| {
        let lines = ring.host.engine.status(ring.host.now).gateways;
        lines.iter().map(|l| format!("{} {} {}", l.node, l.shut, l.used)).collect::<Vec<_>>()
    };
    let via = |ring: &Ring| {
        let observed = &ring.host.kernel.observed;
        let route = &observed.routes[&(Prefix::everything(true), METRIC_PRIMARY)];
        let object = &observed.nexthops[&route.nexthop.unwrap()];
        object.group.first().map_or(object, |(id, _)| &observed.nexthops[id]).via
    };
    let address = |ring: &Ring, node: usize| Some(ring.plan.addresses().node[node][0]);
    assert_eq!(gateways(&ring), ["n3 false true", "n5 false false"]);
    assert_eq!(via(&ring), address(&ring, 3));
    let report = Report { shut: [0].into(), ..ring.says(3, None) };
    ring.host.input(Input::Reports([(ring.origin(3), Some(report))].into()));
    ring.host.settle();
    assert_eq!(gateways(&ring), ["n3 true false", "n5 false true"]);
    assert_eq!(via(&ring), address(&ring, 5));
    // Where none has a way out, they have the order of the plan.
    let report = Report { shut: [0].into(), ..ring.says(5, None) };
    ring.host.input(Input::Reports([(ring.origin(5), Some(report))].into()));
    ring.host.settle();
    assert_eq!(via(&ring), address(&ring, 3));
}

#[test]
fn a_gateway_says_that_it_has_no_way_out() {
    let mut ring = Ring::of(NodeId(3), with_gateways);
    let said = |ring: &mut Ring| {
        ring.host.input(Input::Changed(Changes::default()));
        ring.host.settle();
        ring.host.engine.healing.said.as_ref().unwrap().shut.clone()
    };
    assert_eq!(said(&mut ring), [0].into());
    let links = &mut ring.host.kernel.observed.links;
    let link = links["eth0"].clone();
    links.insert("out".into(), link);
    let default = (Prefix::everything(true), 100);
    ring.host.kernel.observed.routes.insert(default, foreign("out"));
    ring.host.input(Input::Changed(Changes::default()));
    // The port of the switch there may still listen.
    ring.host.run_until(ring.host.now + 29_000);
    assert_eq!(ring.host.engine.healing.said.as_ref().unwrap().shut, [0].into());
    assert_eq!(said(&mut ring), [].into());
    ring.host.kernel.set_carrier("out", false);
    assert_eq!(said(&mut ring), [0].into());
}

/// Without failure detection too, which knows of carriers alone.
#[test]
fn a_cable_without_carrier_is_listed_since_it_was_lost() {
    let mut ring = Ring::new();
    ring.host.engine.settings.bfd = false;
    ring.host.kernel.set_carrier("eth0", false);
    ring.host.input(Input::Changed(Changes::default()));
    let began = ring.host.now;
    ring.host.settle();
    ring.host.now += 45_000;
    let now = ring.host.now;
    let [broken] = &ring.host.engine.failures(now, 5_000_000).unwrap().broken[..] else { panic!() };
    assert_eq!(&*broken.kind, "hop");
    let since = now - (5_000_000 - broken.since);
    assert!((began..began + 1000).contains(&since), "lost at {began}, listed since {since}");
    ring.host.kernel.set_carrier("eth0", true);
    ring.host.input(Input::Changed(Changes::default()));
    ring.host.settle();
    assert!(ring.host.engine.failures(ring.host.now, 5_000_000).unwrap().broken.is_empty());
    assert!(ring.host.engine.healing.since.is_empty());
}

/// While plans change, nodes have one plan or the other: what they say counts for both.
#[test]
fn a_plan_is_changed_while_a_cable_between_two_others_is_broken() {
    let mut ring = Ring::new();
    ring.hears(&all(&[(1, 2), (2, 1)]));
    let kind = TopologyShape::Ring { nodes: 6 };
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
    cluster.nodes[3].nics[0].rate = tresse_base::units::Rate(cluster.nodes[3].nics[0].rate.0 * 2);
    let next = Plan::build(cluster).unwrap();
    assert_ne!(next.generation(), ring.plan.generation());
    assert!(ring.host.apply(&plan(&next, NodeId(0))).unwrap().is_ok());
    ring.host.settle();
    path_event(&mut ring.host, &[]);
    assert_eq!(ring.sends(2), [Some(5), None]);
    ring.plan = next;
    ring.hears(&all(&[(1, 2), (2, 1)]));
    assert_eq!(ring.sends(2), [Some(5), None]);
    ring.hears(&all(&[]));
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
}

/// Its kernel goes on, but what it said last may be hours old.
#[test]
fn a_node_that_is_there_by_echoes_alone_is_not_believed() {
    let mut ring = Ring::new();
    ring.hears(&all(&[(2, 1)]));
    assert_eq!(ring.sends(2), [Some(1), Some(5)], "n1 says that its hop to n2 is sound");
    let path = |dst| PathId { src: NodeId(0), dst: NodeId(dst), rank: 0 };
    let generation = ring.host.watching.generation;
    let up = [path(1), path(5)].into();
    let silent = [path(1)].into();
    let (down, held) = Default::default();
    ring.host.input(Input::PathEvent { generation, down, held, up, silent });
    ring.host.settle();
    assert_eq!(ring.sends(2), [Some(5), None]);
    assert_eq!(ring.sends(1), [Some(1), Some(5)]);
    path_event(&mut ring.host, &[]);
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
}

/// A node that keeps a hop free uses it where nothing else leads, and all others know that.
#[test]
fn what_others_keep_free_is_known_once_something_is_broken_or_two_parts_are_drained() {
    let mut ring = Ring::new();
    let place = |ring: &Ring, node: u32, to: u32| {
        let hops = ring.plan.layout().unwrap().neighbours(NodeId(node));
        hops.iter().position(|hop| hop.to == NodeId(to)).unwrap()
    };
    let drains = |ring: &mut Ring, drained: &[(u32, u32)], broken: &[(u32, u32)]| {
        let said = all(broken).into_iter().map(|(node, broken)| {
            let mut report = ring.says(node, broken);
            let own = drained.iter().filter(|(from, _)| *from == node);
            report.drained = own.map(|(_, to)| place(ring, node, *to)).collect();
            (ring.origin(node), Some(report))
        });
        let said = said.collect();
        ring.host.input(Input::Reports(said));
        ring.host.settle();
    };
    path_event(&mut ring.host, &[]);
    // The planned routes answer one part.
    drains(&mut ring, &[(1, 2), (2, 1)], &[]);
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    drains(&mut ring, &[(1, 2), (2, 1)], &[(4, 5), (5, 4)]);
    assert_eq!(
        [2, 3].map(|node| ring.sends(node)),
        [[Some(1), None]; 2],
        "nothing else leads there"
    );
    let listed = ring.host.engine.failures(ring.host.now, 0).unwrap();
    assert_eq!((listed.broken.len(), listed.cut.len()), (1, 0));
    // One node alone keeps it free.
    drains(&mut ring, &[(1, 2)], &[(4, 3)]);
    assert_eq!(ring.sends(2), [Some(1), None]);
    drains(&mut ring, &[(1, 2)], &[(2, 1)]);
    assert_eq!(ring.sends(2), [Some(5), None]);
    drains(&mut ring, &[(1, 2), (2, 1), (3, 4), (4, 3)], &[]);
    assert_eq!([1, 2, 3, 4].map(|node| ring.sends(node)[0]), [Some(1), Some(1), Some(1), Some(5)]);
    ring.host.restart();
    assert_eq!(ring.sends(2), [Some(1), None]);
    drains(&mut ring, &[], &[]);
    assert_eq!(ring.sends(2), [Some(1), Some(5)]);
    assert!(ring.host.disk.reports.is_empty());
}

/// Where nodes do not route: programs get an error, and the kernel answers echo requests.
#[test]
fn who_is_cut_off_is_sent_icmp_alone() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let watches = prepared.watches.clone();
    let peer = watches.paths()[0].id.dst;
    let address = watches.paths()[0].destination;
    let ranks: Vec<PathId> =
        watches.paths().iter().map(|watch| watch.id).filter(|id| id.dst == peer).collect();
    let before = host.kernel.observed.clone();
    let metrics = |host: &Host| -> Vec<u32> {
        let routes = host.kernel.observed.routes.keys();
        routes.filter(|(dst, _)| *dst == Prefix::host(address)).map(|(_, metric)| *metric).collect()
    };
    assert!(metrics(&host).contains(&METRIC_PRIMARY));
    path_event(&mut host, &ranks);
    let generation = digest(&prepared.generation);
    let nodes = (0..prepared.nodes).map(NodeId);
    let says = nodes.filter(|id| ![prepared.id, peer].contains(id)).map(|id| {
        let others = (0..prepared.nodes).map(NodeId).filter(|other| *other != id);
        let state = |other| if other == peer { PathState::Broken } else { PathState::Sound };
        let report = Report { generation, hops: others.map(state).collect(), ..Report::default() };
        (Origin(u64::from_be_bytes(digest(prepared.index.node(id)))), Some(report))
    });
    host.input(Input::Reports(says.collect()));
    host.settle();
    assert_eq!(metrics(&host), [METRIC_ICMP]);
    let rule = GuardRule::Icmp { ipv4: address.is_ipv4() };
    assert!(host.kernel.observed.guard.contains(&rule));
    let status = host.engine.status(host.now);
    assert!(status.in_sync, "{status:?}");
    assert_eq!(status.cut, [prepared.index.node(peer)]);
    // A path of it on trial is better than none.
    let (generation, down) = (host.watching.generation, ranks.iter().copied().collect());
    let held = BTreeSet::from([ranks[0]]);
    let (up, silent) = Default::default();
    host.input(Input::PathEvent { generation, down, held, up, silent });
    host.settle();
    assert!(metrics(&host).contains(&METRIC_PRIMARY));
    path_event(&mut host, &[]);
    assert_eq!(host.kernel.observed.routes, before.routes);
    assert_eq!(host.kernel.observed.guard, before.guard);
}

/// Where nodes do not route.
#[test]
fn who_has_no_whole_path_left_sends_to_one_who_has() {
    let (prepared, mut host) = torus();
    settled(&prepared, &mut host);
    let watches = prepared.watches.clone();
    let peer = watches.paths()[0].id.dst;
    let ranks: Vec<PathId> =
        watches.paths().iter().map(|watch| watch.id).filter(|id| id.dst == peer).collect();
    let key = (Prefix::host(watches.paths()[0].destination), METRIC_PRIMARY);
    let leads_to = |host: &Host| {
        let observed = &host.kernel.observed;
        let object = &observed.nexthops[&observed.routes.get(&key).unwrap().nexthop.unwrap()];
        let member = object.group.first().map_or(object, |(id, _)| &observed.nexthops[id]);
        let nexthop = Nexthop {
            interface: member.interface.clone().unwrap(),
            via: member.via.unwrap(),
            labels: Vec::new(),
            weight: 1,
        };
        watches.path_of(&nexthop).unwrap().dst
    };
    let observed = &host.kernel.observed;
    let forwards = observed
        .sysctls
        .iter()
        .filter(|(key, value)| key.ends_with("/forwarding") && *value == "1");
    assert_eq!(forwards.count(), prepared.interfaces.len());
    let drops = observed.guard.iter().filter(|rule| matches!(rule, GuardRule::Drop { .. }));
    assert_eq!(drops.count(), prepared.interfaces.len());

    // Nobody else says anything.
    path_event(&mut host, &ranks);
    assert!(host.kernel.observed.routes.get(&key).is_none());
    let said = host.said.clone().unwrap();
    assert_eq!(said.hops.len(), prepared.nodes as usize - 1);
    assert_eq!(said.hops.iter().filter(|state| **state == PathState::Broken).count(), 1);

    // One node says that its own paths are sound.
    let joins =
        (0..prepared.nodes).map(NodeId).find(|id| ![prepared.id, peer].contains(id)).unwrap();
    let generation = digest(&prepared.generation);
    let hops = vec![PathState::Sound; prepared.nodes as usize - 1];
    let report = Report { generation, hops, ..Report::default() };
    let origin = Origin(u64::from_be_bytes(digest(prepared.index.node(joins))));
    host.input(Input::Reports([(origin, Some(report))].into()));
    host.settle();
    assert_eq!(leads_to(&host), joins);
    let list = host.engine.failures(host.now, 0).unwrap();
    let path: Vec<&str> = [prepared.id, joins, peer].map(|node| prepared.index.node(node)).into();
    assert!(list.cut.is_empty() && list.around.iter().any(|line| line.path == path), "{list:?}");
    let paths = host.engine.paths(Some(prepared.index.node(peer))).unwrap().paths;
    assert!(paths.iter().all(|line| line.state == "broken"), "{paths:?}");

    // A daemon that starts sends on through it before it has heard from it.
    host.restart();
    assert_eq!(leads_to(&host), joins);

    path_event(&mut host, &[]);
    assert_eq!(leads_to(&host), peer);
    assert!(host.disk.reports.is_empty());
}
