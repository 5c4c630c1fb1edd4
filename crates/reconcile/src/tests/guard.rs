//! The policy rules that keep packets of the fabric inside it (K25).

use std::collections::BTreeSet;

use tresse_base::units::Prefix;

use super::scene::*;
use crate::{GuardParts, GuardRule, Planned, Saved, Wanted};

fn lines(operations: &[Planned]) -> Vec<String> {
    operations.iter().map(|p| p.operation.to_string()).collect()
}

#[test]
fn the_guard_comes_first_and_goes_last() {
    let (mut model, mut saved) = (node(), Saved::default());
    let guarded = |prefix: &str| {
        let mut wanted = base(&[(0, 100)], false);
        wanted.guard = GuardRule::of("eth0", &[prefix.parse().unwrap()]).collect();
        wanted
    };
    let mut found = |wanted: &Wanted| lines(&converge(&mut model, wanted, &mut saved).operations);
    let first = found(&guarded("10.77.0.0/16"));
    let rules = [
        "rule IPv4 nop",
        "rule IPv4 from 10.77.0.0/16 to 10.77.0.0/16 goto 7799",
        "rule IPv4 iif eth0 blackhole",
    ];
    assert_eq!(first[..3], rules.map(|rule| format!("add {rule}")));
    assert!(first.len() > 3);

    let moved = "rule IPv4 from 10.99.0.0/16 to 10.99.0.0/16 goto 7799";
    assert_eq!(
        found(&guarded("10.99.0.0/16")),
        [format!("add {moved}"), format!("delete {}", rules[1])],
        "what drops stays meanwhile"
    );
    let last = found(&Wanted::default());
    let expected = [rules[2], moved, rules[0]].map(|rule| format!("delete {rule}"));
    assert_eq!(last[last.len() - 3..], expected);
}

#[test]
fn the_kernels_own_rule_goes_after_ours_has_come_and_comes_back_before_ours_goes() {
    let (mut model, mut saved) = (node(), Saved::default());
    model.observed.local_rules = [true, false].into();
    let mut wanted = base(&[(0, 100)], false);
    let hide = GuardRule::Hide { interface: "eth0".into(), address: "192.0.2.7".parse().unwrap() };
    wanted.guard = [GuardRule::Local { ipv4: true }, hide].into();
    let ours = ["rule IPv4 lookup local", "rule IPv4 to 192.0.2.7 iif eth0 blackhole"];
    let kernels = "rule IPv4 lookup local priority 0";
    let found = lines(&converge(&mut model, &wanted, &mut saved).operations);
    let [first, second] = ours.map(|rule| format!("add {rule}"));
    assert_eq!(found[..3], [first, second, format!("delete {kernels}")]);
    // Somebody else's network manager puts it back.
    model.observed.local_rules.insert(true);
    let found = lines(&converge(&mut model, &wanted, &mut saved).operations);
    assert_eq!(found, [format!("delete {kernels}")]);
    let found = lines(&converge(&mut model, &Wanted::default(), &mut saved).operations);
    assert_eq!(found[0], format!("add {kernels}"));
    let [first, second] = ours.map(|rule| format!("delete {rule}"));
    assert_eq!(found[found.len() - 2..], [second, first]);
    assert_eq!(model.observed.local_rules, [true, false].into());
}

#[test]
fn networks_behind_a_node_are_passed_to_from_the_fabric_alone() {
    let prefixes = ["10.77.0.0/16", "fd77::/64"].map(|prefix| prefix.parse().unwrap());
    let rules = GuardRule::of("eth0", &prefixes).collect();
    let networks = ["172.17.0.0/16", "fd00:17::/64"].map(|prefix| prefix.parse().unwrap());
    let behind: Vec<_> =
        GuardRule::behind(&rules, &networks).iter().map(ToString::to_string).collect();
    assert_eq!(
        behind,
        [
            "IPv4 from 10.77.0.0/16 to 172.17.0.0/16 goto 7799",
            "IPv6 from fd77::/64 to fd00:17::/64 goto 7799"
        ]
    );
    assert!(GuardRule::behind(&Wanted::default().guard, &networks).is_empty());
}

