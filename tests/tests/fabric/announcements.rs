//! K14 and K17: who has which VLAN interface, and forwarding databases that stay filled.

use std::collections::BTreeSet;
use std::time::Duration;

use tresse_base::random::Random;

use super::lab::{Lab, file};

pub const TESTS: &[(&str, fn())] = &[
    ("k17_first_pings_are_not_flooded_and_entries_stay_alive", first_pings_and_ageing),
    ("k14_receive_only_vlans_have_interfaces", receive_only),
];

const AGE_SECONDS: u64 = 10;

fn first_pings_and_ageing() {
    let text = file("kind = \"torus\", dims = [3, 3]", "dor", 1, "");
    let lab = Lab::up(&text, &["--announce-seconds", "3"]);
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    lab.reset_counters();
    assert_eq!(lab.ping(&pairs), []);
    lab.expect_counted(&pairs);

    for switch in &lab.now.plan.cluster().switches {
        let age = AGE_SECONDS * 100;
        lab.run(&switch.name, &format!("ip link set dev br0 type bridge ageing_time {age}"));
    }
    // The passing of the ageing time is what is tested.
    std::thread::sleep(Duration::from_secs(AGE_SECONDS + 5));
    let some = Random::new(3).some(&pairs, 20);
    lab.reset_counters();
    assert_eq!(lab.ping(&some), []);
    lab.expect_counted(&some);
}

fn receive_only() {
    let lab = Lab::up(&file("kind = \"mesh\", dims = [3, 2]", "dor", 1, ""), &[]);
    let plan = &lab.now.plan;
    let mut receive_only = 0;
    for node in lab.now.nodes() {
        let mut sends = BTreeSet::new();
        let mut all = BTreeSet::new();
        for peer in lab.now.nodes().filter(|p| *p != node) {
            sends.insert(plan.vid(plan.primary(node, peer)[0].tree).0);
            all.insert(plan.vid(plan.primary(peer, node)[0].tree).0);
        }
        receive_only += all.difference(&sends).count();
        all.extend(&sends);
        let names: BTreeSet<String> = all.iter().map(|vid| format!("eth0.{vid}")).collect();
        assert_eq!(lab.vlan_interfaces(node), names, "{}", lab.now.node(node));
        for name in names {
            let found = lab.json(lab.now.node(node), &format!("ip -j address show dev {name} up"));
            let addresses = found[0]["addr_info"].as_array().unwrap();
            assert!(!addresses.is_empty(), "{name} has no address: loose rp_filter drops (K2)");
        }
    }
    assert!(receive_only > 0, "this plan has no VLAN that a node only receives on");
}
