//! MPTCP endpoints, limits and rules by source address.

use std::net::IpAddr;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tresse_base::units::Mac;
use tresse_linux::kernel::{OperationStatus, execute, observe};
use tresse_namespace::{Feature, ip, ip_json, trial};
use tresse_reconcile::{Operation, Saved, SourceRule, Wanted, reconcile};

use crate::cables::cables;
use crate::interfaces::done;

pub fn trials() -> Vec<Trial> {
    const NEEDS: &[Feature] = &[Feature::Mptcp];
    vec![
        trial("mptcp_endpoints_and_rules_come_and_go", NEEDS, come_and_go),
        trial("k15_foreign_mptcp_endpoints_stay", NEEDS, foreign_stay),
        trial("mptcp_refusals_name_the_object", NEEDS, refusals),
    ]
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Two NICs with addresses of both families.
fn wanted() -> Wanted {
    let mut wanted = Wanted::default();
    for (nic, own) in [(0, "10.78.0.1"), (0, "fd78::1"), (1, "10.78.1.1"), (1, "fd78:0:0:1::1")] {
        let name = format!("eth{nic}");
        wanted.nics.insert(name.clone(), (Mac([2, 0, 0, 0, 1, nic]), 1500));
        wanted.addresses.insert((name.clone(), address(own)));
        wanted.mptcp.endpoints.insert(address(own), name);
    }
    wanted
}

fn node() {
    cables(2);
    for n in 0..2 {
        ip(&format!("link set eth{n} address 02:00:00:00:01:0{n}"));
    }
    ip("mptcp limits set subflows 1 add_addr_accepted 5");
}

fn converge(wanted: &Wanted, saved: &mut Saved) -> Vec<String> {
    let observed = observe([]).unwrap();
    let operations = reconcile(wanted, &observed, saved).operations;
    *saved = saved.before(&operations, &observed);
    let operations: Vec<_> = operations.into_iter().map(|p| p.operation).collect();
    done(&operations);
    *saved = std::mem::take(saved).settled(wanted, &observe([]).unwrap());
    operations.iter().map(ToString::to_string).collect()
}

/// Rules with a source, of both families.
fn rules() -> Vec<Value> {
    let all = ["-4", "-6"].into_iter().flat_map(|f| ip_json(&format!("{f} rule show")));
    all.filter(|rule| rule["src"] != "all").collect()
}

fn come_and_go() {
    node();
    let mut saved = Saved::default();
    converge(&wanted(), &mut saved);
    let endpoint =
        |(address, id): (&str, u8)| json!({"address": address, "id": id, "subflow": true});
    let expected: Vec<_> =
        [("10.78.0.1", 78), ("10.78.1.1", 79), ("fd78::1", 80), ("fd78:0:0:1::1", 81)]
            .map(endpoint)
            .into();
    assert_eq!(ip_json("mptcp endpoint"), expected);
    assert!(ip("mptcp limits").contains("add_addr_accepted 5 subflows 8"));
    let rules = rules();
    assert_eq!(rules.len(), 8, "{rules:#?}");
    let of = |rule: &Value| {
        let text = |key: &str| rule[key].as_str().map(str::to_owned);
        (text("src").unwrap(), rule["priority"].as_u64().unwrap(), text("table"), text("action"))
    };
    let [first, second] = [0, 2].map(|n| of(&rules[n]));
    assert_eq!(first, ("10.78.0.1".into(), 7864, Some("7864".into()), None));
    assert_eq!(
        (second.0, second.1, second.3),
        ("10.78.0.1".into(), 7928, Some("unreachable".into()))
    );
    assert!(rules.iter().all(|rule| rule["protocol"] == "78"), "{rules:#?}");
    let observed = observe([]).unwrap();
    assert_eq!(observed.source_rules, wanted().source_rules());
    let again = reconcile(&wanted(), &observed, &saved);
    assert!(again.in_sync() && again.drift.is_empty(), "{again:?}");

    ip("mptcp endpoint delete id 79");
    ip("mptcp limits set subflows 0");
    ip("rule del from 10.78.0.1 lookup 7864");
    assert_eq!(converge(&wanted(), &mut saved).len(), 3);
    assert!(reconcile(&wanted(), &observe([]).unwrap(), &saved).in_sync());

    converge(&Wanted::default(), &mut saved);
    assert_eq!((ip_json("mptcp endpoint"), self::rules()), (vec![], vec![]));
    assert!(ip("mptcp limits").contains("add_addr_accepted 5 subflows 1"));
    assert_eq!(saved, Saved::default());
    let rule = SourceRule { source: address("10.78.0.1"), table: 7864, unreachable: false };
    let absent = [
        Operation::DeleteEndpoint { id: 78, address: address("10.78.0.1") },
        Operation::DeleteSourceRule { rule },
    ];
    assert_eq!(execute(&absent).status, [OperationStatus::Absent; 2]);
}

fn foreign_stay() {
    node();
    for endpoint in
        ["10.78.0.1 id 9 subflow", "192.0.2.1 id 78 signal", "192.0.2.2 id 80 subflow backup"]
    {
        ip(&format!("mptcp endpoint add {endpoint}"));
    }
    ip("rule add from 192.0.2.1 lookup 7864 priority 7864 protocol static");
    let (endpoints, rules_before) = (ip_json("mptcp endpoint"), rules());
    let mut saved = Saved::default();
    converge(&wanted(), &mut saved);
    let outcome = reconcile(&wanted(), &observe([]).unwrap(), &saved);
    assert!(outcome.in_sync() && outcome.drift.len() == 1, "{outcome:?}");
    assert_eq!(ip_json("mptcp endpoint").len(), 6);
    converge(&Wanted::default(), &mut saved);
    assert_eq!((ip_json("mptcp endpoint"), rules()), (endpoints, rules_before));
}

fn refusals() {
    node();
    let add = |id| Operation::AddEndpoint { id, address: address("10.78.0.1") };
    done(&[add(78)]);
    let outcome = execute(&[add(79)]);
    assert_eq!(outcome.status, [OperationStatus::Failed]);
    let text = outcome.errors[0].1.to_string();
    assert!(text.contains("add endpoint 10.78.0.1 subflow"), "{text}");
    let outcome = execute(&[Operation::LimitSubflows { limit: 9, before: 1 }]);
    let text = outcome.errors[0].1.to_string();
    assert!(text.contains("set 9 MPTCP subflows") && text.contains("kernel says"), "{text}");
}
