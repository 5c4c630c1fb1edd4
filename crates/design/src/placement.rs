//! Where PCs and switches stand: racks in a row, filled so that cables cross as few racks as possible
//! (flat-neighborhood-network-compiler, section 1: node physical placement).
//!
//! A cable from rack `a` to rack `b` has the length `|a - b|`. Each switch stands at the median of its
//! PCs' racks, which is best for it wherever they are; PCs change places in pairs while that makes
//! cables shorter. From several beginnings; none of them is proved best.

use schemars::JsonSchema;
use serde::Serialize;
use tresse_base::random::Random;
use tresse_base::wiring::Wiring;

/// A rack for everything, racks in a row from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Placement {
    /// By PC.
    pub pcs: Vec<u32>,
    /// By switch; 0 for one that is not used.
    pub switches: Vec<u32>,
    /// Length of all cables together, in racks; nothing for a cable within one.
    pub length: u64,
    /// The same with PCs in the order of their numbers.
    pub length_by_number: u64,
}

/// Places the PCs of a wiring, so many to a rack, of which there is at least one. O(PCs^2 x NICs) for
/// each of at most `ROUNDS` rounds.
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

    /// Every switch to the median of its PCs.
    fn settle(&mut self) {
        let median = |members: &Vec<u32>| {
            let mut racks: Vec<u32> = members.iter().map(|pc| self.pcs[*pc as usize]).collect();
            racks.sort_unstable();
            racks.get(racks.len() / 2).copied().unwrap_or(0)
        };
        self.switches = self.wiring.switches.iter().map(median).collect();
    }

    /// Length of the cables of a PC if it stood in this rack.
    fn cables(&self, pc: usize, rack: u32) -> u64 {
        let length = |switch: &u32| u64::from(self.switches[*switch as usize].abs_diff(rack));
        self.rows[pc].iter().map(length).sum()
    }

    fn length(&self) -> u64 {
        (0..self.pcs.len()).map(|pc| self.cables(pc, self.pcs[pc])).sum()
    }

    /// One round over all pairs of PCs; whether cables became shorter.
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

/// Beginnings by chance.
const SHUFFLES: usize = 6;
/// Rounds from one beginning at most.
const ROUNDS: usize = 50;
