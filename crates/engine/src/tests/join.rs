//! What makes a node forward for pairs whose planned paths are all broken, and what keeps that inside the fabric.

use super::watch::plan;
use super::*;

/// Node 1 of a fabric, with its plan applied.
fn host(change: impl FnOnce(&mut Cluster), bfd: bool) -> (Prepared, Host) {
    let kind = TopologyShape::Torus { dims: vec![3, 3] };
    let mut cluster = Cluster::generated(kind, 1, 2, Strategy::Dor, 2);
    change(&mut cluster);
    let prepared = plan(&Plan::build(cluster).unwrap(), NodeId(1));
    let mut host = Host::new(false);
    host.engine = Engine::new(Settings { bfd, ..settings(false, 0) }, Stored::default());
    host.input(Input::Start { configured: None });
    assert!(host.apply(&prepared).unwrap().is_ok());
    host.settle();
    (prepared, host)
}

/// The interfaces that forward, and those with a rule that drops.
fn forwards(host: &Host) -> [Vec<String>; 2] {
    let observed = &host.kernel.observed;
    let keys = observed.sysctls.iter().filter(|(_, value)| *value == "1");
    let interface = |key: &String| {
        Some(key.strip_prefix("net/ipv4/conf/")?.strip_suffix("/forwarding")?.to_owned())
    };
    let drops = observed.guard.iter().filter_map(|rule| match rule {
        GuardRule::Drop { interface, .. } => Some(interface.clone()),
        _ => None,
    });
    [keys.filter_map(|(key, _)| interface(key)).collect(), drops.collect()]
}

#[test]
fn nodes_forward_by_the_interfaces_of_the_plan_where_paths_are_watched() {
    let (prepared, host) = host(|_| {}, true);
    let all: Vec<String> = prepared.interfaces.keys().cloned().collect();
    assert_eq!(forwards(&host), [all.clone(), all]);
}

#[test]
fn nodes_do_not_forward_where_nobody_sends_over_them() {
    for (change, bfd) in [
        ((|_| {}) as fn(&mut Cluster), false),
        (|cluster| cluster.nodes[1].transit = false, true),
        (|cluster| cluster.routing.paths = 1, true),
    ] {
        let (prepared, host) = host(change, bfd);
        assert_eq!(forwards(&host), [Vec::<String>::new(), Vec::new()]);
        // Not left as a plan before had it.
        let interface = prepared.interfaces.keys().next().unwrap();
        let key = format!("net/ipv4/conf/{interface}/forwarding");
        assert_eq!(host.kernel.observed.sysctls[&key], "0");
    }
}

#[test]
fn a_gateway_lets_packets_out() {
    let (prepared, host) = host(|cluster| cluster.nodes[1].gateway = true, true);
    let all: Vec<String> = prepared.interfaces.keys().cloned().collect();
    // What neither comes from the fabric nor goes there is dropped.
    assert_eq!(forwards(&host), [all.clone(), all]);
    let passed = |rule: &GuardRule| matches!(rule, GuardRule::Out { .. } | GuardRule::In { .. });
    assert_eq!(host.kernel.observed.guard.iter().filter(|rule| passed(rule)).count(), 4);
}

/// Where nodes route, on the NIC itself.
#[test]
fn a_nic_that_a_default_route_leaves_by_drops_nothing() {
    let kind = TopologyShape::Ring { nodes: 4 };
    let cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
    let prepared = plan(&Plan::build(cluster).unwrap(), NodeId(1));
    let mut host = Host::new(false);
    for (name, (mac, _)) in &prepared.wanted.nics {
        host.kernel.observed.links.get_mut(name).unwrap().mac = Some(*mac);
    }
    host.kernel.observed.routes.insert(("0.0.0.0/0".parse().unwrap(), 0), foreign("eth0"));
    assert!(host.apply(&prepared).unwrap().is_ok());
    host.settle();
    assert_eq!(forwards(&host)[1], ["eth1"]);
}
