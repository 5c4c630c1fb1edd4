//! The cables of well-known families of switch fabrics: leaf and spine, fat trees, hypercubes, HyperX, dragonflies and
//! Slim Flies. Switches that have nodes are numbered first.

use crate::cluster::TopologyShape;

/// A generated fabric of switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Switches.
    pub switches: u32,
    /// The first so many have nodes.
    pub homes: u32,
    /// The two ends of each cable, the lower one first, ascending; equal ones are parallel cables.
    pub cables: Vec<(u32, u32)>,
}

impl Family {
    fn new(switches: u32, homes: u32, cables: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut cables: Vec<_> = cables.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
        cables.sort_unstable();
        Self { switches, homes, cables }
    }

    /// Returns the switches and cables of a kind; `None` for kinds that are none of these families. The sizes must be
    /// valid (see [`TopologyShape`]).
    #[must_use]
    pub fn of(kind: &TopologyShape) -> Option<Self> {
        match kind {
            TopologyShape::Clos { spines, leaves, cables } => {
                Some(Self::clos(*spines, *leaves, *cables))
            }
            TopologyShape::FatTree { k } => Some(Self::fat_tree(*k)),
            TopologyShape::Hypercube { dimensions } => Some(Self::hypercube(*dimensions)),
            TopologyShape::Hyperx { dims } => Some(Self::hyperx(dims)),
            TopologyShape::Dragonfly { groups, routers, global } => {
                Some(Self::dragonfly(*groups, *routers, *global))
            }
            TopologyShape::SlimFly { q } => Some(Self::slim_fly(*q)),
            _ => None,
        }
    }

    /// A folded Clos network of two levels: every leaf has `parallel` cables to every spine.
    #[must_use]
    pub fn clos(spines: u32, leaves: u32, parallel: u32) -> Self {
        let cables = (0..leaves)
            .flat_map(|leaf| (0..spines * parallel).map(move |at| (leaf, leaves + at / parallel)));
        Self::new(leaves + spines, leaves, cables)
    }

    /// The fat tree of switches with k ports, k even (Al-Fares et al., SIGCOMM 2008): k pods of k/2 edge and k/2
    /// aggregation switches, and k^2/4 core switches.
    #[must_use]
    pub fn fat_tree(k: u32) -> Self {
        let half = k / 2;
        let edges = k * half;
        let pods = (0..k).flat_map(move |pod| {
            (0..half * half).map(move |at| (pod * half + at / half, edges + pod * half + at % half))
        });
        let cores = (0..k).flat_map(move |pod| {
            let of = move |at| (edges + pod * half + at / half, 2 * edges + at);
            (0..half * half).map(of)
        });
        Self::new(2 * edges + half * half, edges, pods.chain(cores))
    }

    /// A binary hypercube.
    #[must_use]
    pub fn hypercube(dimensions: u32) -> Self {
        let switches = 1 << dimensions;
        let cables = (0..switches).flat_map(|s: u32| {
            (0..dimensions).map(move |d| (s, s ^ 1 << d)).filter(|(a, b)| a < b)
        });
        Self::new(switches, switches, cables)
    }

    /// A HyperX (Ahn et al., SC 2009): a grid of switches in which every line of every dimension is a clique. Switches
    /// are numbered as on a mesh: dimension 0 varies fastest.
    #[must_use]
    pub fn hyperx(dims: &[u32]) -> Self {
        let switches: u32 = dims.iter().product();
        let mut cables = Vec::new();
        let mut step = 1;
        for size in dims {
            for s in 0..switches {
                let at = s / step % size;
                cables.extend((at + 1..*size).map(|to| (s, s + (to - at) * step)));
            }
            step *= size;
        }
        Self::new(switches, switches, cables)
    }

    /// A dragonfly (Kim et al., ISCA 2008): groups of `routers` switches, each group a clique, each switch with `global`
    /// ports to other groups. Every two groups have as many cables between them as all have ports for; port k of a group
    /// leads to the group k + 1 further on. There are at most routers x global + 1 groups.
    #[must_use]
    pub fn dragonfly(groups: u32, routers: u32, global: u32) -> Self {
        let others = groups.saturating_sub(1).max(1);
        let mut cables = Vec::new();
        for group in 0..groups {
            let of = |at: u32| group * routers + at;
            cables.extend(
                (0..routers)
                    .flat_map(|a| (a + 1..routers).map(move |b| (a, b)))
                    .map(|(a, b)| (of(a), of(b))),
            );
            for times in 0..routers * global / others {
                for distance in 1..groups {
                    let to = (group + distance) % groups;
                    let port = |distance| (times * others + distance - 1) / global;
                    if group < to {
                        let far = to * routers + port(groups - distance);
                        cables.push((of(port(distance)), far));
                    }
                }
            }
        }
        Self::new(groups * routers, groups * routers, cables)
    }

