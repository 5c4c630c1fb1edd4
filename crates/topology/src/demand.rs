//! The traffic demand of a cluster: how much every node sends to every other node. It is input, as the cluster file
//! states it, for the planner and for the verifier alike.

use std::collections::BTreeMap;

use tresse_base::id::NodeId;

use crate::cluster::Cluster;

/// The traffic demand of a cluster in relative units: every node sends 1 to every other node, or what the `[[demand]]`
/// tables of the cluster file add up to.
#[derive(Debug)]
pub struct Demand<'a> {
    cluster: &'a Cluster,
    /// By node: the indices of the `[[demand]]` tables in which it is a source.
    tables: Vec<Vec<usize>>,
}

impl<'a> Demand<'a> {
    /// The demand of `cluster`.
    #[must_use]
    pub fn of(cluster: &'a Cluster) -> Self {
        let mut tables = vec![Vec::new(); cluster.nodes.len()];
        for (at, table) in cluster.demand.iter().enumerate() {
            table.from.iter().for_each(|node| tables[node.index()].push(at));
        }
        Self { cluster, tables }
    }

    /// `uniform`, or `listed`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.cluster.demand.is_empty() { "uniform" } else { "listed" }
    }

    /// Lists the nodes to which `src` sends, ascending, and how much: never itself, never 0.
    #[must_use]
    pub fn from(&self, src: NodeId) -> Vec<(NodeId, u64)> {
        if self.cluster.demand.is_empty() {
            let all = (0..self.cluster.nodes.len()).map(NodeId::from);
            return all.filter(|dst| *dst != src).map(|dst| (dst, 1)).collect();
        }
        let mut sent = BTreeMap::new();
        for table in self.tables[src.index()].iter().map(|at| &self.cluster.demand[*at]) {
            for dst in table.to.iter().filter(|dst| **dst != src) {
                *sent.entry(*dst).or_insert(0) += u64::from(table.weight);
            }
        }
        sent.into_iter().collect()
    }
}
