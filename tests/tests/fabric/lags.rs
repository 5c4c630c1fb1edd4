//! Cables between two switches with `lag = true` are one link aggregation group: the kernel's bonds agree on it by LACP, and
//! all nodes answer whatever is left of it.

use tresse_base::id::NodeId;

use crate::lab::{Lab, eventually};
use crate::routed::none;
use crate::suite::Tests;

pub const SWITCHED: Tests = &[("cables_with_lag_are_one_link", || cut(&["s0:6", "s1:7"]))];

/// Three cables between two switches with two nodes each.
const TEXT: &str = "\
[fabric]
topology = { kind = \"explicit\" }
[[switch]]
name = \"s[0-1]\"
lag = true
[[node]]
name = \"a[0-1]\"
nics = [{ switch = \"s0\", port = \"[1-2]\" }]
[[node]]
name = \"b[0-1]\"
nics = [{ switch = \"s1\", port = \"[1-2]\" }]
[[link]]
a = \"s0:[6-8]\"
b = \"s1:[6-8]\"
";

/// One cable after the other falls silent, then both heal.
fn cut(cables: &[&str]) {
    let lab = Lab::up(TEXT, &["--announce-seconds", "3"]);
    let plan = &lab.now.plan;
    assert_eq!(plan.cluster().links.len(), 1);
    eventually("in sync", 60, || lab.in_sync());
    let all: Vec<(NodeId, NodeId)> = plan.pairs().collect();
    let carry = |cables: usize| {
        for switch in ["s0", "s1"] {
            let ports = (6..=8).filter(|port| distributes(&lab, switch, *port)).count();
            if ports != cables {
                return Err(format!("{switch}: {ports}"));
            }
        }
        Ok(())
    };
    eventually("three cables are a group", 60, || carry(3));
    eventually("all answer", 60, || none(lab.ping_briefly(&all)));
    eventually("frames take the planned ways", 60, || {
        lab.reset_counters();
        assert_eq!(lab.ping(&all), []);
        let differences = lab.differences(&all);
        if differences.is_empty() { Ok(()) } else { Err(differences) }
    });
    for (lost, cable) in cables.iter().enumerate() {
        assert!(lab.verb(&["fail", "--silent", cable]).1, "{cable}");
        eventually(&format!("a group without {cable}"), 60, || carry(2 - lost));
        eventually(&format!("all answer without {cable}"), 60, || none(lab.ping_briefly(&all)));
    }
    assert!(lab.verb(&["heal"]).1);
    eventually("three again", 60, || carry(3));
    assert_eq!(lab.ping(&all), []);
}

/// Do both ends of a cable send and take frames of their group (IEEE 802.1AX: Collecting, Distributing)? A
/// member of an aggregator need not yet.
fn distributes(lab: &Lab, switch: &str, port: u32) -> bool {
    const BOTH: u64 = 0b11_0000;
    let link = lab.json(switch, &format!("ip -j -d link show dev p{port}"));
    let data = &link[0]["linkinfo"]["info_slave_data"];
    let state = |end: &str| data[format!("ad_{end}_oper_port_state")].as_u64();
    ["actor", "partner"].into_iter().all(|end| state(end).is_some_and(|bits| bits & BOTH == BOTH))
}
