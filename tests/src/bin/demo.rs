//! `make demo`: a 4x4 torus of VLAN-filtering switches with 16 nodes on this one machine.
//!
//! Every pair answers, the switches count exactly the frames that the plan predicts, and uniform
//! all-to-all traffic under `stp`, `pdor` and `dor` is held against the channel-load bound.

use std::process::ExitCode;

use serde::Deserialize;
use tresse_fabric::cluster;
use tresse_fabric::plan::Plan;
use tresse_fabric::verify;
use tresse_tests::program::output;
use tresse_tests::traffic;

/// Slow enough that an emulated processor is never what limits.
const RATE: &str = "1M";
/// The lab's name.
const NAME: &str = "demo";
/// Strategy and cluster file.
const STRATEGIES: [(&str, &str); 3] = [
    ("stp", "configs/torus16-stp.toml"),
    ("pdor", "configs/torus16-pdor.toml"),
    ("dor", "configs/torus16.toml"),
];

fn main() -> ExitCode {
    let result = demo();
    // Whatever happened, nothing of the lab stays behind.
    let down = output(&["lab", "down", "--name", NAME, "--vm"]);
    match result.and(down.map(drop)) {
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
            output(&["lab", "down", "--name", NAME, "--vm"])?;
        }
        let plan = plan(file)?;
        let report = verify::check(&plan);
        println!(
            "== {strategy}: {} VLANs, {} nodes, {} switches, every link {RATE}bit/s",
            report.vlans,
            plan.cluster().nodes.len(),
            plan.cluster().switches.len()
        );
        up(file)?;
        println!("   {}", ping()?);
        println!("   {}", counters(&plan)?);
        let accepted = load()?;
        println!("   uniform all-to-all: {accepted:.3} of the link rate per node");
        rows.push((strategy, report.vlans, report.ideal_throughput, accepted));
    }
    println!("\nuniform all-to-all traffic, share of the link rate that every node receives");
    println!("{:<10}{:>6}{:>10}{:>10}{:>10}", "strategy", "VLANs", "bound", "measured", "to stp");
    let stp = rows[0].3;
    for (strategy, vlans, bound, accepted) in &rows {
        let times = accepted / stp;
        println!("{strategy:<10}{vlans:>6}{bound:>10.4}{accepted:>10.3}{times:>9.2}x");
    }
    let gain = rows[2].3 / stp;
    if gain < 3.0 {
        return Err(format!("dor reaches {gain:.2} times stp, and 3 times is the least"));
    }
    Ok(())
}

fn plan(file: &str) -> Result<Plan, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let cluster = cluster::parse(&text, file).map_err(|e| e.to_string())?;
    Plan::build(cluster).map_err(|e| e.to_string())
}

fn up(file: &str) -> Result<(), String> {
    print!("   {}", output(&["lab", "up", file, "--name", NAME, "--rate", RATE, "--vm"])?);
    Ok(())
}

fn ping() -> Result<String, String> {
    #[derive(Deserialize)]
    struct Answer {
        pairs: usize,
        ok: usize,
        failed: Vec<(String, String)>,
    }
    // An emulated processor may take its time: what counts is that the answer comes.
    let json = output(&["lab", "ping", "--wait", "10", "--json", "--name", NAME, "--vm"])?;
    let answer: Answer = serde_json::from_str(&json).map_err(|e| e.to_string())?;
    match answer.failed.first() {
        None => Ok(format!("{} of {} ordered pairs answer", answer.ok, answer.pairs)),
        Some((a, b)) => {
            Err(format!("{} pairs do not answer, {a} -> {b} first", answer.failed.len()))
        }
    }
}

/// One more ping of every pair, and every switch has counted just what the plan says.
fn counters(plan: &Plan) -> Result<String, String> {
    output(&["lab", "counters", "--reset", "--name", NAME, "--vm"])?;
    ping()?;
    let json = output(&["lab", "counters", "--json", "--name", NAME, "--vm"])?;
    let counted = traffic::counted(&json).map_err(|e| e.to_string())?;
    let planned = traffic::predicted(plan, plan.pairs());
    let differences = traffic::differences(&planned, &counted);
    if differences.is_empty() {
        let frames: u64 = counted.values().sum();
        let directions = counted.len();
        Ok(format!("{frames} frames on {directions} (direction, VLAN)s, each as the plan predicts"))
    } else {
        Err(format!("the switches counted other frames than planned:\n{}", differences.join("\n")))
    }
}

fn load() -> Result<f64, String> {
    #[derive(Deserialize)]
    struct Trial {
        accepted: f64,
    }
    #[derive(Deserialize)]
    struct Load {
        fair: Option<Trial>,
    }
    let json = output(&["lab", "load", "--json", "--mode", "fair", "--name", NAME, "--vm"])?;
    let load: Load = serde_json::from_str(&json).map_err(|e| e.to_string())?;
    load.fair.map(|t| t.accepted).ok_or_else(|| "no load arrived without loss".into())
}
