//! Measures uniform all-to-all traffic in a lab in the virtual machine under one strategy after the other, beside the ideal
//! throughput of the plan and the result of the simulator.

use serde::Deserialize;
use tresse_plan::Plan;
use tresse_verify::{self as verify, Report};

use crate::program::output;
use crate::traffic;

/// The labs of one comparison: one after the other has the name.
#[derive(Debug, Clone, Copy)]
pub struct Labs<'a> {
    /// The lab's name.
    pub name: &'a str,
    /// Of every cable: so slow that an emulated processor is never what limits.
    pub rate: &'a str,
    /// More options of `lab up`.
    pub up: &'a [&'a str],
    /// More options of `lab load`.
    pub load: &'a [&'a str],
}

/// What one strategy reaches.
#[derive(Debug)]
pub struct Row {
    /// The strategy.
    pub strategy: String,
    /// What the verifier says of the plan.
    pub report: Report,
    /// What every node receives, in units of the link rate.
    pub accepted: f64,
    /// The same by the simulator.
    pub simulated: f64,
}

impl Row {
    /// How many times another row, in the lab and simulated.
    #[must_use]
    pub fn to(&self, other: &Self) -> [f64; 2] {
        [self.accepted / other.accepted, self.simulated / other.simulated]
    }
}

impl Labs<'_> {
    /// Builds the cluster of a file, has every pair ping and every switch count as the plan says, and measures. Prints what it
    /// finds; the lab stays up.
    ///
    /// # Errors
    /// What a program says that fails, and what differs from the plan.
    pub fn row(&self, strategy: &str, file: &str) -> Result<Row, String> {
        let plan = plan(file)?;
        let report = verify::check(&plan);
        let cluster = plan.cluster();
        println!(
            "== {strategy}: {} VLANs, {} nodes, {} switches, every link {}bit/s",
            report.vlans,
            cluster.nodes.len(),
            cluster.switches.len(),
            self.rate
        );
        let up = ["lab", "up", file, "--name", self.name, "--rate", self.rate, "--vm"];
        print!("   {}", output(&[&up[..], self.up].concat())?);
        println!("   {}", self.ping()?);
        println!("   {}", self.counters(&plan)?);
        let accepted = self.load()?;
        println!("   uniform all-to-all: {accepted:.3} of the link rate per node");
        Ok(Row { strategy: strategy.into(), report, accepted, simulated: simulated(file)? })
    }

    /// Takes the lab down.
    ///
    /// # Errors
    /// What the program says.
    pub fn down(&self) -> Result<(), String> {
        output(&["lab", "down", "--name", self.name, "--vm"]).map(drop)
    }

    fn ping(&self) -> Result<String, String> {
        #[derive(Deserialize)]
        struct Answer {
            pairs: usize,
            ok: usize,
            failed: Vec<(String, String)>,
        }
        // An emulated processor may take its time: what counts is that the answer comes.
        let json = output(&["lab", "ping", "--wait", "10", "--json", "--name", self.name, "--vm"])?;
        let answer: Answer = serde_json::from_str(&json).map_err(|e| e.to_string())?;
        match answer.failed.first() {
            None => Ok(format!("{} of {} ordered pairs answer", answer.ok, answer.pairs)),
            Some((a, b)) => {
                Err(format!("{} pairs do not answer, {a} -> {b} first", answer.failed.len()))
            }
        }
    }

    /// One more ping of every pair, and every switch has counted just what the plan says.
    fn counters(&self, plan: &Plan) -> Result<String, String> {
        output(&["lab", "counters", "--reset", "--name", self.name, "--vm"])?;
        self.ping()?;
        let json = output(&["lab", "counters", "--json", "--name", self.name, "--vm"])?;
        let counted = traffic::counted(&json).map_err(|e| e.to_string())?;
        let planned = traffic::predicted(plan, plan.pairs());
        let differences = traffic::differences(&planned, &counted);
        if differences.is_empty() {
            let frames: u64 = counted.values().sum();
            let directions = counted.len();
            Ok(format!(
                "{frames} frames on {directions} (direction, VLAN)s, each as the plan predicts"
            ))
        } else {
            Err(format!(
                "the switches counted other frames than planned:\n{}",
                differences.join("\n")
            ))
        }
    }

    fn load(&self) -> Result<f64, String> {
        #[derive(Deserialize)]
        struct Trial {
            accepted: f64,
        }
        #[derive(Deserialize)]
        struct Load {
            fair: Option<Trial>,
        }
        let load = ["lab", "load", "--json", "--mode", "fair", "--name", self.name, "--vm"];
        let json = output(&[&load[..], self.load].concat())?;
        let load: Load = serde_json::from_str(&json).map_err(|e| e.to_string())?;
        load.fair.map(|t| t.accepted).ok_or_else(|| "no load arrived without loss".into())
    }
}

/// Prints a table of these rows, each beside the first.
pub fn print(rows: &[Row]) {
    println!(
        "{:<10}{:>6}{:>10}{:>10}{:>10}{:>11}{:>10}",
        "strategy", "VLANs", "bound", "measured", "to stp", "simulated", "to stp"
    );
    for row in rows {
        let [measured, simulated] = row.to(&rows[0]);
        println!(
            "{:<10}{:>6}{:>10.4}{:>10.3}{measured:>9.2}x{:>11.3}{simulated:>9.2}x",
            row.strategy,
            row.report.vlans,
            row.report.ideal_throughput,
            row.accepted,
            row.simulated
        );
    }
}

fn plan(file: &str) -> Result<Plan, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let cluster = tresse_cluster::parse(&text, file).map_err(|e| e.to_string())?;
    Plan::build(cluster).map_err(|e| e.to_string())
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
