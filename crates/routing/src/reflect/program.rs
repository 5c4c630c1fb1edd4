//! The linear program that divides the traffic of pairs of switches among given paths (concurrent flow with fixed
//! capacities), so that the congestion is as low as possible.
//!
//! A flow f is the traffic of one pair, with the demand w. It is divided into shares y over its paths j; path 0 is the
//! direct one, the others are detours. A resource r is a direction of a cable or of a NIC, and u is how often a path
//! crosses it. The load `fixed` does not depend on the shares. The congestion t is the highest load divided by
//! capacity:
//!
//! ```text
//! minimise  t
//! so that   fixed[r] + sum over f, j of w[f] u[f,j,r] y[f,j]  <=  t capacity[r]    for each resource r
//!           sum over j of y[f,j] = 1,  y >= 0
//! ```
//!
//! 1 / t is how much of the demand fits at once. Among the best solutions, a second program with t fixed selects the
//! one with the least traffic on detours, especially on busy resources. The simplex solver returns a corner of the
//! polytope, which has few detours.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

/// The resources (directions of cables and NICs) that one path crosses: the index of each, and how often a frame of
/// the path crosses it on average.
pub type Uses = Vec<(u32, f64)>;

/// The input of the linear program: the capacity and the fixed load of each resource (a direction of a cable or of a
/// NIC), and the flows with their possible paths.
#[derive(Debug, Clone, Default)]
pub struct LinearProgram {
    /// Capacity of each resource.
    pub capacity: Vec<f64>,
    /// Load of each resource that does not depend on the paths chosen.
    pub fixed: Vec<f64>,
    /// All flows.
    pub flows: Vec<PairFlow>,
}

/// The traffic of one ordered pair of switches and its possible paths, the strategy's own path first.
#[derive(Debug, Clone, Default)]
pub struct PairFlow {
    /// Its demand.
    pub weight: f64,
    /// Its paths.
    pub paths: Vec<Uses>,
}

/// The solution of the linear program: the share of each path in its flow's traffic, and the congestion that results,
/// the highest load divided by capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// The highest load divided by capacity, exact except for rounding.
    pub congestion: f64,
    /// The share by flow and path: each flow's sum to 1.
    pub shares: Vec<Vec<f64>>,
}

/// What may be gained is told from round-off by this.
const SLACK: f64 = 1e-6;
/// Shares below this are none.
const NOTHING: f64 = 1e-6;

impl LinearProgram {
    /// Returns the load on each resource under these shares.
    #[must_use]
    pub fn loads(&self, shares: &[Vec<f64>]) -> Vec<f64> {
        let mut loads = self.fixed.clone();
        for (flow, shares) in self.flows.iter().zip(shares) {
            for (uses, share) in flow.paths.iter().zip(shares) {
                for (resource, times) in uses {
                    loads[*resource as usize] += flow.weight * share * times;
                }
            }
        }
        loads
    }

    /// Returns the highest load divided by capacity under these shares.
    #[must_use]
    pub fn congestion(&self, shares: &[Vec<f64>]) -> f64 {
        highest(&self.loads(shares), &self.capacity)
    }

    /// Returns the shares that put everything on the direct paths.
    #[must_use]
    pub fn direct(&self) -> Vec<Vec<f64>> {
        let first = |flow: &PairFlow| (0..flow.paths.len()).map(|j| f64::from(u8::from(j == 0)));
        self.flows.iter().map(|flow| first(flow).collect()).collect()
    }

    /// Solves the program; `None` if the solver fails.
    #[must_use]
    pub fn optimum(&self) -> Option<Optimum> {
        let direct = self.direct();
        let base = self.loads(&direct);
        let without = highest(&base, &self.capacity);
        let rows = self.rows();
        // No choice of paths changes these loads.
        let still = (0..base.len()).filter(|r| rows[*r].is_empty());
        let least = still.map(|r| base[r] / self.capacity[r]).fold(0.0, f64::max);
        if without <= least * (1.0 + SLACK) {
            return Some(Optimum { congestion: without, shares: direct });
        }
        let program = Program { network: self, rows: &rows, base: &base, unit: without, least };
        let (t, shares) = program.solve(None)?;
        if t >= 1.0 - SLACK {
            return Some(Optimum { congestion: without, shares: direct });
        }
        let shares = program.solve(Some(t)).map_or(shares, |(_, shares)| shares);
        Some(Optimum { congestion: t * without, shares })
    }

