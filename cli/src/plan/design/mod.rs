//! `tresse design`: searches for the wiring of a flat neighbourhood (switches without cables
//! between them, where each node is on several): which NIC is cabled to which switch.

mod fewest;
mod search;
mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use tresse_base::wiring::Wiring;
use tresse_design::placement::place;
use tresse_design::tuple::Tuples;
use tresse_design::{Answer, Designer, Spec, SpecError, labels};
use tresse_lab::signals::Signals;
use tresse_routing::basic::Basic;
use tresse_routing::direct::hopping::Hopping;

use self::fewest::{Choice, Found, choices_text, fewest};
use self::search::search;
use self::text::{answer_text, uplinks_text};
use crate::fail::{Code, Failure};
use crate::input;
use crate::output::{self, json_line};

/// Arguments of `tresse design`, which searches for the wiring of a flat neighbourhood.
#[derive(Debug, Args)]
pub struct Design {
    /// The specification (TOML): PCs, NICs, switches, patterns. Or a wiring table, which is evaluated.
    spec: PathBuf,
    /// Search for at most this many seconds. Default: as the specification says.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<f64>,
    /// The seed of the search. Default: as the specification says.
    #[arg(long)]
    seed: Option<u64>,
    /// Write the wiring as a table, `switch: pc pc ...`, which this verb and cluster files read.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write an HTML page of labels to print: one label per PC, one coloured patch per NIC.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Write a table with the switch that each pair uses, chosen so that NICs share the load evenly.
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
}

/// The answer for a wiring table that was given.
#[derive(Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    basic: Paths,
    /// Size of a node's table of NIC tuples; `None` if a tuple does not fit into an integer.
    tuple_bytes: Option<usize>,
    mac_tuple_bytes: Option<usize>,
    /// Links between two halves whose PCs are paired at random, counted in both directions.
    bisection_links: f64,
    /// What an uplink switch of its own would add to that, by one cable from each switch.
    uplink_links: f64,
    /// All NICs: what no pattern exceeds.
    bisection_links_most: f64,
    /// With what third nodes and the uplink switch add, for one pairing.
    hopping: Option<Hopping>,
}

/// How many paths share a NIC if each pair has one path.
#[derive(Serialize)]
struct Paths {
    least: u32,
    most: u32,
    squares: u64,
}

/// The value of `--seconds`.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
    seconds.ok_or_else(|| "a number of seconds above 0 is needed".into())
}

/// Whether a text is a wiring table, `switch: pc pc ...`, and not a specification.
fn is_table(text: &str) -> bool {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let first = lines.filter(|line| !line.is_empty()).map(|line| line.split_once(':')).next();
    matches!(first, Some(Some((switch, _))) if switch.trim().parse::<u32>().is_ok())
}

/// What to do about a specification that cannot be read.
fn help(text: &str, error: &SpecError) -> &'static str {
    let tables = text.lines().map(str::trim_start);
    let is_cluster = tables.clone().any(|line| line.starts_with("[fabric]"));
    match error {
        SpecError::At { .. } if is_cluster => {
            "this is a cluster file: `tresse check` and `tresse plan` read it; `tresse design` reads a \
             specification of PCs, NICs and switches"
        }
        SpecError::At { .. } => {
            "a specification has a table [design] with pcs (number of PCs), nics (NICs of each PC) and \
             switches (ports of each switch), and any number of tables [[pattern]]: see \
             docs/flat-neighbourhoods.md"
        }
        _ => "correct this value: docs/flat-neighbourhoods.md explains it",
    }
}

#[derive(Serialize)]
struct WithChoices<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    nics: Vec<u32>,
    choices: &'a [Choice],
}