    /// A Slim Fly (Besta and Hoefler, SC 2014, after McKay, Miller and Siran): 2 q^2 switches of which any two are at
    /// most two cables apart. `q`: an odd prime.
    #[must_use]
    pub fn slim_fly(q: u32) -> Self {
        let powers = powers_of_a_root(q);
        let at = |k: u32| powers[k as usize % powers.len()];
        let (own, others): (Vec<u32>, Vec<u32>) = if q % 4 == 1 {
            let even = |k: &u32| k.is_multiple_of(2);
            let (own, others): (Vec<u32>, Vec<u32>) = (0..q - 1).partition(even);
            (own.into_iter().map(at).collect(), others.into_iter().map(at).collect())
        } else {
            let w = q.div_ceil(4);
            let own = (0..w).map(|k| at(2 * k)).chain((0..w).map(|k| at(2 * w - 1 + 2 * k)));
            let others = (0..w).map(|k| at(2 * k + 1)).chain((0..w).map(|k| at(2 * w + 2 * k)));
            (own.collect(), others.collect())
        };
        let mut cables = Vec::new();
        for (half, steps) in [(0, own), (q * q, others)] {
            for (x, y) in (0..q).flat_map(|x| (0..q).map(move |y| (x, y))) {
                let to = steps.iter().map(|step| (y + step) % q);
                cables.extend(
                    to.filter(|to| y < *to).map(|to| (half + x * q + y, half + x * q + to)),
                );
            }
        }
        for (x, m) in (0..q).flat_map(|x| (0..q).map(move |m| (x, m))) {
            cables.extend((0..q).map(|c| (x * q + (m * x + c) % q, q * q + m * q + c)));
        }
        cables.sort_unstable();
        cables.dedup();
        Self::new(2 * q * q, 2 * q * q, cables)
    }
}

/// 1, r, r^2, ... modulo the prime `q`, where r is the smallest number that has all of 1..q among its powers.
fn powers_of_a_root(q: u32) -> Vec<u32> {
    let powers = |root: u32| {
        let next = |at: &u32| Some(at * root % q).filter(|next| *next != 1);
        std::iter::successors(Some(1 % q), next).take(q as usize).collect::<Vec<_>>()
    };
    (1..q).map(powers).find(|powers| powers.len() as u32 == q - 1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    fn degrees_and_diameter(family: &Family) -> (Vec<u32>, u32) {
        let graph = Graph::from_edges(family.switches as usize, &family.cables);
        let mut degrees: Vec<u32> =
            (0..family.switches).map(|s| graph.out(s).len() as u32).collect();
        degrees.sort_unstable();
        degrees.dedup();
        let (mut distance, mut queue, mut farthest) = (Vec::new(), Vec::new(), 0);
        for s in 0..family.homes {
            graph.distances(s, &mut distance, &mut queue);
            farthest =
                farthest.max(distance[..family.homes as usize].iter().copied().max().unwrap());
        }
        (degrees, farthest)
    }

    /// Sizes, degrees and diameters as their papers have them.
    #[test]
    fn families_are_those_of_the_literature() {
        let is = |family: Family, switches, homes, degrees: &[u32], diameter| {
            assert_eq!((family.switches, family.homes), (switches, homes));
            assert_eq!(degrees_and_diameter(&family), (degrees.to_vec(), diameter), "{switches}");
        };
        is(Family::clos(4, 8, 1), 12, 8, &[4, 8], 2);
        is(Family::fat_tree(4), 20, 8, &[2, 4], 4);
        is(Family::fat_tree(6), 45, 18, &[3, 6], 4);
        is(Family::hypercube(6), 64, 64, &[6], 6);
        is(Family::hyperx(&[4, 3, 5]), 60, 60, &[9], 3);
        is(Family::dragonfly(9, 4, 2), 36, 36, &[5], 3);
        is(Family::dragonfly(5, 4, 2), 20, 20, &[5], 3);
        // Radix (3q - delta) / 2 for q = 4w + delta.
        is(Family::slim_fly(5), 50, 50, &[7], 2);
        is(Family::slim_fly(7), 98, 98, &[11], 2);
        is(Family::slim_fly(13), 338, 338, &[19], 2);
        is(Family::slim_fly(3), 18, 18, &[5], 2);
        assert_eq!(Family::slim_fly(5).cables.len(), 50 * 7 / 2);
    }

    /// For sizes up to 43, the same number of cables at every switch, and two at most between any
    /// two. Adding 1 to all y and c maps the graph onto itself, so paths from one switch of each x and m are all.
    #[test]
    fn slim_flies_have_diameter_two() {
        let primes = (3..=43_u32).filter(|q| (2..*q).all(|divisor| !q.is_multiple_of(divisor)));
        for q in primes {
            let family = Family::slim_fly(q);
            let graph = Graph::from_edges(family.switches as usize, &family.cables);
            let radix = if q % 4 == 1 { 3 * q / 2 } else { (3 * q).div_ceil(2) };
            let degrees = (0..family.switches).map(|s| graph.out(s).len() as u32);
            assert!({ degrees }.all(|degree| degree == radix), "{q}");
            let (mut distance, mut queue) = (Vec::new(), Vec::new());
            for s in (0..family.switches).step_by(q as usize) {
                graph.distances(s, &mut distance, &mut queue);
                assert_eq!(distance.iter().max(), Some(&2), "q {q} from {s}");
            }
        }
    }
}
