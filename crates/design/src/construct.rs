//! Constructs universal wirings, in which all pairs of PCs share a switch, without a search.
//!
//! Each construction is a family of switch sets of which any two have a switch in common. A PC is
//! cabled to all switches of one set; the ports limit how many PCs can use each set. The families:
//! projective planes with lines left out (Belov, Logachev and Sandimirov 1974), affine planes,
//! difference covers (Haanpää 2004), coverings by few blocks (`blocks`), and all sets of more than
//! half of the switches.

use tresse_base::wiring::Wiring;

use super::blocks::blocks;
use super::family::Family;
use super::field::Field;
use super::problem::{Required, WiringProblem};

/// Returns the wiring that the first suitable construction gives for a problem, and the name of the
/// construction. `None` if no construction satisfies the problem, or if not all pairs of PCs must
/// share a switch.
#[must_use]
pub fn construct(problem: &WiringProblem) -> Option<(Wiring, String)> {
    if problem.required != Required::All {
        return None;
    }
    let nics = problem.nics.iter().copied().min()? as usize;
    let mut order: Vec<u32> = (0..problem.ports.len() as u32).collect();
    order.sort_by_key(|s| std::cmp::Reverse(problem.ports[*s as usize]));
    let ports: Vec<u32> = order.iter().map(|s| problem.ports[*s as usize]).collect();
    for family in families(nics, ports.len()) {
        let Some(counts) = family.counts(&ports[..family.switches], problem.pcs() as u32) else {
            continue;
        };
        let sets = family.sets.iter().zip(counts).flat_map(|(set, count)| {
            let set: Vec<u32> = set.iter().map(|s| order[*s as usize]).collect();
            std::iter::repeat_n(set, count as usize)
        });
        let rows: Vec<Vec<u32>> = sets.collect();
        let mut wiring = Wiring::from_rows(problem.ports.len(), &rows);
        wiring.switches.iter_mut().for_each(|members| members.sort_unstable());
        return Some((wiring, family.name));
    }
    None
}

/// Returns the families of switch sets ([`Family`]: any two sets have a switch in common, and each
/// PC is cabled to all switches of one set) that need at most `nics` NICs per PC and at most
/// `switches` switches, in ascending order of NICs.
#[must_use]
pub fn families(nics: usize, switches: usize) -> Vec<Family> {
    let mut families = Vec::new();
    for k in 1..=nics {
        // All sets of k switches meet where there are fewer than 2k.
        for m in [2 * k - 1, 2 * k - 2].into_iter().filter(|m| (1..=switches).contains(m)) {
            if m >= k && m <= MOST_SUBSETS_OF {
                families.push(subsets(m, k));
            }
        }
        if let Some(field) = k.checked_sub(1).and_then(Field::new) {
            if k * (k - 1) <= switches {
                families.push(affine(&field, k - 1));
            }
            if k * k - k < switches {
                families.push(projective(&field, k - 1));
            }
        }
        for (m, cover) in COVERS.iter().filter(|(m, c)| c.len() == k && *m <= switches) {
            families.push(cyclic(*m, cover));
        }
        families.extend((1..=switches.min(MOST_BLOCKS)).filter_map(|m| blocks(m, k)));
    }
    families
}

fn subsets(m: usize, k: usize) -> Family {
    let sets = (0u32..1 << m)
        .filter(|set| set.count_ones() as usize == k)
        .map(|set| (0..m as u32).filter(|s| set & (1 << s) != 0).collect())
        .collect();
    let name = format!("all sets of {k} of {m} switches");
    Family { name, switches: m, sets, copies: |_, _| Vec::new() }
}

fn cyclic(m: usize, cover: &[u32]) -> Family {
    let sets = (0..m as u32)
        .map(|i| {
            let mut set: Vec<u32> = cover.iter().map(|d| (d + i) % m as u32).collect();
            set.sort_unstable();
            set
        })
        .collect();
    let name = format!("difference cover of Z{m} by {} elements", cover.len());
    Family { name, switches: m, sets, copies: |_, _| Vec::new() }
}