    /// By resource, what a share of each detour adds there instead of the direct path: (flow, path, load).
    fn rows(&self) -> Vec<Vec<(usize, usize, f64)>> {
        let mut rows: Vec<Vec<(usize, usize, f64)>> = vec![Vec::new(); self.capacity.len()];
        for (f, flow) in self.flows.iter().enumerate() {
            for (j, uses) in flow.paths.iter().enumerate().skip(1) {
                let mut more: Vec<(u32, f64)> = uses.clone();
                more.extend(flow.paths[0].iter().map(|(r, times)| (*r, -times)));
                more.sort_by_key(|(r, _)| *r);
                for same in more.chunk_by(|a, b| a.0 == b.0) {
                    let times: f64 = same.iter().map(|(_, times)| times).sum();
                    if times.abs() > NOTHING {
                        rows[same[0].0 as usize].push((f, j, flow.weight * times));
                    }
                }
            }
        }
        rows
    }
}

struct Program<'a> {
    network: &'a LinearProgram,
    rows: &'a [Vec<(usize, usize, f64)>],
    base: &'a [f64],
    /// Congestion by the direct paths: the program's t is in units of it, from 0 to 1.
    unit: f64,
    least: f64,
}

impl Program<'_> {
    /// The least t and its shares; with `at`, the least detoured traffic with this t.
    fn solve(&self, at: Option<f64>) -> Option<(f64, Vec<Vec<f64>>)> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let t = match at {
            None => problem.add_var(1.0, (self.least / self.unit, 1.0)),
            Some(at) => problem.add_var(0.0, (0.0, (at * (1.0 + SLACK)).min(1.0))),
        };
        let flows = &self.network.flows;
        let total: f64 = flows.iter().map(|flow| flow.weight).sum();
        let mut variables: Vec<Vec<Variable>> = Vec::with_capacity(flows.len());
        for flow in flows {
            let price = |r: usize| 1.0 + self.base[r] / (self.network.capacity[r] * self.unit);
            let length =
                |uses: &Uses| uses.iter().map(|(r, times)| times * price(*r as usize)).sum::<f64>();
            let mut add = |uses: &Uses| {
                let cost = match at {
                    Some(_) => flow.weight / total * flows.len() as f64 * length(uses),
                    None => 0.0,
                };
                problem.add_var(cost, (0.0, 1.0))
            };
            variables.push(flow.paths.iter().skip(1).map(&mut add).collect());
        }
        for paths in variables.iter().filter(|paths| paths.len() > 1) {
            let sum: Vec<_> = paths.iter().map(|path| (*path, 1.0)).collect();
            problem.add_constraint(&sum[..], ComparisonOp::Le, 1.0);
        }
        for (r, row) in self.rows.iter().enumerate() {
            let scale = self.network.capacity[r] * self.unit;
            let rises: f64 = row.iter().map(|(.., more)| more.max(0.0)).sum();
            if row.is_empty() || (self.base[r] + rises) / scale <= self.least / self.unit {
                continue;
            }
            let mut terms: Vec<_> =
                row.iter().map(|(f, j, more)| (variables[*f][j - 1], more / scale)).collect();
            terms.push((t, -1.0));
            problem.add_constraint(&terms[..], ComparisonOp::Le, -self.base[r] / scale);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        let shares = variables.iter().map(|paths| {
            let mut shares = vec![0.0];
            let of = |path: &Variable| solution.var_value(*path).clamp(0.0, 1.0);
            shares.extend(paths.iter().map(of).map(|y| if y < NOTHING { 0.0 } else { y }));
            let detoured: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|y| *y /= detoured.max(1.0));
            shares[0] = (1.0 - detoured).max(0.0);
            shares
        });
        Some((solution.var_value(t), shares.collect()))
    }
}

