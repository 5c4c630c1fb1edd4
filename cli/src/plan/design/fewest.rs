//! Finds the fewest NICs and switches for a specification of `tresse design` that leaves their
//! numbers open, and shows what more NICs or more switches would bring.

use std::io::Write;
use std::time::Instant;

use serde::Serialize;
use tresse_base::wiring::Wiring;
use tresse_design::spec::{MOST_NICS, Nics};
use tresse_design::{Answer, Designer, Spec};
use tresse_lab::signals::Signals;

use super::search::search;
use crate::output;

/// A combination of NICs per PC and switches for which a wiring was found, with its cost and its
/// mean number of links per pair of PCs.
#[derive(Debug, Clone, Serialize)]
pub struct Choice {
    nics: u32,
    switches: usize,
    ports: u32,
    /// `None` without prices.
    cost: Option<f64>,
    mean_links_per_pair: f64,
}

/// The cheapest wiring (which NIC is on which switch) that was found, and the combinations of NICs
/// and switches that no other one beats.
#[derive(Debug)]
pub struct Found {
    pub answer: Answer,
    /// NICs of each PC.
    pub nics: Vec<u32>,
    pub choices: Vec<Choice>,
}

/// Searches for a wiring with each number of NICs per PC and of switches, from few to many. Returns
/// the cheapest wiring found, and the combinations of NICs and switches that no other one beats in
/// NICs, price and links. `None` if no wiring was found.
pub fn fewest(spec: &Spec, signals: &Signals) -> Result<Option<Found>, Box<dyn std::error::Error>> {
    let began = Instant::now();
    let table = &spec.design;
    let (fewest, most) = match table.nics {
        Nics::Each(0) => (1, MOST_FOUND_NICS.min(MOST_NICS)),
        Nics::Each(nics) => (nics, nics),
        Nics::List(_) => (0, 0),
    };
    let mut sets: Vec<Vec<u32>> = Vec::new();
    for kind in &table.switch_types {
        sets.extend((1..=MOST_FOUND_SWITCHES).map(|m| vec![kind.ports; m]));
    }
    if table.switch_types.is_empty() {
        sets.push(table.switches.clone());
    }
    let mut best: Option<(f64, Answer, u32)> = None;
    let mut choices: Vec<Choice> = Vec::new();
    let mut share = spec.clone();
    share.design.seconds = (table.seconds / f64::from(most - fewest + 1) / SHARES).max(0.02);
    for nics in fewest..=most {
        let all: u32 = nics_of(spec, nics).iter().sum();
        // The kind of switch of which there are enough for all NICs: more of them add no link.
        let mut enough = 0;
        for ports in &sets {
            let over = began.elapsed().as_secs_f64() > table.seconds && best.is_some();
            if over || signals.check().is_err() {
                break;
            }
            if ports.first() == Some(&enough) {
                continue;
            }
            let Ok(problem) = spec.problem(ports, nics) else { continue };
            // A PC is on a switch once.
            let room: u32 = problem.ports.iter().map(|ports| (*ports).min(table.pcs)).sum();
            let mut designer = Designer::new(problem, table.seed)?;
            if designer.impossible().is_some() {
                continue;
            }
            search(&mut designer, &share, signals, false);
            let answer = Answer::of(&designer, began.elapsed().as_secs_f64(), table.seed);
            if answer.feasible != Some(true) {
                continue;
            }
            let width = ports.first().copied().unwrap_or(0);
            if room >= all {
                enough = width;
            }
            let used = answer.switches.iter().filter(|members| !members.is_empty()).count();
            let cost = price(spec, &answer, ports);
            choices.push(Choice {
                nics: nics.max(used_nics(&answer)),
                switches: used,
                ports: width,
                cost,
                mean_links_per_pair: answer.mean_links_per_pair,
            });
            let rank = cost.unwrap_or(f64::from(nics) * 1e3 + ports.len() as f64);
            if best.as_ref().is_none_or(|(least, ..)| rank < *least) {
                best = Some((rank, answer, nics));
            }
        }
    }
    let front = choices.iter().filter(|c| !choices.iter().any(|other| other.beats(c))).cloned();
    let front = front.collect();
    Ok(best.map(|(_, answer, nics)| Found { answer, nics: nics_of(spec, nics), choices: front }))
}

