//! Places PCs and switches into a row of racks so that cables are short
//! (flat-neighborhood-network-compiler, section 1: node physical placement).
//!
//! A cable from rack `a` to rack `b` has the length `|a - b|`. Each switch is put into the median
//! of the racks of its PCs, which is optimal as long as the PCs stay where they are. Pairs of PCs
//! are exchanged as long as that makes cables shorter. This is repeated from several random starts;
//! the result need not be optimal.

use schemars::JsonSchema;
use serde::Serialize;
use tresse_base::random::Random;
use tresse_base::wiring::Wiring;

/// The rack of every PC and switch, and the total length of all cables. Racks stand in a row and
/// are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Placement {
    /// Rack of each PC.
    pub pcs: Vec<u32>,
    /// Rack of each switch; 0 for an unused switch.
    pub switches: Vec<u32>,
    /// Total length of all cables, in racks; a cable within one rack has length 0.
    pub length: u64,
    /// Total length if PCs filled the racks in the order of their numbers.
    pub length_by_number: u64,
}

/// Places the PCs and switches of a wiring into racks so that cables are short. A rack holds `rack`
/// PCs (0 counts as 1), and `seed` determines the random starts. O(PCs^2 x NICs) per round, at most
/// `ROUNDS` rounds for each start.
#[must_use]
pub fn place(wiring: &Wiring, pcs: usize, rack: u32, seed: u64) -> Placement {
    let mut random = Random::new(seed);
    let rows = wiring.rows(pcs);
    let by_number: Vec<u32> = (0..pcs as u32).collect();
    // PCs with the same switches together.
    let mut by_row = by_number.clone();
    by_row.sort_by_key(|pc| &rows[*pc as usize]);
    let mut orders = vec![by_number, by_row];
    for _ in 0..SHUFFLES {
        let mut order = orders[0].clone();
        random.shuffle(&mut order);
        orders.push(order);
    }
    let filled = |order: &Vec<u32>| {
        let mut racks = vec![0; pcs];
        (0u32..).zip(order).for_each(|(slot, pc)| racks[*pc as usize] = slot / rack.max(1));
        Floor::new(wiring, &rows, racks)
    };
    let length_by_number = filled(&orders[0]).length();
    let floors = orders.iter().map(|order| {
        let mut floor = filled(order);
        for _ in 0..ROUNDS {
            if !floor.improve() {
                break;
            }
        }
        (floor.length(), floor)
    });
    let best = floors.min_by_key(|(length, _)| *length);
    best.map_or_else(
        || Placement { pcs: Vec::new(), switches: Vec::new(), length: 0, length_by_number },
        |(length, floor)| Placement {
            pcs: floor.pcs,
            switches: floor.switches,
            length,
            length_by_number,
        },
    )
}

/// Racks of PCs and switches while they change.
struct Floor<'a> {
    wiring: &'a Wiring,
    rows: &'a [Vec<u32>],
    pcs: Vec<u32>,
    switches: Vec<u32>,
}

impl<'a> Floor<'a> {
    fn new(wiring: &'a Wiring, rows: &'a [Vec<u32>], pcs: Vec<u32>) -> Self {
        let mut floor = Self { wiring, rows, pcs, switches: Vec::new() };
        floor.settle();
        floor
    }

    /// Moves every switch to the median rack of its PCs.
    fn settle(&mut self) {
        let median = |members: &Vec<u32>| {
            let mut racks: Vec<u32> = members.iter().map(|pc| self.pcs[*pc as usize]).collect();
            racks.sort_unstable();
            racks.get(racks.len() / 2).copied().unwrap_or(0)
        };
        self.switches = self.wiring.switches.iter().map(median).collect();
    }

    /// Returns the length of the cables of a PC if it stood in this rack.
    fn cables(&self, pc: usize, rack: u32) -> u64 {
        let length = |switch: &u32| u64::from(self.switches[*switch as usize].abs_diff(rack));
        self.rows[pc].iter().map(length).sum()
    }

    fn length(&self) -> u64 {
        (0..self.pcs.len()).map(|pc| self.cables(pc, self.pcs[pc])).sum()
    }

    /// Tries to exchange every pair of PCs once. Returns whether cables became shorter.
    fn improve(&mut self) -> bool {
        let mut shorter = false;
        for p in 0..self.pcs.len() {
            for q in 0..p {
                let (at_p, at_q) = (self.pcs[p], self.pcs[q]);
                let now = self.cables(p, at_p) + self.cables(q, at_q);
                if at_p != at_q && self.cables(p, at_q) + self.cables(q, at_p) < now {
                    self.pcs.swap(p, q);
                    shorter = true;
                }
            }
        }
        self.settle();
        shorter
    }
}

/// Number of random starts.
const SHUFFLES: usize = 6;
/// Largest number of rounds from one start.
const ROUNDS: usize = 50;
