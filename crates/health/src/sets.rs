//! What several failures at once leave of a plan: fails every set of so many parts, or many random ones, and counts the pairs of
//! nodes that are reached, that go round what is broken, and that are cut off.

use std::collections::BTreeSet;
use std::fmt;

use rayon::prelude::*;
use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_plan::Plan;
use tresse_slice::watch::Crossing;
use tresse_slice::watch::part::UnknownPart;

use crate::left::{self, Left, Reached};

/// So many sets are all looked at; of more, so many random ones.
const MOST: usize = 1000;
/// So many pairs of nodes are looked at in all: on a large fabric in fewer sets, for half a minute.
const PAIRS_MOST: usize = 30_000_000;

/// What sets of failures leave: ordered pairs of nodes, summed over the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sets {
    /// Failures in each set.
    at_once: usize,
    /// Number of sets.
    sets: usize,
    /// The seed of random sets; `None` if all were looked at.
    seed: Option<u64>,
    /// Pairs whose first path is broken, and which are reached otherwise.
    healed: u64,
    /// Those of them that are reached by two planned paths, joined at a node; `None` where paths are not joined.
    two_paths: Option<u64>,
    /// The most planned paths that one pair goes by; `None` too.
    max_paths: Option<u64>,
    /// Pairs that no whole cables join.
    apart: u64,
    /// Pairs that cables join, and that do not reach each other.
    pub cut: u64,
    /// The first of them, and without which parts.
    first_cut: Option<FirstCut>,
}

/// A pair that is cut off, and what has failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FirstCut {
    without: Vec<String>,
    src: String,
    dst: String,
}

/// Why no sets of failures can be looked at.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SetsError {
    /// As many parts as that cannot fail.
    #[error("{at_once} at once: this fabric has {parts} parts")]
    Parts {
        /// Failures asked for in each set.
        at_once: usize,
        /// The parts that can fail.
        parts: usize,
    },
    /// A part has a name that stands for none.
    #[error(transparent)]
    Name(#[from] UnknownPart),
}

/// Failures that happen together.
struct Set {
    names: Vec<String>,
    broken: BTreeSet<Crossing>,
    off: BTreeSet<NodeId>,
}

impl Sets {
    /// Looks at sets of so many failures. O(sets x pairs), in parallel.
    ///
    /// # Errors
    /// As [`SetsError`] lists.
    pub fn of(plan: &Plan, at_once: usize, seed: u64) -> Result<Self, SetsError> {
        let left = Left::new(plan);
        let nodes = plan.cluster().nodes.len();
        let most = (PAIRS_MOST / (nodes * nodes).max(1)).clamp(1, MOST);
        let (sets, random) = choose(&left, at_once, seed, most)?;
        let counted = (0..nodes).into_par_iter().map(|node| {
            let mut counted = Self::default();
            counted.count(plan, &left, &sets, node.into());
            counted
        });
        let mut all = counted.reduce(Self::default, Self::and);
        let seed = random.then_some(seed);
        if left.joins_paths() {
            all.two_paths.get_or_insert(0);
            all.max_paths.get_or_insert(1);
        }
        Ok(Self { at_once, sets: sets.len(), seed, ..all })
    }

    /// Counts the pairs of all other nodes with this one.
    fn count(&mut self, plan: &Plan, left: &Left<'_>, sets: &[Set], node: NodeId) {
        let others = (0..plan.cluster().nodes.len()).map(NodeId::from);
        let others: Vec<NodeId> = others.filter(|other| *other != node).collect();
        let name = |node: NodeId| plan.cluster().node(node).name.clone();
        let paths: Vec<_> = others.iter().map(|src| plan.paths(*src, node)).collect();
        for set in sets.iter().filter(|set| !set.off.contains(&node)) {
            // For those that need it: how nodes go round, and by a walk over all cables who is joined.
            let (mut ways, mut joined) = (None, None);
            for (src, paths) in others.iter().zip(&paths).filter(|(src, _)| !set.off.contains(src))
            {
                let mut by_ways = || {
                    let ways = ways.get_or_insert_with(|| left.ways(node, &set.broken));
                    ways.as_ref().map_or(Reached::Not, |ways| left.by_ways(*src, node, ways))
                };
                let planned = left.first_whole(paths, &set.broken);
                match planned.map_or_else(&mut by_ways, Reached::Planned) {
                    Reached::Planned(0) => {}
                    Reached::Planned(_) => self.healed += 1,
                    Reached::Round(nodes) => {
                        self.healed += 1;
                        if left.joins_paths() {
                            let joined = nodes.len() as u64 - 1;
                            *self.two_paths.get_or_insert(0) += u64::from(joined == 2);
                            self.max_paths = self.max_paths.max(Some(joined));
                        }
                    }
                    Reached::Not => {
                        // All parts fail in both directions.
                        let joined = joined.get_or_insert_with(|| left.joined(node, &set.broken));
                        if joined.contains(src) {
                            self.cut += 1;
                            let (src, dst) = (name(*src), name(node));
                            self.first_cut.get_or_insert_with(|| FirstCut {
                                without: set.names.clone(),
                                src,
                                dst,
                            });
                        } else {
                            self.apart += 1;
                        }
                    }
                }
            }
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            healed: self.healed + other.healed,
            two_paths: self.two_paths.into_iter().chain(other.two_paths).reduce(|a, b| a + b),
            max_paths: self.max_paths.max(other.max_paths),
            apart: self.apart + other.apart,
            cut: self.cut + other.cut,
            first_cut: self.first_cut.into_iter().chain(other.first_cut).min(),
            ..self
        }
    }
}