fn projective(field: &Field, q: usize) -> Family {
    let points = field.points();
    // The lines of the conic come first, so that the code below recognises them.
    let mut lines = field.conic();
    lines.extend(points.iter().copied().filter(|line| !field.conic().contains(line)));
    let name = format!("projective plane of order {q}");
    Family {
        name,
        switches: lines.len(),
        sets: on_lines(field, &points, &lines),
        copies: |family, ports| {
            let k = family.sets.first().map_or(1, Vec::len) as u32;
            let copies = ports.div_ceil(k);
            let out = copies * k - ports;
            family
                .sets
                .iter()
                .map(|set| copies.saturating_sub(set.iter().filter(|s| **s < out).count() as u32))
                .collect()
        },
    }
}

fn affine(field: &Field, q: usize) -> Family {
    let points: Vec<_> = field.points().into_iter().filter(|p| p[0] == 1).collect();
    // All lines but the one of the points left out.
    let lines: Vec<_> = field.points().into_iter().filter(|l| *l != [1, 0, 0]).collect();
    let name = format!("affine plane of order {q}");
    let sets = on_lines(field, &points, &lines);
    Family { name, switches: lines.len(), sets, copies: |_, _| Vec::new() }
}

fn on_lines(field: &Field, points: &[[u8; 3]], lines: &[[u8; 3]]) -> Vec<Vec<u32>> {
    let on = |point: &[u8; 3]| {
        let lines = lines.iter().enumerate();
        lines.filter(|(_, line)| field.incident(*point, **line)).map(|(s, _)| s as u32).collect()
    };
    points.iter().map(on).collect()
}

/// The largest number of switches of a covering by few blocks.
const MOST_BLOCKS: usize = 11;
/// The largest number of switches for which all sets of more than half of them are tried; with more switches there
/// are too many sets.
const MOST_SUBSETS_OF: usize = 13;
/// Difference covers: for a number of switches m, numbers whose differences are all of Z_m (Haanpää 2004 lists how
/// many are needed; these were found by trying all).
const COVERS: &[(usize, &[u32])] = &[
    (4, &[0, 1, 2]),
    (5, &[0, 1, 2]),
    (6, &[0, 1, 3]),
    (8, &[0, 1, 2, 4]),
    (9, &[0, 1, 2, 4]),
    (10, &[0, 1, 2, 5]),
    (11, &[0, 1, 2, 5]),
    (12, &[0, 1, 3, 7]),
    (14, &[0, 1, 2, 3, 7]),
    (15, &[0, 1, 2, 3, 7]),
    (16, &[0, 1, 2, 5, 8]),
    (17, &[0, 1, 2, 4, 12]),
    (18, &[0, 1, 2, 5, 11]),
    (19, &[0, 1, 2, 6, 9]),
    (22, &[0, 1, 2, 3, 7, 11]),
    (23, &[0, 1, 2, 3, 7, 11]),
    (24, &[0, 1, 2, 3, 7, 15]),
    (25, &[0, 1, 2, 3, 8, 12]),
    (26, &[0, 1, 2, 5, 9, 15]),
    (27, &[0, 1, 2, 5, 13, 22]),
    (28, &[0, 1, 4, 15, 20, 22]),
    (29, &[0, 1, 2, 3, 4, 9, 14]),
    (30, &[0, 1, 2, 3, 4, 9, 19]),
    (32, &[0, 1, 2, 3, 7, 11, 19]),
    (33, &[0, 1, 2, 3, 6, 16, 27]),
    (34, &[0, 1, 2, 3, 7, 12, 20]),
    (35, &[0, 1, 2, 3, 8, 12, 21]),
    (36, &[0, 1, 2, 5, 14, 20, 30]),
    (37, &[0, 1, 2, 4, 10, 15, 22]),
    (39, &[0, 1, 2, 4, 13, 18, 33]),
];
