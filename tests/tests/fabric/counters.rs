//! Frames are where the plan has them, on every link and VLAN, and nowhere else.

use tresse_base::random::Random;

use super::lab::{Lab, file};

pub const TESTS: &[(&str, fn())] = &[
    ("counters_match_the_plan_on_a_torus", || torus(&[(1, "dor")])),
    ("long_counters_match_the_plan_on_a_torus", || torus(&[(2, "pdor"), (3, "stp"), (7, "pdor")])),
    ("counters_match_the_plan_on_a_mesh", || mesh(&[(5, "pdor")])),
    ("long_counters_match_the_plan_on_a_mesh", || mesh(&[(4, "dor"), (8, "stp")])),
    ("counters_match_the_plan_with_two_nics", two_nics),
];

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
