//! Shows the progress of each node while files are moved.

use std::io::{IsTerminal as _, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use tresse_control::FORMAT;

use crate::output;

/// The shortest time between two JSON lines of one node.
const OFTEN: Duration = Duration::from_secs(1);

/// A JSON line: how far a node is.
#[derive(Debug, Serialize)]
struct Running<'a> {
    format: u32,
    node: &'a str,
    state: &'static str,
    #[serde(rename = "octets")]
    bytes: u64,
    of: u64,
    /// Bytes per second, and seconds left at that rate; `None` until the rate is known.
    rate: Option<f64>,
    left: Option<f64>,
}

/// Shows how much of the files each node has: as one bar per node on a terminal, as JSON lines with
/// `--json`, else not at all.
pub struct Progress {
    names: Vec<String>,
    bars: Vec<ProgressBar>,
    json: bool,
    said: Vec<Option<Instant>>,
    all: MultiProgress,
}

impl Progress {
    /// Starts to show the progress of these nodes.
    pub fn new(names: &[String], json: bool) -> Self {
        let all = MultiProgress::new();
        let drawn = !json && std::io::stderr().is_terminal();
        if !drawn {
            all.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{prefix:>10} {bar:30} {percent:>3} % {binary_bytes_per_sec:>14} {eta:>4}";
        let style = ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar());
        let bar = |name: &String| {
            let bar = ProgressBar::new(0).with_style(style.clone()).with_prefix(name.clone());
            all.add(bar)
        };
        let bars = names.iter().filter(|_| drawn).map(bar).collect();
        Self { names: names.to_vec(), bars, json, said: vec![None; names.len()], all }
    }

    /// Shows how many bytes a member has, of how many, and its rate in bytes per second.
    pub fn has(&mut self, member: usize, bytes: u64, of: u64, rate: Option<f64>) {
        if let Some(bar) = self.bars.get(member) {
            bar.set_length(of);
            bar.set_position(bytes);
        }
        let early = self.said[member].is_some_and(|said| said.elapsed() < OFTEN);
        if !self.json || early {
            return;
        }
        self.said[member] = Some(Instant::now());
        let left = rate.filter(|rate| *rate > 0.0).map(|rate| (of - bytes.min(of)) as f64 / rate);
        let node = self.names[member].as_str();
        let line = Running { format: FORMAT, node, state: "running", bytes, of, rate, left };
        // If standard output is closed, the report at the end fails and says so.
        let mut out = output::stdout();
        let _ = output::json_line(&mut out, &line).and_then(|()| out.flush());
    }

    /// Removes the bar of a member.
    pub fn done(&self, member: usize) {
        self.bars.get(member).inspect(|bar| bar.finish_and_clear());
    }

    /// Prints a message above the bars.
    pub fn say(&self, words: &str) {
        self.all.suspend(|| eprintln!("tresse: {words}"));
    }

    /// Removes all bars.
    pub fn end(&self) {
        self.bars.iter().for_each(ProgressBar::finish_and_clear);
    }
}
