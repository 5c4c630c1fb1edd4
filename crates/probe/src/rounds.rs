//! Rounds in which no node has two tasks, so that what is measured is not what a node can do at once.

use std::collections::BTreeSet;

use crate::targets::Target;

/// A target, and its place among all.
pub(crate) type Numbered<'a> = (usize, &'a Target);

/// Each target in the first round in which all its nodes are free.
pub(crate) fn rounds<'a>(targets: &[Numbered<'a>]) -> Vec<Vec<Numbered<'a>>> {
    let mut rounds: Vec<(BTreeSet<_>, Vec<Numbered<'_>>)> = Vec::new();
    for &(at, target) in targets {
        let free = rounds.iter_mut().find(|(busy, _)| target.nodes().all(|n| !busy.contains(&n)));
        match free {
            Some((busy, round)) => {
                busy.extend(target.nodes());
                round.push((at, target));
            }
            None => rounds.push((target.nodes().collect(), vec![(at, target)])),
        }
    }
    rounds.into_iter().map(|(_, round)| round).collect()
}

#[cfg(test)]
mod tests {
    use tresse_plan::Plan;
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;
    use crate::targets::Targets;

    #[test]
    fn no_node_has_two_tasks_at_once() {
        let kind = TopologyShape::DirectTorus { dims: vec![4, 4] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
        let targets = Targets::of(&plan, |_| true);
        let all: Vec<Numbered<'_>> = targets.cables.iter().enumerate().collect();
        let rounds = rounds(&all);
        assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), 32);
        assert!(rounds.len() <= 7, "{}", rounds.len());
        for round in rounds {
            let nodes: Vec<_> = round.iter().flat_map(|(_, target)| target.nodes()).collect();
            let distinct: BTreeSet<_> = nodes.iter().collect();
            assert_eq!(distinct.len(), nodes.len());
        }
    }
}
