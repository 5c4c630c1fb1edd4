//! The results of a simulation, printed as JSON Lines, text or CSV.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use tresse_base::units::Rate;
use tresse_control::FORMAT;
use tresse_plan::Plan;
use tresse_sim::model::SimulationModel;
use tresse_sim::network::SimulatedNetwork;
use tresse_sim::outcome::SimulationOutcome;
use tresse_sim::sweep::{Point, Sweep};

use crate::output;

/// The results of simulating one plan, at each simulated load and in total, as they are printed and
/// drawn.
pub struct Curve {
    strategy: &'static str,
    lines: Vec<LoadResult>,
    last: Last,
    /// The lines of the table of all links, if `--links` asks for it.
    links: String,
}

/// The results of simulating one load. Offered, generated and accepted traffic are fractions of the
/// rate of a node's link (the most common one) and include header flits. Latencies are in ns, from
/// the generation of a message to the arrival of its last flit.
#[derive(Debug, Serialize)]
pub struct LoadResult {
    format: u32,
    strategy: &'static str,
    /// What each sending node offers, over all its NICs.
    offered: f64,
    /// What was generated and what arrived, as the mean of all nodes.
    generated: f64,
    pub accepted: f64,
    pub latency_mean: Option<f64>,
    pub latency_p99: Option<f64>,
    /// Whether nothing is lost and no queue grows.
    carried: bool,
    /// Flits that had not arrived at the end.
    waiting: i64,
    dropped: u64,
    without_path: u64,
    /// Mean number of transit nodes per message.
    in_transit: f64,
    spilled: u64,
    /// The most flits of transit traffic that a NIC's node stored at once.
    transit_peak: u64,
    /// Frames that transit nodes dropped: because their memory was full, or because they had waited
    /// for too long.
    transit_buffer_full: u64,
    transit_waited_too_long: u64,
    /// The most flits in the buffer of one channel.
    buffer_peak: u32,
    /// The busiest channel, and the share of the time in which it sent.
    busiest: String,
    utilisation: f64,
    deadlock: Option<Vec<String>>,
    /// The cycle at which the deadlock was found and the run ended.
    deadlock_cycle: Option<u64>,
    /// Whether the run ended because queues had become too long.
    overfull: bool,
}

#[derive(Debug, Serialize)]
struct Last {
    format: u32,
    strategy: &'static str,
    saturation: Option<f64>,
    peak_accepted: f64,
    /// The highest load that the channel loads allow; `None` for a trace.
    bound: Option<f64>,
    /// The rate that loads are fractions of, in bits per second.
    rate: u64,
    flit_hops: u64,
}

impl Curve {
    pub fn new(
        plan: &Plan,
        network: &SimulatedNetwork,
        model: &SimulationModel,
        sweep: &Sweep,
        with_links: bool,
    ) -> Self {
        let strategy = strategy(plan);
        let mut links = String::new();
        for point in sweep.points().iter().filter(|_| with_links) {
            for channel in 0..network.channels.len() {
                let (used, peak) = (used(network, point, channel), point.outcome.peaks[channel]);
                let (load, name) = (point.offered, network.name(plan, channel as u32));
                // Writing to a string cannot fail.
                let _ = writeln!(links, "{strategy},{load},{name},{used},{peak}");
            }
        }
        let traced = sweep.bound().is_infinite();
        let of = |point: &Point| LoadResult::new(plan, network, model, point, strategy, traced);
        Self {
            strategy,
            lines: sweep.points().iter().map(of).collect(),
            links,
            last: Last {
                format: FORMAT,
                strategy,
                saturation: sweep.saturation().filter(|_| sweep.bound().is_finite()),
                peak_accepted: sweep.peak_accepted(),
                bound: Some(sweep.bound()).filter(|bound| bound.is_finite()),
                rate: network.base_rate().0,
                flit_hops: sweep.points().iter().map(|p| p.outcome.flit_hops).sum(),
            },
        }
    }

