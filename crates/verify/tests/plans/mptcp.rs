//! What `mptcp = true` adds to slices, and what is said of it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_cluster::parse;
use tresse_plan::Plan;
use tresse_reconcile::{ENDPOINTS_MAX, METRIC_BACKUP, METRIC_PRIMARY, MPTCP_ENABLED, Wanted};
use tresse_verify as verify;

fn plan(topology: &str, more: &str) -> Plan {
    let text = format!("[fabric]\ntopology = {{ {topology} }}\n[routing]\n{more}\n");
    Plan::build(parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

/// 0 and 1 share both switches, 0 and 2 one.
const SHARED: &str = "kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1\\n2: 2\\n\"";

fn host(address: IpAddr) -> Prefix {
    Prefix::host(address)
}

/// By which NICs of a node subflows to another start.
fn starts(plan: &Plan, wanted: &Wanted, to: usize) -> BTreeSet<String> {
    let dst = host(plan.addresses().node[to][0]);
    let nics = wanted.mptcp.tables.keys().filter(|(_, prefix)| *prefix == dst);
    nics.map(|(nic, _)| nic.clone()).collect()
}

#[test]
fn subflows_start_from_the_nics_that_are_shared() {
    let plan = plan(SHARED, "mptcp = true");
    let slices: Vec<_> = (0..3).map(|n| tresse_slice::Slice::of(&plan, NodeId(n)).wanted).collect();
    let own: Vec<_> = plan.addresses().nic[0].iter().flatten().copied().collect();
    let endpoints: Vec<_> = slices[0].mptcp.endpoints.keys().copied().collect();
    assert_eq!(endpoints, own);
    assert_eq!(slices[0].sysctls[MPTCP_ENABLED], "1");
    assert_eq!(starts(&plan, &slices[0], 1).len(), 2);
    let single = starts(&plan, &slices[0], 2);
    assert_eq!(single.len(), 1);
    // Each table leads to the peer's NIC on the same switch, and nowhere else.
    let nics = |node: usize| &plan.cluster().nodes[node].nics;
    for ((nic, _), nexthop) in &slices[0].mptcp.tables {
        assert_eq!(&nexthop.interface, nic);
        let switch = nics(0).iter().find(|n| n.name == *nic).unwrap().switch;
        let ends = (1..3).flat_map(|node| nics(node).iter().zip(&plan.addresses().nic[node]));
        let (end, _) = ends.into_iter().find(|(_, own)| own[0] == nexthop.via).unwrap();
        assert_eq!(end.switch, switch);
    }
}

#[test]
fn what_comes_back_goes_to_the_nic_itself_and_else_round() {
    let plan = plan(SHARED, "mptcp = true");
    let wanted = tresse_slice::Slice::of(&plan, NodeId(0)).wanted;
    for (peer, shared) in [(1, 2), (2, 1)] {
        let addresses = plan.addresses().nic[peer].iter().flatten();
        let mut directly = 0;
        for &address in addresses {
            let first = wanted.routes.get(&(host(address), METRIC_PRIMARY));
            if let Some(route) = first {
                directly += 1;
                assert_eq!((route.nexthops.len(), route.nexthops[0].via), (1, address));
            }
            let rest = wanted.routes.get(&(host(address), METRIC_BACKUP));
            let nics = |nexthops: &[tresse_reconcile::Nexthop]| -> BTreeSet<String> {
                nexthops.iter().map(|nexthop| nexthop.interface.clone()).collect()
            };
            match (first, rest) {
                (Some(first), Some(rest)) => {
                    assert!(nics(&first.nexthops).is_disjoint(&nics(&rest.nexthops)));
                }
                (first, rest) => assert!(first.is_some() || rest.is_some(), "{address}"),
            }
            assert!(wanted.sysctls.contains_key(MPTCP_ENABLED));
        }
        assert_eq!(directly, shared, "to node {peer}");
    }
}

#[test]
fn nothing_is_added_without_the_key() {
    let (with, without) = (plan(SHARED, "mptcp = true"), plan(SHARED, "mptcp = false"));
    assert_ne!(with.generation(), without.generation());
    for node in (0..3).map(NodeId) {
        let (mut with, without) = (
            tresse_slice::Slice::of(&with, node).wanted,
            tresse_slice::Slice::of(&without, node).wanted,
        );
        assert!(without.mptcp.is_empty() && without.source_rules().is_empty());
        with.mptcp = without.mptcp.clone();
        with.sysctls.remove(MPTCP_ENABLED);
        with.routes.retain(|key, _| without.routes.contains_key(key));
        assert_eq!(with, without);
    }
}

#[test]
fn vlans_and_both_families_have_them_too() {
    let text = "kind = \"torus\", dims = [3, 3], nics_per_node = 2";
    let more = "mptcp = true\npaths = 4\n[addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\n\
                nics = [\"10.78.0.0/16\", \"fd78::/64\"]";
    let plan = plan(text, more);
    let wanted = tresse_slice::Slice::of(&plan, NodeId(0)).wanted;
    assert_eq!(wanted.mptcp.endpoints.len(), 4);
    assert_eq!(wanted.source_rules().len(), 8);
    let vlan = |interface: &String| wanted.links.contains_key(interface);
    assert!(
        wanted
            .mptcp
            .tables
            .values()
            .all(|nexthop| vlan(&nexthop.interface) && nexthop.labels.is_empty())
    );
    for ((_, dst), nexthop) in &wanted.mptcp.tables {
        assert_eq!(dst.address.is_ipv4(), nexthop.via.is_ipv4());
        let key = (nexthop.interface.clone(), nexthop.via);
        assert!(wanted.neighbours.contains_key(&key), "{key:?}");
    }
    let both = (1..9).filter(|peer| starts(&plan, &wanted, *peer).len() == 2).count();
    assert!(both > 0, "no pair has paths by both NICs");
}

#[test]
fn a_single_nic_starts_none_and_more_than_the_kernel_holds_is_said() {
    let one = plan("kind = \"torus\", dims = [3, 3]", "mptcp = true");
    assert!(tresse_slice::Slice::of(&one, NodeId(0)).wanted.mptcp.endpoints.is_empty());
    assert!(!verify::check(&one).notes.iter().any(|note| note.kind == "mptcp-endpoints"));
    let table: String = (0..9).map(|switch| format!("{switch}: 0 1\\n")).collect();
    let many = plan(&format!("kind = \"fnn\", wiring = \"{table}\""), "mptcp = true\npaths = 9");
    assert_eq!(
        tresse_slice::Slice::of(&many, NodeId(0)).wanted.mptcp.endpoints.len(),
        ENDPOINTS_MAX
    );
    let notes = verify::check(&many).notes;
    let note = notes.iter().find(|note| note.kind == "mptcp-endpoints").unwrap();
    assert!(note.message.contains("2 nodes") && note.message.contains("(9 here)"), "{note}");
}
