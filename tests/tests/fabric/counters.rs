//! Frames are where the plan has them, on every link and VLAN, and nowhere else.

use serde_json::Value;
use tresse_base::id::NodeId;
use tresse_base::random::Random;

use super::lab::{Lab, file};

pub const TESTS: &[(&str, fn())] = &[
    ("counters_match_the_plan_on_a_torus", || torus(&[(1, "dor")])),
    ("long_counters_match_the_plan_on_a_torus", || torus(&[(2, "pdor"), (3, "stp"), (7, "pdor")])),
    ("counters_match_the_plan_on_a_mesh", || mesh(&[(5, "pdor")])),
    ("long_counters_match_the_plan_on_a_mesh", || mesh(&[(4, "dor"), (8, "stp")])),
    ("counters_match_the_plan_with_two_nics", two_nics),
];

/// Cables between nodes, by what each end has sent.
pub const ROUTED: &[(&str, fn())] = &[("routed_counters_count_cables_between_nodes", || {
    let lab = Lab::up("[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n", &[]);
    lab.verb(&["counters", "--reset"]);
    lab.run("n0", &format!("ping -c 5 -i 0.2 -W 2 {}", lab.address(NodeId(1))));
    let (text, _) = lab.verb(&["--json", "counters"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8, "{text}");
    for (from, to) in [("n0", "n1"), ("n1", "n0")] {
        let of = |line: &&Value| line["from"] == from && line["to"] == to;
        let line = lines.iter().find(of).unwrap();
        assert!(line["frames"].as_u64() >= Some(5) && line["vlan"] == 0, "{line}");
    }
})];

fn matches(topology: &str, strategy: &str, seed: u64) {
    let lab = Lab::up(&file(topology, strategy, 1, ""), &[]);
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    let mut random = Random::new(seed);
    let some = random.some(&pairs, pairs.len() / 3);
    lab.reset_counters();
    assert_eq!(lab.ping(&some), [], "{topology} {strategy}");
    lab.expect_counted(&some);
    let node = lab.now.node(some[0].0);
    let (status, answered) = lab.verb(&["exec", node, "--", "tresse", "status", "--json"]);
    assert!(answered && status.contains(&format!("\"node\":\"{node}\"")), "{status}");
}

fn torus(runs: &[(u64, &str)]) {
    for (seed, strategy) in runs {
        matches("kind = \"torus\", dims = [4, 3]", strategy, *seed);
    }
}

fn mesh(runs: &[(u64, &str)]) {
    for (seed, strategy) in runs {
        matches("kind = \"mesh\", dims = [3, 3]", strategy, *seed);
    }
}

fn two_nics() {
    matches("kind = \"torus\", dims = [2, 2], nics_per_node = 2", "dor", 6);
}