    /// The points of the plot: accepted traffic and mean latency in ns.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.lines.iter().filter_map(|line| Some((line.accepted, line.latency_mean?)))
    }

    pub fn links(&self) -> &str {
        &self.links
    }

    pub const fn name(&self) -> &'static str {
        self.strategy
    }

    pub fn is_stuck(&self) -> bool {
        self.lines.iter().any(|line| line.deadlock.is_some())
    }

    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        for line in &self.lines {
            output::json_line(out, line)?;
        }
        output::json_line(out, &self.last)
    }

    pub fn csv(&self, out: &mut impl Write, head: bool) -> io::Result<()> {
        if head {
            writeln!(
                out,
                "strategy,offered,generated,accepted,latency_mean_ns,latency_p99_ns,carried,waiting,dropped,\
                 without_path,in_transit,spilled,transit_peak,buffer_peak,busiest,utilisation,deadlock,\
                 transit_buffer_full,transit_waited_too_long"
            )?;
        }
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for line in &self.lines {
            let (mean, tail) = (number(line.latency_mean), number(line.latency_p99));
            writeln!(
                out,
                "{},{},{},{},{mean},{tail},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                line.strategy,
                line.offered,
                line.generated,
                line.accepted,
                line.carried,
                line.waiting,
                line.dropped,
                line.without_path,
                line.in_transit,
                line.spilled,
                line.transit_peak,
                line.buffer_peak,
                line.busiest,
                line.utilisation,
                line.deadlock.as_ref().map_or(String::new(), |circle| circle.join(" ")),
                line.transit_buffer_full,
                line.transit_waited_too_long
            )?;
        }
        Ok(())
    }

    pub fn text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "# {}", self.strategy)?;
        let mut table = output::table([
            "offered", "accepted", "mean us", "99 % us", "transit", "busiest", "used", "buffer", "",
        ]);
        for line in &self.lines {
            let us = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.2}", ns / 1000.0));
            let mut words = Vec::new();
            let in_transit = [
                (line.transit_buffer_full, "for want of room"),
                (line.transit_waited_too_long, "after too long a wait"),
            ];
            let lost = line.dropped + in_transit[0].0 + in_transit[1].0;
            match &line.deadlock {
                Some(circle) => {
                    let cycle = line.deadlock_cycle.unwrap_or_default();
                    words.push(format!("deadlock by cycle {cycle}: {}", circle.join(" ")));
                }
                None if line.dropped > 0 => words.push(format!("{} frames dropped", line.dropped)),
                None if lost > 0 => {}
                None if line.overfull => words.push("queues grow without end".into()),
                None if !line.carried => words.push("queues grow".into()),
                None => {}
            }
            for (frames, why) in in_transit.into_iter().filter(|(frames, _)| *frames > 0) {
                words.push(format!("{frames} frames dropped in transit {why}"));
            }
            if line.without_path > 0 {
                words.push(format!("{} messages without a path", line.without_path));
            }
            if line.spilled > 0 {
                words.push(format!("{} frames waited in transit buffers", line.spilled));
            }
            table.add_row([
                format!("{:.4}", line.offered),
                format!("{:.4}", line.accepted),
                us(line.latency_mean),
                us(line.latency_p99),
                format!("{:.2}", line.in_transit),
                line.busiest.clone(),
                format!("{:.0} %", line.utilisation * 100.0),
                line.buffer_peak.to_string(),
                words.join(", "),
            ]);
        }
        writeln!(out, "{table}")?;
        let saturation = self.last.saturation.map_or("none".into(), |load| format!("{load:.4}"));
        let Last { peak_accepted, bound, rate, .. } = self.last;
        let Some(bound) = bound else {
            return writeln!(out, "# accepted {peak_accepted:.4} of {} a node", Rate(rate));
        };
        writeln!(
            out,
            "# saturation {saturation}, most accepted {peak_accepted:.4}, channel-load bound {bound:.4} of {}",
            Rate(rate)
        )
    }
}

/// The share of the time in which a channel sent.
fn used(network: &SimulatedNetwork, point: &Point, channel: usize) -> f64 {
    let rate = network.channels[channel].rate.0 as f64 / network.base_rate().0 as f64;
    point.outcome.sent[channel] as f64 / rate / point.outcome.cycles.max(1) as f64
}

impl LoadResult {
    fn new(
        plan: &Plan,
        network: &SimulatedNetwork,
        model: &SimulationModel,
        point: &Point,
        strategy: &'static str,
        traced: bool,
    ) -> Self {
        let SimulationOutcome { latencies, ticks, sent, peaks, in_transit, .. } = &point.outcome;
        let ns = |of: f64| of / *ticks as f64 * model.cycle_ns;
        let used = |channel: usize| used(network, point, channel);
        let busiest = (0..sent.len()).max_by(|a, b| used(*a).total_cmp(&used(*b))).unwrap_or(0);
        let circle = point.outcome.deadlock.as_ref();
        let node_cycles = point.outcome.cycles.max(1) as f64 * network.nodes as f64;
        let generated = point.outcome.generated as f64 / node_cycles;
        Self {
            format: FORMAT,
            strategy,
            offered: if traced { generated } else { point.offered },
            generated,
            accepted: point.accepted,
            latency_mean: latencies.mean().map(ns),
            latency_p99: latencies.percentile(99.0).map(|of| ns(of as f64)),
            carried: point.carried,
            waiting: point.outcome.backlog[1],
            dropped: point.outcome.dropped,
            without_path: point.outcome.without_path,
            in_transit: in_transit[0] as f64 / in_transit[1].max(1) as f64,
            spilled: point.outcome.spilled,
            transit_peak: point.outcome.transit_peak,
            transit_buffer_full: point.outcome.transit_buffer_full,
            transit_waited_too_long: point.outcome.transit_waited_too_long,
            buffer_peak: peaks.iter().copied().max().unwrap_or(0),
            busiest: network.name(plan, busiest as u32),
            utilisation: used(busiest),
            deadlock_cycle: circle.map(|(cycle, _)| *cycle),
            overfull: point.outcome.overfull,
            deadlock: circle
                .map(|(_, circle)| circle.iter().map(|c| network.name(plan, *c)).collect()),
        }
    }
}

/// Returns the name of the strategy by which a plan chooses its paths, such as `dor` or `updown`.
pub fn strategy(plan: &Plan) -> &'static str {
    tresse_cluster::strategy_name(plan.cluster().routing.strategy)
}
