//! Rules by arriving interface, and the tables behind them.

use libtest_mimic::Trial;
use serde_json::Value;
use tresse_base::units::{Mac, Prefix};
use tresse_linux::kernel::{KernelEvent, KernelEvents, OperationStatus, execute, observe};
use tresse_namespace::{eventually, ip, ip_json, trial};
use tresse_reconcile::{
    METRIC_PRIMARY, Nexthop, Operation, Reconciliation, Rule, Saved, TABLES, Wanted, reconcile,
};

use crate::cables::cables;
use crate::events::{block_on, settled, without_ipv6};
use crate::interfaces::done;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("rules_by_arriving_interface_come_and_go", &[], come_and_go),
        trial("k15_foreign_rules_and_tables_stay", &[], foreign_stay),
        trial("k01_turns_outlive_carrier_loss_and_are_passed_over", &[], carrier_loss),
        trial("changes_of_rules_are_told", &[], || block_on(changes_are_told())),
    ]
}

const TABLE: u32 = TABLES.start;

fn nic(n: u8) -> Mac {
    Mac([2, 0, 0, 0, 1, n])
}

/// eth0 and eth1; what arrives by one for a node leaves by the other.
fn wanted() -> Wanted {
    let mut wanted = Wanted::default();
    for (came, out, dst, via) in [
        (0, 1, "10.77.0.2", "10.78.1.2"),
        (0, 1, "fd77::2", "fd78::1:2"),
        (1, 0, "10.77.0.3", "10.78.0.3"),
        (1, 0, "fd77::3", "fd78::3"),
    ] {
        let interface = format!("eth{out}");
        wanted.nics.insert(format!("eth{came}"), (nic(came), 1500));
        let key = (format!("eth{came}"), Prefix::host(dst.parse().unwrap()));
        let nexthop =
            Nexthop { interface, via: via.parse().unwrap(), labels: Vec::new(), weight: 1 };
        wanted.xy.tables.insert(key, nexthop);
    }
    wanted
}

fn node() {
    cables(2);
    for n in 0..2 {
        ip(&format!("link set eth{n} address {}", nic(n)));
    }
    // What arrives is forwarded, and not where there is no carrier.
    for key in
        ["eth0/forwarding", "eth0/ignore_routes_with_linkdown", "eth1/ignore_routes_with_linkdown"]
    {
        let (key, value) = (format!("net/ipv4/conf/{key}"), "1".into());
        done(&[Operation::WriteSysctl { key, value, before: Some("0".into()) }]);
    }
}

fn compare(wanted: &Wanted) -> Reconciliation {
    reconcile(wanted, &observe([]).unwrap(), &Saved::default())
}

fn converge(wanted: &Wanted) -> Vec<String> {
    let outcome = compare(wanted);
    let operations: Vec<_> = outcome.operations.into_iter().map(|p| p.operation).collect();
    done(&operations);
    operations.iter().map(ToString::to_string).collect()
}

fn rule(interface: &str) -> Rule {
    Rule { table: TABLE, ipv4: true, interface: interface.into() }
}

/// All rules and routes, but those that an interface has by itself.
fn shown() -> Vec<Value> {
    let mut all = Vec::new();
    for family in ["-4", "-6"] {
        all.extend(ip_json(&format!("{family} rule show")));
        let routes = ip_json(&format!("{family} route show table all"));
        all.extend(routes.into_iter().filter(|route| route["protocol"] != "kernel"));
    }
    all
}

fn come_and_go() {
    node();
    let foreign = format!("rule add iif eth1 lookup {} priority 9 protocol static", TABLE + 9);
    ip(&foreign);
    ip("route add 10.79.0.0/16 dev eth1 table 7000 proto static");
    let before = shown();
    let found = converge(&wanted());
    assert_eq!(found.len(), 8, "{found:#?}");
    assert_eq!(found[4], "add rule IPv6 iif eth0 lookup 7800");
    for family in ["-4", "-6"] {
        let rules = ip_json(&format!("{family} rule show priority {TABLE}"));
        let [rule] = &rules[..] else { panic!("{rules:?}") };
        assert_eq!((&rule["iif"], &rule["protocol"]), (&"eth0".into(), &"78".into()));
        assert_eq!((&rule["table"], &rule["src"]), (&TABLE.to_string().into(), &"all".into()));
        let routes = ip_json(&format!("{family} route show table {TABLE}"));
        let [route] = &routes[..] else { panic!("{routes:?}") };
        assert_eq!((&route["dev"], &route["protocol"]), (&"eth1".into(), &"78".into()));
        assert_eq!(route["metric"], METRIC_PRIMARY);
        assert_eq!(route["flags"][0], "onlink");
    }
    let seen = ip_json("route get 10.77.0.2 from 10.77.0.9 iif eth0");
    assert_eq!((&seen[0]["dev"], &seen[0]["gateway"]), (&"eth1".into(), &"10.78.1.2".into()));
    let observed = observe([]).unwrap();
    assert_eq!((observed.rules.len(), observed.table_routes.len()), (4, 4), "{:?}", observed.rules);
    assert!(observed.rules.contains(&rule("eth0")));
    assert!(compare(&wanted()).in_sync(), "applied twice is a no-op");

    // Somebody takes one of each and bends a third.
    let installed = shown();
    ip(&format!("rule del iif eth0 lookup {TABLE}"));
    ip(&format!("-6 rule del iif eth1 lookup {}", TABLE + 1));
    ip(&format!("-6 route del fd77::2/128 table {TABLE}"));
    ip(&format!(
        "route replace 10.77.0.3/32 via 10.78.0.9 dev eth0 onlink table {} metric \
         {METRIC_PRIMARY} proto 78",
        TABLE + 1
    ));
    let found = converge(&wanted());
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found[1].starts_with("replace route 10.77.0.3/32 table 7801"), "{found:#?}");
    assert_eq!(shown(), installed);

    // What has lost its rules is found all the same.
    for family in ["-4", "-6"] {
        ip(&format!("{family} rule del priority {TABLE}"));
    }
    let found = converge(&Wanted::default());
    assert_eq!(found.len(), 6, "{found:#?}");
    assert_eq!(shown(), before);
    let again = [
        Operation::DeleteRule { rule: rule("eth0") },
        Operation::DeleteTableRoute { table: TABLE, dst: "10.77.0.2/32".parse().unwrap() },
        Operation::DeleteTableRoute { table: TABLE, dst: "fd77::2/128".parse().unwrap() },
    ];
    let outcome = execute(&again);
    assert_eq!(outcome.status, [OperationStatus::Absent; 3], "{:?}", outcome.errors);
}