impl Design {
    /// Searches and prints; exits with 1 if no wiring was found.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let signals = Signals::hold().map_err(|e| Failure::new(Code::Fault, e))?;
        let bad = |e: &dyn std::fmt::Display| {
            Failure::new(Code::BadFile, format!("{}: {e}", self.spec.display()))
        };
        let text = input::read_text(&self.spec)?;
        if is_table(&text) {
            let wiring = Wiring::parse(&text).map_err(|e| bad(&e))?;
            return self.judge(wiring, json).map_err(|e| bad(&e));
        }
        let mut spec = Spec::parse(&text).map_err(|e| {
            let words = format!("{}: {e}\n  help: {}", self.spec.display(), help(&text, &e));
            Failure::new(Code::BadFile, words)
        })?;
        let weights = spec.weights().map_err(|e| bad(&e))?;
        if let Some(seconds) = self.seconds {
            spec.design.seconds = seconds;
        }
        spec.design.seed = self.seed.unwrap_or(spec.design.seed);
        let mut out = output::stdout();
        if spec.is_open() {
            let found = fewest(&spec, &signals).map_err(|e| bad(&e))?;
            let Some(Found { mut answer, nics, choices }) = found else {
                return Err(Failure::new(
                    Code::Fault,
                    "no wiring found: allow more seconds, switches with more ports, or more NICs",
                ));
            };
            placed(&mut answer, &spec);
            self.write(&answer, &weights)?;
            if json {
                json_line(&mut out, &WithChoices { answer: &answer, nics, choices: &choices })?;
            } else {
                choices_text(&mut out, &choices)?;
                answer_text(&mut out, &answer)?;
                uplinks_text(&mut out, &spec, &answer)?;
            }
            out.flush()?;
            return Ok(Code::Fine);
        }
        let problem = spec.problem(&spec.design.switches, 0).map_err(|e| bad(&e.in_text(&text)))?;
        let began = Instant::now();
        let mut designer = Designer::new(problem, spec.design.seed).map_err(|e| bad(&e))?;
        search(&mut designer, &spec, &signals, true);
        let mut answer = Answer::of(&designer, began.elapsed().as_secs_f64(), spec.design.seed);
        placed(&mut answer, &spec);
        self.write(&answer, &weights)?;
        if json {
            json_line(&mut out, &answer)?;
        } else {
            answer_text(&mut out, &answer)?;
            uplinks_text(&mut out, &spec, &answer)?;
        }
        out.flush()?;
        Ok(if answer.feasible == Some(true) { Code::Fine } else { Code::Fault })
    }

    /// Writes the files that were asked for. In the table of routes, pairs with a weight choose their switch first.
    fn write(&self, answer: &Answer, weights: &BTreeMap<(u32, u32), f64>) -> Result<(), Failure> {
        if answer.feasible == Some(false) {
            return Ok(());
        }
        let wiring = Wiring { switches: answer.switches.clone() };
        let pcs = wiring.pcs();
        if let Some(path) = &self.output {
            input::replace(path, wiring.to_string())?;
        }
        if let Some(path) = &self.labels {
            let digits = pcs.saturating_sub(1).to_string().len();
            let name = |pc| format!("n{pc:0digits$}");
            let title = self.spec.file_stem().unwrap_or_default().to_string_lossy();
            input::replace(path, labels::html(&wiring, pcs, &title, name))?;
        }
        if let Some(path) = &self.routes {
            let basic = Basic::assign(&wiring, pcs, weights);
            input::replace(path, basic.table())?;
        }
        Ok(())
    }

    /// Evaluates a wiring table and prints the result.
    fn judge(&self, wiring: Wiring, json: bool) -> Result<Code, Box<dyn std::error::Error>> {
        let designer = Designer::judged(wiring)?;
        let answer = Answer::of(&designer, 0.0, 0);
        self.write(&answer, &BTreeMap::new()).map_err(|failure| failure.message)?;
        let mut out = output::stdout();
        let wiring = Wiring { switches: answer.switches.clone() };
        let basic = Basic::assign(&wiring, wiring.pcs(), &BTreeMap::new()).spread();
        let tuples = Tuples::of(&wiring, wiring.pcs(), 0);
        let judged = Judged {
            answer: &answer,
            basic: Paths { least: basic.least, most: basic.most, squares: basic.squares },
            tuple_bytes: tuples.as_ref().map(Tuples::bytes),
            mac_tuple_bytes: tuples.as_ref().map(Tuples::mac_bytes),
            bisection_links: answer.mean_links_per_pair * wiring.pcs() as f64,
            uplink_links: 2.0 * wiring.switches.len() as f64,
            hopping: Hopping::of_wiring(&wiring),
            bisection_links_most: wiring.switches.iter().map(Vec::len).sum::<usize>() as f64,
        };
        if json {
            json_line(&mut out, &judged)?;
        } else {
            answer_text(&mut out, &answer)?;
            writeln!(
                out,
                "# one switch per pair: {} to {} paths on a NIC, sum of squares {}",
                basic.least, basic.most, basic.squares
            )?;
            writeln!(
                out,
                "# bisection over random pairs: {:.1} links, counted in both directions, {:.1} with an uplink \
                 switch of its own, {:.0} at most",
                judged.bisection_links,
                (judged.bisection_links + judged.uplink_links).min(judged.bisection_links_most),
                judged.bisection_links_most
            )?;
            if let Some(hopping) = judged.hopping {
                let words = hopping.words(|links| format!("{links:.1} links"));
                writeln!(out, "# by hopping: {words}")?;
            }
        }
        out.flush()?;
        Ok(if answer.feasible == Some(true) { Code::Fine } else { Code::Fault })
    }
}

/// Places the wiring in racks, if the specification has them.
fn placed(answer: &mut Answer, spec: &Spec) {
    let Some(racks) = spec.design.placement else { return };
    let wiring = Wiring { switches: answer.switches.clone() };
    if answer.feasible == Some(true) {
        let pcs = spec.design.pcs as usize;
        answer.placement = Some(place(&wiring, pcs, racks.rack, spec.design.seed));
    }
}