impl fmt::Display for Sets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = match self.seed {
            Some(seed) => format!("{} random sets, seed {seed}", self.sets),
            None => format!("all {} sets", self.sets),
        };
        writeln!(f, "{:<16}  {which}", format!("{} fail at once", self.at_once))?;
        writeln!(f, "  go round        {} pairs whose first path is broken", self.healed)?;
        if let Some((two, most)) = self.two_paths.zip(self.max_paths) {
            writeln!(f, "  joined paths    {two} pairs by two planned paths, at most {most}")?;
        }
        writeln!(f, "  no cable left   {} pairs", self.apart)?;
        write!(f, "  cut off         {} pairs that cables join", self.cut)?;
        match &self.first_cut {
            Some(FirstCut { without, src, dst }) => {
                writeln!(f, "; the first is {src} -> {dst} without {}", without.join(" "))
            }
            None => writeln!(f),
        }
    }
}

/// All sets of so many parts, or of more than `most` so many random ones; and whether they are random.
fn choose(
    left: &Left<'_>,
    at_once: usize,
    seed: u64,
    most: usize,
) -> Result<(Vec<Set>, bool), SetsError> {
    let names = left.names();
    if !(1..=names.len()).contains(&at_once) {
        return Err(SetsError::Parts { at_once, parts: names.len() });
    }
    let random = combinations(names.len(), at_once).is_none_or(|all| all > most);
    let chosen: Vec<Vec<usize>> = match random {
        false => each(names.len(), at_once),
        true => {
            let mut random = Random::new(seed);
            let all: Vec<usize> = (0..names.len()).collect();
            (0..most).map(|_| random.some(&all, at_once)).collect()
        }
    };
    let set = |chosen: Vec<usize>| -> Result<Set, UnknownPart> {
        let names: Vec<String> = chosen.into_iter().map(|at| names[at].clone()).collect();
        let parts: Result<Vec<_>, _> = names.iter().map(|name| left.parts.named(name)).collect();
        let parts = parts?;
        let off = parts.iter().filter_map(|part| part.node()).collect();
        Ok(Set { names, broken: left::crossings(&parts), off })
    };
    let sets: Result<Vec<Set>, UnknownPart> = chosen.into_iter().map(set).collect();
    Ok((sets?, random))
}

/// How many sets of `some` of `all` things there are; `None`: too many to count.
fn combinations(all: usize, some: usize) -> Option<usize> {
    (0..some).try_fold(1usize, |sets, at| Some(sets.checked_mul(all - at)? / (at + 1)))
}

/// All sets of `some` of `all` things.
fn each(all: usize, some: usize) -> Vec<Vec<usize>> {
    let mut sets = vec![Vec::new()];
    for chosen in 0..some {
        // As many as are still to be chosen come after the next one.
        let until = all + 1 + chosen - some;
        let longer = |set: &Vec<usize>| {
            let from = set.last().map_or(0, |last| last + 1);
            (from..until).map(|next| [&set[..], &[next]].concat()).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(longer).collect();
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_as_many_as_there_are() {
        for (all, some) in [(5, 1), (5, 2), (7, 3), (4, 4)] {
            assert_eq!(combinations(all, some), Some(each(all, some).len()));
        }
        assert_eq!(each(3, 2), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(combinations(10_000, 40), None);
    }
}