impl Choice {
    /// Whether this combination is as good in everything and better in something: fewer NICs, a lower price (fewer
    /// ports if there are no prices), more links.
    fn beats(&self, other: &Self) -> bool {
        let money = |c: &Self| c.cost.unwrap_or(f64::from(c.ports) * c.switches as f64);
        let rank = |c: &Self| (c.nics, money(c), -c.mean_links_per_pair);
        let (a, b) = (rank(self), rank(other));
        a.0 <= b.0 && a.1 <= b.1 && a.2 <= b.2 && a != b
    }
}

/// NICs of each PC: the list of the specification, or `nics` for each PC.
fn nics_of(spec: &Spec, nics: u32) -> Vec<u32> {
    match &spec.design.nics {
        Nics::Each(_) => vec![nics; spec.design.pcs as usize],
        Nics::List(list) => list.clone(),
    }
}

fn used_nics(answer: &Answer) -> u32 {
    let wiring = Wiring { switches: answer.switches.clone() };
    wiring.rows(wiring.pcs()).iter().map(Vec::len).max().unwrap_or(0) as u32
}

/// The price of a wiring: its NICs and those of spare PCs; its switches, by their own price or by their ports; and the
/// cheapest uplink switch that has enough ports.
fn price(spec: &Spec, answer: &Answer, ports: &[u32]) -> Option<f64> {
    let cables: usize = answer.switches.iter().map(Vec::len).sum();
    let cost = spec.design.cost;
    let cables = cables as u32 + spec.design.spares * used_nics(answer);
    let nics = cost.map(|cost| cost.nic * f64::from(cables));
    let priced = spec.design.switch_types.iter().filter(|kind| kind.price > 0.0);
    let by_port = |ports: u32| cost.map(|cost| cost.port * f64::from(ports));
    let used = answer.switches.iter().zip(ports).filter(|(members, _)| !members.is_empty());
    let each = used.clone().map(|(_, ports)| {
        let kind = priced.clone().find(|kind| kind.ports == *ports);
        kind.map(|kind| kind.price).or_else(|| by_port(*ports))
    });
    let switches: f64 = each.sum::<Option<f64>>()?;
    let uplink = match spec.uplink_ports(used.count()) {
        0 => 0.0,
        ports => {
            let wide = priced.filter(|kind| kind.ports >= ports).map(|kind| kind.price);
            wide.min_by(f64::total_cmp).or_else(|| by_port(ports))?
        }
    };
    Some(nics.unwrap_or(0.0) + switches + uplink)
}

/// Prints the combinations of NICs per PC and switches, with the cost and mean links per pair of
/// each, as a table.
pub fn choices_text(out: &mut impl Write, choices: &[Choice]) -> std::io::Result<()> {
    let mut table = output::table(["NICS", "SWITCHES", "PORTS", "COST", "LINKS/PAIR"]);
    for choice in choices {
        table.add_row([
            choice.nics.to_string(),
            choice.switches.to_string(),
            choice.ports.to_string(),
            choice.cost.map_or_else(|| "-".into(), |cost| format!("{cost:.0}")),
            format!("{:.4}", choice.mean_links_per_pair),
        ]);
    }
    writeln!(out, "{}\n", table.trim_fmt())
}

const MOST_FOUND_NICS: u32 = 8;
const MOST_FOUND_SWITCHES: usize = 64;
/// The time for one number of NICs is divided into so many parts; one number of switches takes one part.
const SHARES: f64 = 20.0;
