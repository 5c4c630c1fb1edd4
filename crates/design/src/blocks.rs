//! Known wirings of 4, 5 and 8 to 11 switches in which any two PCs share a switch (universal
//! wirings). For the ports of their switches they serve the largest possible number of PCs,
//! whatever the number of NICs per PC (Mills 1979, Todorov 1985: coverings by few blocks).
//!
//! With `S` ports per switch, the largest number of PCs of which any two share a switch is 5/3 S
//! with 4 switches, 9/5 S with 5, 12/5 S with 8, 5/2 S with 9, 8/3 S with 10 and 14/5 S with 11.
//! With 3, 6, 7, 12 and 13 switches the families of `construct` reach the best known numbers of
//! PCs. The wirings in this file were found with this crate's search.

use super::family::Family;

/// Returns the known family of switch sets for exactly this number of switches, if its largest set
/// has `k` switches; otherwise `None`. A PC is cabled to all switches of one set, so `k` is the
/// number of NICs that a PC needs.
pub fn blocks(switches: usize, k: usize) -> Option<Family> {
    let (_, rows) = WIRINGS.iter().find(|(m, _)| *m == switches)?;
    let mut sets = Vec::new();
    for (copies, set) in *rows {
        // A set used by several PCs is listed as many times.
        sets.extend(std::iter::repeat_n(set.to_vec(), *copies));
    }
    let most = sets.iter().map(Vec::len).max();
    let copies = |family: &Family, ports: u32| {
        let on = |s: u32| family.sets.iter().filter(|set| set.contains(&s)).count() as u32;
        let widest = (0..family.switches as u32).map(on).max().unwrap_or(1);
        vec![ports / widest; family.sets.len()]
    };
    let name = format!("covering by {switches} blocks");
    (most == Some(k)).then_some(Family { name, switches, sets, copies })
}

/// A number of PCs, and the switches that each of these PCs is on.
type Copies = (usize, &'static [u32]);

/// The known wirings, by number of switches.
const WIRINGS: &[(usize, &[Copies])] = &[
    // 3 ports, 5 PCs.
    (4, &[(2, &[0, 1, 2]), (1, &[0, 3]), (1, &[1, 3]), (1, &[2, 3])]),
    // 5 ports, 9 PCs.
    (5, &[(2, &[0, 1, 2]), (3, &[0, 3, 4]), (2, &[1, 2, 3]), (1, &[1, 4]), (1, &[2, 4])]),
    // 10 ports, 24 PCs.
    (
        8,
        &[
            (3, &[0, 1, 7]),
            (4, &[0, 2, 3, 6]),
            (3, &[0, 4, 5]),
            (4, &[1, 2, 4, 6]),
            (3, &[1, 3, 5]),
            (2, &[2, 5, 7]),
            (3, &[3, 4, 7]),
            (2, &[5, 6, 7]),
        ],
    ),
    // 4 ports, 10 PCs.
    (
        9,
        &[
            (2, &[0, 1, 7, 8]),
            (2, &[0, 2, 3, 4]),
            (1, &[1, 3, 5]),
            (1, &[1, 4, 6]),
            (2, &[2, 5, 6, 8]),
            (1, &[3, 6, 7]),
            (1, &[4, 5, 7]),
        ],
    ),
    // 6 ports, 16 PCs.
    (
        10,
        &[
            (2, &[0, 1, 3, 7]),
            (2, &[0, 2, 8, 9]),
            (2, &[0, 4, 5, 6]),
            (2, &[1, 2, 4, 5]),
            (2, &[1, 6, 8, 9]),
            (2, &[2, 3, 6, 7]),
            (1, &[3, 4, 8]),
            (1, &[3, 5, 9]),
            (1, &[4, 7, 9]),
            (1, &[5, 7, 8]),
        ],
    ),
    // 10 ports, 28 PCs.
    (
        11,
        &[
            (1, &[0, 1, 2]),
            (1, &[0, 3, 4, 8]),
            (1, &[0, 3, 5, 8]),
            (2, &[0, 4, 6, 7]),
            (3, &[0, 5, 7, 9]),
            (2, &[0, 6, 8, 10]),
            (4, &[1, 3, 7, 10]),
            (3, &[1, 4, 8, 9]),
            (2, &[1, 5, 6, 8]),
            (4, &[2, 3, 6, 9]),
            (4, &[2, 4, 5, 10]),
            (1, &[2, 7, 8]),
        ],
    ),
];