/// A rule for each source and each destination, not for each pair; and what drops is there before what leads past it.
#[test]
fn networks_behind_nodes_are_inside() {
    let prefix = |text: &&str| text.parse::<Prefix>().unwrap();
    let fabric: Vec<_> = ["10.77.0.0/16", "10.78.0.0/16"].iter().map(prefix).collect();
    let networks: Vec<_> =
        ["10.79.0.0/16", "192.168.0.0/24", "fd00::/64"].iter().map(prefix).collect();
    let lines = |open| -> Vec<String> {
        let rules = GuardRule::of_all("eth0", &fabric, &networks, open);
        rules.iter().map(|rule| format!("{} {}", rule.priority(), rule.words())).collect()
    };
    // 10.78.0.0/16 and 10.79.0.0/16 are one; a fabric without IPv6 has no rules for it.
    let closed = [
        "7799 nop",
        "7795 to 10.77.0.0/16 goto 7799",
        "7795 to 10.78.0.0/15 goto 7799",
        "7795 to 192.168.0.0/24 goto 7799",
        "7790 from 10.77.0.0/16 goto 7795",
        "7790 from 10.78.0.0/15 goto 7795",
        "7790 from 192.168.0.0/24 goto 7795",
        "7796 iif eth0 blackhole",
        "7791 iif eth0 blackhole",
        "778 from 10.77.0.0/16 to 10.77.0.0/16 goto 7799",
        "778 from 10.77.0.0/16 to 10.78.0.0/16 goto 7799",
        "778 from 10.78.0.0/16 to 10.77.0.0/16 goto 7799",
        "778 from 10.78.0.0/16 to 10.78.0.0/16 goto 7799",
        "779 iif eth0 goto 7790",
    ];
    assert_eq!(lines(false), closed);
    let open = [
        "780 nop",
        "777 from 10.77.0.0/16 goto 780",
        "777 from 10.78.0.0/15 goto 780",
        "777 from 192.168.0.0/24 goto 780",
        "777 to 10.77.0.0/16 goto 780",
        "777 to 10.78.0.0/15 goto 780",
        "777 to 192.168.0.0/24 goto 780",
        "779 iif eth0 blackhole",
    ];
    assert_eq!(lines(true), open);
    let plain: BTreeSet<GuardRule> = GuardRule::of("eth0", &fabric).collect();
    assert_eq!(GuardRule::of_all("eth0", &fabric, &[], false), plain);
    let rules = [true, false].map(|open| GuardRule::of_all("eth0", &fabric, &networks, open));
    // The kernel compares priority, what is matched, action and table, but not where a `goto` leads: no two are alike to it.
    let selectors: BTreeSet<String> = rules
        .iter()
        .flatten()
        .map(|rule| format!("{} {}", rule.priority(), rule.words().split("goto").next().unwrap()))
        .collect();
    let all: BTreeSet<&GuardRule> = rules.iter().flatten().collect();
    assert_eq!(selectors.len(), all.len());
    let into = GuardRule::Into { to: networks[1] };
    assert_eq!(GuardRule::of_parts(&into.parts()), Some(into));
    let [open, _] = &rules;
    let by_tunnel = GuardRule::with_tunnel(open.clone());
    assert!(by_tunnel.iter().any(|rule| rule.words() == "from 0.0.0.0 iif lo goto 780"));
    for rule in rules.into_iter().flatten().chain(by_tunnel) {
        assert_eq!(GuardRule::of_parts(&rule.parts()), Some(rule.clone()));
        let other = GuardParts { icmp: true, ..rule.parts() };
        assert_eq!(GuardRule::of_parts(&other), None);
    }
}
