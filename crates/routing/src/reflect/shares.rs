//! Converts shares of traffic into small whole numbers, the weights of a nexthop group (rule K6).

/// The largest sum that the weights of one pair's paths may have.
pub const MOST: u32 = 64;

/// Shares that are so near are as good as equal: well below what hashing a few hundred flows spreads.
const NEAR: f64 = 1.0 / 512.0;

/// Returns whole weights that are nearly in proportion to `shares`, the shares of the traffic on each path, which sum
/// to 1. They have the smallest sum with which each share is right to 1/512, else the sum of at most [`MOST`] with the
/// smallest error. The first weight, that of the direct path, is at least 1.
#[must_use]
pub fn weights(shares: &[f64]) -> Vec<u32> {
    let mut best: Option<(f64, Vec<u32>)> = None;
    for sum in 1..=MOST {
        let rounded = of_sum(shares, sum);
        let off =
            |(share, weight): (&f64, &u32)| (share - f64::from(*weight) / f64::from(sum)).abs();
        let error = shares.iter().zip(&rounded).map(off).fold(0.0, f64::max);
        if best.as_ref().is_none_or(|(least, _)| error < *least - NEAR / 16.0) {
            best = Some((error, rounded));
        }
        if best.as_ref().is_some_and(|(least, _)| *least <= NEAR) {
            break;
        }
    }
    best.map_or_else(Vec::new, |(_, weights)| weights)
}

/// Whole numbers of this sum, by the largest remainders; of equal ones the first.
fn of_sum(shares: &[f64], sum: u32) -> Vec<u32> {
    let scaled = || shares.iter().map(|share| share * f64::from(sum) + 1e-9);
    let mut weights: Vec<u32> = scaled().map(|share| share as u32).collect();
    let mut order: Vec<(f64, usize)> = scaled().map(f64::fract).zip(0..).collect();
    // Remainders that differ by less than the solver's tolerance count as equal.
    let grain = |fraction: f64| (fraction * 1e6) as i64;
    order.sort_by_key(|(fraction, at)| (-grain(*fraction), *at));
    let given: u32 = weights.iter().sum();
    for (_, at) in order.iter().cycle().take(sum.saturating_sub(given) as usize) {
        weights[*at] += 1;
    }
    if let Some(0) = weights.first()
        && let Some(most) = (1..weights.len()).max_by_key(|at| (weights[*at], usize::MAX - at))
    {
        weights[most] -= 1;
        weights[0] = 1;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_sum_that_is_near_enough() {
        let third = 1.0 / 3.0;
        for (shares, expected) in [
            (&[1.0][..], &[1][..]),
            (&[0.5, 0.5], &[1, 1]),
            (&[third, third, third], &[1, 1, 1]),
            (&[third + 1e-9, third - 1e-9, third], &[1, 1, 1]),
            (&[0.25, 0.75], &[1, 3]),
            (&[1.0 / 12.0, 7.0 / 12.0, 4.0 / 12.0], &[1, 7, 4]),
            (&[0.0, 1.0], &[1, 63]),
        ] {
            assert_eq!(weights(shares), expected, "{shares:?}");
        }
    }

    /// Sums stay small, the first weight is never 0, and no share is off by more than half a part in
    /// the greatest sum, or what the first needs.
    #[test]
    fn shares_are_kept() {
        for k in 1..100 {
            let a = f64::from(k) / 100.0;
            let shares = [a, (1.0 - a) * 0.7, (1.0 - a) * 0.3];
            let weights = weights(&shares);
            let sum: u32 = weights.iter().sum();
            assert!(sum <= MOST && weights[0] > 0, "{shares:?} {weights:?}");
            for (share, weight) in shares.iter().zip(&weights) {
                let off = (share - f64::from(*weight) / f64::from(sum)).abs();
                assert!(off <= 1.0 / f64::from(MOST), "{shares:?} {weights:?}");
            }
        }
    }
}
