//! A lower bound on the load of the busiest link, whatever shortest routes are chosen and however the pairs of nodes are
//! split over them: the dual of the linear program that spreads them best.
//!
//! Give every link a price: what all pairs pay on their cheapest routes, divided by the sum of the prices, is never more
//! than the load of the busiest link. Prices are high powers of loads, and loads the mean of the cheapest routes by the
//! prices so far.

use std::collections::BTreeMap;

use tresse_topology::Graph;

use super::demand::SwitchDemand;
use super::search::Search;
use super::switch_routes::{SwitchRoutes, turns};

/// Costs that are taken as equal.
const SAME: f32 = 1.0 + 1e-5;
/// Single precision rounds what pairs pay.
const ROUNDING: f64 = 1.0 - 1e-4;

/// No shortest routes of `demand` lead to a lower cost than this, in the unit of the first part of
/// [`SwitchRoutes::cost`], not even where pairs of nodes are split at will. `up[c]`: does channel c go up? Prices are set
/// `rounds` times: with more the bound comes nearer to the optimum. O(rounds x sources x channels).
#[must_use]
pub fn least_cost(graph: &Graph, up: &[bool], demand: &SwitchDemand, rounds: i32) -> f64 {
    let (mut search, mut scratch) = SwitchRoutes::none(graph, up, demand);
    let switches = graph.switches();
    let bundles = Bundles::of(graph, &scratch);
    let (mut loads, mut turns) = (vec![0.0; bundles.slowness.len()], vec![0.0; switches]);
    let mut best = 0.0f64;
    for round in 0..rounds {
        let times: Vec<f64> =
            loads.iter().zip(&bundles.slowness).map(|(load, by)| load * by).collect();
        let nics: Vec<f64> = (0..switches).map(|v| nic_time(demand, v, turns[v])).collect();
        let most = times.iter().chain(&nics).copied().fold(1.0, f64::max);
        // At first, all links have the same price.
        let power = if round == 0 { 0 } else { 4 + round.min(48) / 2 };
        let price = |time: &f64| (time / most).powi(power);
        let prices: Vec<f64> = times.iter().map(price).collect();
        let may = |v: usize| f64::from(u8::from(demand.transit[v] > 0));
        let nic_prices: Vec<f64> = (0..switches).map(|v| may(v) * price(&nics[v])).collect();
        let sum: f64 = prices.iter().chain(&nic_prices).sum();
        search.set_prices(
            |edge| prices[bundles.of[edge]] * bundles.slowness[bundles.of[edge]],
            |v| nic_prices[v] * (nic_time(demand, v, 1.0) - nic_time(demand, v, 0.0)),
        );
        let mut now = Split { loads: vec![0.0; bundles.of.len()], turns: vec![0.0; switches] };
        let mut paid: f64 = (0..switches).map(|v| nic_prices[v] * nic_time(demand, v, 0.0)).sum();
        for source in (0..demand.sources()).filter(|source| demand.is_home(*source)) {
            paid += search.cheapest(source, &mut scratch, &mut now);
        }
        best = best.max(paid / sum * ROUNDING);
        let share = if round == 0 { 1.0 } else { 2.0 / f64::from(round + 2) };
        let mix = |(old, new): (&mut f64, &f64)| *old += share * (new - *old);
        loads.iter_mut().zip(&bundles.summed(&now.loads)).for_each(mix);
        turns.iter_mut().zip(&now.turns).for_each(mix);
    }
    best
}

/// Parallel cables as one cable of the sum of their rates: where pairs are split best, they are all busy equally long.
struct Bundles {
    /// By edge.
    of: Vec<usize>,
    slowness: Vec<f64>,
}

impl Bundles {
    fn of(graph: &Graph, routes: &SwitchRoutes) -> Self {
        let mut seen = BTreeMap::new();
        let (mut of, mut rates) = (Vec::new(), Vec::new());
        for ((channel, tail), slowness) in routes.edges.iter().zip(&routes.slowness) {
            let bundle = *seen.entry((*tail, graph.head(*channel))).or_insert(rates.len());
            if bundle == rates.len() {
                rates.push(0.0);
            }
            rates[bundle] += 1.0 / *slowness as f64;
            of.push(bundle);
        }
        Self { of, slowness: rates.into_iter().map(|rate: f64| 1.0 / rate).collect() }
    }

    /// The loads of all bundles, of those of all edges.
    fn summed(&self, edges: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.slowness.len()];
        self.of.iter().zip(edges).for_each(|(bundle, load)| loads[*bundle] += load);
        loads
    }
}

/// Node pairs over each edge and turning at each switch, split over all cheapest routes.
struct Split {
    loads: Vec<f64>,
    turns: Vec<f64>,
}

/// The time of the link of a node that forwards on switch `v`, where so many pairs turn; 0 where none does.
fn nic_time(demand: &SwitchDemand, v: usize, turns: f64) -> f64 {
    if demand.transit[v] == 0 {
        return 0.0;
    }
    (demand.own as f64 + turns / demand.transit[v] as f64) * demand.nic_slowness[v] as f64
}

impl Search<'_> {
    /// Sets the prices of edges and of turns by hand.
    fn set_prices(&mut self, edge: impl Fn(usize) -> f64, turn: impl Fn(usize) -> f64) {
        for at in 0..self.edges.len() {
            self.edges[at].price = edge(at) as f32;
        }
        for v in 0..self.transit_price.len() {
            self.transit_price[v] = turn(v) as f32;
        }
    }

    /// What all node pairs of a source pay on their cheapest routes, over which they are split evenly at each state.
    fn cheapest(&mut self, source: u32, scratch: &mut SwitchRoutes, split: &mut Split) -> f64 {
        self.search(source, scratch);
        let switches = self.ending.len();
        let mut behind = vec![0.0; 2 * switches];
        let mut paid = 0.0;
        for d in 0..switches {
            let pairs = self.demand.pairs(source, d as u32) as f64;
            paid += pairs * f64::from(self.ending[d]);
            let end = scratch.end(source, d as u32);
            behind[end] += pairs;
        }
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for at in (1..self.reached).rev() {
            let state = self.queue[at];
            let pairs = behind[state as usize];
            if pairs == 0.0 {
                continue;
            }
            entries.clear();
            self.entries(state, scratch, |search, step| {
                let before = scratch.before(step);
                let turn = if turns(before as u32, state) {
                    search.transit_price[before / 2]
                } else {
                    0.0
                };
                let so_far = search.costs[search.place[before] as usize];
                entries.push((step, so_far + search.edges[step as usize >> 1].price + turn));
            });
            let least = entries.iter().map(|(_, cost)| *cost).fold(f32::INFINITY, f32::min);
            entries.retain(|(_, cost)| *cost <= least * SAME);
            let share = pairs / entries.len() as f64;
            for (step, _) in &entries {
                let before = scratch.before(*step);
                split.loads[*step as usize >> 1] += share;
                behind[before] += share;
                if turns(before as u32, state) {
                    split.turns[before / 2] += share;
                }
            }
        }
        paid
    }
}
