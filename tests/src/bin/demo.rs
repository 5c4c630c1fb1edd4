//! The demonstration, `make demo`: a lab on this machine with a 4x4 torus of VLAN-filtering switches and
//! 16 nodes.
//!
//! It shows that every pair of nodes can ping each other, and that the switches count exactly as many
//! frames per directed link and VLAN as the plan predicts. Then it measures uniform all-to-all traffic
//! under the strategies `stp`, `pdor` and `dor`, and prints the throughput beside the ideal throughput
//! of the plan and the result of the simulator.

use std::process::ExitCode;

use tresse_tests::measured::{self, Labs};

const LABS: Labs<'_> = Labs { name: "demo", rate: "1M", up: &[], load: &[] };
/// By how much the simulator's ratio to `stp` may differ from the lab's.
const AGREES: f64 = 0.2;
/// Strategy and cluster file.
const STRATEGIES: [(&str, &str); 3] = [
    ("stp", "configs/torus16-stp.toml"),
    ("pdor", "configs/torus16-pdor.toml"),
    ("dor", "configs/torus16.toml"),
];

fn main() -> ExitCode {
    let result = demo();
    // Whatever happened, nothing of the lab stays behind.
    match result.and(LABS.down()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("demo: {words}");
            ExitCode::FAILURE
        }
    }
}

fn demo() -> Result<(), String> {
    let mut rows = Vec::new();
    for (strategy, file) in STRATEGIES {
        if !rows.is_empty() {
            LABS.down()?;
        }
        rows.push(LABS.row(strategy, file)?);
    }
    println!("\nuniform all-to-all traffic, share of the link rate that every node receives");
    println!("(programs of the profile `demo`: less optimised than a release)");
    measured::print(&rows);
    for row in &rows {
        let [measured, simulated] = row.to(&rows[0]);
        if (simulated / measured - 1.0).abs() > AGREES {
            let strategy = &row.strategy;
            return Err(format!("the simulator does not agree with the lab about {strategy}"));
        }
    }
    let [gain, _] = rows[2].to(&rows[0]);
    if gain < 3.0 {
        return Err(format!("dor reaches {gain:.2} times stp, and 3 times is the least"));
    }
    Ok(())
}
