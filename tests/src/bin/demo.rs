//! The demonstration, `make demo`: a lab on this machine with a 4x4 torus of VLAN-filtering switches and
//! 16 nodes.
//!
//! It shows that every pair of nodes can ping each other, and that the switches count exactly as many
//! frames per directed link and VLAN as the plan predicts. Then it measures uniform all-to-all traffic
//! under the strategies `stp`, `pdor` and `dor`, and prints the throughput beside the ideal throughput
//! of the plan and the result of the simulator.

use std::process::ExitCode;

use serde::Deserialize;
use tresse_plan::Plan;
use tresse_tests::program::output;
use tresse_tests::traffic;
use tresse_verify as verify;

/// Slow enough that an emulated processor is never what limits.
const RATE: &str = "1M";
/// The lab's name.
const NAME: &str = "demo";
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
        let simulated = simulated(file)?;
        rows.push(Row { strategy, report, accepted, simulated });
    }
    println!("\nuniform all-to-all traffic, share of the link rate that every node receives");
    println!("(programs of the profile `demo`: less optimised than a release)");
    println!(
        "{:<10}{:>6}{:>10}{:>10}{:>10}{:>11}{:>10}",
        "strategy", "VLANs", "bound", "measured", "to stp", "simulated", "to stp"
    );
    for row in &rows {
        let [measured, simulated] = row.to(&rows[0]);
        println!(
            "{:<10}{:>6}{:>10.4}{:>10.3}{measured:>9.2}x{:>11.3}{simulated:>9.2}x",
            row.strategy,
            row.report.vlans,
            row.report.ideal_throughput,
            row.accepted,
            row.simulated
        );
        if (simulated / measured - 1.0).abs() > AGREES {
            return Err(format!(
                "the simulator does not agree with the lab about {}",
                row.strategy
            ));
        }
    }
    let [gain, _] = rows[2].to(&rows[0]);
    if gain < 3.0 {
        return Err(format!("dor reaches {gain:.2} times stp, and 3 times is the least"));
    }
    Ok(())
}

struct Row {
    strategy: &'static str,
    report: verify::Report,
    /// In units of the link rate.
    accepted: f64,
    simulated: f64,
}

impl Row {
    /// How many times `stp`, in the lab and simulated.
    fn to(&self, stp: &Self) -> [f64; 2] {
        [self.accepted / stp.accepted, self.simulated / stp.simulated]
    }
}

fn plan(file: &str) -> Result<Plan, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let cluster = tresse_cluster::parse(&text, file).map_err(|e| e.to_string())?;
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

/// What `tresse simulate` says of the same traffic: switches whose outputs have queues, as a bridge's ports do.
fn simulated(file: &str) -> Result<f64, String> {
    #[derive(Deserialize)]
    struct Last {
        saturation: f64,
    }
    let traffic = ["--traffic", "all-to-all", "--queues", "output"];
    let json = output(&[&["simulate", file, "--json"][..], &traffic].concat())?;
    let last = json.lines().last().unwrap_or_default();
    serde_json::from_str(last).map(|last: Last| last.saturation).map_err(|e| e.to_string())
}
