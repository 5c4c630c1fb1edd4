//! Basic routing of a flat neighbourhood (PCs with NICs on several switches that no cable joins): chooses for each
//! pair of PCs one of the switches that they share, so that all NICs carry about the same number of paths
//! (flat-neighborhood-network-compiler, section 3.2).
//!
//! The order is the paper's: the most important pairs first, among these the pairs with the fewest shared switches;
//! each pair uses the NICs that have the fewest paths so far. Then paths are moved one at a time to other NICs while
//! that makes the numbers of paths per NIC more even.

use std::collections::BTreeMap;

use tresse_base::wiring::Wiring;

/// The result of basic routing in a flat neighbourhood: the switch and the two NICs that each pair of PCs uses, and
/// the number of paths over each NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basic {
    pcs: usize,
    /// `[a * pcs + b]`: the NIC of `a` on the way to `b`; [`NO_NIC`] where no switch is shared.
    chosen: Vec<u8>,
    /// By PC, the switch of each NIC.
    rows: Vec<Vec<u32>>,
    /// Paths of each PC's NICs.
    loads: Vec<Vec<u32>>,
}

/// No switch is shared.
const NO_NIC: u8 = u8::MAX;

/// How evenly paths are spread over the NICs: the number of paths of the least and of the most used NIC, and the sum
/// of the squares of the numbers of all NICs.
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
        Self::of_rows(wiring.rows(pcs), importance)
    }

    /// Routes between PCs whose NICs are on these switches, in any order.
    #[must_use]
    pub fn of_rows(rows: Vec<Vec<u32>>, importance: &BTreeMap<(u32, u32), f64>) -> Self {
        let pcs = rows.len();
        let loads = rows.iter().map(|row| vec![0; row.len()]).collect();
        let mut pairs: Vec<Pair> = (0..pcs)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .map(|(a, b)| Pair { a, b, nic_pairs: nic_pairs(&rows[a], &rows[b]) })
            .filter(|pair| !pair.nic_pairs.is_empty())
            .collect();
        let mut basic = Self { pcs, chosen: vec![NO_NIC; pcs * pcs], rows, loads };
        let weight = |p: &Pair| importance.get(&(p.a as u32, p.b as u32)).copied().unwrap_or(0.0);
        pairs.sort_by(|p, q| {
            weight(q).total_cmp(&weight(p)).then(p.nic_pairs.len().cmp(&q.nic_pairs.len()))
        });
        for pair in &pairs {
            let nic_pair = pair.nic_pairs.iter().min_by_key(|nic_pair| {
                let (x, y) =
                    (basic.loads[pair.a][nic_pair.at_a], basic.loads[pair.b][nic_pair.at_b]);
                (x.max(y), x + y, nic_pair.switch)
            });
            if let Some(nic_pair) = nic_pair {
                basic.take(pair, nic_pair, 1);
            }
        }
        while basic.improve(&pairs) {}
        basic
    }

    /// One round over all pairs; whether it found something. The sum of squares falls each time.
    fn improve(&mut self, pairs: &[Pair]) -> bool {
        let mut found = false;
        for pair in pairs {
            let now = self.nics(pair.a, pair.b);
            let Some(old) =
                pair.nic_pairs.iter().find(|nic_pair| Some((nic_pair.at_a, nic_pair.at_b)) == now)
            else {
                continue;
            };
            self.take(pair, old, -1);
            // Adding one to n adds 2n + 1 to the squares.
            let rise = |nic_pair: &NicPair| {
                self.loads[pair.a][nic_pair.at_a] + self.loads[pair.b][nic_pair.at_b]
            };
            let best = pair
                .nic_pairs
                .iter()
                .min_by_key(|nic_pair| (rise(nic_pair), nic_pair.switch))
                .unwrap_or(old);
            let best = if rise(best) < rise(old) { best } else { old };
            found |= (best.at_a, best.at_b) != (old.at_a, old.at_b);
            self.take(pair, best, 1);
        }
        found
    }

    fn take(&mut self, pair: &Pair, nic_pair: &NicPair, paths: i32) {
        for (pc, peer, nic) in [(pair.a, pair.b, nic_pair.at_a), (pair.b, pair.a, nic_pair.at_b)] {
            self.chosen[pc * self.pcs + peer] = if paths > 0 { nic as u8 } else { NO_NIC };
            self.loads[pc][nic] = self.loads[pc][nic].saturating_add_signed(paths);
        }
    }

    /// The NICs of a pair, that of `a` first.
    #[must_use]
    pub fn nics(&self, a: usize, b: usize) -> Option<(usize, usize)> {
        let nic = |pc: usize, peer: usize| self.chosen.get(pc * self.pcs + peer).copied();
        let (at_a, at_b) = (nic(a, b)?, nic(b, a)?);
        (at_a != NO_NIC).then_some((at_a.into(), at_b.into()))
    }

    /// The switch of a pair.
    #[must_use]
    pub fn switch(&self, a: u32, b: u32) -> Option<u32> {
        let (at_a, _) = self.nics(a as usize, b as usize)?;
        Some(self.rows[a as usize][at_a])
    }

    /// By PC, the paths of each NIC.
    #[must_use]
    pub fn loads(&self) -> &[Vec<u32>] {
        &self.loads
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
        let all = (0..self.pcs as u32).flat_map(|a| (0..self.pcs as u32).map(move |b| (a, b)));
        let width = all.filter_map(|(a, b)| self.switch(a, b)).max();
        let width = width.map_or(1, |switch| switch.to_string().len());
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
    nic_pairs: Vec<NicPair>,
}

