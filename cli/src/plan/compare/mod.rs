//! `tresse compare`: prints cost and performance of several ways to connect a number of nodes: hub,
//! switch, tree, P-Mesh and others.

mod plot;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tresse_design::cost::{BreakEven, CostModel, Measurements, Prices, Row};

use crate::fail::{Code, Failure};
use crate::input;
use crate::output::{self, json_line};
use crate::plot::PictureFile;

/// Arguments of `tresse compare`, which compares cost and performance of ways to connect a number
/// of nodes.
#[derive(Debug, Args)]
pub struct Compare {
    /// Number of nodes.
    #[arg(long, value_name = "N", default_value_t = 16,
        value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    nodes: u64,
    /// Prices, and the sizes of switches that can be bought (TOML: nic, switch_port, ...). Default: those of the P-Mesh
    /// paper, of 1998.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Measured latencies and bandwidths (TOML: latency, bandwidth, ...). Default: those of the P-Mesh paper.
    #[arg(long, value_name = "FILE")]
    measured: Option<PathBuf>,
    /// Draw cost and bisection against the number of nodes, up to the given one, to this file, .svg or .png.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The same as SVG, whatever the file's name ends in.
    #[arg(long, value_name = "FILE", conflicts_with = "plot")]
    svg: Option<PathBuf>,
}

#[derive(Serialize)]
struct Answer<'a> {
    format: u32,
    nodes: u64,
    prices: &'a Prices,
    measured: &'a Measurements,
    architectures: &'a [Row],
    tree_break_even: BreakEven,
}

impl Compare {
    /// Computes the table, draws it if asked to, and prints it.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let model = CostModel { prices: read(&self.prices)?, measured: read(&self.measured)? };
        let rows = model.rows(self.nodes);
        let file = match (&self.plot, &self.svg) {
            (Some(path), _) => Some(PictureFile::new(path)?),
            (None, svg) => svg.as_deref().map(PictureFile::svg),
        };
        if let Some(file) = file {
            file.write(&plot::picture(&model, self.nodes))?;
        }
        let mut out = output::stdout();
        if json {
            let answer = Answer {
                format: 1,
                nodes: self.nodes,
                prices: &model.prices,
                measured: &model.measured,
                architectures: &rows,
                tree_break_even: model.break_even(),
            };
            json_line(&mut out, &answer)?;
        } else {
            text(&mut out, &rows, &model.break_even())?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

fn read<T: DeserializeOwned + Default + Serialize>(path: &Option<PathBuf>) -> Result<T, Failure> {
    let Some(path) = path else { return Ok(T::default()) };
    let bad = |e: &dyn std::fmt::Display| bad(path, e);
    let text = input::read_text(path)?;
    let value: T = toml::from_str(&text).map_err(|e| not_understood::<T>(path, &text, &e))?;
    // Every value must be possible as a price or a time.
    let fields = serde_json::to_value(&value).map_err(|e| bad(&e))?;
    for (key, number) in fields.as_object().into_iter().flatten() {
        let whole = number.is_u64();
        if !number.as_f64().is_some_and(|n| (0.0..=MOST).contains(&n) && !(whole && n < 2.0)) {
            let least = if whole { 2 } else { 0 };
            // JSON has neither nan nor inf.
            let number =
                if number.is_null() { "nan or inf".to_owned() } else { number.to_string() };
            return Err(bad(&format!("{key} = {number}: expected {least} to {MOST}")));
        }
    }
    Ok(value)
}

/// The failure that a file is not TOML, or has a key or value that is not expected there.
fn not_understood<T: Default + Serialize>(path: &Path, text: &str, e: &toml::de::Error) -> Failure {
    let before = text.get(..e.span().map_or(0, |span| span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let message = e.message().lines().next().unwrap_or_default();
    let message = message.split(", expected one of").next().unwrap_or_default();
    let keys = serde_json::to_value(T::default()).unwrap_or_default();
    let keys: Vec<&str> =
        keys.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    let words = format!(
        "{}:{line}:{column}: {message}\n  help: such a file has lines `KEY = NUMBER` with the keys {}",
        path.display(),
        keys.join(", ")
    );
    Failure::new(Code::BadFile, words)
}

fn bad(path: &Path, e: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::BadFile, format!("{}: {e}", path.display()))
}

fn text(out: &mut impl Write, rows: &[Row], even: &BreakEven) -> std::io::Result<()> {
    let mut table = output::table([
        "ARCHITECTURE",
        "NODES",
        "COST/NODE",
        "LATENCY us",
        "BANDWIDTH MB/s",
        "BISECTION MB/s/node",
        "SURVIVES",
    ]);
    for row in rows {
        let range = |best: f64, worst: f64, digits: usize| {
            if best == worst {
                format!("{best:.digits$}")
            } else {
                format!("{best:.digits$} to {worst:.digits$}")
            }
        };
        let most = row.max_nodes.map_or_else(|| "any".into(), |most| format!("up to {most}"));
        let most = if row.possible { most } else { format!("{most}: too few") };
        table.add_row([
            row.architecture.to_owned(),
            most,
            format!("{:.0}", row.cost),
            range(row.best_latency, row.worst_latency, 0),
            range(row.best_bandwidth, row.worst_bandwidth, 1),
            format!("{:.1}", row.bisection),
            row.survives.to_owned(),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(
        out,
        "\nA tree costs less than a P-Mesh when an uplink port costs less than {:.0} ({:.0} without \
         NICs).",
        even.with_nics, even.without_nics
    )
}

const MOST: f64 = 1e9;
