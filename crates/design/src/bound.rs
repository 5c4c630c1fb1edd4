//! Bounds that hold for every wiring. If a problem asks for more than a bound allows, no wiring
//! solves it.
//!
//! | name | statement for P PCs, at most S ports on a switch and at most k NICs in a PC |
//! |---|---|
//! | `reach` | a PC with n NICs meets at most as many PCs as the n widest switches have ports, less n (Moore) |
//! | `ports` | each PC has the fewest NICs that `reach` allows; the switches together have a port for each of these NICs (Schönheim 1964) |
//! | `furedi` | `P <= S (k - 1 + 1/k)`, and `S (k - 1)` unless the NICs form a projective plane of order k - 1 (Füredi 1981) |
//! | `griesmer` | in such a plane of order q the PCs are a linear code `[P, 3, P - S]` over q elements: `P >= d + ceil(d/q) + ceil(d/q^2)` with `d = P - S` (Griesmer 1960) |
//!
//! `furedi` and `griesmer` hold only if all pairs of PCs must share a switch, the others for any
//! set of pairs that must.

use super::problem::{Required, WiringProblem};

/// The proof that a wiring problem has no solution: the bound that every wiring would violate, by
/// name, and the reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the bound: see the table of the module.
    pub name: &'static str,
    /// Why no wiring can exist, in words.
    pub proof: String,
}

/// Returns the first bound that proves that a wiring problem has no solution; `None` if no bound
/// proves it.
#[must_use]
pub fn violated(problem: &WiringProblem) -> Option<Violation> {
    if problem.pcs() < 2 {
        return None;
    }
    let mut widest: Vec<u64> = problem.ports.iter().map(|p| u64::from(*p)).collect();
    widest.sort_unstable_by(|a, b| b.cmp(a));
    reach(problem, &widest).or_else(|| ports(problem, &widest)).or_else(|| {
        let universal = problem.required == Required::All;
        universal.then(|| plane(problem, &widest)).flatten()
    })
}

/// Returns the smallest number of the widest switches whose other ports hold `degree` other PCs; `None` if all
/// switches together do not.
fn fewest(widest: &[u64], degree: u64) -> Option<u64> {
    let mut others = 0;
    for (index, ports) in widest.iter().enumerate() {
        if others >= degree {
            return Some(index as u64);
        }
        others += ports.saturating_sub(1);
    }
    (others >= degree).then_some(widest.len() as u64)
}

fn reach(problem: &WiringProblem, widest: &[u64]) -> Option<Violation> {
    let degrees = problem.degrees();
    (0..problem.pcs()).find_map(|pc| {
        let nics = problem.nics[pc] as usize;
        let others: u64 = widest.iter().take(nics).map(|p| p.saturating_sub(1)).sum();
        (others < u64::from(degrees[pc])).then(|| Violation {
            name: "reach",
            proof: format!(
                "PC {pc} reaches at most {others} others by its {nics} NICs on the widest \
                 switches, and must reach {}",
                degrees[pc]
            ),
        })
    })
}

fn ports(problem: &WiringProblem, widest: &[u64]) -> Option<Violation> {
    let there: u64 = widest.iter().sum();
    let needed: u64 =
        problem.degrees().iter().map(|d| fewest(widest, u64::from(*d)).unwrap_or(0)).sum();
    (needed > there).then(|| Violation {
        name: "ports",
        proof: format!(
            "the PCs need {needed} ports in all, each as many as hold those it must reach, and the \
             switches have {there}"
        ),
    })
}

fn plane(problem: &WiringProblem, widest: &[u64]) -> Option<Violation> {
    let (pcs, width) = (problem.pcs() as u64, widest.first().copied().unwrap_or(0));
    let k = u64::from(problem.nics.iter().copied().max().unwrap_or(0));
    if k == 0 || width == 0 {
        return None;
    }
    let without = if k == 1 { width } else { width * (k - 1) };
    let furedi = width * (k * (k - 1) + 1) / k;
    if pcs > furedi {
        return Some(Violation {
            name: "furedi",
            proof: format!(
                "{k} NICs on switches of {width} ports hold at most {furedi} PCs, \
                 ports x (k - 1 + 1/k), with any number of switches"
            ),
        });
    }
    if pcs <= without {
        return None;
    }
    if NO_PLANE.contains(&(k - 1)) {
        return Some(Violation {
            name: "furedi",
            proof: format!(
                "more than {without} PCs by {k} NICs on switches of {width} ports need a \
                 projective plane of order {}, which does not exist",
                k - 1
            ),
        });
    }
    let griesmer = UNIQUE_PLANE.contains(&(k - 1)).then(|| griesmer(k - 1, width))?;
    (pcs > griesmer.max(without)).then(|| Violation {
        name: "griesmer",
        proof: format!(
            "{pcs} PCs by {k} NICs on switches of {width} ports would be a code [{pcs}, 3, {}] over \
             {} elements, and codes of that kind end at {} PCs",
            pcs - width,
            k - 1,
            griesmer.max(without)
        ),
    })
}

/// Returns the largest number of PCs that the Griesmer bound allows on switches of `width` ports,
/// where each PC has `q + 1` NICs and the NICs form a projective plane of order `q`.
#[must_use]
pub fn griesmer(q: u64, width: u64) -> u64 {
    let mut most = width;
    for pcs in width..=width * (q + 1) {
        let d = pcs - width;
        if pcs >= d + d.div_ceil(q) + d.div_ceil(q * q) {
            most = pcs;
        }
    }
    most
}

/// Returns an upper bound on the number of links (shared switches), summed over all pairs of PCs:
/// the number that results if the NICs fill the switches with the most ports first
/// (flat-neighborhood-network-compiler, section 4.1).
#[must_use]
pub fn links(problem: &WiringProblem) -> u64 {
    sum_over_switches(problem, |used| used * used.saturating_sub(1) / 2)
}

/// Fills the ports of the switches with all NICs, the switch with the most ports first, and returns
/// the sum of `most(used ports)` over the switches. If `most` is convex, no other distribution of
/// the NICs over the switches gives a larger sum.
pub fn sum_over_switches(problem: &WiringProblem, most: impl Fn(u64) -> u64) -> u64 {
    let mut nics: u64 = problem.nics.iter().map(|n| u64::from(*n)).sum();
    let mut ports: Vec<u64> =
        problem.ports.iter().map(|p| u64::from(*p).min(problem.pcs() as u64)).collect();
    ports.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    for ports in ports {
        let used = ports.min(nics);
        nics -= used;
        sum += most(used);
    }
    sum
}

/// Returns how many pairs of PCs can share a row or column at most, if `places` PCs stand on a grid
/// of `a` by `b` places. The largest number is reached by filling one line of the longer side after
/// the other (Lindsey 1964).
#[must_use]
pub fn lindsey(a: u64, b: u64, places: u64) -> u64 {
    let (short, long) = (a.min(b), a.max(b));
    let places = places.min(short * long);
    let (full, rest) = (places / long, places % long);
    let two = |n: u64| n * n.saturating_sub(1) / 2;
    full * two(long) + two(rest) + rest * two(full + 1) + (long - rest) * two(full)
}

/// Orders up to 10 for which no projective plane exists (Bruck and Ryser 1949; Lam 1989).
const NO_PLANE: [u64; 2] = [6, 10];
/// Orders whose only projective plane is the one over a field, so that the PCs form a code.
const UNIQUE_PLANE: [u64; 6] = [2, 3, 4, 5, 7, 8];