fn foreign_stay() {
    node();
    // One that is like ours but for the mark, one that asks for more, and a table in use.
    ip(&format!("rule add iif eth0 lookup {TABLE} priority {TABLE} protocol static"));
    ip(&format!("-6 rule add iif eth0 fwmark 5 lookup {TABLE} priority {TABLE} protocol static"));
    let (first, second) = (TABLE, TABLE + 1);
    ip(&format!(
        "route add 10.79.0.0/16 via 10.78.0.7 dev eth0 onlink table {second} proto static"
    ));
    let before = shown();
    let outcome = compare(&wanted());
    assert_eq!((outcome.drift.len(), outcome.refused.len()), (0, 1), "{outcome:#?}");
    assert!(outcome.refused[0].to_string().contains("table 7801"), "{:?}", outcome.refused);
    // Ours come beside them, once.
    converge(&wanted());
    assert_eq!(ip_json(&format!("rule show priority {TABLE}")).len(), 2);
    assert_eq!(ip_json(&format!("-6 rule show priority {TABLE}")).len(), 2);
    let outcome = execute(&[Operation::AddRule { rule: rule("eth0") }]);
    assert_eq!(outcome.errors[0].1.errno(), Some(libc::EEXIST), "{:?}", outcome.errors);
    let message = outcome.errors[0].1.to_string();
    assert!(message.contains("rule IPv4 iif eth0 lookup 7800"), "{message}");
    let delete =
        Operation::DeleteTableRoute { table: second, dst: "10.79.0.0/16".parse().unwrap() };
    assert_eq!(execute(&[delete]).status, [OperationStatus::Absent]);
    converge(&Wanted::default());
    assert_eq!(shown(), before);
    // A route through a nexthop object, or several ways, is not ours by its protocol alone.
    ip("nexthop add id 9 via 10.78.0.7 dev eth0 onlink");
    ip(&format!("route add 10.79.1.0/24 nhid 9 table {first} metric {METRIC_PRIMARY} proto 78"));
    let refused = compare(&wanted()).refused;
    assert!(refused.iter().any(|r| r.to_string().contains("10.79.1.0/24")), "{refused:?}");
    assert!(compare(&Wanted::default()).operations.is_empty());
}

fn carrier_loss() {
    node();
    ip("addr add 10.78.0.1/32 dev eth0");
    converge(&wanted());
    ip("route add 10.77.0.2/32 via 10.78.0.2 dev eth0 onlink");
    let nexthop = || ip_json("route get 10.77.0.2 from 10.77.0.9 iif eth0")[0]["dev"].clone();
    eventually("it is turned", || nexthop() == "eth1");
    ip("link set far1 down");
    eventually("the main table decides", || nexthop() == "eth0");
    assert!(compare(&wanted()).in_sync(), "nothing is lost");
    // They are taken without a carrier too, and wait while the interface is down.
    ip(&format!("route flush table {TABLE}"));
    assert_eq!(converge(&wanted()).len(), 1);
    ip("link set eth1 down");
    let outcome = compare(&wanted());
    assert!(outcome.operations.is_empty() && !outcome.pending.is_empty(), "{outcome:#?}");
    ip("link set eth1 up");
    ip("link set far1 up");
    assert!(!converge(&wanted()).is_empty());
    eventually("it is turned again", || nexthop() == "eth1");
}

async fn changes_are_told() {
    without_ipv6();
    node();
    let mut events = KernelEvents::subscribe().unwrap();
    settled(&mut events).await;
    let mut wanted = wanted();
    wanted.xy.tables.retain(|(_, dst), _| dst.address.is_ipv4());
    converge(&wanted);
    assert_eq!(settled(&mut events).await, [KernelEvent::RouteChanged, KernelEvent::RuleChanged]);
    ip(&format!("rule del iif eth0 lookup {TABLE}"));
    assert_eq!(settled(&mut events).await, [KernelEvent::RuleChanged]);
    ip(&format!("route del 10.77.0.2/32 table {TABLE}"));
    assert_eq!(settled(&mut events).await, [KernelEvent::RouteChanged]);
    ip("rule add iif eth0 lookup 7000 priority 9");
    ip("route add 10.79.0.0/16 dev eth0 table 7000");
    ip("route add 10.79.0.0/16 dev eth0 table 200");
    assert_eq!(settled(&mut events).await, [], "those of others are no event");
}
