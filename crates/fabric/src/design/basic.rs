//! Basic routing of a flat neighbourhood: one switch for each pair of PCs, chosen so that all NICs
//! are kept busy (flat-neighborhood-network-compiler, section 3.2).
//!
//! The paper's order: the most important pairs first, among these those with the fewest shared
//! switches, each by the NICs that have the fewest paths so far. Then paths are moved one at a time
//! while that makes the loads more even.

use std::collections::BTreeMap;

use super::wiring::Wiring;

/// A switch for every pair, and what it makes of the NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basic {
    pcs: usize,
    /// `[a * pcs + b]`, both ways; none where no switch is shared.
    chosen: Vec<Option<u32>>,
    /// Paths of each PC's NICs, in the order of its switches.
    loads: Vec<Vec<u32>>,
}

/// The spread of the paths over the NICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Paths of the NIC with the fewest.
    pub least: u32,
    /// Paths of the NIC with the most.
    pub most: u32,
    /// Sum of the squares.
    pub squares: u64,
}

impl Basic {
    /// Routes over a wiring of so many PCs; pairs without importance count 0. Pairs are tried
    /// O(pairs x switches shared) times per round of improvement.
    #[must_use]
    pub fn assign(wiring: &Wiring, pcs: usize, importance: &BTreeMap<(u32, u32), f64>) -> Self {
        let rows = wiring.rows(pcs);
        let loads = rows.iter().map(|row| vec![0; row.len()]).collect();
        let mut basic = Self { pcs, chosen: vec![None; pcs * pcs], loads };
        let mut pairs: Vec<Pair> = (0..pcs)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .map(|(a, b)| Pair { a, b, ways: ways(&rows[a], &rows[b]) })
            .filter(|pair| !pair.ways.is_empty())
            .collect();
        let weight = |p: &Pair| importance.get(&(p.a as u32, p.b as u32)).copied().unwrap_or(0.0);
        pairs.sort_by(|p, q| weight(q).total_cmp(&weight(p)).then(p.ways.len().cmp(&q.ways.len())));
        for pair in &pairs {
            let way = pair.ways.iter().min_by_key(|way| {
                let (x, y) = (basic.loads[pair.a][way.at_a], basic.loads[pair.b][way.at_b]);
                (x.max(y), x + y, way.switch)
            });
            if let Some(way) = way {
                basic.take(pair, way, 1);
            }
        }
        while basic.improve(&pairs) {}
        basic
    }

    /// One round over all pairs; whether it found something. The sum of squares falls each time.
    fn improve(&mut self, pairs: &[Pair]) -> bool {
        let mut found = false;
        for pair in pairs {
            let now = self.chosen[pair.a * self.pcs + pair.b];
            let Some(old) = pair.ways.iter().find(|way| Some(way.switch) == now) else { continue };
            self.take(pair, old, -1);
            // Adding one to n adds 2n + 1 to the squares.
            let rise = |way: &Way| self.loads[pair.a][way.at_a] + self.loads[pair.b][way.at_b];
            let best = pair.ways.iter().min_by_key(|way| (rise(way), way.switch)).unwrap_or(old);
            let best = if rise(best) < rise(old) { best } else { old };
            found |= best.switch != old.switch;
            self.take(pair, best, 1);
        }
        found
    }

    fn take(&mut self, pair: &Pair, way: &Way, paths: i32) {
        let switch = (paths > 0).then_some(way.switch);
        self.chosen[pair.a * self.pcs + pair.b] = switch;
        self.chosen[pair.b * self.pcs + pair.a] = switch;
        for (pc, nic) in [(pair.a, way.at_a), (pair.b, way.at_b)] {
            self.loads[pc][nic] = self.loads[pc][nic].saturating_add_signed(paths);
        }
    }

    /// The switch of a pair.
    #[must_use]
    pub fn switch(&self, a: u32, b: u32) -> Option<u32> {
        self.chosen.get(a as usize * self.pcs + b as usize).copied().flatten()
    }

    /// How the paths are spread.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let loads = || self.loads.iter().flatten().copied();
        Spread {
            least: loads().min().unwrap_or(0),
            most: loads().max().unwrap_or(0),
            squares: loads().map(|load| u64::from(load).pow(2)).sum(),
        }
    }

    /// The paper's table (Figure 3): a row per PC, the switch for every other, `-` for itself and
    /// `.` where none is shared.
    #[must_use]
    pub fn table(&self) -> String {
        let width = self.chosen.iter().flatten().max().map_or(1, |s| s.to_string().len());
        let mut table = String::new();
        for a in 0..self.pcs as u32 {
            for b in 0..self.pcs as u32 {
                let cell = match self.switch(a, b) {
                    _ if a == b => "-".to_owned(),
                    Some(switch) => switch.to_string(),
                    None => ".".to_owned(),
                };
                table.push_str(&format!("{}{cell:>width$}", if b > 0 { " " } else { "" }));
            }
            table.push('\n');
        }
        table
    }
}

/// Two PCs and what they share.
struct Pair {
    a: usize,
    b: usize,
    ways: Vec<Way>,
}

/// A switch that both are on, by which NIC of each.
struct Way {
    switch: u32,
    at_a: usize,
    at_b: usize,
}

fn ways(a: &[u32], b: &[u32]) -> Vec<Way> {
    let at = |(at_a, switch): (usize, &u32)| {
        let at_b = b.binary_search(switch).ok()?;
        Some(Way { switch: *switch, at_a, at_b })
    };
    a.iter().enumerate().filter_map(at).collect()
}