fn highest(loads: &[f64], capacity: &[f64]) -> f64 {
    loads.iter().zip(capacity).map(|(load, capacity)| load / capacity).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_base::random::Random;

    /// Flow 0 crosses resource 0; detour i crosses resources 2i + 1 and 2i + 2.
    fn thin(detours: usize, capacity: f64) -> LinearProgram {
        let mut paths = vec![vec![(0, 1.0)]];
        paths.extend((0..detours as u32).map(|i| vec![(2 * i + 1, 1.0), (2 * i + 2, 1.0)]));
        let resources = 2 * detours + 1;
        let mut network = LinearProgram {
            capacity: vec![capacity; resources],
            fixed: vec![0.0; resources],
            flows: vec![PairFlow { weight: 9.0, paths }],
        };
        network.capacity[0] = 1.0;
        network
    }

    #[test]
    fn each_idle_detour_adds_its_capacity() {
        for detours in 0..5 {
            let optimum = thin(detours, 1.0).optimum().unwrap();
            let expected = 9.0 / (1.0 + detours as f64);
            assert!((optimum.congestion - expected).abs() < 1e-5, "{optimum:?}");
            let sum: f64 = optimum.shares[0].iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{optimum:?}");
        }
        let wide = thin(1, 10.0).optimum().unwrap();
        assert!((wide.shares[0][1] - 10.0 / 11.0).abs() < 1e-5, "{wide:?}");
    }

    #[test]
    fn what_no_detour_helps_takes_none() {
        let mut network = thin(2, 1.0);
        network.flows[0].paths.iter_mut().for_each(|path| path.push((5, 1.0)));
        network.capacity.push(1.0);
        network.fixed.push(0.0);
        let optimum = network.optimum().unwrap();
        assert_eq!(optimum.shares[0][0], 1.0);
        assert_eq!(optimum.congestion, 9.0);
    }

    /// Against every split in steps of a tenth on small random networks: none is better.
    #[test]
    fn no_split_of_a_grid_is_better() {
        let mut random = Random::new(3);
        let mut below = |n: usize| random.below(n) as f64;
        let mut gained = 0;
        for _ in 0..60 {
            let mut network = LinearProgram::default();
            for _ in 0..6 {
                network.capacity.push(1.0 + below(3));
                network.fixed.push(below(2));
            }
            for _ in 0..3 {
                let mut path = |length: usize| -> Uses {
                    (0..length).map(|_| (below(6) as u32, 1.0)).collect()
                };
                let paths = vec![path(1), path(2), path(2)];
                network.flows.push(PairFlow { weight: 1.0 + below(4), paths });
            }
            let optimum = network.optimum().unwrap();
            assert!((network.congestion(&optimum.shares) - optimum.congestion).abs() < 1e-4);
            assert!(optimum.shares.iter().all(|y| (y.iter().sum::<f64>() - 1.0).abs() < 1e-9));
            gained += u32::from(optimum.congestion < network.congestion(&network.direct()) - 1e-3);
            let splits: Vec<[f64; 3]> = (0..=10)
                .flat_map(|a| (0..=10 - a).map(move |b| [a, b, 10 - a - b]))
                .map(|split| split.map(|part| f64::from(part) / 10.0))
                .collect();
            for a in &splits {
                for b in &splits {
                    for c in &splits {
                        let shares = [a, b, c].map(|split| split.to_vec());
                        let other = network.congestion(&shares);
                        assert!(optimum.congestion <= other + 1e-4, "{optimum:?} {shares:?}");
                    }
                }
            }
        }
        assert!(gained > 10, "{gained}");
    }

    /// Busy resources are left to those that use them.
    #[test]
    fn fixed_loads_count() {
        let mut network = thin(2, 1.0);
        network.fixed[3] = 9.0;
        let optimum = network.optimum().unwrap();
        assert!(optimum.shares[0][2] < 1e-9, "{optimum:?}");
        network.fixed[3] = 2.0;
        let optimum = network.optimum().unwrap();
        assert!((optimum.congestion - 11.0 / 3.0).abs() < 1e-5, "{optimum:?}");
    }
}