/// A switch that both are on, by which NIC of each.
struct NicPair {
    switch: u32,
    at_a: usize,
    at_b: usize,
}

/// One pair per shared switch, or where one of the two has several NICs there, as many, each NIC once or more.
fn nic_pairs(a: &[u32], b: &[u32]) -> Vec<NicPair> {
    let at = |row: &[u32], switch: u32| -> Vec<usize> {
        (0..row.len()).filter(|nic| row[*nic] == switch).collect()
    };
    let mut nic_pairs = Vec::new();
    for (first, &switch) in a.iter().enumerate() {
        if a[..first].contains(&switch) || !b.contains(&switch) {
            continue;
        }
        let (of_a, of_b) = (at(a, switch), at(b, switch));
        nic_pairs.extend((0..of_a.len().max(of_b.len())).map(|k| NicPair {
            switch,
            at_a: of_a[k % of_a.len()],
            at_b: of_b[k % of_b.len()],
        }));
    }
    nic_pairs
}

/// Returns the pairs of NICs by which two PCs share a switch, in the order of the first PC's NICs: each pair is the
/// index of a NIC of the first PC and that of a NIC of the second. `a` and `b` give the switch of each NIC of the two
/// PCs.
#[must_use]
pub fn shared(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    nic_pairs(a, b).into_iter().map(|nic_pair| (nic_pair.at_a, nic_pair.at_b)).collect()
}

#[cfg(test)]
mod tests {
    use tresse_design::{Designer, Spec};

    use super::*;

    /// No wiring of KLAT2 can have fewer than 16 paths on its busiest NIC; the greedy alone leaves 21
    /// (docs/references.md, "Known instances").
    #[test]
    fn basic_routing_is_even() {
        let spec = "[design]\npcs = 64\nnics = 4\nswitches = [31, 31, 31, 31, 31, 31, 31, 31, 8]\n\
                    [[pattern]]\nkind = \"rows-and-columns\"\ndims = [8, 8]\n";
        let problem = Spec::parse(spec).unwrap().problem(&[31, 31, 31, 31, 31, 31, 31, 31, 8], 0);
        let mut designer = Designer::new(problem.unwrap(), 1).unwrap();
        while designer.progress().uncovered > 0 {
            designer.step(50_000);
        }
        let (wiring, problem) = (designer.wiring().unwrap(), designer.problem());
        let basic = Basic::assign(&wiring, 64, &problem.weights);
        let spread = basic.spread();
        assert!(spread.most <= 20 && spread.least >= 7, "{spread:?}");
        let links = wiring.links(64);
        for a in 0..64u32 {
            for b in 0..64u32 {
                let switch = basic.switch(a, b);
                assert_eq!(switch, basic.switch(b, a));
                assert_eq!(switch.is_some(), a != b && links[(a * 64 + b) as usize] > 0);
                if let Some(switch) = switch {
                    let members = &wiring.switches[switch as usize];
                    assert!(members.contains(&a) && members.contains(&b));
                }
            }
        }
        assert_eq!(basic.table().lines().count(), 64);
    }
}
